"""Why a transfer failed: a kind of a closed list, and one bounded sentence without the secrets of addresses."""

import re
from dataclasses import dataclass
from enum import StrEnum

LONGEST_SENTENCE = 300
HIDDEN = "…"


class FailureKind(StrEnum):
    """What stopped a transfer, or its first file that failed."""

    PERMISSION = "permission"
    NOT_FOUND = "not_found"
    NO_SPACE = "no_space"
    CHECKSUM = "checksum"
    """Other bytes or another size than stated."""
    NETWORK = "network"
    SERVER_REFUSED = "server_refused"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a transfer failed or was cancelled; ``reason`` : a sentence for users."""

    kind: FailureKind
    reason: str


# To the last @: a password may hold one that is not escaped.
_USER_OF_URL = re.compile(r"(?<=://)[^\s]*@")
_USER_OF_HOST = re.compile(r"(?<![\w/.])[^\s/@:]+:[^\s/@]+@(?=\w)")
_QUERY_OF_URL = re.compile(r"(://[^\s?]*)\?[^\s\"'()]*")
_QUERY_OF_PATH = re.compile(r"(?<=[\w/.])\?[^\s\"'()?]*=[^\s\"'()]*")
_SET_SECRET = re.compile(
    r"(?i)(\w*(?:password|passwd|secret|token|key|signature|credential)\w*[\"']?\s*[=:]\s*)[^\s,;&)]+"
)
_SENT_SECRET = re.compile(r"(?i)\b(bearer|basic)\s+[\w+/=.~-]{6,}")
_ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b")


def remove_secrets(text: str) -> str:
    """Return ``text`` without users, passwords and queries of URLs, values of secret settings, and keys."""
    text = _USER_OF_URL.sub(f"{HIDDEN}@", text)
    text = _USER_OF_HOST.sub(f"{HIDDEN}@", text)
    text = _QUERY_OF_URL.sub(rf"\1?{HIDDEN}", text)
    text = _QUERY_OF_PATH.sub(f"?{HIDDEN}", text)
    text = _SENT_SECRET.sub(rf"\1 {HIDDEN}", text)
    return _ACCESS_KEY.sub(HIDDEN, _SET_SECRET.sub(rf"\1{HIDDEN}", text))


def format_sentence(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """Return ``text`` as one line of bounded length, without secrets and control characters."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    line = remove_secrets(" ".join(printable.split()))
    return line if len(line) <= longest else line[: longest - 1] + HIDDEN
