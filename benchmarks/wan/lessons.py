"""The transfers that our release is learned from: short ones of other files, at many settings."""

from collections.abc import Mapping, Sequence

from benchmarks.support.direction import Direction
from benchmarks.support.sources import digest_values
from benchmarks.testbed.data_sets import Kind, SizeLists, compute_bytes_to_fill, draw_sizes
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.wan.cells import Cell, compute_warm_duration_s
from benchmarks.wan.runs import UPLOADS, select_digests
from tradewind.parameters import Parameters

LEAST_LESSON_S = 4.0

CUT_OVER_LESSON = 5.0

_SEED_STEP = 1000
"""Difference between the seed of the compared files and that of the lessons: no file is in both."""

LESSONS: Sequence[Parameters] = tuple(
    Parameters(concurrency=concurrency, parallelism=parallelism, pipelining=pipelining)
    for concurrency, parallelism, pipelining in (
        *((concurrency, 1, pipelining) for concurrency in (2, 4, 8, 16, 32) for pipelining in (1, 8)),
        *((concurrency, parallelism, 8) for concurrency in (2, 4, 8) for parallelism in (2, 4)),
        (64, 1, 8),
        (16, 1, 32),
    )
)
"""They run one after another, twice."""

UPLOADED_LESSONS: Sequence[Parameters] = tuple(
    Parameters(concurrency=concurrency, parallelism=1, pipelining=pipelining)
    for concurrency, pipelining in (
        *((concurrency, pipelining) for concurrency in (1, 2, 4, 8, 16, 32, 64) for pipelining in (1, 8)),
        (8, 32),
        (16, 32),
    )
)
"""Those of uploads: a web server takes no file over several streams."""

LESSON_REPEATS = 2


def compute_lesson_duration_s(path: PathSpec) -> float:
    """Return how long a lesson lasts on a well-used path, s; only finished transfers are learned from."""
    return compute_warm_duration_s(path, LEAST_LESSON_S)


def compute_lesson_cut_s(path: PathSpec) -> float:
    """Return when a lesson is stopped, after which it is not learned from, s."""
    return CUT_OVER_LESSON * compute_lesson_duration_s(path)


def draw_lesson_sizes(cell: Cell, lists: SizeLists, seed: int) -> list[int]:
    """Draw files like those of the cell, cut so that at least two of them fit."""
    needed = compute_bytes_to_fill(cell.path, compute_lesson_duration_s(cell.path))
    pieces = {kind: [min(size, round(needed / 2)) for size in sizes] for kind, sizes in lists.items()}
    return draw_sizes(Kind(cell.kind), pieces, needed, seed + _SEED_STEP)


def digest_lessons(cell: Cell, sizes: Sequence[int], hashes: Mapping[str, str]) -> str:
    """Return the digest of what a cell's lessons depend on: their logs are valid as long as it stays."""
    cut_s, settings = compute_lesson_cut_s(cell.path), list(list_lessons(cell))
    parts = [hashes[part] for part in ("engine", "testbed", UPLOADS) if part in select_digests(hashes, cell.direction)]
    return digest_values(str(cell.path), list(sizes), settings, LESSON_REPEATS, cut_s, *parts)


def list_lessons(cell: Cell) -> Sequence[Parameters]:
    return UPLOADED_LESSONS if cell.direction is Direction.UP else LESSONS
