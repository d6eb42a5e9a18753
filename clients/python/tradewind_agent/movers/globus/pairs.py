"""The files that a command line of globus-url-copy moves, as its own dump (``-do``, ``-df``) lists them."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind_agent.movers.command_line import CommandLine, ParsedWords
from tradewind_agent.movers.tool_query import query_tool

_LISTING_S = 20.0
"""A listing that takes longer costs more than a recommendation by its sizes gains."""

_RUN_OPTIONS = (
    "df", "do", "sync", "t", "off", "len", "list", "SP", "src-pipe", "DP", "dst-pipe", "pipe", "stripe", "af",
)  # fmt: skip
"""Options under which a file is not simply moved completely, once, or that concern a single run."""

_LINE = re.compile(r'^(#?)\s*(?:"([^"]+)"|(\S+))\s+(?:"([^"]+)"|(\S+))(?:.*\bsize=(\d+))?')


@dataclass(frozen=True, slots=True)
class Pair:
    """A file's addresses at both ends, as the tool writes them, and its size."""

    source: str
    destination: str
    size_bytes: int | None

    def format_line(self) -> str:
        return f'"{self.source}" "{self.destination}"\n'


@dataclass(frozen=True, slots=True)
class PairList:
    """``pairs`` with sizes; none where ``refusal`` says why there is no list."""

    pairs: tuple[Pair, ...]
    refusal: str = ""


def read_pairs(path: Path) -> tuple[Pair, ...]:
    """Return the files in a list of pairs, or in a dump; folders, which a dump writes as comments, are left out.

    Raises
    ------
    InvalidValue : it cannot be read.
    """
    return tuple(pair for is_comment, pair in _read_lines(path) if not is_comment)


def list_pairs(line: CommandLine, words: ParsedWords) -> PairList:
    """Return the list of files that the tool itself would move; nothing is moved."""
    if own := [name for name in _RUN_OPTIONS if name in words.options]:
        return PairList((), f"your own -{own[0]} holds for one run")
    with tempfile.TemporaryDirectory(prefix="tradewind-") as folder:
        dump = Path(folder) / "dump"
        query_tool((line.program, "-do", str(dump), *line.arguments), patience_s=_LISTING_S)
        if not dump.exists():
            return PairList((), "its files cannot be listed")
        rows = _read_lines(dump)
    pairs = tuple(pair for is_comment, pair in rows if not is_comment)
    if not pairs or any(pair.size_bytes is None for pair in pairs):
        return PairList((), "the sizes of its files are unknown")
    folders = [pair.destination for is_comment, pair in rows if is_comment]
    if any(not any(pair.destination.startswith(folder) for pair in pairs) for folder in folders):
        return PairList(pairs, "a list of files has no empty folders")
    if len({pair.destination for pair in pairs}) < len(pairs):
        return PairList(pairs, "some files have the same destination")
    return PairList(pairs, "" if len(pairs) > 1 else "there is one file")


def _read_lines(path: Path) -> Sequence[tuple[bool, Pair]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        raise InvalidValue("globus-url-copy", f"cannot read its list {path}: {failure}") from None
    found = (_LINE.match(line) for line in text.splitlines())
    return [
        (bool(each[1]), Pair(each[2] or each[3], each[4] or each[5], int(each[6]) if each[6] else None))
        for each in found
        if each is not None and "://" in (each[2] or each[3])
    ]
