"""Two columns of a CSV log that hold one quantity: one is read, and where they differ as units do, neither is sure."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.conflicts import find_factor
from tradewind_agent.history.importers.csv_logs.names import find_quantity
from tradewind_agent.history.importers.csv_logs.units_inference import RATE_UNITS, SIZE_UNITS, TIME_UNITS

_SCALES: Mapping[str, Mapping[str, float]] = MappingProxyType({"throughput": RATE_UNITS, "duration": TIME_UNITS})
_SIZES_AGREE = 0.05
"""Share by which a file may differ from the entire data set where no column counts files."""


def reject_contradicting_columns(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Refuse a file in which a second column of rates or durations differs from the first as two units do.

    Others may measure something else, such as the time with and without the queue.

    Raises
    ------
    InvalidValue : names both columns; or a file's size and that of all differ, and nothing counts the files.
    """
    for place, title in enumerate(columns.header):
        quantity, unit = find_quantity(title)
        first = columns.place.get(quantity or "", place)
        scales, declared = _SCALES.get(quantity or "", {}), columns.declared.get(quantity or "")
        if first == place or unit not in scales or declared not in scales or quantity in columns.given:
            continue
        ratio = _compute_ratio(rows, (place, scales[unit]), (first, scales[declared]))
        found = None if ratio is None else find_factor(ratio)
        if found is not None:
            reason = (
                f"differs from {columns.header[first]} by a factor of {found[0]:g}, {found[1]}; leave out one of them"
            )
            raise InvalidValue(title, reason)
    _reject_sizes_without_count(columns, rows)


def _reject_sizes_without_count(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    of_file, of_all = columns.place.get("file_size"), columns.place.get("total_size")
    units = columns.declared.get("file_size"), columns.declared.get("total_size")
    if of_file is None or of_all is None or "file_count" in columns.place or None in units:
        return
    ratio = _compute_ratio(rows, (of_all, SIZE_UNITS[units[1] or "B"]), (of_file, SIZE_UNITS[units[0] or "B"]))
    if ratio is not None and abs(ratio - 1) > _SIZES_AGREE:
        title = columns.header[of_all]
        reason = f"is {ratio:.4g} times {columns.header[of_file]}, and no column counts files; leave out one of them"
        raise InvalidValue(title, reason)


def _compute_ratio(rows: Sequence[Sequence[str]], second: tuple[int, float], first: tuple[int, float]) -> float | None:
    """Return the median of a second column over the first, each with its scale; ``None`` without a row of both."""
    ratios = list(_list_ratios(rows, second, first))
    return median(ratios) if ratios else None


def _list_ratios(rows: Sequence[Sequence[str]], second: tuple[int, float], first: tuple[int, float]) -> Iterator[float]:
    for row in rows:
        try:
            one, other = float(row[second[0]]) * second[1], float(row[first[0]]) * first[1]
        except ValueError:  # not known, or in another notation
            continue
        if one > 0 and other > 0:
            yield one / other
