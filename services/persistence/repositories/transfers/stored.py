"""Transfers and their samples, as heartbeats and completions report them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, bindparam, func, select, tuple_, update

from services.application.transfers.repository import (
    ANY_TRANSFER,
    MOST_SORTED,
    MovedFiles,
    StoredTransfer,
    TransferBeats,
    TransferEnd,
    TransferFilter,
    TransferNews,
    TransferOrder,
)
from services.persistence.bulk_copy import COLUMNS, list_record_values
from services.persistence.month_partitions import MonthPartitions, list_months
from services.persistence.repositories.logs.months_of_logs import ClosedMonths
from services.persistence.repositories.transfers import statements
from services.persistence.repositories.transfers.sample_rows import to_sample, to_sample_values
from services.persistence.repositories.transfers.transfer_filters import is_before, list_conditions
from services.persistence.tables import transfer_samples, transfers
from tradewind.errors import NotFound
from tradewind.sla.kinds import Sla
from tradewind.tiers.demand import RequestedSla
from tradewind.transfer import Status
from tradewind.wire.recommendations import WireSla
from tradewind.wire.records import WireEnergy, WireFailure, WireRecord
from tradewind.wire.transfers import ExpectedOutcome, TransferSample, TransferState, TransferSummary

_NEWEST = transfers.c.started_at.desc(), transfers.c.id.desc()
_VALUES: Mapping[TransferOrder, ColumnElement[Any]] = MappingProxyType(
    {
        TransferOrder.STARTED: transfers.c.started_at,
        TransferOrder.THROUGHPUT: transfers.c.throughput_bps,
        TransferOrder.MOVED: transfers.c.bytes_moved,
        TransferOrder.DURATION: transfers.c.duration_s,
    }
)


class Transfers:
    """Transfers of one tenant.

    Parameters
    ----------
    closed : months that accept no more samples either.
    partitions : of the table of samples.
    key_id : the agent that reports its own transfers; ``None`` for a worker, who reads it from their first heartbeat.
    """

    def __init__(
        self,
        connection: Connection,
        tenant_id: UUID,
        closed: ClosedMonths,
        partitions: MonthPartitions,
        key_id: UUID | None = None,
    ) -> None:
        self._connection = connection
        self._tenant_id = tenant_id
        self._closed = closed
        self._partitions = partitions
        self._key_id = key_id

    def note(self, news: Collection[TransferNews]) -> None:
        """Add or update transfers; their rows are locked until the transaction ends."""
        # In one order, so that two transactions with the same transfers do not wait for each other in a circle.
        ordered = sorted(news, key=lambda transfer: transfer.transfer_id)
        self._connection.execute(statements.NOTE, [self._transfer(transfer) for transfer in ordered])

    def add(self, news: Collection[TransferBeats]) -> int:
        """Store samples of known transfers; return how many sequence numbers were new.

        Of two samples with the same number, the one with the later time of its agent stays.
        """
        with_beats = [transfer for transfer in news if transfer.beats]
        if not with_beats:
            return 0
        ids = [transfer.transfer_id for transfer in with_beats]
        noted = {row.id: row for row in self._connection.execute(statements.STARTS, {"ids": ids})}
        own = [sent for sent in with_beats if not _is_of_other_key(sent.owner, noted[sent.transfer_id].key_id)]
        started_at = {transfer_id: row.started_at for transfer_id, row in noted.items()}
        rows = [
            {"tenant_id": self._tenant_id, "transfer_id": transfer.transfer_id}
            | {"transfer_started_at": started_at[transfer.transfer_id]}
            | to_sample_values(beat)
            for transfer in own
            for beat in transfer.beats.values()
        ]
        closed_until = self._closed.hold()
        if closed_until is not None:
            rows = [row for row in rows if row["transfer_started_at"] >= closed_until]
        if not rows:
            return 0
        self._partitions.ensure(list_months(row["transfer_started_at"] for row in rows))
        new = self._connection.execute(statements.ADD, rows, execution_options={"preserve_rowcount": True}).rowcount
        if new < len(rows):
            self._replace_older(rows)
        return new

    def advance(self, transfer_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Return up to which sequence number all samples are stored, by transfer; −1 for none."""
        ids = sorted(transfer_ids)
        self._connection.execute(statements.ADVANCE, {"tenant_id": self._tenant_id, "ids": ids})
        found = self._connection.execute(statements.JOURNALLED, {"ids": ids})
        return {row.id: row.journalled_sequence for row in found}

    def find_sla(self, transfer_id: UUID) -> Sla | None:
        """Return the SLA of a known transfer, as far as it is known."""
        parameters = self._connection.execute(statements.REQUEST, {"transfer_id": transfer_id}).scalar_one()
        return None if parameters is None else WireSla.model_validate(parameters["sla"]).to_sla()

    def list_requests(self, link_id: UUID, since: datetime) -> list[RequestedSla]:
        """Return the SLAs of the newest transfers over a link that have ended and began since then."""
        rows = self._connection.execute(statements.REQUESTS, {"link": link_id, "since": since})
        return [RequestedSla(WireSla.model_validate(row.sla).to_sla(), row.total_bytes) for row in rows]

    def is_logged(self, record: WireRecord) -> bool:
        """Return whether a stored log reports the same end as the record."""
        values = list_record_values(record)
        by_column = dict(zip(COLUMNS[-len(values) :], values, strict=True))
        parameters = {"record_id": record.id, **{name: by_column[name] for name in statements.END_COLUMNS}}
        return self._connection.execute(statements.IS_LOGGED, parameters).first() is not None

    def end(self, transfer_id: UUID, end: TransferEnd) -> datetime:
        """Mark a known transfer as finished, by its first report; return when it finished first."""
        values = {
            "transfer_id": transfer_id,
            "at": end.at,
            "new_status": end.status.value,
            "new_bytes_moved": end.bytes_moved,
            "new_throughput_bps": end.throughput_bps,
            "new_energy_j": end.energy_j,
            "new_duration_s": end.duration_s,
            "new_energy": [reading.model_dump(mode="json", exclude_none=True) for reading in end.energy],
            "new_agreement_kept": end.is_sla_met,
            "new_link_id": end.link_id,
            **_to_failure_values(end.failure),
        }
        ended_at: datetime | None = self._connection.execute(statements.END, values).scalar_one_or_none()
        if ended_at is None:  # it was reported before
            ended_at = self._connection.execute(statements.ENDED_AT, {"transfer_id": transfer_id}).scalar_one()
        return ended_at

    def end_unlogged(
        self, transfer_id: UUID, status: Status, failure: WireFailure | None = None, *, at: datetime
    ) -> datetime | None:
        """Mark a transfer as finished unless it is; return when it finished, ``None`` for an unknown one."""
        values = {"transfer_id": transfer_id, "at": at, "new_status": status.value, **_to_failure_values(failure)}
        return self._connection.execute(statements.END_UNLOGGED, values).scalar_one_or_none()

    def list_page(
        self,
        *,
        now: datetime,
        limit: int,
        before: UUID | None = None,
        matching: TransferFilter = ANY_TRANSFER,
    ) -> Sequence[TransferSummary]:
        """Return at most ``limit`` transfers that started before the transfer ``before``, the newest first."""
        older = () if before is None else (is_before(before),)
        found = select(transfers).where(*older, *list_conditions(matching, now)).order_by(*_NEWEST).limit(limit)
        rows = self._connection.execute(found)
        return [_build_summary(row, now) for row in rows]

    def list_stored(
        self, *, now: datetime, limit: int, before: UUID | None = None, matching: TransferFilter = ANY_TRANSFER
    ) -> Sequence[StoredTransfer]:
        """Return the same transfers with what was expected of them."""
        older = () if before is None else (is_before(before),)
        rows = self._connection.execute(
            select(transfers).where(*older, *list_conditions(matching, now)).order_by(*_NEWEST).limit(limit)
        )
        return [_build_stored(row, now) for row in rows]

    def list_sorted(
        self,
        order: TransferOrder,
        *,
        is_descending: bool,
        now: datetime,
        limit: int,
        offset: int,
        matching: TransferFilter = ANY_TRANSFER,
    ) -> Sequence[StoredTransfer]:
        """Return transfers by a value, those without one last; the newest `MOST_SORTED` that match are sorted."""
        value = _VALUES[order]
        newest = (
            select(transfers.c.id, transfers.c.started_at, value.label("value"))
            .where(*list_conditions(matching, now))
            .order_by(*_NEWEST)
            .limit(MOST_SORTED)
            .subquery()
        )
        by_value = newest.c.value.desc() if is_descending else newest.c.value.asc()
        ordered = (by_value.nulls_last(), newest.c.started_at.desc(), newest.c.id.desc())
        places = select(newest.c.id, func.row_number().over(order_by=ordered).label("place")).subquery()
        page = select(places).order_by(places.c.place).limit(limit).offset(offset).subquery()
        rows = self._connection.execute(
            select(transfers).join(page, page.c.id == transfers.c.id).order_by(page.c.place)
        )
        return [_build_stored(row, now) for row in rows]

    def count_files(self, transfer: TransferSummary) -> MovedFiles | None:
        """Return the files of a finished transfer; ``None`` where no log of it is stored."""
        row = self._connection.execute(
            statements.COUNT_FILES, {"transfer_id": transfer.transfer_id, "started_at": transfer.started_at}
        ).first()
        return None if row is None else MovedFiles(row.files_done, row.files_failed)

    def find_energy_leads(self, known: Collection[TransferSummary]) -> Mapping[UUID, float]:
        """Return the joules below their energy SLA, of those of the transfers whose last stored tick was metered."""
        places = [(each.transfer_id, each.started_at, each.journalled_sequence) for each in known]
        sample = transfer_samples.c
        rows = self._connection.execute(
            select(sample.transfer_id, sample.sla_bank).where(
                tuple_(sample.transfer_id, sample.transfer_started_at, sample.sequence).in_(places),
                sample.power_w.is_not(None),
                sample.sla_bank.is_not(None),
            )
        )
        return {row.transfer_id: row.sla_bank for row in rows}

    def list_names_with(self, text: str) -> Collection[str]:
        """Return the names of endpoints of transfers that have a text in them, and the text itself."""
        return frozenset(self._connection.execute(statements.NAMES_WITH, {"text": text}).scalars()) | {text}

    def get(self, transfer_id: UUID, *, now: datetime) -> StoredTransfer:
        """Return what is stored of the transfer.

        Raises
        ------
        NotFound : the tenant has none of this id.
        """
        row = self._connection.execute(select(transfers).where(transfers.c.id == transfer_id)).one_or_none()
        if row is None:
            raise NotFound("no such transfer")
        return _build_stored(row, now)

    def list_samples(self, transfer: TransferSummary, *, after: int, limit: int) -> Sequence[TransferSample]:
        """Return at most ``limit`` samples with a sequence above ``after``, in order."""
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
        return [to_sample(row) for row in rows]

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
            "enquiry": workload.request and workload.request.model_dump(mode="json", exclude_none=True),
            "expected": news.start and news.start.expected.model_dump(mode="json", exclude_none=True),
            "key_id": news.owner or (news.start.key_id if news.start else self._key_id),
            "file_count": workload.file_count,
            "total_bytes": workload.total_bytes,
            "last_heartbeat_at": news.heard_at,
            "silent_at": news.silent_at,
            "sequence": last.sequence if last else -1,
            "journalled_sequence": -1,
            "bytes_moved": last.bytes_moved if last else 0,
            "throughput_bps": last.throughput_bps if last else None,
        }

    def _replace_older(self, rows: Sequence[Mapping[str, Any]]) -> None:
        key = ("tenant_id", "transfer_id", "transfer_started_at", "sequence")
        columns = transfer_samples.c
        self._connection.execute(
            update(transfer_samples)
            .where(*(columns[name] == bindparam(f"{name}_") for name in key), columns.at < bindparam("at_"))
            .values({name: bindparam(f"{name}_") for name in rows[0] if name not in key}),
            [{f"{name}_": value for name, value in row.items()} for row in rows],
        )


def _to_failure_values(failure: WireFailure | None) -> dict[str, str | None]:
    return {
        "new_failure_kind": None if failure is None else failure.kind.value,
        "new_failure": None if failure is None else failure.reason,
    }


def _is_of_other_key(owner: UUID | None, noted: UUID | None) -> bool:
    return owner is not None and noted is not None and owner != noted


def _state(row: Row[Any], now: datetime) -> TransferState:
    if row.ended_at is not None:
        return TransferState.ENDED
    silent_at = row.silent_at
    return TransferState.LIVE if silent_at is not None and silent_at > now else TransferState.SILENT


def _build_stored(row: Row[Any], now: datetime) -> StoredTransfer:
    return StoredTransfer(
        summary=_build_summary(row, now),
        request=row.enquiry,
        expected=None if row.expected is None else ExpectedOutcome.model_validate(row.expected),
        duration_s=row.duration_s,
        energy=tuple(WireEnergy.model_validate(reading) for reading in row.energy or ()),
        owner=row.key_id,
    )


def _build_summary(row: Row[Any], now: datetime) -> TransferSummary:
    made = {"transfer_id", "state", "agreement_promised"}
    plain = {name: getattr(row, name) for name in TransferSummary.model_fields.keys() - made}
    promised = None if row.expected is None else row.expected.get("feasible")
    return TransferSummary(transfer_id=row.id, state=_state(row, now), agreement_promised=promised, **plain)
