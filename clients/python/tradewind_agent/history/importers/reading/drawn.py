"""Tables that clients of databases draw with lines of Unicode, such as DuckDB and SQLite, as those that they draw in
ASCII.
"""

import re
from collections.abc import Iterator
from itertools import chain, islice

from tradewind_agent.history.importers.reading.lines import Line

_LINES_LOOKED_AT = 5
_BORDERS = "┌├└╭╰╔╟╠╚┏┠┣┗╞┡╇"
_BARS = "│║┃"
_TO_ASCII = str.maketrans(dict.fromkeys(_BARS, "|"))
_TYPE = (
    r"(?:var)?char|text|bool(?:ean)?|date|time(?:stamp)?(?: with time zone)?|interval"
    r"|u?(?:tiny|small|big|huge)?int(?:eger)?|u?int\d{1,3}|float|double|real|decimal\([\d, ]+\)|uuid|blob"
)
_TYPES = re.compile(rf"(?:\| *(?:{_TYPE}) *)+\|")
_FOOTER = re.compile(r"\| *[\d,]+ rows?\b[^|]*\|")


def open_drawn_table(lines: Iterator[Line]) -> Iterator[Line]:
    """Return lines; those of a table that is drawn with bars of ASCII, and without its borders and types."""
    first = list(islice(lines, _LINES_LOOKED_AT))
    is_drawn = any(line.text[:1] in _BARS for line in first if line.text)
    every = chain(first, lines)
    return map(_to_ascii, every) if is_drawn else every


def _to_ascii(line: Line) -> Line:
    if line.text[:1] in _BORDERS:
        return line._replace(text="")
    if line.text[:1] not in _BARS:
        return line
    text = line.text.translate(_TO_ASCII).rstrip()
    return line._replace(text="" if _TYPES.fullmatch(text) or _FOOTER.fullmatch(text) else text)
