"""Columns whose titles have two meanings, where the rows show which: a measured bandwidth, and a count of rows."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.names import to_plain
from tradewind_agent.history.importers.csv_logs.samples import Sample
from tradewind_agent.history.importers.ports import ImportReport

_LEAST_ROWS = 3
_LEAST_NUMBERED = 4
_DIFFERS = 1.02
"""Ratio of the highest bandwidth to the lowest, from which on there are several."""

_AGREES = 1.005
"""Ratio of a rate to another that measures the same: of jumbo frames 99 % are what a transfer reaches at most."""

_SHARE_THAT_AGREES = 0.9
"""Of rows: what failed moved less than its size."""

_FACTORS = [bits * 1000.0**power for bits in (0.125, 1.0, 8.0) for power in range(-4, 5)]
"""Between units of rates, sizes and times: a share of the link that every row has in common is none of these."""

_NUMBERS = frozenset({"count", "filenumber", "filenumbers"})
"""Titles that may also say which row one is."""


def take_measured_bandwidth(columns: Columns, samples: Sequence[Sample], report: ImportReport) -> Columns:
    """Return the columns with a bandwidth as the throughput, where it is bytes over time in nearly every row.

    A link has one rate, or a few; iperf calls bandwidth what a transfer reached. Next to a throughput of the same
    course it is not read.
    """
    if "bandwidth" not in columns.place or "bandwidth" in columns.given:
        return columns
    is_second = "throughput" in columns.place
    found = list(_list_ratios(columns, samples))
    if len(found) < _LEAST_ROWS or not _is_measured(found):
        return columns
    place, declared = dict(columns.place), dict(columns.declared)
    title = columns.find_title("bandwidth")
    at, unit = place.pop("bandwidth"), declared.pop("bandwidth", None)
    if is_second:
        report.assume(f"{title} follows the throughput and is no rate of the link")
    else:
        report.assume(f"{title} is bytes over time, and so what the transfer reached, not the link's rate")
        place["throughput"] = at
        if unit is not None:
            declared["throughput"] = unit
    return replace(columns, place=place, declared=declared)


def _list_ratios(columns: Columns, samples: Sequence[Sample]) -> Iterator[tuple[float, float]]:
    """Yield the bandwidth of each row, and its ratio to the throughput, or else to bytes over time."""
    is_in_total = "file_size" not in columns.place
    for sample in samples:
        size = sample.compute_data_set_size(in_total=is_in_total)
        if sample.bandwidth is None:
            continue
        if "throughput" in columns.place:
            if sample.throughput is not None:
                yield sample.bandwidth, sample.bandwidth / sample.throughput
        elif size is not None and sample.duration is not None:
            yield sample.bandwidth, sample.bandwidth * sample.duration / size


def _is_measured(found: Sequence[tuple[float, float]]) -> bool:
    """Return whether bandwidths differ among rows, and are the rates of all of them in some unit."""
    usual = median(ratio for _, ratio in found)
    agreeing = [bandwidth for bandwidth, ratio in found if 1 / _AGREES < ratio / usual < _AGREES]
    if len(agreeing) < _SHARE_THAT_AGREES * len(found) or max(agreeing) < _DIFFERS * min(agreeing):
        return False
    return any(1 / _AGREES < usual / factor < _AGREES for factor in _FACTORS)


def drop_row_numbers(columns: Columns, rows: Sequence[Sequence[str]], report: ImportReport) -> Columns:
    """Return the columns without a count of files that only numbers the rows."""
    at = columns.place.get("file_count")
    if at is None or to_plain(columns.header[at]) not in _NUMBERS or len(rows) < _LEAST_NUMBERED:
        return columns
    texts = [row[at].strip() for row in rows]
    if not all(text.isdecimal() for text in texts) or int(texts[0]) > 1:
        return columns
    steps = {int(after) - int(before) for before, after in pairwise(texts)}  # rows are thinned by a fixed step
    if len(steps) != 1 or steps.pop() < 1:
        return columns
    report.assume(f"{columns.header[at]} numbers the rows and is no count of files")
    return replace(columns, place={each: place for each, place in columns.place.items() if each != "file_count"})
