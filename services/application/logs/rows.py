"""Parse the lines of a batch, and check them against what is known of their link; reject invalid ones."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from services.application.logs.lines import Line
from services.application.logs.ports import LinkRepository
from services.application.transfers.owners import TransferOwners
from tradewind.dataset import ChunkKind
from tradewind.errors import InvalidValue
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.transfer import RATE_TOLERANCE, LinkKey
from tradewind.units import KIB
from tradewind.wire.logs import ALREADY_STORED
from tradewind.wire.records import WirePath, WireRecord, parse_row

MAX_RAW_BYTES = 64 * KIB
"""Longest line that is stored in the quarantine: a shortened line could not be retried unchanged."""

NUL = b"\x00"
"""PostgreSQL's text cannot store it."""


@dataclass(frozen=True, slots=True)
class KnownLink:
    """A stored link and what the owner of its endpoints declares of its path."""

    id: UUID
    path: Path = UNKNOWN_PATH


class AcceptedRow(NamedTuple):
    row: int
    record: WireRecord
    link: KnownLink


class RejectedRow(NamedTuple):
    """A rejected line. ``raw`` : the line unchanged; ``None`` where it is too long, or cannot be stored as text."""

    row: int
    field: str
    reason: str
    raw: str | None


@dataclass(frozen=True, slots=True)
class NewRows:
    """The number of rows that a batch adds to a link, and the time of the last."""

    rows: int
    last_log_at: datetime


LinkNames = tuple[str, str, str | None, str]
"""Source, destination, network and mover, as a record names them."""


@dataclass(slots=True)
class LinkTally:
    """A link under one of its names, and the rows that the batch has added to it so far."""

    link: KnownLink
    rows: int
    last_log_at: datetime


MOST_LINKS_OF_KEY = 20_000
"""Links that uploads of one key make: each is looked at by every fit and page. A grid of 140 sites has as many."""

NO_ROOM_FOR_LINK = f"makes a new link, and uploads of this key have made {MOST_LINKS_OF_KEY:,}, the limit"


class BatchLinks:
    """The links that occur in a batch.

    Parameters
    ----------
    before_query : returns when ``links`` may be queried.
    """

    def __init__(self, links: LinkRepository, *, before_query: Callable[[], None]) -> None:
        self._links = links
        self._before_query = before_query
        self._known: dict[LinkNames, LinkTally | None] = {}

    def recall(self, names: LinkNames) -> LinkTally | None:
        """Return the link if it was looked up before.

        Raises
        ------
        InvalidValue : it is a new one, and the key may make no more.
        """
        found = self._known.get(names)
        if found is None and names in self._known:
            raise InvalidValue("destination", NO_ROOM_FOR_LINK)
        return found

    def look_up(self, rows: Iterable[WireRecord]) -> None:
        """Look up the links of these records that are not known yet."""
        unknown = {names: record.ended_at for record in rows if (names := _link_names(record)) not in self._known}
        if not unknown:
            return
        keys = {names: LinkKey(*names) for names in unknown}
        self._before_query()
        found = self._links.resolve(keys.values())
        for names, key in keys.items():
            link = found.get(key)
            self._known[names] = None if link is None else LinkTally(link, 0, unknown[names])

    def sum_new_rows(self) -> Mapping[UUID, NewRows]:
        """Return the new rows of the batch by link; a link may occur under several names."""
        totals: dict[UUID, NewRows] = {}
        for tally in self._known.values():
            if tally is not None and tally.rows:
                before = totals.get(tally.link.id, NewRows(0, tally.last_log_at))
                last_log_at = max(before.last_log_at, tally.last_log_at)
                totals[tally.link.id] = NewRows(before.rows + tally.rows, last_log_at)
        return totals


ROWS_AT_ONCE = 200
"""Rows that wait for one look-up, so that few records are in memory together."""

MAX_REMEMBERED = 100_000
"""Transfers of one upload in memory; beyond that, earlier ones are looked up again."""

CHUNK_OF_NO_TRANSFER = (
    "is missing: a chunk is counted with its transfer, by the record with this transfer_id and chunk `whole`; "
    "leave out `chunk` of a transfer that was not sent in chunks"
)
"""A chunk by itself would be stored, and counted by no sum of transfers."""

OF_ANOTHER_KEY = "is of a transfer that another key started: upload its log with that key"


class BatchOwners:
    """The transfers that occur in a batch, and whether they are of another key.

    Parameters
    ----------
    before_query : returns when ``owners`` may be queried.
    """

    def __init__(self, owners: TransferOwners, *, before_query: Callable[[], None]) -> None:
        self._owners = owners
        self._before_query = before_query
        self._known: dict[UUID, bool] = {}

    def is_known(self, transfer_id: UUID | None) -> bool:
        """Return whether the transfer was looked up, or the record names none."""
        return transfer_id is None or transfer_id in self._known

    def look_up(self, rows: Iterable[WireRecord]) -> None:
        """Look up the owners of these records' transfers."""
        if len(self._known) > MAX_REMEMBERED:
            self._known.clear()
        unknown = {row.transfer_id for row in rows if row.transfer_id is not None} - self._known.keys()
        if not unknown:
            return
        self._before_query()
        others = self._owners.select_others_logs(unknown)
        self._known |= {transfer_id: transfer_id in others for transfer_id in unknown}

    def require_own(self, record: WireRecord) -> None:
        """Raise ``InvalidValue`` where the record is of a transfer of another key."""
        if record.transfer_id is not None and self._known[record.transfer_id]:
            raise InvalidValue("transfer_id", OF_ANOTHER_KEY)


class Block:
    """A block of lines; iterating parses them one by one and collects the rejected ones.

    A record lives only until its consumer has rendered it: thousands of live records would cost more time in the
    garbage collector than parsing does.

    Parameters
    ----------
    earliest, latest : a record that started before the one, or ended after the other, is rejected.
    """

    def __init__(
        self,
        lines: Iterable[Line],
        links: BatchLinks,
        owners: BatchOwners,
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
                yield from self._accept_after_look_up(waiting)
                waiting = []
        if waiting:
            yield from self._accept_after_look_up(waiting)

    def _accept_after_look_up(self, rows: Sequence[tuple[Line, WireRecord]]) -> Iterator[AcceptedRow]:
        self._links.look_up(record for _, record in rows)
        self._owners.look_up(record for _, record in rows)
        for line, record in rows:
            try:
                tally = self._links.recall(_link_names(record))
                assert tally is not None
                self._owners.require_own(record)
                yield self._accept(line, record, tally)
            except InvalidValue as wrong:
                self._reject(line, wrong)

    def reject_stored(self, stored_before: Collection[int]) -> None:
        """Reject accepted rows whose record turned out to be stored already."""
        for row in stored_before:
            self._tallies.pop(row).rows -= 1
            self.rejected.append(RejectedRow(row, "id", ALREADY_STORED, None))
        self.rejected.sort()

    def _accept(self, line: Line, record: WireRecord, tally: LinkTally) -> AcceptedRow:
        if tally.link.path is not UNKNOWN_PATH:
            record = _complete_path(record, tally.link.path)
        tally.rows += 1
        tally.last_log_at = max(tally.last_log_at, record.ended_at)
        self._tallies[line.number] = tally
        return AcceptedRow(line.number, record, tally.link)

    def _reject(self, line: Line, wrong: InvalidValue) -> None:
        self.rejected.append(RejectedRow(line.number, wrong.field, wrong.reason, _make_storable(line)))


def _make_storable(line: Line) -> str | None:
    if line.too_long or len(line.content) > MAX_RAW_BYTES or NUL in line.content:
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
        raise InvalidValue("started_at", f"lies in a month that is closed; logs are accepted from {earliest:%Y-%m} on")
    if len(record.energy) > 1 and record.energy[0].host is record.energy[1].host:
        raise InvalidValue("energy", f"names the {record.energy[0].host} host twice")
    if record.transfer_id is None and record.chunk not in {None, ChunkKind.WHOLE}:
        raise InvalidValue("transfer_id", CHUNK_OF_NO_TRANSFER)
    return record


def _complete_path(record: WireRecord, known: Path) -> WireRecord:
    """Return the record with missing values of its path taken from the endpoint's known pairs."""
    if known.bandwidth_bps is not None and record.outcome.throughput_bps > RATE_TOLERANCE * known.bandwidth_bps:
        raise InvalidValue("outcome.throughput_bps", "is above the link's known rate; see the endpoint's known pairs")
    stated = record.path or WirePath()
    missing = {
        name: getattr(known, name)
        for name in ("bandwidth_bps", "rtt_s", "buffer_bytes")
        if getattr(stated, name) is None and getattr(known, name) is not None
    }
    return record.model_copy(update={"path": stated.model_copy(update=missing)}) if missing else record
