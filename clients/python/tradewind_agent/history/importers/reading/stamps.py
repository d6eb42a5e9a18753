"""What ``ts``, runners, collectors and loggers write before each line that a program prints.

Known stamps are taken off wherever a program's line, or JSON, stands behind them. Others are learned from the lines of
programs that print text: what stands before one of them stands before each.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tradewind.errors import InvalidValue

LINES_LOOKED_AT = 200
"""Lines at the beginning of a log among which one of a known program has to be: runners write lines of their own."""

_TIMES = (
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?(?: |$)",  # ts
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?(?: (?:UTC|[+-]\d{4}))?(?: |$)",  # ts "%F %T"
    r"\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:  |$)",  # Jenkins
    r"\d\d:\d\d:\d\d(?:\.\d{1,9})?(?: |$)",  # ts -s and -i
    r"\d{10}\.\d{6}(?: |$)",  # ts %.s
)
_STAMPS = tuple(re.compile(rf"{time}(?P<rest>.*)$", re.DOTALL) for time in _TIMES)
_OF_PROGRAM = re.compile(
    r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? (?:DEBUG |INFO  |NOTICE|ERROR ) ?: "  # rclone
    r"|\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? AzcopyVersion "
    r"|Job [0-9a-f]{8}-[0-9a-f-]{27} (?:has started|[Ss]ummary)"
    r"|--\d{4}-\d\d-\d\d \d\d:\d\d:\d\d--  "  # wget
    r"|(?<![\d/])\d\d/\d\d \d\d:\d\d:\d\d \[[A-Z]+\] |\[#[0-9a-f]{6} [\d.]{1,20}[KMGT]?i?B[/(]"  # aria2
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

_OF_SERVER = re.compile(r"DATE=\S|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} ")
"""How lines of servers begin, in which a name may hold anything."""

_LONGEST_STAMP = 200
_FITTING_SHARE = 0.2
"""Least share of the lines that a learned stamp stands before: of a message of many lines it may be the first alone."""

_MOST_DELIMITERS = 2
"""More of one kind before a program's line are those of a table that has it in a column."""

_DATE = r"\d{1,4}[-/.](?:\d{1,2}|[A-Z][a-z]{2})[-/.]\d{1,4}"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?:[ap]m)?"
_COUNTER = r"(?:[0-9a-f]{12,40}|\d{6,20})"
_MONTH = r"\b[A-Z][a-z]{2}\b"
_LEVEL = r"\b(?i:trace|debug|info|notice|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal)\b"
_VARIES = re.compile(
    rf"(?P<date>{_DATE})|(?P<clock>{_CLOCK})|(?P<counter>{_COUNTER})|(?P<level>{_LEVEL})|(?P<month>{_MONTH})"
    r"|(?P<blank>\s+)"
)
_VARIANTS = {"date": _DATE, "clock": _CLOCK, "counter": _COUNTER, "level": _LEVEL, "month": _MONTH, "blank": r"\s+"}
"""What differs from line to line. All else is the writer's, whose lines are not to be mixed with another one's."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What stands before the lines of a log; ``is_learned`` : from lines of this log alone."""

    pattern: re.Pattern[str]
    is_learned: bool = False

    def drop(self, text: str) -> str:
        """Return a line without its stamp; a line without one as it is."""
        found = self.pattern.match(text)
        return text if found is None else found["rest"] or ""

    def explain_other(self, text: str) -> InvalidValue | None:
        """Return why a line without this stamp cannot be passed over: it is a program's, of another writer."""
        if self.is_learned and _find_program(text) is not None:
            return InvalidValue("row", "is of another writer than the lines before it; give the log of each one alone")
        return None


def find_stamp(texts: Sequence[str], is_known: Callable[[str], bool]) -> Stamp | None:
    """Return the stamp of the lines of a log that begins with some lines; ``None`` if it has none.

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
            return Stamp(stamp)
    return _learn(written, is_known)


def _find_program(text: str) -> re.Match[str] | None:
    if not any(word in text for word in _MAY_HOLD):
        return None
    return _OF_PROGRAM.search(text[: 2 * _LONGEST_STAMP])


def _learn(written: Sequence[str], is_known: Callable[[str], bool]) -> Stamp | None:
    """Return what stands before all lines of programs; ``None`` where one stands alone, or is of another writer."""
    learned: re.Pattern[str] | None = None
    for text in written:
        found = None if text[0] == "{" else _find_program(text)
        if found is None or '{"' in text[: found.start()]:
            continue
        before = text[: found.start()]
        if not _may_be_stamp(before) or is_known(f"{before}x"):
            return None
        learned = learned or re.compile(_generalise(before), re.DOTALL)
        if learned.match(text) is None:
            return None
    if learned is None or sum(map(bool, map(learned.match, written))) < _FITTING_SHARE * len(written):
        return None
    return Stamp(learned, is_learned=True)


def _may_be_stamp(before: str) -> bool:
    if not 0 < len(before) <= _LONGEST_STAMP or _OF_SERVER.match(before) is not None:
        return False
    return all(before.count(each) <= _MOST_DELIMITERS for each in ",;\t|")


def _generalise(stamp: str) -> str:
    """Return the pattern of stamps such as this: times, counters and levels differ from line to line."""
    body = stamp.rstrip()
    pattern, end = "", 0
    for found in _VARIES.finditer(body):
        pattern += re.escape(body[end : found.start()]) + _VARIANTS[found.lastgroup or ""]
        end = found.end()
    return rf"{pattern}{re.escape(body[end:])}(?:{re.escape(stamp[len(body) :])}(?P<rest>.*)|\s*)$"
