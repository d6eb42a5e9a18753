"""The text of one statement of an analyst: where its parameters are, and where it ends.

Only as much of PostgreSQL's lexical structure as tells these apart from strings, names and comments. The server has
parsed the statement before this is relied on.
"""

import re
from collections.abc import Mapping

# Alternatives in the order in which they must be tried; a string with escapes may go on after a line break.
_TOKENS = re.compile(
    r"""
      --[^\n]*
    | [eE]'(?:[^'\\]|\\.|'')*'(?:\s*\n\s*'(?:[^'\\]|\\.|'')*')*
    | '(?:[^']|'')*'
    | "(?:[^"]|"")*"
    | \$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$
    | [^\W\d][\w$]*
    | \$(?P<parameter>\d+)
    | (?P<comment>/\*)
    | (?P<end>;)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_MARKS = re.compile(r"/\*|\*/")


class SqlText:
    """A statement, taken apart.

    Attributes
    ----------
    parameters : numbers of its ``$n``.
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
        self.parameters = frozenset(piece for piece in self._pieces if isinstance(piece, int))

    def filled(self, literals: Mapping[int, str]) -> str:
        """The statement with ``literals`` in place of its parameters, and without the semicolon at its end."""
        return "".join(f" {literals[piece]} " if isinstance(piece, int) else piece for piece in self._pieces)


def _end_of_comment(sql: str, at: int) -> int:
    """Where the comment whose beginning ends at ``at`` is over; comments may hold others."""
    depth = 1
    while depth:
        mark = _COMMENT_MARKS.search(sql, at)
        if mark is None:
            return len(sql)
        depth += 1 if mark.group() == "/*" else -1
        at = mark.end()
    return at
