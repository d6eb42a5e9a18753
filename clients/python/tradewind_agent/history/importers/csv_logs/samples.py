"""First pass over a CSV log: thinned samples of its rows, flat in memory, that units are inferred from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.clock.times import TimeColumns
from tradewind_agent.history.importers.csv_logs.columns import Columns, is_title, read_header
from tradewind_agent.history.importers.csv_logs.rows import is_totals, join_rows
from tradewind_agent.history.importers.log_text import Line

SAMPLES_A_SET = 256
"""Rows of a set that are looked at, up to twice as many; medians of so many are within a few percent of the whole."""

MAX_SETS = 256
"""Sets that are distinguished by file type, label and size; in a file with more, the rest count as one."""

_LONGEST_GAP_S = 86400.0
_SMALLEST = 1e-12
_LARGEST = 1e18
"""No quantity in any unit lies outside; ratios of sampled numbers stay finite."""

SetKey = tuple[str, str, str]
"""File type, set label and size as written."""

RowPair = tuple[list[str], list[str] | None]
"""A row and the one that follows it in the file."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What one row measures, as written unless the name has a unit; ``None`` for what is missing or no positive number.

    ``gap_s`` is the time to the start of the next row.
    """

    throughput: float | None
    bandwidth: float | None
    size: float | None
    file_count: float | None
    duration: float | None
    energy_j: float | None
    gap_s: float | None

    def compute_data_set_size(self, *, in_total: bool) -> float | None:
        """Size of the whole data set, the size column taken as a file's or as the whole's."""
        if self.size is None or in_total:
            return self.size
        return self.size * (self.file_count or 1.0)


@dataclass(slots=True)
class _RowSampler:
    """Every ``step``-th row; the step doubles when there are too many."""

    step: int = 1
    seen: int = 0
    rows: list[RowPair] = field(default_factory=list)

    def add(self, pair: RowPair) -> None:
        if self.seen % self.step == 0:
            self.rows.append(pair)
            if len(self.rows) >= 2 * SAMPLES_A_SET:
                self.rows = self.rows[::2]
                self.step *= 2
        self.seen += 1


def compute_median(values: Sequence[float]) -> float | None:
    """Return the median of values, ``None`` where there are none."""
    return median(values) if values else None


def compute_quantile(values: Sequence[float], share: float) -> float | None:
    """Sample quantile at the nearest lower rank, ``None`` of none."""
    return sorted(values)[int(share * (len(values) - 1))] if values else None


def read_plausible(row: list[str], place: int | None) -> float | None:
    """Return a positive number of any plausible unit in a row, ``None`` for anything else."""
    if place is None:
        return None
    try:
        value = float(row[place])
    except (ValueError, IndexError):
        return None
    return value if _SMALLEST < value < _LARGEST else None


def read_set_key(columns: Columns, row: list[str]) -> SetKey:
    """File type, set label and size of a row; empty text where there is no such column."""
    place = columns.place
    if "file_type" not in place and "set" not in place:
        return "", "", ""
    size_at = place.get("file_size", place.get("total_size"))
    return (
        row[place["file_type"]].strip() if "file_type" in place else "",
        row[place["set"]].strip() if "set" in place else "",
        row[size_at].strip() if size_at is not None else "",
    )


def sample_rows(
    columns: Columns, lines: Iterable[Line], note: Callable[[Line, list[str]], None] = lambda _line, _row: None
) -> Mapping[SetKey, Sequence[RowPair]]:
    """Sample rows of each set of a file, in one pass over its data lines; ``note`` is called with each row."""
    sets: dict[SetKey, _RowSampler] = {}
    for row, following in pairwise(_append_none(_split_rows(columns, lines, note))):
        assert row is not None  # only the last of the pairs ends with none
        key = read_set_key(columns, row)
        if key not in sets and len(sets) >= MAX_SETS:
            key = ("", "", "")
        sets.setdefault(key, _RowSampler()).add((row, following))
    return {key: thinned.rows for key, thinned in sets.items()}


def _append_none(rows: Iterator[list[str]]) -> Iterator[list[str] | None]:
    yield from rows
    yield None


def _split_rows(
    columns: Columns, lines: Iterable[Line], note: Callable[[Line, list[str]], None]
) -> Iterator[list[str]]:
    """Yield the rows that have as many fields as the header, without repeated headers.

    Raises
    ------
    InvalidValue : a further header has other columns: the rows after it would be read under the wrong titles.
    """
    titles, has_rows = frozenset(columns.header), False
    for line in join_rows(columns, lines):
        if line.fault is not None or (line.is_open and has_rows):  # one that may be cut off decides nothing
            continue
        first = line.text.partition(columns.delimiter)[0].strip(' "')
        if first in titles or is_title(first):
            header = read_header(line.text, columns.delimiter).header
            is_as_wide = len(header) == len(columns.header)  # rows below others are refused by themselves
            if 2 * sum(title in titles or (is_as_wide and is_title(title)) for title in header) > len(header):
                own = columns.header[columns.has_row_names :]
                if [title.lower() for title in header] != [title.lower() for title in own]:
                    raise InvalidValue("csv", f"has other columns from line {line.number} on; split it there")
                continue
        if is_totals(columns, line.text):
            continue
        try:
            row = columns.split_fields(line.text)
        except InvalidValue:
            continue
        has_rows = True
        note(line, row)
        yield row


def list_samples(pairs: Iterable[RowPair], times: TimeColumns, joules_per_energy: float) -> list[Sample]:
    """Return the quantities of each of the sampled rows."""
    place = times.columns.place
    size_at = place.get("file_size", place.get("total_size"))
    return [
        Sample(
            throughput=read_plausible(row, place.get("throughput")),
            bandwidth=read_plausible(row, place.get("bandwidth")),
            size=read_plausible(row, size_at),
            file_count=read_plausible(row, place.get("file_count")),
            duration=_compute_duration(row, times),
            energy_j=_scale_if_known(read_plausible(row, place.get("total_energy")), joules_per_energy),
            gap_s=_compute_gap_s(row, following, times),
        )
        for row, following in pairs
    ]


def _compute_duration(row: list[str], times: TimeColumns) -> float | None:
    """Return the duration as written, in the log's unit, or the time from the row's start to its end, s."""
    place = times.columns.place.get("duration")
    if place is not None:
        return read_plausible(row, place)
    with suppress(InvalidValue):
        return times.compute_duration_s(row)
    return None


def _scale_if_known(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _compute_gap_s(row: list[str], following: list[str] | None, times: TimeColumns) -> float | None:
    """Return the seconds from the start of a row to the next, where both are known and in order."""
    if following is None:
        return None
    try:
        before, after = times.read_moment(row), times.read_moment(following)
    except InvalidValue:
        return None
    if before is None or after is None or not (before.hour_known and after.hour_known):
        return None
    gap_s = (after.at - before.at).total_seconds()
    return gap_s if 0 < gap_s < _LONGEST_GAP_S else None
