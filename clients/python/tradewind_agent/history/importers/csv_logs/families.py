"""CSV logs of transfer sweeps: rows of settings, sizes and throughputs, with or without energy, in any units."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from operator import itemgetter

from tradewind.dataset import DataSet
from tradewind.energy.measured import EnergyReading
from tradewind.errors import InvalidValue
from tradewind.path import Path
from tradewind.transfer import Direction, Status, TransferOutcome, TransferRecord
from tradewind.units import BITS_PER_BYTE, compute_throughput_bps, format_bps, format_bytes, format_count
from tradewind_agent.history.importers.csv_energy import EnergyColumns
from tradewind_agent.history.importers.csv_logs.attempts import Item, find_attempt, take_last_attempts
from tradewind_agent.history.importers.csv_logs.clock.row_clock import RowClock
from tradewind_agent.history.importers.csv_logs.columns import Columns, is_tuned
from tradewind_agent.history.importers.csv_logs.doubts.row_doubts import RowDoubts
from tradewind_agent.history.importers.csv_logs.doubts.sums import RunningSums
from tradewind_agent.history.importers.csv_logs.header import read_head
from tradewind_agent.history.importers.csv_logs.names import UNIQUE, is_identity, to_plain
from tradewind_agent.history.importers.csv_logs.repeated import (
    DATA_SET_COLUMNS,
    ENDS_COLUMNS,
    GROUP_COLUMNS,
    PARAMETER_COLUMNS,
    PATH_COLUMNS,
    RepeatedFields,
)
from tradewind_agent.history.importers.csv_logs.rows import is_totals, join_rows, repeats_header
from tradewind_agent.history.importers.csv_logs.units import CsvReading, infer_columns
from tradewind_agent.history.importers.csv_logs.units_inference import RATE_UNITS, TIME_UNITS
from tradewind_agent.history.importers.csv_verdicts import NoTransfer, find_commanded_direction
from tradewind_agent.history.importers.fields import (
    UNKNOWN_TEXTS,
    check_instant,
    compute_positive_if_known,
    parse_number,
    parse_positive,
    read_number_if_known,
    require_name,
    require_possible_rate,
    round_within,
)
from tradewind_agent.history.importers.identity import compute_record_id
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.ports import (
    ImportContext,
    ImportedRow,
    ImportReport,
    RefusedRow,
    refuse_row,
)
from tradewind_agent.history.importers.repeats import RepeatedTransfers
from tradewind_agent.history.importers.sessions import add_concurrency

_SIZE_TOLERANCE = 0.05
"""Share by which throughput · duration may miss the size where the file as a whole agrees."""

_TITLES_SHOWN = 12
_TITLE_SHOWN = 40
"""Columns that are not read: how many are named, and by how many characters."""

_SHORTEST_S = 1e-6
_LONGEST_S = 3.2e9


class CsvImporter:
    """Rows of a CSV file whose header names what a transfer log needs, called and scaled in any of many ways."""

    name = "csv"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield records and refusals; otherwise as ``Importer.read_rows``.

        A pass before the first determines the units.
        """
        columns, last_line = read_head(text, context)
        reader = _RowReader(infer_columns(columns, text, context, report), context, report)
        if unread := reader.doubts.list_unread(columns):
            unread_titles = ", ".join(title[:_TITLE_SHOWN] for title in unread[:_TITLES_SHOWN])
            more = f" and {len(unread) - _TITLES_SHOWN} more" if len(unread) > _TITLES_SHOWN else ""
            report.assume(f"columns that are not known tell nothing of a transfer: {unread_titles}{more}")
        rows = _list_rows(join_rows(columns, text.read_lines()), last_line, reader, report)
        return rows if is_tuned(columns) else add_concurrency(rows, report)


def shows_overlap(text: LogText) -> bool:
    """Return whether a CSV log has no settings, so that only simultaneous rows show how many transfers ran at once."""
    try:
        return not is_tuned(read_head(text, ImportContext())[0])
    except InvalidValue:
        return False


def _list_rows(
    lines: Iterator[Line], last_line: Line, reader: "_RowReader", report: ImportReport
) -> Iterator[ImportedRow | RefusedRow]:
    left_out: Counter[NoTransfer] = Counter()
    columns = reader.columns

    def list_data() -> Iterator[Line]:
        for line in lines:
            if line.number <= last_line.number or line.text == last_line.text:
                continue
            if line.fault is None and is_totals(columns, line.text):
                report.skip("rows of totals and of averages")
            elif line.fault is not None or not repeats_header(columns, line.text):
                yield line

    for item in reader.read_all(list_data()):
        if isinstance(item, NoTransfer):
            left_out[item] += 1
        else:
            yield item
    for why, rows in left_out.items():
        report.assume(f"rows {why.value} are no transfers to record: {format_count(rows, 'row')} left out")


def _require_possible_duration_s(duration_s: float) -> float:
    if not _SHORTEST_S <= duration_s <= _LONGEST_S:
        raise InvalidValue("ended_at", f"is not after started_at by a possible time: {duration_s:g} s")
    return duration_s


class _RowReader:
    """Turns rows into records, given what the columns mean."""

    def __init__(self, reading: CsvReading, context: ImportContext, report: ImportReport) -> None:
        columns = reading.columns
        if "source" not in columns.place:
            require_name("source", "--source", context.source)
        if "destination" not in columns.place:
            require_name("destination", "--destination", context.destination)
        self._reading = reading
        self._width = len(columns.header)
        self._place = columns.place
        self._repeated = RepeatedFields(reading, context, report)
        self._clock = RowClock(reading.times, context, report)
        self._report = report
        self.doubts = RowDoubts(columns, reading.statuses, reading.units.size)
        self._sums, self._is_last = RunningSums(reading.times), False
        self._energy = EnergyColumns(reading, context.energy_host)
        self._path_texts = self._make_text_picker(*PATH_COLUMNS)
        self._parameter_texts = self._make_text_picker(*PARAMETER_COLUMNS)
        self._data_set_texts = self._make_text_picker(*DATA_SET_COLUMNS)
        self._ends_texts = self._make_text_picker(*ENDS_COLUMNS)
        self._rate_texts = self._make_text_picker("throughput", "duration")
        self._energy_texts = self._make_text_picker("total_energy", "dynamic_energy")
        self._group_texts = self._make_text_picker(*GROUP_COLUMNS)
        self._repeats = RepeatedTransfers()
        self._identities = {to_plain(title) for title in columns.header if is_identity(title)}
        self._has_energy = "total_energy" in columns.place
        self._direction = self._assume_direction(report)
        self._operation_at = self._place.get("operation", self._width)
        self._moved_at = self._place.get("moved_size", self._width)
        self._size_at = next(
            (self._place[each] for each in ("moved_size", "total_size", "file_size") if each in self._place),
            self._width,
        )

    @property
    def columns(self) -> Columns:
        return self._reading.columns

    def read_all(self, lines: Iterator[Line]) -> Iterator[Item]:
        """Yield what rows say; of the attempts of a transfer the last one."""
        columns = self._reading.columns
        find = find_attempt(columns)
        rows = self._note_last(lines)
        if find is None:
            return map(self.read, rows)
        return take_last_attempts((self.read(line), *find(columns.split(line.text))) for line in rows)

    def _note_last(self, lines: Iterator[Line]) -> Iterator[Line]:
        """Yield the lines, having noted whether another one follows."""
        line = next(lines, None)
        while line is not None:
            following = next(lines, None)
            self._is_last = following is None
            yield line
            line = following

    def read(self, line: Line) -> ImportedRow | RefusedRow | NoTransfer:
        if line.fault is not None:
            return refuse_row(line.number, line.fault, line.text)
        try:
            return self._read(line)
        except InvalidValue as invalid:
            return refuse_row(line.number, invalid, line.text)

    def _is_unique(self, ended_at: datetime) -> bool:
        """Return whether equal rows are of one transfer, whatever is between them: many tables only name a batch."""
        return bool(self._identities & UNIQUE) or (bool(self._identities) and ended_at.microsecond != 0)

    def _read(self, line: Line) -> ImportedRow | NoTransfer:
        row = [*self._reading.columns.split_fields(line.text), ""]
        if line.is_open:
            written = self._reading.columns.split(line.text)
            self._reading.last_column.require_complete(line.text, written, is_checked=self._reading.sizes_agree)
        status = self._reading.statuses.read(row)
        if isinstance(status, NoTransfer):
            return status
        if status is Status.SUCCEEDED:
            if self._has_moved_nothing(row):
                return NoTransfer.EMPTY
            self.doubts.require_none(row)
        path = self._repeated.path(self._path_texts(row))
        dataset = self._repeated.data_set(self._data_set_texts(row))
        outcome, duration_s = self._build_outcome(row, status, dataset, path)
        ends = self._repeated.ends(self._ends_texts(row))
        if ends.in_place:
            return NoTransfer.SKIPPED
        self._sums.require_own(row, dataset.total_bytes, duration_s, is_last=self._is_last)
        started_at = self._clock.find_start(row, duration_s)
        ended_at = check_instant("ended_at", started_at + timedelta(seconds=duration_s))
        if self._repeats.is_repeated(line.text, started_at, ended_at, is_unique=self._is_unique(ended_at)):
            return NoTransfer.IN_TWICE
        self._clock.note_end(ended_at)
        record = TransferRecord(
            id=compute_record_id(ends.link, line),
            started_at=started_at,
            ended_at=ended_at,
            source=ends.source,
            destination=ends.destination,
            mover=ends.mover,
            protocol=ends.protocol,
            direction=find_commanded_direction(row[self._operation_at]) or ends.direction or self._direction,
            dataset=dataset,
            outcome=outcome,
            path=path,
            parameters=self._repeated.parameters(self._parameter_texts(row)),
            network=ends.network,
            energy=self._read_energy(row, duration_s) if self._has_energy else (),
        )
        return ImportedRow(record, line.number, self._repeated.group(self._group_texts(row)))

    def _has_moved_nothing(self, row: list[str]) -> bool:
        """Return whether a row without a failure counts no bytes, as of a file that was there already."""
        return row[self._size_at].strip() in ("0", "0.0") and row[self._size_at] != ""

    def _make_text_picker(self, *quantities: str) -> Callable[[list[str]], tuple[str, ...]]:
        """Picks the texts of quantities out of a row that ends with an empty text, which stands for absent columns."""
        return itemgetter(*(self._place.get(quantity, self._width) for quantity in quantities))

    def _build_outcome(
        self, row: list[str], status: Status, dataset: DataSet, path: Path
    ) -> tuple[TransferOutcome, float]:
        """Return how the transfer of a row ended, and how long it lasted, s."""
        moved = self._read_moved(row)
        if status is Status.SUCCEEDED:
            moved_bytes = dataset.total_bytes if moved is None else min(moved, dataset.total_bytes)
            self.doubts.require_moved(row, moved_bytes, dataset.total_bytes)
            rate_bps, duration_s = self._compute_rate_and_duration(row, moved_bytes, path)
        else:
            rate_bps, duration_s = self._read_unfinished(row, moved)
            moved_bytes = min(round(rate_bps * duration_s / BITS_PER_BYTE), dataset.total_bytes)
            require_possible_rate(rate_bps, path.bandwidth_bps)
        succeeded = status is Status.SUCCEEDED
        outcome = TransferOutcome(
            status=status,
            bytes_moved=moved_bytes,
            files_done=dataset.file_count if succeeded else 0,
            files_failed=0 if succeeded else dataset.file_count,
            throughput_bps=rate_bps,
        )
        return outcome, duration_s

    def _read_moved(self, row: list[str]) -> int | None:
        """Return the bytes that a row says were moved, of those that were to be; ``None`` where it does not."""
        number = read_number_if_known("outcome.bytes_moved", row[self._moved_at])
        if number is None:
            return None
        return round_within("outcome.bytes_moved", number * self._reading.bytes_per_moved_size, 0)

    def _read_unfinished(self, row: list[str], moved: int | None) -> tuple[float, float]:
        """Return rate and duration of a transfer that did not succeed; its size is what it was to move."""
        throughput, _ = self._rate_texts(row)
        duration_s = self._compute_duration_s(row)
        if duration_s is None:
            raise InvalidValue("ended_at", "is missing of a transfer that did not succeed")
        duration_s = self._reading.times.settle_minutes(row, duration_s)
        if moved is not None:
            return compute_throughput_bps(moved, duration_s), _require_possible_duration_s(duration_s)
        if throughput.strip().lower() in UNKNOWN_TEXTS:
            self._report.assume("what a transfer moved before it failed is not in the file and is recorded as nothing")
            return 0.0, _require_possible_duration_s(duration_s)
        rate_bps = parse_number("outcome.throughput_bps", throughput) * RATE_UNITS[self._reading.units.throughput]
        return rate_bps, _require_possible_duration_s(duration_s)

    def _compute_duration_s(self, row: list[str]) -> float | None:
        if "duration" in self._place:
            title = self._reading.columns.find_title("duration")
            scale = TIME_UNITS[self._reading.units.duration]
            duration_s = compute_positive_if_known(title, self._rate_texts(row)[1], scale)
            if duration_s is not None and self._reading.durations_agree:
                self._reading.times.require_duration(row, title, duration_s)
            return duration_s
        return self._reading.times.compute_duration_s(row)

    def _compute_rate_and_duration(self, row: list[str], moved_bytes: int, path: Path) -> tuple[float, float]:
        units = self._reading.units
        throughput, _ = self._rate_texts(row)
        duration_s = self._compute_duration_s(row)
        if "throughput" in self._place:
            rate_bps = parse_positive("outcome.throughput_bps", throughput, RATE_UNITS[units.throughput])
        elif duration_s is None:
            raise InvalidValue("outcome.throughput_bps", "is missing, and so is the duration")
        else:
            rate_bps = compute_throughput_bps(moved_bytes, duration_s)
        require_possible_rate(rate_bps, path.bandwidth_bps)
        by_size_s = BITS_PER_BYTE * moved_bytes / rate_bps
        if duration_s is None:
            duration_s = by_size_s
        elif "throughput" in self._place:
            duration_s = self._reading.times.settle_minutes(row, duration_s, by_size_s)
        if self._reading.sizes_agree and abs(by_size_s / duration_s - 1) > _SIZE_TOLERANCE:
            found = f"{format_bps(rate_bps)} for {duration_s:.6g} s, {format_bytes(moved_bytes)}"
            raise InvalidValue("outcome.throughput_bps", f"contradicts duration and size: {found}")
        return rate_bps, _require_possible_duration_s(duration_s)

    def _read_energy(self, row: list[str], duration_s: float) -> tuple[EnergyReading, ...]:
        total, dynamic = self._energy_texts(row)
        return self._energy.read(total, dynamic, duration_s)

    def _assume_direction(self, report: ImportReport) -> Direction:
        """Assume a download if the log has the state of one host, else a third party's transfer.

        A log with such a state was written by a client that fetched.
        """
        if self._has_energy:
            report.assume(
                f"energy is of the {self._energy.host} end and from a meter; how it was measured is not in the file, "
                "so that its quality is given as assumed"
            )
        measured_here = self._has_energy or "cores" in self._place
        direction = Direction.DOWNLOAD if measured_here else Direction.THIRD_PARTY
        report.assume(f"the direction is not in the file and is recorded as {direction}")
        return direction
