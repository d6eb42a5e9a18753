"""Observations of codecs: the newest of each setting, kind, size and machine."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection, delete, distinct, func, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from services.application.advice.codec_outlook import CodecStatistics
from services.application.advice.compression import MAX_OF_A_KEY, MAX_OF_A_TENANT, SeenObservation
from services.persistence.tables import compression_observations as table
from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.compression.content import find_size_bin
from tradewind.compression.history import CodecObservation, CompressionCase
from tradewind.compression.model import Speeds

MOST_MACHINES = 50
"""Machines that are listed, the newest."""

_KEY = (table.c.codec, table.c.level, table.c.kind, table.c.size_bin, table.c.cpu_class)


class CompressionObservations:
    """The observations of one tenant.

    Parameters
    ----------
    key_id : the key that sends them; ``None`` for a user or the service.
    """

    def __init__(self, connection: Connection, tenant_id: UUID, key_id: UUID | None = None) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._key_id = key_id

    def add(self, seen: Sequence[SeenObservation]) -> int:
        """Store the observations that are new; return how many.

        The oldest are dropped: of a setting, kind, size and machine, then of the senders that have most.
        """
        rows = [self._build_row(each) for each in seen]
        added = self._connection.execute(
            insert(table).on_conflict_do_nothing(index_elements=["tenant_id", "id"]).returning(table.c.id), rows
        ).all()
        keys = {tuple(row[column.name] for column in _KEY) for row in rows}
        newest = func.row_number().over(partition_by=_KEY, order_by=(table.c.seen_at.desc(), table.c.id))
        ranked = select(table.c.id, newest.label("rank")).where(tuple_(*_KEY).in_(keys)).subquery()
        self._connection.execute(
            delete(table).where(table.c.id.in_(select(ranked.c.id).where(ranked.c.rank > MAX_OF_A_KEY)))
        )
        # The newest of each sender, then the second newest of each, and so on.
        age = func.row_number().over(partition_by=table.c.key_id, order_by=(table.c.seen_at.desc(), table.c.id))
        aged = select(table.c.id, table.c.seen_at, age.label("age")).subquery()
        surplus = select(aged.c.id).order_by(aged.c.age, aged.c.seen_at.desc(), aged.c.id).offset(MAX_OF_A_TENANT)
        self._connection.execute(delete(table).where(table.c.id.in_(surplus)))
        return len(added)

    def list_all(self) -> Sequence[CodecObservation]:
        """Return all observations, in order of time."""
        rows = self._connection.execute(select(table).order_by(table.c.seen_at, table.c.id))
        return [
            CodecObservation(
                case=CompressionCase(
                    file_bytes=row.file_bytes,
                    kind=row.kind,
                    cpu_class=row.cpu_class,
                    probe=Speeds(row.probe_ratio, row.probe_compress_bps, row.probe_decompress_bps),
                ),
                setting=CodecSetting(Codec(row.codec), row.level),
                speeds=Speeds(row.ratio, row.compress_bps, row.decompress_bps),
            )
            for row in rows
        ]

    def list_learned(self) -> Sequence[CodecStatistics]:
        """Return what was learned by setting, those with most observations first."""
        figures = (table.c.ratio, table.c.compress_bps, table.c.decompress_bps)
        count = func.count().label("observations")
        rows = self._connection.execute(
            select(
                table.c.codec,
                table.c.level,
                count,
                func.count(distinct(table.c.cpu_class)).label("machines"),
                func.array_agg(distinct(table.c.kind)).label("kinds"),
                func.max(table.c.seen_at).label("newest_at"),
                *(func.exp(func.avg(func.ln(each))).label(each.name) for each in figures),
            )
            .group_by(table.c.codec, table.c.level)
            .order_by(count.desc(), table.c.codec, table.c.level)
        )
        return [
            CodecStatistics(
                setting=CodecSetting(Codec(row.codec), row.level),
                observations=row.observations,
                machines=row.machines,
                kinds=tuple(row.kinds),
                speeds=Speeds(row.ratio, row.compress_bps, row.decompress_bps),
                newest_at=row.newest_at,
            )
            for row in rows
        ]

    def list_machines(self) -> Sequence[str]:
        """Return the machines that have packed, the one seen last first."""
        newest = func.max(table.c.seen_at).desc()
        return self._connection.scalars(
            select(table.c.cpu_class)
            .group_by(table.c.cpu_class)
            .order_by(newest, table.c.cpu_class)
            .limit(MOST_MACHINES)
        ).all()

    def _build_row(self, seen: SeenObservation) -> dict[str, object]:
        case, speeds = seen.observation.case, seen.observation.speeds
        return {
            "id": seen.id,
            "tenant_id": self._tenant_id,
            "key_id": self._key_id,
            "seen_at": seen.seen_at,
            "codec": str(seen.observation.setting.codec),
            "level": seen.observation.setting.level,
            "kind": str(case.kind),
            "size_bin": find_size_bin(case.file_bytes),
            "cpu_class": case.cpu_class,
            "file_bytes": case.file_bytes,
            **speeds._asdict(),
            **{f"probe_{name}": value for name, value in case.probe._asdict().items()},
        }
