"""Rows of single files, as servers log them: together they are the transfer that a setting is judged by.

A server writes one line a file, and its importer counts the files that were under way meanwhile. The rate of one of
eight files at once is an eighth of what eight at once reach. A model that took it for the rate of its row would learn
that one file at a time is fastest. So such a row gets what the link moved in all while its file was under way.

A row is one of several if it is of one file, nobody knows its requests in flight or has metered its energy, as servers
do not, and about as many such rows of its link were under way as its concurrency says. All others stay as they are: a
copy of one file at a setting of eight files has a rate of its own.

Notation: meanwhile n̄ files were under way in the mean, this one included, and moved ΔR in all, bit/s. The importer has
rounded n̄ to the concurrency n, and may have counted failed files, too. A file of rate T counts with min(n · T,
ΔR · n / n̄): files like it reach the first at once, and the second is what the link has shown. So a small file that
comes next to a large one is not as fast as that, and a large one next to small ones not twice as fast as the link.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tradewind.learning.link_log import BoolArray, FloatArray, LinkLog
from tradewind.learning.load.known_load import LoadTimeline
from tradewind.parameters import AXES

IndexArray = npt.NDArray[np.int_]

OVERLAP_ROWS = 4096
"""Rows before and after a batch that are looked at with it: more than are under way at once on any link we know."""

GAP_S = 1.0
"""Files that follow one another within this time are of one set: many logs know full seconds alone."""

MOST_FILES = 10
"""Files that the set of a row counts at most. How many more there are matters little in a steady flow, and a set of ten
is farther from a single file, which never reaches its rate, than answers look for data sets."""

LEAST_SHARE = 0.75
"""Share of a row's concurrency that must be under way: its importer has counted failed files, too."""

ROUNDING = 0.5
"""By as much an importer rounds the files under way."""


def gather_single_files(batches: Iterable[LinkLog]) -> Iterator[LinkLog]:
    """Yield the batches of a link's log, in order of start, with the rows of single files as parts of their sets.

    Of such a row ``throughput_bps``, ``moved_bytes`` and ``retransmitted_bytes`` become those of its concurrency of
    files, and ``file_count`` that of its set.
    """
    before: LinkLog | None = None
    current: LinkLog | None = None
    for following in batches:
        if current is not None:
            yield _gather(before, current, following)
            before = current
        current = following
    if current is not None:
        yield _gather(before, current, None)


def _gather(before: LinkLog | None, current: LinkLog, following: LinkLog | None) -> LinkLog:
    around, first = current, 0
    if before is not None:
        tail = before.take_last(OVERLAP_ROWS)
        around, first = tail.join(around), len(tail)
    if following is not None:
        around = around.join(following.take(slice(OVERLAP_ROWS)))
    return _gather_rows(around).take(slice(first, first + len(current)))


def _gather_rows(log: LinkLog) -> LinkLog:
    single = np.flatnonzero(_is_single(log))
    if not len(single):
        return log
    start_s, end_s, moved_bytes = log.start_s[single], log.end_s[single], log.moved_bytes[single]
    concurrency = log.settings[single, AXES.index("concurrency")]
    files_at_once = _compute_mean_between(start_s, end_s, end_s - start_s)
    in_all = _compute_mean_between(start_s, end_s, moved_bytes) * (end_s - start_s) / moved_bytes
    together = (
        (concurrency > 1)
        & (files_at_once >= LEAST_SHARE * (concurrency - ROUNDING))
        & (files_at_once <= concurrency + ROUNDING)
    )
    part = single[together]
    times = np.minimum(concurrency, in_all * concurrency / files_at_once)[together]
    files = np.minimum(_count_files_of_sets(start_s, end_s)[together], MOST_FILES)
    return replace(
        log,
        moved_bytes=_put(log.moved_bytes, part, log.moved_bytes[part] * times),
        throughput_bps=_put(log.throughput_bps, part, log.throughput_bps[part] * times),
        retransmitted_bytes=_put(log.retransmitted_bytes, part, log.retransmitted_bytes[part] * times),
        file_count=_put(log.file_count, part, files),
    )


def _is_single(log: LinkLog) -> BoolArray:
    concurrency, pipelining = (log.settings[:, AXES.index(axis)] for axis in ("concurrency", "pipelining"))
    metered = np.isfinite(log.source_power_w) | np.isfinite(log.destination_power_w)
    single: BoolArray = (
        (log.file_count == 1) & (log.moved_bytes > 0) & np.isfinite(concurrency) & np.isnan(pipelining) & ~metered
    )
    return single


def _compute_mean_between(start_s: FloatArray, end_s: FloatArray, amounts: FloatArray) -> FloatArray:
    """Return for each of n files what all together had a second, in the mean of its life, each its amount evenly."""
    mean: FloatArray = LoadTimeline.of_transfers(start_s, end_s, amounts).compute_bytes_between(start_s, end_s)
    return mean / (end_s - start_s)


def _count_files_of_sets(start_s: FloatArray, end_s: FloatArray) -> FloatArray:
    """Return for each of n files, in order of start, the files of its set: those without a gap in between."""
    follows_gap = start_s[1:] > np.maximum.accumulate(end_s)[:-1] + GAP_S
    number = np.concatenate([[0], np.cumsum(follows_gap)])
    counts: FloatArray = np.bincount(number)[number].astype(np.float64)
    return counts


def _put(values: FloatArray, indices: IndexArray, chosen: FloatArray) -> FloatArray:
    """Return a copy with the chosen values at these indices."""
    changed = values.copy()
    changed[indices] = chosen
    return changed
