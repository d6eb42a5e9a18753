"""Whether two checksums of a row of a CSV log differ: only in one notation, and of one algorithm, are they compared."""

import re

from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS

_ALGORITHM = re.compile(
    r"(?<![a-z])(?:md5|sha-?\d+|crc-?\d+c?|crcc|adler(?:32)?|xxh(?:ash)?\d*|blake\d[a-z]?)(?![a-z])"
)
_PREFIX = re.compile(r"(?:(?P<algorithm>[a-z]+-?\d*[a-z]?)[:=]\s*|0x)(?=\w)")
_HEX = re.compile(r"[0-9a-f]+")
_LENGTHS = frozenset({8, 16, 32, 40, 56, 64, 96, 128})
"""Digits of the usual algorithms."""

_MOST_SHORT = 8
"""Digits of sums that are also written without the zeros before them."""


def find_algorithm(title: str) -> str | None:
    """Return the algorithm that a title names."""
    found = _ALGORITHM.search(title.lower().replace("_", " "))
    return None if found is None else found[0].replace("-", "")


def differ(one: str, other: str) -> bool:
    """Return whether two sums surely differ."""
    first, second = one.strip().lower(), other.strip().lower()
    if first == second or first in UNKNOWN_TEXTS or second in UNKNOWN_TEXTS:
        return False
    algorithms = {found["algorithm"] for text in (first, second) if (found := _PREFIX.match(text)) is not None}
    if len(algorithms - {None}) > 1:
        return False
    digits, others = (_PREFIX.sub("", text, count=1).lstrip("0") for text in (first, second))
    if digits == others or not _HEX.fullmatch(digits or "0") or not _HEX.fullmatch(others or "0"):
        return False
    if _is_decimal_of(digits, others) or _is_decimal_of(others, digits):
        return False
    lengths = {len(_PREFIX.sub("", text, count=1)) for text in (first, second)}
    return len(lengths) == 1 or max(lengths) <= _MOST_SHORT or not lengths <= _LENGTHS


def _is_decimal_of(text: str, other: str) -> bool:
    """Return whether a sum in digits of ten is another in those of sixteen."""
    return text.isdecimal() and other != "" and int(text) == int(other, 16)
