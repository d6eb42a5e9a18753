"""What the columns of a CSV log mean, inferred in one pass before its rows are read, and described in the report."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE, format_bps, format_bytes
from tradewind_agent.history.importers.csv_logs.clock.dates import DateEvidence
from tradewind_agent.history.importers.csv_logs.clock.times import (
    TimeColumns,
    judge_time_columns,
)
from tradewind_agent.history.importers.csv_logs.clock.total_times import take_transfer_time
from tradewind_agent.history.importers.csv_logs.column_pairs import (
    drop_rounded_sizes,
    drop_row_numbers,
    reject_contradicting_columns,
    settle_time_columns,
    take_measured_bandwidth,
    take_unit_columns,
)
from tradewind_agent.history.importers.csv_logs.columns import Columns, reject_repeated_titles
from tradewind_agent.history.importers.csv_logs.doubts.conflicts import (
    reject_conflicting_units,
    reject_unclear_titles,
    settle_duration,
)
from tradewind_agent.history.importers.csv_logs.doubts.growing import reject_growing_rows
from tradewind_agent.history.importers.csv_logs.doubts.unclear_columns import reject_unclear_columns
from tradewind_agent.history.importers.csv_logs.doubts.undecided_units import DECLARE, reject_undecided_units
from tradewind_agent.history.importers.csv_logs.names import is_identity
from tradewind_agent.history.importers.csv_logs.notation import decide_notation
from tradewind_agent.history.importers.csv_logs.samples import (
    RowPair,
    SetKey,
    compute_median,
    list_samples,
    read_plausible,
    sample_rows,
)
from tradewind_agent.history.importers.csv_logs.sets import SetSizes, infer_set_sizes
from tradewind_agent.history.importers.csv_logs.status import StatusReader, build_status_reader, find_verdict_title
from tradewind_agent.history.importers.csv_logs.units_inference import (
    RATE_UNITS,
    SIZE_UNITS,
    TIME_UNITS,
    Evidence,
    Units,
    build_evidence,
    compute_decades_outside,
    compute_logged_rate_bps,
    compute_rate_by_duration_bps,
    infer_units,
    scale_if_known,
)
from tradewind_agent.history.importers.last_lines import LastColumn
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.ports import ImportContext, ImportReport, UnitInference

_FREQUENCY_UNITS: Mapping[str, float] = MappingProxyType({"GHz": 1e9, "MHz": 1e6, "kHz": 1e3, "Hz": 1.0})
_ENERGY_UNITS: Mapping[str, float] = MappingProxyType({"J": 1.0, "kJ": 1e3, "Wh": 3600.0, "mJ": 1e-3})
_BUFFER_UNITS = ("B", "kB", "MB")
_FREQUENCY_HZ = (1e8, 1e10)
_BUFFER_BYTES = (2e3, 4e9)
_RTT_S = (1e-5, 1.5)
"""From one switch to a satellite and back."""

_RTT_UNDECIDED = (0.3, 1.5)
"""In seconds a satellite's, in milliseconds a campus': no path in between could have been meant by both."""


_NEAR = 1.5
"""Ratio of durations to what is from start to end, which may hold a queue: the units are the same."""

_AGREES = 0.02
"""Share by which throughput · duration may differ from the size for the two to be said to agree."""


@dataclass(frozen=True, slots=True)
class CsvReading:
    """How to read the rows of one file: scales to SI by quantity.

    ``durations_agree``: durations are those from start to end in most rows.
    ``sizes_agree``: throughput · duration is the size in most rows, so that a row where it is not contradicts itself.
    """

    columns: Columns
    times: TimeColumns
    units: Units
    seconds_per_rtt: float
    bytes_per_buffer: float
    bytes_per_io_block: float
    bytes_per_moved_size: float
    hertz_per_frequency: float
    joules_per_energy: float
    joules_per_dynamic_energy: float
    durations_agree: bool
    sizes_agree: bool
    sets: SetSizes
    statuses: StatusReader
    last_column: LastColumn


def infer_columns(columns: Columns, text: LogText, context: ImportContext, report: ImportReport) -> CsvReading:
    """Sample the entire file and decide what its columns mean; the report lists it.

    Of a later part, the rows of the head alone decide, so that all parts have the same units; where the head has none,
    such as a header, both do.

    Raises
    ------
    InvalidValue : a column may be read in several ways, such as in seconds or in milliseconds.
    """

    def sample(
        note: Callable[[Line, list[str]], None] = lambda _line, _row: None,
    ) -> Mapping[SetKey, Sequence[RowPair]]:
        lines = text.read_head() if context.is_head_conclusive else text.read_lines_with_head()
        return sample_rows(columns, lines, note)

    dates, last_column = DateEvidence.of_columns(columns, context.written_at), _build_last_column(columns)

    def note(line: Line, row: list[str]) -> None:
        dates.note(row)
        if not line.is_open:
            last_column.note(row)

    pairs_of_sets = sample(note)
    rows = [row for group in pairs_of_sets.values() for row, _ in group]
    columns = _settle_columns(columns, rows, context, report)
    if columns.notations:
        pairs_of_sets = sample()
    pairs = [pair for group in pairs_of_sets.values() for pair in group]
    times = judge_time_columns(columns, (row for row, _ in pairs), dates, context, report)
    return _infer_units(
        columns, times, pairs_of_sets=pairs_of_sets, last_column=last_column, context=context, report=report
    )


def _settle_columns(
    columns: Columns, rows: Sequence[list[str]], context: ImportContext, report: ImportReport
) -> Columns:
    """Return the columns that count, with the notations of their cells.

    Raises
    ------
    InvalidValue : as `infer_columns`.
    """
    if columns.has_row_names:
        report.assume("rows have a name before the first column that has no title of its own")
    reject_repeated_titles(columns, rows)
    columns = drop_row_numbers(drop_rounded_sizes(take_unit_columns(columns, rows), rows), rows, report)
    columns = take_transfer_time(columns, rows, context.decimal, report)
    reject_contradicting_columns(columns, rows)
    reject_unclear_columns(columns, rows, report)
    reject_unclear_titles(columns)
    return decide_notation(settle_time_columns(columns, rows, report), rows, context.decimal)


def _infer_units(
    columns: Columns,
    times: TimeColumns,
    *,
    pairs_of_sets: Mapping[SetKey, Sequence[RowPair]],
    last_column: LastColumn,
    context: ImportContext,
    report: ImportReport,
) -> CsvReading:
    """Return what the columns mean, in the units that sampled rows show; otherwise as `infer_columns`."""
    pairs = [pair for group in pairs_of_sets.values() for pair in group]
    duration_ratio = compute_median(list(_list_duration_ratios(pairs, times)))
    columns = settle_duration(columns, duration_ratio)
    statuses = build_status_reader(columns, (row for row, _ in pairs), report)
    joules = _ENERGY_UNITS[columns.declared.get("total_energy", "J")]
    samples = list_samples(pairs, times, joules)
    columns = take_measured_bandwidth(columns, samples, report)
    times = replace(times, columns=take_measured_bandwidth(times.columns, samples, report))
    sets = {key: list_samples(group, times, joules) for key, group in pairs_of_sets.items()}
    samples = [sample for group in sets.values() for sample in group]
    evidence = build_evidence(samples, None if "bandwidth" in columns.place else context.bandwidth_bps)
    units = infer_units(evidence, columns)
    reject_undecided_units(columns, evidence, units, samples)
    set_sizes = infer_set_sizes(sets, units, repair=context.repair_sizes)
    notes = _Notes(columns, report)
    size_ratio = notes.note_rates(units, evidence, set_sizes)
    successes = list_samples([pair for pair in pairs if statuses.is_success(pair[0])], times, joules)
    reject_conflicting_units(columns, units, evidence, size_ratio, successes)
    reject_growing_rows(columns, pairs, times, units)
    notes.note_sets(set_sizes)
    rtt_scale = _find_rtt_unit(columns, pairs, notes)
    bdp_bytes = _compute_bdp_bytes(
        evidence, units, scale_if_known(_compute_median(columns, "rtt", pairs), rtt_scale) or context.rtt_s
    )
    return CsvReading(
        columns=columns,
        times=times,
        units=units,
        seconds_per_rtt=rtt_scale,
        bytes_per_buffer=_infer_buffer_unit(columns, pairs, bdp_bytes, notes),
        bytes_per_io_block=SIZE_UNITS[columns.declared.get("io_block", "B")],
        bytes_per_moved_size=SIZE_UNITS[columns.declared.get("moved_size", units.size)],
        hertz_per_frequency=_find_frequency_unit(columns, pairs, notes),
        joules_per_energy=joules,
        joules_per_dynamic_energy=_ENERGY_UNITS[columns.declared.get("dynamic_energy", "J")],
        durations_agree=_is_near_one(duration_ratio, TIME_UNITS[units.duration]),
        sizes_agree=size_ratio is not None and abs(size_ratio - 1) < _AGREES,
        sets=set_sizes,
        statuses=statuses,
        last_column=last_column,
    )


def _is_near_one(ratio: float | None, scale: float) -> bool:
    return ratio is not None and 1 / _NEAR < ratio * scale < _NEAR


def _build_last_column(columns: Columns) -> LastColumn:
    place = len(columns.header) - 1
    quantity = next((quantity for quantity, at in columns.place.items() if at == place), None)
    if quantity is None and "attempt" in columns.place and is_identity(columns.header[place]):
        quantity = "attempt"  # this column names the transfer of a row
    quantity = quantity or find_verdict_title(columns.header[place])
    return LastColumn(columns.header[place], place, quantity)


class _Notes:
    """Findings in words."""

    def __init__(self, columns: Columns, report: ImportReport) -> None:
        self._columns = columns
        self._report = report

    def note_unit(self, quantity: str, unit: str, evidence: str) -> None:
        if quantity in self._columns.place:
            if quantity in self._columns.declared:
                evidence = "named by --unit" if quantity in self._columns.given else "declared by the header"
            self._report.units.append(UnitInference(self._columns.find_title(quantity), unit, evidence))

    def note_rates(self, units: Units, evidence: Evidence, sizes: SetSizes) -> float | None:
        """Note the units that were judged together; returns throughput · duration over size if the log can tell."""
        found = evidence.get_size_evidence(units)
        by_duration_bps = compute_rate_by_duration_bps(units, evidence)
        median_bps = compute_logged_rate_bps(units, evidence)
        link_bps = evidence.find_link_bps(units)
        size_bytes = scale_if_known(evidence.size, SIZE_UNITS[units.size])
        per_size = RATE_UNITS[units.throughput] / units.bits_per_size
        size_ratio = scale_if_known(found.moved, per_size * TIME_UNITS[units.duration])
        rate = "" if median_bps is None else f"median {format_bps(median_bps)}"
        if evidence.throughput is None and median_bps is not None:
            rate = f"size over duration has a {rate}" + ("" if link_bps is None else ", which")
        if link_bps is not None and median_bps is not None:
            rate += f" is {median_bps / link_bps:.2g} of the link"
        if size_ratio is not None:
            rate += f", and throughput · duration is {size_ratio:.4f} of the size"
        self.note_unit("throughput", units.throughput, rate)
        self.note_unit("bandwidth", units.bandwidth, "" if link_bps is None else f"a link of {format_bps(link_bps)}")
        size = "" if size_bytes is None else f"median {format_bytes(size_bytes)}"
        if size_ratio is None and sizes.host_power_w is not None:
            size += f", energy over duration gives {sizes.host_power_w:.3g} W"
        scope = " of the whole data set" if units.size_is_total else " a file"
        self.note_unit("file_size" if "file_size" in self._columns.place else "total_size", units.size + scope, size)
        self.note_unit("duration", units.duration, rate)
        if by_duration_bps is not None and evidence.throughput is None:
            self._report.assume("there is no throughput: that of a row is its size over its duration")
        elif size_ratio is None:
            self._report.assume("there is no duration: a row lasts for its size over its throughput")
        elif abs(size_ratio - 1) >= _AGREES:
            self._report.assume(
                f"throughput · duration is {size_ratio:.3f} of the size: the two measure different spans"
            )
        return size_ratio

    def note_sets(self, sizes: SetSizes) -> None:
        """Note the sets whose sizes do not mean what they do in the rest of the file."""
        column = self._columns.find_title("file_size")
        for (file_type, label, written), size in sizes.by_key.items():
            if size.note:
                where = f"{column} {written} (type {file_type or '-'}, set {label or '-'})"
                self._report.units.append(UnitInference(where, size.unit, size.note))


def _list_duration_ratios(pairs: Iterable[RowPair], times: TimeColumns) -> Iterator[float]:
    """Yield durations as written over the s from start to end, of rows that have all three."""
    place = times.columns.place.get("duration")
    for row, _ in pairs:
        with suppress(InvalidValue):
            duration, lasted_s = read_plausible(row, place), times.compute_duration_s(row, "stated_end")
            if duration and lasted_s:
                yield duration / lasted_s


def _compute_median(columns: Columns, quantity: str, pairs: Iterable[RowPair]) -> float | None:
    place = columns.place.get(quantity)
    values = (read_plausible(row, place) for row, _ in pairs)
    return compute_median([value for value in values if value is not None])


def _find_nearest_unit(value: float, scales: Mapping[str, float], low: float, high: float, target: float) -> str:
    """Return the unit that brings a value into a range, and there nearest to a target."""
    return min(
        scales,
        key=lambda unit: (
            compute_decades_outside(value * scales[unit], low, high),
            abs(math.log(value * scales[unit] / target)),
        ),
    )


def _find_rtt_unit(columns: Columns, pairs: Sequence[RowPair], notes: _Notes) -> float:
    value = _compute_median(columns, "rtt", pairs)
    if value is None:
        return 1.0
    if "rtt" not in columns.declared and _RTT_UNDECIDED[0] <= value <= _RTT_UNDECIDED[1]:
        title = columns.find_title("rtt")
        raise InvalidValue(title, f"is {value:g}, which may be s or ms; {DECLARE.format(title=title)}")
    unit = columns.declared.get("rtt") or next(
        (unit for unit in ("s", "ms", "µs") if compute_decades_outside(value * TIME_UNITS[unit], *_RTT_S) == 0), "s"
    )
    notes.note_unit("rtt", unit, f"median {value * TIME_UNITS[unit] * 1e3:.3g} ms")
    return TIME_UNITS[unit]


def _find_frequency_unit(columns: Columns, pairs: Sequence[RowPair], notes: _Notes) -> float:
    value = _compute_median(columns, "frequency", pairs)
    if value is None:
        return 1.0
    unit = columns.declared.get("frequency") or _find_nearest_unit(value, _FREQUENCY_UNITS, *_FREQUENCY_HZ, target=2e9)
    notes.note_unit("frequency", unit, f"median {value * _FREQUENCY_UNITS[unit] / 1e9:.3g} GHz")
    return _FREQUENCY_UNITS[unit]


def _infer_buffer_unit(columns: Columns, pairs: Sequence[RowPair], bdp_bytes: float, notes: _Notes) -> float:
    value = _compute_median(columns, "buffer", pairs)
    if value is None:
        return 1.0
    scales = {unit: SIZE_UNITS[unit] for unit in _BUFFER_UNITS}
    unit = columns.declared.get("buffer") or _find_nearest_unit(value, scales, *_BUFFER_BYTES, target=bdp_bytes)
    scale = SIZE_UNITS[unit]
    notes.note_unit(
        "buffer",
        unit,
        f"median {format_bytes(value * scale)} for a bandwidth-delay product of {format_bytes(bdp_bytes)}",
    )
    return scale


def _compute_bdp_bytes(evidence: Evidence, units: Units, rtt_s: float | None) -> float:
    """Return the bandwidth-delay product of the path, bytes; 1 MB, a common buffer, where it is not known."""
    bandwidth_bps = evidence.find_link_bps(units)
    return bandwidth_bps * rtt_s / BITS_PER_BYTE if bandwidth_bps and rtt_s else 1e6
