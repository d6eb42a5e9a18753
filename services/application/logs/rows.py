"""Lines of a batch on their way to be stored: parsed, checked against what is known of their link, or refused."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from services.application.logs.lines import Line
from services.application.logs.ports import LinkRepository
from services.application.transfers.owners import TransferOwners
from tradewind.errors import InvalidValue
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.transfer import LinkKey
from tradewind.units import KIB
from tradewind.wire.logs import ALREADY_STORED
from tradewind.wire.records import RATE_TOLERANCE, WirePath, WireRecord, parse_row

RAW_KEPT_BYTES = 64 * KIB
"""Of the longest line that is kept in the quarantine: one that is cut can never be tried again as it was."""

NUL = b"\x00"
"""PostgreSQL's text holds none."""


@dataclass(frozen=True, slots=True)
class KnownLink:
    """A stored link and what its endpoints' owner says of its path."""

    id: UUID
    path: Path = UNKNOWN_PATH


class AcceptedRow(NamedTuple):
    row: int
    record: WireRecord
    link: KnownLink


class RejectedRow(NamedTuple):
    """``raw`` : the line as it came; ``None`` where it is too long to keep, or no text that can be stored unchanged."""

    row: int
    field: str
    reason: str
    raw: str | None


@dataclass(frozen=True, slots=True)
class NewRows:
    """What a batch adds to a link."""

    rows: int
    last_log_at: datetime


LinkNames = tuple[str, str, str | None, str]
"""Source, destination, network and mover, as a record names them."""


@dataclass(slots=True)
class LinkTally:
    """A link under one of its names, and what the batch brings to it so far."""

    link: KnownLink
    rows: int
    last_log_at: datetime


class LinkBook:
    """The links that a batch has met.

    Parameters
    ----------
    before_asking : returns when ``links`` may be asked.
    """

    def __init__(self, links: LinkRepository, *, before_asking: Callable[[], None]) -> None:
        self._links = links
        self._before_asking = before_asking
        self._known: dict[LinkNames, LinkTally] = {}

    def recall(self, names: LinkNames) -> LinkTally | None:
        return self._known.get(names)

    def look_up(self, rows: Iterable[WireRecord]) -> None:
        """Know the links of these records from now on."""
        unknown = {names: record.ended_at for record in rows if (names := _link_names(record)) not in self._known}
        if not unknown:
            return
        keys = {names: LinkKey(*names) for names in unknown}
        self._before_asking()
        found = self._links.resolve(keys.values())
        for names, key in keys.items():
            self._known[names] = LinkTally(found[key], 0, unknown[names])

    def new_rows(self) -> Mapping[UUID, NewRows]:
        """What the batch brings, by link; a link may have been met under several names."""
        totals: dict[UUID, NewRows] = {}
        for tally in self._known.values():
            if tally.rows:
                before = totals.get(tally.link.id, NewRows(0, tally.last_log_at))
                last_log_at = max(before.last_log_at, tally.last_log_at)
                totals[tally.link.id] = NewRows(before.rows + tally.rows, last_log_at)
        return totals


ROWS_AT_ONCE = 200
"""Rows that wait for one look-up, so that few records are alive together."""

MOST_REMEMBERED = 100_000
"""Transfers of one upload; those before are looked up again."""

OF_ANOTHER_KEY = "is of a transfer that another key began: upload its log with that key"


class OwnerBook:
    """Transfers that a batch has met, by whether they are another key's.

    Parameters
    ----------
    before_asking : returns when ``owners`` may be asked.
    """

    def __init__(self, owners: TransferOwners, *, before_asking: Callable[[], None]) -> None:
        self._owners = owners
        self._before_asking = before_asking
        self._known: dict[UUID, bool] = {}

    def is_known(self, transfer_id: UUID | None) -> bool:
        """Return whether the transfer was looked up, or the record names none."""
        return transfer_id is None or transfer_id in self._known

    def look_up(self, rows: Iterable[WireRecord]) -> None:
        """Look up whose the transfers of these records are."""
        if len(self._known) > MOST_REMEMBERED:
            self._known.clear()
        unknown = {row.transfer_id for row in rows if row.transfer_id is not None} - self._known.keys()
        if not unknown:
            return
        self._before_asking()
        others = self._owners.select_others_logs(unknown)
        self._known |= {transfer_id: transfer_id in others for transfer_id in unknown}

    def require_own(self, record: WireRecord) -> None:
        """Raise ``InvalidValue`` where the record is of a transfer that another key began."""
        if record.transfer_id is not None and self._known[record.transfer_id]:
            raise InvalidValue("transfer_id", OF_ANOTHER_KEY)


class Block:
    """Lines on their way to be stored: iterating parses them one by one, and puts aside what is refused.

    A record lives only until whoever iterates has rendered it: thousands of records kept alive cost more time in the
    garbage collector than parsing does.

    Parameters
    ----------
    earliest, latest : what began before the one, or ended after the other, is refused.
    """

    def __init__(
        self,
        lines: Iterable[Line],
        links: LinkBook,
        owners: OwnerBook,
        *,
        earliest: datetime | None,
        latest: datetime,
    ) -> None:
        self._lines = lines
        self._links = links
        self._owners = owners
        self._earliest = earliest
        self._latest = latest
        self._tallies: dict[int, LinkTally] = {}
        self.rejected: list[RejectedRow] = []

    @property
    def accepted(self) -> int:
        return len(self._tallies)

    def __iter__(self) -> Iterator[AcceptedRow]:
        waiting: list[tuple[Line, WireRecord]] = []
        for line in self._lines:
            try:
                record = _parse(line, self._earliest, self._latest)
                tally = self._links.recall(_link_names(record))
                if tally is None or not self._owners.is_known(record.transfer_id):
                    waiting.append((line, record))
                else:
                    self._owners.require_own(record)
                    yield self._accept(line, record, tally)
            except InvalidValue as wrong:
                self._reject(line, wrong)
            if len(waiting) >= ROWS_AT_ONCE:
                yield from self._once_looked_up(waiting)
                waiting = []
        if waiting:
            yield from self._once_looked_up(waiting)

    def _once_looked_up(self, rows: Sequence[tuple[Line, WireRecord]]) -> Iterator[AcceptedRow]:
        self._links.look_up(record for _, record in rows)
        self._owners.look_up(record for _, record in rows)
        for line, record in rows:
            tally = self._links.recall(_link_names(record))
            assert tally is not None
            try:
                self._owners.require_own(record)
                yield self._accept(line, record, tally)
            except InvalidValue as wrong:
                self._reject(line, wrong)

    def refuse(self, stored_before: Collection[int]) -> None:
        """Turn accepted rows into refused ones whose record turned out to be stored already."""
        for row in stored_before:
            self._tallies.pop(row).rows -= 1
            self.rejected.append(RejectedRow(row, "id", ALREADY_STORED, None))
        self.rejected.sort()

    def _accept(self, line: Line, record: WireRecord, tally: LinkTally) -> AcceptedRow:
        if tally.link.path is not UNKNOWN_PATH:
            record = _on_known_path(record, tally.link.path)
        tally.rows += 1
        tally.last_log_at = max(tally.last_log_at, record.ended_at)
        self._tallies[line.number] = tally
        return AcceptedRow(line.number, record, tally.link)

    def _reject(self, line: Line, wrong: InvalidValue) -> None:
        self.rejected.append(RejectedRow(line.number, wrong.field, wrong.reason, _kept_whole(line)))


def _kept_whole(line: Line) -> str | None:
    if line.too_long or len(line.content) > RAW_KEPT_BYTES or NUL in line.content:
        return None
    try:
        return line.content.decode()
    except UnicodeDecodeError:
        return None


def _link_names(record: WireRecord) -> LinkNames:
    return (record.source, record.destination, record.network, record.mover.name)


def _parse(line: Line, earliest: datetime | None, latest: datetime) -> WireRecord:
    if line.too_long:
        raise InvalidValue("row", "is longer than 1 MiB")
    record = parse_row(line.content)
    if record.ended_at > latest:
        raise InvalidValue("ended_at", "lies in the future")
    if earliest is not None and record.started_at < earliest:
        raise InvalidValue("started_at", f"lies in a month that is closed; logs are taken from {earliest:%Y-%m} on")
    if len(record.energy) > 1 and record.energy[0].host is record.energy[1].host:
        raise InvalidValue("energy", f"names the {record.energy[0].host} host twice")
    return record


def _on_known_path(record: WireRecord, known: Path) -> WireRecord:
    """The record with what it does not say of its path taken from the endpoint's known pairs."""
    if known.bandwidth_bps is not None and record.outcome.throughput_bps > RATE_TOLERANCE * known.bandwidth_bps:
        raise InvalidValue("outcome.throughput_bps", "is above the link's known rate; see the endpoint's known pairs")
    stated = record.path or WirePath()
    missing = {
        name: getattr(known, name)
        for name in ("bandwidth_bps", "rtt_s", "buffer_bytes")
        if getattr(stated, name) is None and getattr(known, name) is not None
    }
    return record.model_copy(update={"path": stated.model_copy(update=missing)}) if missing else record
