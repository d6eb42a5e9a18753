"""The transfers that our release is learned from: short ones of other files, at many settings."""

from collections.abc import Mapping, Sequence

from benchmarks.support.sources import digest_of
from benchmarks.testbed.data_sets import Kind, SizeLists, draw_sizes, needed_bytes
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.wan.cells import Cell, settled_s
from tradewind.parameters import Parameters

LEAST_LESSON_S = 4.0

CUT_OVER_LESSON = 5.0

_SEED_STEP = 1000
"""From the seed of what is compared to that of the lessons: no file is in both."""

LESSONS: Sequence[Parameters] = tuple(
    Parameters(concurrency=concurrency, parallelism=parallelism, pipelining=pipelining)
    for concurrency, parallelism, pipelining in (
        *((concurrency, 1, pipelining) for concurrency in (2, 4, 8, 16, 32) for pipelining in (1, 8)),
        *((concurrency, parallelism, 8) for concurrency in (2, 4, 8) for parallelism in (2, 4)),
        (64, 1, 8),
        (16, 1, 32),
    )
)
"""One after another, twice."""

LESSON_REPEATS = 2


def lesson_s(path: PathSpec) -> float:
    """What a lesson lasts on a path that is used well; only transfers that end are learned from."""
    return settled_s(path, LEAST_LESSON_S)


def lesson_cut_s(path: PathSpec) -> float:
    """When a lesson is stopped, not to be learned from."""
    return CUT_OVER_LESSON * lesson_s(path)


def lesson_sizes(cell: Cell, lists: SizeLists, seed: int) -> list[int]:
    """Files like those of the cell; of longer ones only so much that two of them fit."""
    wanted = needed_bytes(cell.path, lesson_s(cell.path))
    pieces = {kind: [min(size, round(wanted / 2)) for size in sizes] for kind, sizes in lists.items()}
    return draw_sizes(Kind(cell.kind), pieces, wanted, seed + _SEED_STEP)


def lessons_digest(cell: Cell, sizes: Sequence[int], hashes: Mapping[str, str]) -> str:
    """What a cell's lessons are of: their logs hold for as long as it stays."""
    cut_s = lesson_cut_s(cell.path)
    return digest_of(
        str(cell.path), list(sizes), list(LESSONS), LESSON_REPEATS, cut_s, hashes["engine"], hashes["testbed"]
    )
