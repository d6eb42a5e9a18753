"""Times that ``ts``, Jenkins and other runners write before each line that a program prints."""

import re
from collections.abc import Sequence

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
    r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d[. ]|(?:DEBUG |INFO  |NOTICE|ERROR ) ?: |Transferred:\s"  # rclone, azcopy
    r"|--\d{4}-\d\d-\d\d |\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:URL:|\()"  # wget
    r"|\d\d/\d\d \d\d:\d\d:\d\d \[|\[#[0-9a-f]{6} "  # aria2
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - |Completed \d|(?:up|down)load: "  # aws
    r"|Job [0-9a-f-]{36} |\d+\.\d %, \d"  # azcopy
    r"|(?i:DATE=)\d|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} |\{\s*(?:\"|$)"  # servers, JSON
)
"""How lines begin that only programs that move files write, or JSON."""


def find_stamp(texts: Sequence[str]) -> re.Pattern[str] | None:
    """Return the stamp that most lines at the beginning of a log have, ``None`` if there is none.

    A first column, and what programs write themselves, may look like one: behind a stamp a program's line begins.
    """
    written = [text for text in texts if text.strip()]
    for stamp in _STAMPS if written else ():
        found = [match for match in map(stamp.match, written) if match is not None]
        if 2 * len(found) > len(written) and any(_OF_PROGRAM.match(match["rest"]) for match in found):
            return stamp
    return None


def drop_stamp(text: str, stamp: re.Pattern[str]) -> str:
    """Return a line without its stamp; as it is if it has none."""
    found = stamp.match(text)
    return text if found is None else found["rest"]
