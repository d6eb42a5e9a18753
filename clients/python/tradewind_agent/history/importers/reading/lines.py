"""Text blocks as numbered lines: one a line of the file, or one an object of a JSON document."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tradewind.errors import InvalidValue

MAX_LINE_CHARS = 1 << 20
"""A longer line is refused without being held; a million characters are far beyond any real log row."""

_DOCUMENT = re.compile(
    r"\s*(?:\[\s*\{|\[\s*\n(?!\s*[A-Za-z]\w*\s*=)"
    r"|\{[^\n]*[,{\[][ \t]*\n|\{[ \t]*\n\s*[\"}]|\{[^\n]*\}[ \t]*,?[ \t]*\{\s*\")"
)
"""A bracket before an attribute begins a ClassAd of HTCondor, not an array."""

_EOT = "\x04"
_BETWEEN = re.compile(r"\x04(?=[^\n\x04])")
"""What brokers end messages with, in place of a line end."""

_TOKEN = re.compile(r'\\.|["{}\[\]\n]', re.DOTALL)


class Line(NamedTuple):
    """Line ``number`` (from 1) without its end, or the fault for which it has no text.

    ``origin`` : process or container that wrote it, as far as its envelope says; lines of several may alternate.
    ``is_open`` : the last line of a log, without a line end: it may be cut off.
    """

    number: int
    text: str
    fault: InvalidValue | None = None
    origin: str = ""
    is_open: bool = False


def is_document(beginning: str) -> bool:
    """Return whether a text that begins so is an array of JSON objects, or objects that are not one a line."""
    if _DOCUMENT.match(beginning) is None:
        return False
    first_line = beginning.lstrip().partition("\n")[0]
    try:
        return not isinstance(json.loads(first_line), dict)
    except (ValueError, RecursionError):
        return True


def split_lines(blocks: Iterable[str]) -> Iterator[str | None]:
    """Yield each line of a text; ``None`` for one that is too long."""
    pending, skipping = "", False
    for block in blocks:
        text = pending + block
        parts = (_BETWEEN.sub("\n", text) if _EOT in text else text).split("\n")
        pending = parts.pop()
        for part in parts:
            yield None if skipping or len(part) > MAX_LINE_CHARS else part
            skipping = False
        if skipping or len(pending) > MAX_LINE_CHARS:
            pending, skipping = "", True
    if skipping:
        yield None
    elif pending:
        yield pending


def explain_long_line() -> InvalidValue:
    """Return the fault of a line that is too long."""
    return InvalidValue("row", f"is longer than {MAX_LINE_CHARS} characters")


def split_documents(blocks: Iterable[str]) -> Iterator[Line]:
    """Yield each outermost object of a JSON document as one line, with the number of the line that it begins on.

    An array around the objects, and commas between them, are passed over. An object that is cut off, or too long, is
    a line with a fault.
    """
    scanner, carried = _Scanner(), ""
    for block in blocks:
        text = carried + block
        is_cut = (len(text) - len(text.rstrip("\\"))) % 2 == 1  # what the last one escapes is in the next block
        carried = "\\" if is_cut else ""
        yield from scanner.scan(text.removesuffix(carried))
    if scanner.is_open:
        yield Line(scanner.started_on, "", InvalidValue("row", "is a JSON object that is cut off"))


@dataclass(slots=True)
class _Scanner:
    """Finds the ends of objects by their braces; what is in strings does not count."""

    number: int = 1
    started_on: int = 1
    depth: int = 0
    in_string: bool = False
    length: int = 0
    pieces: list[str] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.depth > 0

    def scan(self, text: str) -> Iterator[Line]:
        """Yield the objects that end in a piece of the document."""
        start = 0
        for token in _TOKEN.finditer(text):
            mark = token[0]
            if mark == "\n":
                self.number += 1
            elif mark == '"':
                self.in_string = self.is_open and not self.in_string
            elif mark in "{[" and not self.in_string:
                start = self._open(mark, token.start(), start)
            elif mark in "}]" and self.is_open and not self.in_string:
                self.depth -= 1
                if not self.is_open:
                    yield _build_object(self.started_on, [*self.pieces, text[start : token.end()]], self.length)
        if self.is_open:
            self.length += len(text) - start
            self.pieces = [*self.pieces, text[start:]] if self.length <= MAX_LINE_CHARS else []

    def _open(self, mark: str, place: int, start: int) -> int:
        """Go a level deeper; return where the outermost object begins. An array around all objects is none."""
        if self.is_open:
            self.depth += 1
        elif mark == "{":
            self.depth, self.started_on, self.length, self.pieces = 1, self.number, 0, []
            return place
        return start


def _build_object(number: int, pieces: list[str], held: int) -> Line:
    text = "".join(pieces)
    if held + len(text) > 2 * MAX_LINE_CHARS or len(text) > MAX_LINE_CHARS:
        return Line(number, "", explain_long_line())
    try:
        return Line(number, json.dumps(json.loads(text), ensure_ascii=False))
    except (ValueError, RecursionError):
        return Line(number, " ".join(text.split("\n")))
