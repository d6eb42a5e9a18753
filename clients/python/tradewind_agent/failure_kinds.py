"""Find out of what kind a failure is: by the agent's own words for it, and those of servers."""

import re

from tradewind.failure import Failure, FailureKind, format_sentence

_STATUS = re.compile(r"(?:answered|status)\D{0,12}\b([45]\d\d)\b")
_OF_STATUS = {
    401: FailureKind.PERMISSION,
    403: FailureKind.PERMISSION,
    404: FailureKind.NOT_FOUND,
    408: FailureKind.TIMEOUT,
    410: FailureKind.NOT_FOUND,
    504: FailureKind.TIMEOUT,
    507: FailureKind.NO_SPACE,
}
_OF_WORDS = (
    (FailureKind.NO_SPACE, r"no space|quota is used up|disk is full"),
    (FailureKind.PERMISSION, r"permission denied|read-only|access ?denied|not permitted|forbidden"),
    (FailureKind.NOT_FOUND, r"does not exist|not found|no such (?:file|key|bucket)"),
    (FailureKind.CHECKSUM, r"checksum|\bmd5\b|\bsha-?\d|\bcrc|other bytes|another size"),
    (FailureKind.TIMEOUT, r"no answer|timed? ?out|too long|silent"),
    (FailureKind.NETWORK, r"connection|network|its name|host name|\btls\b|certificate|tunnel|was cut"),
    (FailureKind.SERVER_REFUSED, r"refused|the server answered|not permit"),
)


def find_failure_kind(reason: str) -> FailureKind:
    """Return the kind of a failure by the line that describes it."""
    if (status := _STATUS.search(reason)) is not None:
        return _OF_STATUS.get(int(status[1]), FailureKind.SERVER_REFUSED)
    words = reason.lower()
    return next((kind for kind, pattern in _OF_WORDS if re.search(pattern, words)), FailureKind.OTHER)


def describe_failure(reason: str, *, kind: FailureKind | None = None) -> Failure:
    """Return a failure with its reason as one bounded sentence without secrets."""
    return Failure(kind or find_failure_kind(reason), format_sentence(reason))
