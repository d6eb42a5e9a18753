"""Work split into successive runs of a tool, where its settings can only change between runs."""

from collections.abc import Sequence
from itertools import accumulate

from tradewind.units import BITS_PER_BYTE

MIN_FILES_PER_STREAM = 8
"""At the end of a run streams fall idle while the last files finish; with so many files each that stays small."""


def count_rounds(sizes_bytes: Sequence[int], expected_bps: float | None, round_s: float | None, at_once: int) -> int:
    """Return how many runs of ``round_s`` the files make at the expected rate, each with files for all streams."""
    if not round_s or not expected_bps:
        return 1
    by_time = BITS_PER_BYTE * sum(sizes_bytes) / expected_bps / round_s
    by_files = len(sizes_bytes) // (MIN_FILES_PER_STREAM * max(at_once, 1))
    return max(min(int(by_time), by_files), 1)


def split_by_bytes(sizes_bytes: Sequence[int], rounds: int) -> tuple[range, ...]:
    """Return the positions of ``rounds`` runs of neighbours, about as many bytes each; at least one file in each."""
    count = len(sizes_bytes)
    rounds = max(min(rounds, count), 1)
    total = sum(sizes_bytes) or 1
    ends = list(accumulate(sizes_bytes))
    cuts = [0]
    for part in range(1, rounds):
        aim = total * part / rounds
        cut = next((position + 1 for position, end in enumerate(ends) if end >= aim), count)
        cuts.append(min(max(cut, cuts[-1] + 1), count - (rounds - part)))
    return tuple(range(low, high) for low, high in zip(cuts, [*cuts[1:], count], strict=True))
