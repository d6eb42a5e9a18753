"""The text of one statement of an analyst: its first word, where its parameters are, and where it ends.

Only as much of PostgreSQL's lexical structure (its scan.l) as separates these from strings, names and comments. The
server has parsed the statement before, and afterwards confirms that it reads it the same way: see `bound_statement`.
"""

import re
from collections.abc import Callable

# Alternatives in the order in which they must be tried. A string with escapes continues after a line break, with
# comments to the end of a line before and after it. Bytes above 127 are letters of a name, whatever they mean.
_TOKENS = re.compile(
    r"""
      (?P<blank>[ \t\n\r\f\v]+|--[^\n\r]*)
    | [eE]'(?:[^'\\]|\\.|'')*'
      (?:(?:[ \t\f\v]|--[^\n\r]*+)*+[\n\r](?:[ \t\n\r\f\v]|--[^\n\r]*+[\n\r])*+'(?:[^'\\]|\\.|'')*')*
    | '(?:[^']|'')*'
    | "(?:[^"]|"")*"
    | \$(?P<tag>(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?)\$.*?\$(?P=tag)\$
    | (?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*)
    | \$(?P<parameter>[0-9]+)
    | (?P<comment>/\*)
    | (?P<end>;)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_MARKS = re.compile(r"/\*|\*/")


class SqlText:
    """A statement, split at its parameters.

    Attributes
    ----------
    parameters : numbers of its ``$n``.
    places : how many ``$n`` there are.
    """

    def __init__(self, sql: str) -> None:
        self._pieces: list[str | int] = []
        """Text, and the numbers of the parameters between."""
        begin = at = 0
        while (found := _TOKENS.search(sql, at)) is not None:
            at = found.end()
            if found["comment"]:
                at = _end_of_comment(sql, at)
            elif found["end"]:
                self._pieces.append(sql[begin : found.start()])
                begin = len(sql)
                break  # the server has seen that nothing follows
            elif found["parameter"]:
                self._pieces += (sql[begin : found.start()], int(found["parameter"]))
                begin = at
        self._pieces.append(sql[begin:])
        numbers = [piece for piece in self._pieces if isinstance(piece, int)]
        self.parameters = frozenset(numbers)
        self.places = len(numbers)

    def fill(self, value: Callable[[int, int], str]) -> str:
        """Return the statement with ``value(place, number)`` for each parameter, and without its last semicolon.

        Places are counted from 1.
        """
        text, place = [], 0
        for piece in self._pieces:
            if isinstance(piece, int):
                place += 1
                text.append(f" {value(place, piece)} ")
            else:
                text.append(piece)
        return "".join(text)


def find_first_word(sql: str) -> str:
    """Return the word that the statement begins with, behind blanks and comments; empty where it begins otherwise."""
    at = 0
    while (found := _TOKENS.match(sql, at)) is not None:
        at = found.end()
        if found["comment"]:
            at = _end_of_comment(sql, at)
        elif not found["blank"]:
            return found["word"] or ""
    return ""


def _end_of_comment(sql: str, at: int) -> int:
    """Return where the comment ends whose beginning ends at ``at``; comments may be nested."""
    depth = 1
    while depth:
        mark = _COMMENT_MARKS.search(sql, at)
        if mark is None:
            return len(sql)
        depth += 1 if mark.group() == "/*" else -1
        at = mark.end()
    return at
