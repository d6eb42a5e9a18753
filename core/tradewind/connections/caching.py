"""Where an object was served from, by the header X-Cache of caches on the way."""

import re
from enum import StrEnum


class CacheClass(StrEnum):
    """The classes of the paper's Fig. 4."""

    HIT = "hit"
    MISS = "miss"
    ELSEWHERE = "elsewhere"
    NONE = "none"


_HIT, _MISS = re.compile(r"hit", re.IGNORECASE), re.compile(r"miss|expired|refresh|pass|bypass", re.IGNORECASE)
"""What a cache writes before its name."""


def classify_cache(x_cache: str, proxy: str | None = None) -> CacheClass:
    """Return what the header says of the nearest cache, or of one's own.

    Parameters
    ----------
    x_cache : values of the header by commas, those of nearer caches behind; empty without it.
    proxy : name of one's own cache, as in ``HIT from NAME``: what names another was served elsewhere (Fig. 4). A value
        without such a name is of the cache that it mentions. Without ``proxy`` every cache counts.

    Returns
    -------
    ``ELSEWHERE`` also for a header that says neither.
    """
    values = [value.strip() for value in x_cache.split(",") if value.strip()]
    if proxy is not None and values:
        values = [value for value in values if _is_of(value.lower(), proxy.lower())] or [""]
    if not values:
        return CacheClass.NONE
    status = values[-1].partition(" from ")[0]
    if _HIT.search(status):
        return CacheClass.HIT
    return CacheClass.MISS if _MISS.search(status) else CacheClass.ELSEWHERE


def _is_of(value: str, proxy: str) -> bool:
    """Return whether a cache of this name has added the value; a port that follows a name is no part of it."""
    words = value.partition(" from ")[2].split()
    if not words:
        return proxy in value
    return proxy in {words[0], _PORT.sub("", words[0])}


_PORT = re.compile(r":[0-9]+$")
