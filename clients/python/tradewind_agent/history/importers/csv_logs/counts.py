"""Titles of columns of a CSV log that count: ``# files``, ``No. of streams``, ``number of concurrent transfers``."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

_WORD = re.compile(r"[^\W\d_]+|#")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_COUNTING = frozenset({"#", "n", "nb", "num", "number", "count", "cnt", "counts", "anzahl", "nombre", "numero"})
_MAYBE_COUNTING = frozenset({"no", "nr"})
"""Also what the numbers of rows are called, and the opposite of yes: a dot or ``of`` has to be behind them."""

_ABBREVIATED = re.compile(r"(?<![^\W\d_])n[or]\.", re.IGNORECASE)

_CORES: Mapping[frozenset[str], str] = MappingProxyType(
    {
        frozenset(words.split()): quantity
        for quantity, titles in {
            "file_count": ("files", "objects", "items", "dateien", "fichiers", "ficheros", "archivos", "total files",
                           "total objects", "total items"),
            "parallelism": ("streams", "tcp streams", "parallel streams", "parallel tcp streams"),
            "concurrency": ("concurrent files", "concurrent transfers", "parallel files", "parallel transfers",
                            "simultaneous files", "simultaneous transfers"),
        }.items()
        for words in titles
    }
)  # fmt: skip
"""Words of a title that say what it counts, without those that say that it counts."""

_SINGULAR: Mapping[str, str] = MappingProxyType(
    {"file": "files", "object": "objects", "item": "items", "stream": "streams"}
)
_THINGS = frozenset({"file", "object", "item", "files", "objects", "items"})
_NUMBERED = _THINGS | {"num", "number", "no", "nr", "#", "of"}
"""Words of titles that may count files, or say which one a row is of."""

_DONE = frozenset(
    {"transferred", "copied", "done", "completed", "ok", "succeeded", "successful", "moved", "uploaded", "downloaded"}
)


@lru_cache(1024)
def find_counted(title: str) -> str | None:
    """Return the quantity that a title counts, ``None`` for other titles.

    A word in the singular, as in ``file no``, may be followed by which one it is: ``count`` has to be with it. So may
    be what stands before ``of``, as in ``file # of #`` and ``files/of``: there a word that counts has to.
    """
    words = list_words(title)
    if _says_which(words) or not (_MAYBE_COUNTING.isdisjoint(words) or "of" in words or _ABBREVIATED.search(title)):
        return None
    core = [word for word in words if word not in _COUNTING | _MAYBE_COUNTING | {"of"}]
    if {"count", "cnt"} & set(words):
        core = [_SINGULAR.get(word, word) for word in core]
    return _CORES.get(frozenset(core)) if len(core) < len(words) or len(core) > 1 else None


def _says_which(words: Sequence[str]) -> bool:
    """Return whether ``of`` follows what is counted, and not a word that counts."""
    if "of" not in words:
        return False
    before = words[: words.index("of")]
    return not before or before[-1] not in _COUNTING | _MAYBE_COUNTING | {"total"} or not _THINGS.isdisjoint(before)


def counts_done_files(title: str) -> bool:
    """Return whether a title such as ``files_transferred`` counts the files that were done."""
    words = set(list_words(title))
    return "files" in words and not _DONE.isdisjoint(words) and words <= _DONE | _COUNTING | {"files", "of"}


def may_number_files(title: str) -> bool:
    """Return whether a title such as ``file_num`` may count files, or say which one a row is of."""
    words = list_words(title)
    is_either = not _SINGULAR.keys().isdisjoint(words) or not _MAYBE_COUNTING.isdisjoint(words)
    has_thing = not _THINGS.isdisjoint(words)
    return len(words) > 1 and is_either and has_thing and set(words) <= _NUMBERED and not _says_which(words)


def list_words(title: str) -> list[str]:
    """List the words of a title in lower case; a # is one."""
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", title))]
