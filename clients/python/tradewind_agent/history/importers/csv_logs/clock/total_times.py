"""Which of two durations of a CSV log counts: its total time, or the time of the transfer alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import median

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.names import find_quantity, to_plain
from tradewind_agent.history.importers.csv_logs.notation import decide_notation
from tradewind_agent.history.importers.csv_logs.units_inference import RATE_UNITS, SIZE_UNITS, TIME_UNITS
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS
from tradewind_agent.history.importers.ports import DecimalMark, ImportReport

_AGREES = 0.02
"""Share by which rate · duration may differ from the size."""

_FACTORS = [bits * 1000.0**power for bits in (0.125, 1.0, 8.0) for power in range(-4, 5)]
"""Between units that the header does not name."""


def take_transfer_time(
    columns: Columns, rows: Sequence[Sequence[str]], decimal: DecimalMark | None, report: ImportReport
) -> Columns:
    """Return the columns with the duration that agrees with rate and size, of a total time and that of the transfer.

    Without such rates the time of the transfer counts, if rows have it.
    """
    total, transfer = _find_time(columns, "total"), _find_time(columns, "transfer")
    if total is None or transfer is None or columns.place["duration"] not in (total, transfer):
        return columns
    if "duration" in columns.given:
        return columns
    of_total, of_transfer = _take(columns, total), _take(columns, transfer)
    if _agrees(of_total, rows, decimal) and not _agrees(of_transfer, rows, decimal):
        taken, reason = of_total, "agrees with rate and size"
    elif all(row[transfer].strip().lower() in UNKNOWN_TEXTS for row in rows):
        taken, reason = of_total, "is the one that rows have"
    else:
        taken, reason = of_transfer, "is that of the transfer alone"
    other = columns.header[total if taken is of_transfer else transfer]
    report.assume(f"{taken.find_title('duration')} counts, and not {other}: it {reason}")
    return taken


def _find_time(columns: Columns, word: str) -> int | None:
    """Return the first column of durations whose title begins with a word, ``None`` where there is none."""
    if "duration" not in columns.place:
        return None
    found = (at for at, title in enumerate(columns.header) if to_plain(title).startswith(word))
    return next((at for at in found if find_quantity(columns.header[at])[0] == "duration"), None)


def _take(columns: Columns, at: int) -> Columns:
    """Return the columns with another duration, and the unit that its title declares."""
    unit = find_quantity(columns.header[at])[1]
    declared = {quantity: each for quantity, each in columns.declared.items() if quantity != "duration"}
    if unit is not None:
        declared["duration"] = unit
    return replace(columns, place={**columns.place, "duration": at}, declared=declared)


def _agrees(columns: Columns, rows: Sequence[Sequence[str]], decimal: DecimalMark | None) -> bool:
    """Return whether rate · duration is the size in the median of rows, for each file or for all of them."""
    columns = decide_notation(columns, rows, decimal)
    size = "file_size" if "file_size" in columns.place else "total_size"
    if not {"throughput", size} <= columns.place.keys():
        return False
    scales = {"throughput": RATE_UNITS, "duration": TIME_UNITS, size: SIZE_UNITS}
    units = {each: known.get(columns.declared.get(each, "")) for each, known in scales.items()}
    rate, duration, size_scale = (units[each] or 1.0 for each in ("throughput", "duration", size))
    scale = rate * duration / (8 * size_scale) if None not in units.values() else 1.0
    factors = [1.0] if None not in units.values() else _FACTORS
    for is_total in (False, True):
        found = [scale * ratio for ratio in _list_ratios(columns, rows, size, is_total=is_total)]
        if found and any(abs(median(found) / factor - 1) < _AGREES for factor in factors):
            return True
    return False


def _list_ratios(columns: Columns, rows: Sequence[Sequence[str]], size: str, *, is_total: bool) -> Iterator[float]:
    counted = () if is_total or size == "total_size" or "file_count" not in columns.place else ("file_count",)
    for row in rows:
        try:
            rate, duration, *sizes = (
                columns.notations.get(columns.place[each], str)(row[columns.place[each]])
                for each in ("throughput", "duration", size, *counted)
            )
            ratio = float(rate) * float(duration)
            for each in sizes:
                ratio /= float(each)
        except (InvalidValue, ValueError, ZeroDivisionError):
            continue
        if ratio > 0:
            yield ratio
