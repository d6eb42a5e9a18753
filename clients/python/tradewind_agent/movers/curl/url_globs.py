"""curl's URL globs, ``{a,b}`` and ``[1-9:2]``, as the addresses they stand for."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, product

MAX_ADDRESSES = 10_000
"""A longer list is cut: it serves to estimate sizes, from a sample."""

_PART = re.compile(r"\{([^{}]*)\}|\[(\w+)-(\w+)(?::(\d+))?\]")


def expand_globs(address: str) -> list[str]:
    """Return the first addresses that a glob stands for; an address without one unchanged."""
    pieces: list[Sequence[str]] = []
    end = 0
    for match in _PART.finditer(address):
        pieces += [(address[end : match.start()],), _expand_part(match)]
        end = match.end()
    pieces.append((address[end:],))
    return ["".join(each) for each in islice(product(*pieces), MAX_ADDRESSES)]


def _expand_part(match: re.Match[str]) -> Sequence[str]:
    if match[1] is not None:
        return match[1].split(",")
    return list(islice(_expand_range(match[2], match[3], int(match[4] or 1) or 1), MAX_ADDRESSES)) or (match[0],)


def _expand_range(low: str, high: str, step: int) -> Iterator[str]:
    if low.isdecimal() and high.isdecimal():
        width = len(low) if low.startswith("0") else 0
        return (str(number).zfill(width) for number in range(int(low), int(high) + 1, step))
    if len(low) == len(high) == 1:
        return (chr(letter) for letter in range(ord(low), ord(high) + 1, step))
    return iter(())
