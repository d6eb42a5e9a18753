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


# To the last @: a password may hold one that is not escaped. The scheme may be missing.
_USER_OF_URL = re.compile(r"(?<=//)[^\s]*@")
_USER_OF_HOST = re.compile(r"(?<![\w/.])[^\s/@:]+:[^\s/@]+@(?=\w)")
_QUERY_OF_URL = re.compile(r"(://[^\s?]*)\?[^\s\"'()]*")
_QUERY_OF_PATH = re.compile(r"(?<=[\w/.])\?[^\s\"'()?]*=[^\s\"'()]*")
_NAMES = r"(?:passw|passphrase|secret|token|key|signature|credential|authz|macaroon)"
_VALUE = r"(?:\"[^\"]*(?:\"|$)|'[^']*(?:'|$)|[^\s,;&)]+)"
_SET_SECRET = re.compile(rf"(?i)((?:\w*{_NAMES}\w*|\b(?:pass|pwd|sig))[\"']?\s*(?:[=:]|%3[ad])\s*){_VALUE}")
_OPTION = re.compile(rf"(?i)(--[\w-]*{_NAMES}[\w-]*\s+){_VALUE}")
# A scheme, and parameters as long as one ends with a comma or semicolon.
_HEADER = re.compile(r"(?i)(\b(?:authorization|cookie)[\"']?\s*[=:]\s*)(?:[a-z][\w-]*\s+(?=\S))?(?:\S+[,;]\s+)*\S+")
_SENT_SECRET = re.compile(r"(?i)\b(bearer|basic)(\s+|%20)[\w+/=.~%-]{6,}")
_WEB_TOKEN = re.compile(r"\beyJ[\w-]{6,}(?:\.[\w-]*){1,4}")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|$)", re.DOTALL)
_ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b")

_REPLACED = (
    (_PRIVATE_KEY, HIDDEN),
    (_HEADER, rf"\1{HIDDEN}"),
    (_USER_OF_URL, f"{HIDDEN}@"),
    (_USER_OF_HOST, f"{HIDDEN}@"),
    (_QUERY_OF_URL, rf"\1?{HIDDEN}"),
    (_QUERY_OF_PATH, f"?{HIDDEN}"),
    (_SENT_SECRET, rf"\1\2{HIDDEN}"),
    (_SET_SECRET, rf"\1{HIDDEN}"),
    (_OPTION, rf"\1{HIDDEN}"),
    (_WEB_TOKEN, HIDDEN),
    (_ACCESS_KEY, HIDDEN),
)
"""In this order."""


def remove_secrets(text: str) -> str:
    """Return ``text`` without users, passwords and queries of URLs, what headers authorise, values of secret settings
    and options, and keys.
    """
    for pattern, shown in _REPLACED:
        text = pattern.sub(shown, text)
    return text


def format_sentence(text: str, longest: int = LONGEST_SENTENCE) -> str:
    """Return ``text`` as one line of bounded length, without secrets and control characters."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    line = remove_secrets(" ".join(printable.split()))
    return line if len(line) <= longest else line[: longest - 1] + HIDDEN
