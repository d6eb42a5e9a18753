"""Rows that are samples of one transfer under way: each counts what came since its start, also what others count."""

from collections.abc import Iterable, Sequence

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.clock.times import TimeColumns
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.samples import RowPair, Sample, list_samples
from tradewind_agent.history.importers.csv_logs.units_inference import RATE_UNITS, TIME_UNITS, Units

_LEAST_PAIRS = 2
_NEARLY_ALL = 0.9
_AGREES = 0.05
"""Share by which growth may differ from what the time between two rows explains."""

_DOUBLED = (1.9, 2.1)
"""Transfers right behind one another, each twice as large, grow as samples do."""


def reject_growing_rows(columns: Columns, pairs: Sequence[RowPair], times: TimeColumns, units: Units) -> None:
    """Refuse rows whose duration, or size by the rate, grows from one to the next by the time between them.

    Raises
    ------
    InvalidValue : nearly all do.
    """
    if "start" not in columns.place or "file_count" in columns.place:
        return
    following = [(after, None) for _, after in pairs if after is not None]
    befores = list_samples([pair for pair in pairs if pair[1] is not None], times, 1.0)
    afters = list_samples(following, times, 1.0)
    grown = list(_list_grown(zip(befores, afters, strict=True), units))
    if len(grown) >= _LEAST_PAIRS and sum(grown) >= _NEARLY_ALL * len(grown):
        advice = "keep the last row of each transfer, with its start"
        raise InvalidValue(
            "csv", f"has rows that seem to be samples of one transfer, as what they count grows; {advice}"
        )


def _list_grown(pairs: Iterable[tuple[Sample, Sample]], units: Units) -> Iterable[bool]:
    """Yield of each two rows whether the second counts the first one, too.

    A smaller size begins another transfer; of those that may grow so by chance, nothing is yielded.
    """
    for before, after in pairs:
        if before.gap_s is None or before.size is None or after.size is None or after.size <= before.size:
            continue
        if before.duration is not None and after.duration is not None:
            scale, first, second, expected = TIME_UNITS[units.duration], before.duration, after.duration, before.gap_s
        elif after.throughput is not None:
            scale, first, second = units.bits_per_size, before.size, after.size
            expected = after.throughput * RATE_UNITS[units.throughput] * before.gap_s
        else:
            continue
        if not _DOUBLED[0] < second / first < _DOUBLED[1]:
            yield abs((second - first) * scale / expected - 1) < _AGREES
