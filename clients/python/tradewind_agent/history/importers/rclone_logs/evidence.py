"""Which lines only rclone writes: ``level`` and ``msg`` alone are in the JSON of many programs."""

import re
from collections.abc import Mapping

TEXT = re.compile(
    r"(?:(?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?) )?(?:[\w./-]{1,200}\.go:\d{1,6}: )?(?:\[\d+\] )?"
    r"(?P<level>DEBUG |INFO  |NOTICE|ERROR |CRITICAL|ALERT |EMERGENCY) ?: ?(?P<rest>.*)"
)
"""A message of the text log, which has no time under systemd; its statistics follow in lines of their own."""

STATISTICS = re.compile(r"Transferred:\s.* ETA \S+")
_SOURCE = re.compile(r"[\w./-]{1,200}\.go:\d{1,6}")
_WORDS = re.compile(
    r"(?:Multi-thread )?Copied \(|Moved \(|\n?Transferred:|There was nothing to transfer|(?:rclone: )?Version \"v"
    r"|Failed to (?:copy|sync)|.* as --dry-run\b|Attempt \d+/\d+ |Starting bandwidth limiter|Scheduled bandwidth change"
)
_STATS_MEMBERS = frozenset({"bytes", "transfers", "elapsedTime", "totalBytes", "checks"})


def is_text_of_rclone(line: str) -> bool:
    """Return whether a line is of rclone's text log."""
    return TEXT.match(line) is not None or STATISTICS.match(line) is not None


def is_message_of_rclone(message: Mapping[str, object]) -> bool:
    """Return whether a JSON message has more of rclone's than a level and words."""
    words = message.get("msg")
    if "level" not in message or not isinstance(words, str):
        return False
    stats, source = message.get("stats"), message.get("source")
    if isinstance(stats, dict) and _STATS_MEMBERS & stats.keys():
        return True
    if isinstance(message.get("objectType"), str):
        return True
    return (isinstance(source, str) and _SOURCE.fullmatch(source) is not None) or _WORDS.match(words) is not None
