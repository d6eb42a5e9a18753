"""Compare the figures of a quick run with those of its record.

A figure is worse if it is beyond the median of the record's repeats by more than their scatter explains: three
standard deviations, and a tenth of the median at least, as few repeats show little of the scatter. Only ratios of one
run and counts of faults are compared, so that the record of another machine is of use.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, stdev
from typing import Any

from benchmarks.plan.catalogue import Better, Planned
from benchmarks.plan.records import Record

SCATTER_SD = 3.0
LEAST_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Comparison:
    """One figure next to its record; ``bound`` is the worst value that scatter explains.

    ``value`` is ``None`` where the run has not measured what the record has.
    """

    figure: str
    value: float | None
    usual: float
    bound: float
    better: Better

    @property
    def is_worse(self) -> bool:
        if self.value is None:
            return True
        return self.value > self.bound if self.better is Better.LOWER else self.value < self.bound


def compare(planned: Planned, record: Record, runs: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    """Return each figure of the plan that the record has; the value of several runs is their median."""
    return list(_compare_figures(planned, record, runs))


def list_unmeasured(planned: Planned, runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the figures of the plan that none of these runs has as a number."""
    return [figure for figure in planned.figures if not _list_values(figure, runs)]


def _compare_figures(planned: Planned, record: Record, runs: Sequence[Mapping[str, Any]]) -> Iterator[Comparison]:
    for figure, better in planned.figures.items():
        known = _list_values(figure, record.summaries)
        if not known:
            continue
        usual = median(known)
        scatter = SCATTER_SD * stdev(known) if len(known) > 1 else 0.0
        tolerance = max(scatter, LEAST_SHARE * abs(usual))
        found = _list_values(figure, runs)
        yield Comparison(
            figure,
            median(found) if found else None,
            usual,
            usual + tolerance if better is Better.LOWER else usual - tolerance,
            better,
        )


def _list_values(figure: str, summaries: Sequence[Mapping[str, Any]]) -> list[float]:
    values = [summary.get(figure) for summary in summaries]
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return [float(number) for number in numbers if math.isfinite(number)]
