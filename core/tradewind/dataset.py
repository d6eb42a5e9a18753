"""A data set and its small, medium and large chunks (HTTP data transfer services §3)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Self

from tradewind.errors import InvalidValue
from tradewind.quick_init import add_quick_init

LARGE_BDPS = 20
"""A file above this many bandwidth-delay products is large (boundaries of the algorithms: BDP and 20 · BDP)."""


class ChunkKind(StrEnum):
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
    WHOLE = "whole"


@add_quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Files to move: their number, their total size, and the known values of their spread."""

    file_count: int
    total_bytes: int
    min_file_bytes: int | None = None
    max_file_bytes: int | None = None
    sd_file_bytes: float | None = None
    content_type: str | None = None

    def __post_init__(self) -> None:
        if self.file_count < 1:
            raise InvalidValue("dataset.file_count", f"must be at least 1, got {self.file_count}")
        if self.total_bytes < 0:
            raise InvalidValue("dataset.total_bytes", f"must not be negative, got {self.total_bytes}")

    @property
    def mean_file_bytes(self) -> float:
        return self.total_bytes / self.file_count

    @classmethod
    def of_sizes(cls, sizes_bytes: Iterable[int], *, content_type: str | None = None) -> Self:
        """Return the summary of a list of at least one file size; one pass (Welford) so that any iterable will do."""
        count, total, mean, squares = 0, 0, 0.0, 0.0
        low: int | None = None
        high: int | None = None
        for size in sizes_bytes:
            count, total = count + 1, total + size
            delta = size - mean
            mean += delta / count
            squares += delta * (size - mean)
            low = size if low is None else min(low, size)
            high = size if high is None else max(high, size)
        return cls(
            file_count=count,
            total_bytes=total,
            min_file_bytes=low,
            max_file_bytes=high,
            sd_file_bytes=math.sqrt(squares / count) if count else None,
            content_type=content_type,
        )


class SizeBin(NamedTuple):
    """Files of at most ``max_file_bytes`` (and above the bin before): how many and how big together."""

    max_file_bytes: int
    file_count: int
    total_bytes: int


class Chunk(NamedTuple):
    """Files of one size class, tuned as one: those above the chunk before and up to ``max_file_bytes``."""

    kind: ChunkKind
    dataset: DataSet
    max_file_bytes: int | None
    """Upper end, inclusive; ``None`` for the last chunk."""


def classify_file(file_bytes: float, bdp_bytes: float) -> ChunkKind:
    """Return the size class of a file (or of a mean file size) on a path: small ≤ BDP < medium ≤ 20 · BDP < large."""
    if file_bytes <= bdp_bytes:
        return ChunkKind.SMALL
    return ChunkKind.MEDIUM if file_bytes <= LARGE_BDPS * bdp_bytes else ChunkKind.LARGE


_SMALL_FIRST = (ChunkKind.SMALL, ChunkKind.MEDIUM, ChunkKind.LARGE)


def _compute_upper_end(kind: ChunkKind, bdp_bytes: float) -> int | None:
    if kind is ChunkKind.LARGE:
        return None
    return math.floor(bdp_bytes if kind is ChunkKind.SMALL else LARGE_BDPS * bdp_bytes)


def split_by_bdp(bins: Iterable[SizeBin], bdp_bytes: float, most: int | None = None) -> tuple[Chunk, ...]:
    """Split a data set into chunks by file size against the bandwidth-delay product, small first, without empty ones.

    A bin belongs where its mean file size falls. The last chunk has no upper end, so that every file has a home.

    Parameters
    ----------
    most : chunks; where there would be more, all files are one whole. Chunks run together, so that there must be a
        channel for each.

    Raises
    ------
    InvalidValue : no file at all, or a bandwidth-delay product that is not positive.
    """
    if not bdp_bytes > 0:
        raise InvalidValue("path", f"bandwidth-delay product must be above 0, got {bdp_bytes}")
    sums: dict[ChunkKind, tuple[int, int]] = {}
    for size_bin in bins:
        if size_bin.file_count:
            kind = classify_file(size_bin.total_bytes / size_bin.file_count, bdp_bytes)
            files, size = sums.get(kind, (0, 0))
            sums[kind] = (files + size_bin.file_count, size + size_bin.total_bytes)
    if not sums:
        raise InvalidValue("dataset", "has no files")
    kinds = [kind for kind in _SMALL_FIRST if kind in sums]
    if most is not None and len(kinds) > most:
        entire = DataSet(
            file_count=sum(files for files, _ in sums.values()), total_bytes=sum(size for _, size in sums.values())
        )
        return (Chunk(ChunkKind.WHOLE, entire, None),)
    chunks = []
    for kind in kinds:
        files, size = sums[kind]
        upper_end = None if kind is kinds[-1] else _compute_upper_end(kind, bdp_bytes)
        chunks.append(Chunk(kind, DataSet(file_count=files, total_bytes=size), upper_end))
    return tuple(chunks)


def bin_sizes(sizes_bytes: Iterable[int]) -> tuple[SizeBin, ...]:
    """Return a histogram on powers of two: a summary of any number of files in at most 64 bins."""
    counts: dict[int, int] = {}
    totals: dict[int, int] = {}
    for size in sizes_bytes:
        exponent = max(size - 1, 0).bit_length()
        counts[exponent] = counts.get(exponent, 0) + 1
        totals[exponent] = totals.get(exponent, 0) + size
    return tuple(SizeBin(1 << exponent, counts[exponent], totals[exponent]) for exponent in sorted(counts))
