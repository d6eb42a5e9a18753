"""Transfers and their samples, as heartbeats and ends bring them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, and_, bindparam, case, func, literal, or_, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from services.application.transfer_journal import ANY, Journalled, TransferEnd, TransferNews, Wanted
from services.persistence.bulk_copy import COLUMNS, record_values
from services.persistence.repositories.months_of_logs import ClosedMonths
from services.persistence.repositories.sample_rows import sample_of, sample_values
from services.persistence.tables import api_keys, transfer_logs, transfer_samples, transfers
from tradewind.errors import NotFound
from tradewind.sla import Sla
from tradewind.transfer import Status
from tradewind.wire.recommendations import WireSla
from tradewind.wire.records import WireEnergy, WireRecord
from tradewind.wire.transfers import Expected, TransferSample, TransferState, TransferSummary

_MONTHS_WITHOUT_PARTITION = text(
    "SELECT month FROM unnest(CAST(:months AS date[])) AS month"
    " WHERE to_regclass('public.transfer_samples_' || to_char(month, 'YYYY_MM')) IS NULL"
)

# Sequence numbers that follow the last journalled one without a gap keep the same distance to their row number.
_ADVANCE = text(
    """
    UPDATE transfers AS known SET journalled_sequence = whole.sequence FROM (
        SELECT id, max(sequence) AS sequence FROM (
            SELECT t.id, s.sequence,
                   t.journalled_sequence + row_number() OVER (PARTITION BY t.id ORDER BY s.sequence) AS expected
              FROM transfers t
              JOIN transfer_samples s
                ON s.tenant_id = t.tenant_id AND s.transfer_id = t.id AND s.transfer_started_at = t.started_at
             WHERE t.tenant_id = :tenant_id AND t.id = ANY(:ids) AND s.sequence > t.journalled_sequence
        ) AS stored WHERE sequence = expected GROUP BY id
    ) AS whole
     WHERE known.tenant_id = :tenant_id AND known.id = whole.id
    """
)

_TELLS_THE_END = (
    "started_at", "ended_at", "transfer_id", "status", "bytes_moved", "throughput_bps",
    "source_energy_j", "source_dynamic_j", "destination_energy_j", "destination_dynamic_j",
)  # fmt: skip


class TransferJournal:
    """Transfers of one tenant.

    Parameters
    ----------
    closed : months that take no more samples either.
    ensure_months : makes the partitions of samples of these months, in a transaction of its own.
    key_id : of the agent that tells of transfers itself, ``None`` for a worker, who has it from their first heartbeat.
    """

    def __init__(
        self,
        connection: Connection,
        tenant_id: UUID,
        closed: ClosedMonths,
        ensure_months: Callable[[Collection[date]], None],
        key_id: UUID | None = None,
    ) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._closed = closed
        self._ensure_months = ensure_months
        self._key_id = key_id

    def note(self, news: Collection[TransferNews]) -> None:
        """Make transfers known, or bring them up to date; their rows are held until the end of the transaction."""
        statement = insert(transfers)
        new, told = statement.excluded, transfers.c
        # Heard later counts too: a number that was far ahead of all others must not hold up what is shown.
        is_news = or_(new.sequence >= told.sequence, new.last_heartbeat_at > told.last_heartbeat_at)
        is_later = and_(told.ended_at.is_(None), is_news)
        is_heard_last = or_(told.last_heartbeat_at.is_(None), new.last_heartbeat_at >= told.last_heartbeat_at)
        statement = statement.on_conflict_do_update(
            index_elements=["tenant_id", "id"],
            set_={
                "sla": func.coalesce(told.sla, new.sla),
                "enquiry": func.coalesce(told.enquiry, new.enquiry),
                "expected": func.coalesce(told.expected, new.expected),
                "key_id": func.coalesce(told.key_id, new.key_id),
                "last_heartbeat_at": func.greatest(told.last_heartbeat_at, new.last_heartbeat_at),
                "silent_at": case((is_heard_last, new.silent_at), else_=told.silent_at),
                "sequence": case((is_news, new.sequence), else_=told.sequence),
                "bytes_moved": case((is_later, new.bytes_moved), else_=told.bytes_moved),
                "throughput_bps": case((is_later, new.throughput_bps), else_=told.throughput_bps),
            },
        )
        # In one order, so that two transactions that note the same transfers do not wait for each other in a circle.
        ordered = sorted(news, key=lambda each: each.transfer_id)
        self._connection.execute(statement, [self._transfer(each) for each in ordered])

    def add(self, news: Collection[TransferNews]) -> int:
        """Store samples of noted transfers; how many sequence numbers were new.

        Of two samples with the same number the one with the later time of its agent stands.
        """
        started_at = self._starts([each.transfer_id for each in news if each.beats])
        rows = [
            {"tenant_id": self._tenant_id, "transfer_id": each.transfer_id}
            | {"transfer_started_at": started_at[each.transfer_id]}
            | sample_values(beat)
            for each in news
            for beat in each.beats.values()
        ]
        closed_until = self._closed.hold()
        if closed_until is not None:
            rows = [row for row in rows if row["transfer_started_at"] >= closed_until]
        if not rows:
            return 0
        self._prepare({row["transfer_started_at"] for row in rows})
        new = self._connection.execute(
            insert(transfer_samples).on_conflict_do_nothing(), rows, execution_options={"preserve_rowcount": True}
        ).rowcount
        if new < len(rows):
            self._replace_older(rows)
        return new

    def advance(self, transfer_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Up to which sequence number all samples are stored, by transfer; −1 for none."""
        ids = sorted(transfer_ids)
        self._connection.execute(_ADVANCE, {"tenant_id": self._tenant_id, "ids": ids})
        found = self._connection.execute(
            select(transfers.c.id, transfers.c.journalled_sequence).where(transfers.c.id.in_(ids))
        )
        return {row.id: row.journalled_sequence for row in found}

    def agreement(self, transfer_id: UUID) -> Sla | None:
        """What was agreed on for a noted transfer, as far as it is known."""
        asked = self._connection.execute(select(transfers.c.enquiry).where(transfers.c.id == transfer_id)).scalar_one()
        return None if asked is None else WireSla.model_validate(asked["sla"]).to_sla()

    def is_anothers(self, transfer_id: UUID, *, begun_by: UUID | None = None) -> bool:
        """Whether a key other than the one that acts began the transfer, and is in force.

        ``begun_by`` : the key that began it, for a transfer that is not noted, or whose key is not.
        """
        key = api_keys.c
        noted = select(transfers.c.key_id).where(transfers.c.id == transfer_id).scalar_subquery()
        its_own = func.coalesce(noted, literal(begun_by, key.id.type))
        found = select(key.id).where(key.id == its_own, key.id != self._key_id, key.revoked_at.is_(None))
        return self._connection.execute(found).first() is not None

    def is_logged(self, record: WireRecord) -> bool:
        """Whether a row of the logs tells how it ended as the record does."""
        values = record_values(record)
        told = dict(zip(COLUMNS[-len(values) :], values, strict=True))
        same = (transfer_logs.c[name].is_not_distinct_from(told[name]) for name in _TELLS_THE_END)
        found = select(transfer_logs.c.id).where(transfer_logs.c.id == record.id, *same)
        return self._connection.execute(found).first() is not None

    def end(self, transfer_id: UUID, end: TransferEnd) -> datetime:
        """Mark a noted transfer as ended, as it was told first; when it ended first."""
        known = transfers.c
        self._connection.execute(
            update(transfers)
            .where(known.id == transfer_id, known.duration_s.is_(None))  # which every end tells that is logged
            .values(
                ended_at=func.coalesce(known.ended_at, end.at),
                status=end.status.value,
                bytes_moved=end.bytes_moved,
                throughput_bps=end.throughput_bps,
                energy_j=end.energy_j,
                duration_s=end.duration_s,
                energy=[each.model_dump(mode="json", exclude_none=True) for each in end.energy],
                agreement_kept=end.agreement_kept,
                link_id=end.link_id,
            )
        )
        ended_at: datetime = self._connection.execute(
            select(known.ended_at).where(known.id == transfer_id)
        ).scalar_one()
        return ended_at

    def end_unlogged(self, transfer_id: UUID, status: Status, *, at: datetime) -> datetime | None:
        """Mark a transfer as ended unless it is; when it ended, ``None`` for one that is not known."""
        known = transfers.c
        return self._connection.execute(
            update(transfers)
            .where(known.id == transfer_id)
            .values(
                ended_at=func.coalesce(known.ended_at, at),
                status=func.coalesce(known.status, status.value),
            )
            .returning(known.ended_at)
        ).scalar_one_or_none()

    def page(
        self,
        *,
        now: datetime,
        limit: int,
        before: UUID | None = None,
        wanted: Wanted = ANY,
    ) -> Sequence[TransferSummary]:
        """At most ``limit`` transfers that started before the transfer ``before``, or before none, the newest first."""
        place = tuple_(transfers.c.started_at, transfers.c.id)
        older = () if before is None else (place < _place_of(before),)
        newest = transfers.c.started_at.desc(), transfers.c.id.desc()
        found = select(transfers).where(*older, *_conditions(wanted, now)).order_by(*newest).limit(limit)
        rows = self._connection.execute(found)
        return [_summary(row, now) for row in rows]

    def get(self, transfer_id: UUID, *, now: datetime) -> Journalled:
        """What is stored of the transfer.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        row = self._connection.execute(select(transfers).where(transfers.c.id == transfer_id)).one_or_none()
        if row is None:
            raise NotFound("no such transfer")
        return Journalled(
            summary=_summary(row, now),
            enquiry=row.enquiry,
            expected=None if row.expected is None else Expected.model_validate(row.expected),
            duration_s=row.duration_s,
            energy=tuple(WireEnergy.model_validate(each) for each in row.energy or ()),
        )

    def samples(self, transfer: TransferSummary, *, after: int, limit: int) -> Sequence[TransferSample]:
        """At most ``limit`` samples with a sequence above ``after``, in their order."""
        rows = self._connection.execute(
            select(transfer_samples)
            .where(
                transfer_samples.c.transfer_id == transfer.transfer_id,
                transfer_samples.c.transfer_started_at == transfer.started_at,
                transfer_samples.c.sequence > after,
            )
            .order_by(transfer_samples.c.sequence)
            .limit(limit)
        )
        return [sample_of(row) for row in rows]

    def _transfer(self, news: TransferNews) -> dict[str, Any]:
        workload = news.workload
        last = news.beats[max(news.beats)].heartbeat if news.beats else None
        return {
            "tenant_id": self._tenant_id,
            "id": news.transfer_id,
            "started_at": news.started_at,
            "source": workload.link.source,
            "destination": workload.link.destination,
            "network": workload.link.network,
            "mover": workload.link.mover,
            "sla": workload.sla,
            "enquiry": workload.enquiry and workload.enquiry.model_dump(mode="json", exclude_none=True),
            "expected": news.begun and news.begun.expected.model_dump(mode="json", exclude_none=True),
            "key_id": news.begun.key_id if news.begun else self._key_id,
            "file_count": workload.file_count,
            "total_bytes": workload.total_bytes,
            "last_heartbeat_at": news.heard_at,
            "silent_at": news.silent_at,
            "sequence": last.sequence if last else -1,
            "journalled_sequence": -1,
            "bytes_moved": last.bytes_moved if last else 0,
            "throughput_bps": last.throughput_bps if last else None,
        }

    def _starts(self, transfer_ids: Collection[UUID]) -> Mapping[UUID, datetime]:
        found = self._connection.execute(
            select(transfers.c.id, transfers.c.started_at).where(transfers.c.id.in_(transfer_ids))
        )
        return {row.id: row.started_at for row in found}

    def _prepare(self, started_at: Collection[datetime]) -> None:
        months = sorted({each.astimezone(UTC).date().replace(day=1) for each in started_at})
        missing = self._connection.execute(_MONTHS_WITHOUT_PARTITION, {"months": months}).scalars().all()
        if missing:
            self._ensure_months(missing)

    def _replace_older(self, rows: Sequence[Mapping[str, Any]]) -> None:
        key = ("tenant_id", "transfer_id", "transfer_started_at", "sequence")
        columns = transfer_samples.c
        self._connection.execute(
            update(transfer_samples)
            .where(*(columns[name] == bindparam(f"{name}_") for name in key), columns.at < bindparam("at_"))
            .values({name: bindparam(f"{name}_") for name in rows[0] if name not in key}),
            [{f"{name}_": value for name, value in row.items()} for row in rows],
        )


def _place_of(transfer_id: UUID) -> Any:
    return select(transfers.c.started_at, transfers.c.id).where(transfers.c.id == transfer_id).scalar_subquery()


def _conditions(wanted: Wanted, now: datetime) -> Iterator[Any]:
    known = transfers.c
    for name in ("source", "destination", "sla"):
        if (value := getattr(wanted, name)) is not None:
            yield known[name] == value
    if wanted.key_ids is not None:
        yield known.key_id.in_(wanted.key_ids)
    if wanted.since is not None:
        yield known.started_at >= wanted.since
    if wanted.until is not None:
        yield known.started_at < wanted.until
    if wanted.state is not None:
        yield _is_in(wanted.state, now)


def _is_in(state: TransferState, now: datetime) -> Any:
    silent_at, ended = transfers.c.silent_at, transfers.c.ended_at
    match state:
        case TransferState.ENDED:
            return ended.is_not(None)
        case TransferState.LIVE:
            return and_(ended.is_(None), silent_at > now)
        case TransferState.SILENT:
            return and_(ended.is_(None), or_(silent_at.is_(None), silent_at <= now))


def _state(row: Row[Any], now: datetime) -> TransferState:
    if row.ended_at is not None:
        return TransferState.ENDED
    silent_at = row.silent_at
    return TransferState.LIVE if silent_at is not None and silent_at > now else TransferState.SILENT


def _summary(row: Row[Any], now: datetime) -> TransferSummary:
    made = {"transfer_id", "state", "agreement_promised"}
    plain = {name: getattr(row, name) for name in TransferSummary.model_fields.keys() - made}
    promised = None if row.expected is None else row.expected.get("feasible")
    return TransferSummary(transfer_id=row.id, state=_state(row, now), agreement_promised=promised, **plain)
