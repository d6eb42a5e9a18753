"""What ``ts``, runners, collectors and loggers write before each line that a program prints.

Known stamps are taken off wherever a program's line, or JSON, stands behind them. Others are learned from the lines of
programs that print text: what stands before one of them stands before each.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

LINES_LOOKED_AT = 200
"""Lines at the beginning of a log among which one of a known program has to be: runners write lines of their own."""

_TIMES = (
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?(?: |$)",  # ts
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?: (?:UTC|[+-]\d{4}))?(?: |$)",  # ts "%F %T"
    r"\d\d:\d\d:\d\d(?:\.\d+)?(?:  |$)",  # Jenkins
    r"\d\d:\d\d:\d\d(?:\.\d+)?(?: |$)",  # ts -s and -i
    r"\d{10}\.\d{6}(?: |$)",  # ts %.s
)
_STAMPS = tuple(re.compile(rf"{time}(?P<rest>.*)$", re.DOTALL) for time in _TIMES)
_OF_PROGRAM = re.compile(
    r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)? (?:DEBUG |INFO  |NOTICE|ERROR ) ?: "  # rclone
    r"|\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)? AzcopyVersion |Job [0-9a-f]{8}-[0-9a-f-]{27} (?:has started|[Ss]ummary)"
    r"|--\d{4}-\d\d-\d\d \d\d:\d\d:\d\d--  "  # wget
    r"|(?<![\d/])\d\d/\d\d \d\d:\d\d:\d\d \[[A-Z]+\] |\[#[0-9a-f]{6} \d"  # aria2
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - \S+ - awscli\."
)
"""What only programs that move files print. Lines of servers and JSON are found behind any text by their readers."""

_MAY_HOLD = ("/", "Job ", "--20", "[#", " - awscli.")
"""Each such line holds one of these."""

_ELSE = re.compile(
    r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d[. ]|(?:DEBUG |INFO  |NOTICE|ERROR ) ?: |Transferred:\s"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:URL:|\()|Completed \d|(?:up|down)load: |\d+\.\d %, \d"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} |\{\s*(?:\"|$)"
)
"""What shows a program's line behind a known stamp, too."""

_LONGEST_STAMP = 200
_PIECE = re.compile(r"[A-Za-z0-9_]+| +|.", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")

_NAME = re.compile(r"[\w./-]*[a-z][\w./-]*")
_NO_NAME = re.compile(r"[A-Z][a-z]{2}|[0-9a-f]{12,}")
"""Months and days, and times of multilog, which differ from line to line."""

Drop = Callable[[str], tuple[str, str]]
"""Returns a line without its stamp, and who wrote it as far as the stamp says."""


def find_stamp(texts: Sequence[str], is_known: Callable[[str], bool]) -> Drop | None:
    """Return what drops the stamp of each line of a log that begins with some lines; ``None`` if it has none.

    A first column, and what programs write themselves, may look like a stamp: behind one a program's line begins.

    Parameters
    ----------
    is_known : returns whether all that stands before an ``x`` is taken off otherwise, by which its writer is known.
    """
    written = [text for text in texts if text.strip()]
    for stamp in _STAMPS if written else ():
        found = [match for match in map(stamp.match, written) if match is not None]
        rests = [match["rest"] for match in found]
        if 2 * len(found) > len(written) and any(_OF_PROGRAM.match(rest) or _ELSE.match(rest) for rest in rests):
            return partial(_drop, stamp)
    learned = _learn(written, is_known)
    return None if learned is None else partial(_drop, learned)


def _drop(stamp: re.Pattern[str], text: str) -> tuple[str, str]:
    found = stamp.match(text)
    if found is None:
        return text, ""
    rest = found["rest"] or ""
    names = _NAME.findall(text[: len(text) - len(rest)])
    return rest, " ".join(name for name in names if not _NO_NAME.fullmatch(name))


def _learn(written: Sequence[str], is_known: Callable[[str], bool]) -> re.Pattern[str] | None:
    """Return the pattern of what stands before all lines of programs; ``None`` where one stands alone."""
    stamp: re.Pattern[str] | None = None
    for text in written:
        if text[0] == "{" or not any(word in text for word in _MAY_HOLD):
            continue
        found = _OF_PROGRAM.search(text[: 2 * _LONGEST_STAMP])
        if found is None or '{"' in text[: found.start()]:
            continue
        before = text[: found.start()]
        if not 0 < len(before) <= _LONGEST_STAMP or is_known(f"{before}x"):
            return None
        stamp = stamp or re.compile(_generalise(before), re.DOTALL)
        if stamp.match(text) is None:
            return None
    return stamp


def _generalise(stamp: str) -> str:
    """Return the pattern of stamps such as this: numbers, names with numbers and levels differ from line to line."""
    body = stamp.rstrip()
    pattern = "".join(_generalise_token(token) for token in re.split(r"(\s+)", body))
    return rf"{pattern}(?:{re.escape(stamp[len(body) :])}(?P<rest>.*)|\s*)$"


def _generalise_token(token: str) -> str:
    if _WORD.fullmatch(token) and not (token.isupper() or token.istitle()):
        return re.escape(token)
    return "".join(_generalise_piece(piece) for piece in _PIECE.findall(token))


def _generalise_piece(piece: str) -> str:
    if piece.isspace():
        return r"\s+"
    if piece.isdecimal():
        return r"\d+"
    return r"\w+" if piece[0].isalnum() or piece[0] == "_" else re.escape(piece)
