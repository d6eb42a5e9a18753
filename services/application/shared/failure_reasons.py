"""Format reasons of failures for users: one bounded line without the secrets of addresses and settings."""

import re

LONGEST_REASON = 500
HIDDEN = "…"

# To the last @: a password may hold one that is not escaped.
_USER_OF_URL = re.compile(r"(?<=://)[^\s]*@")
_QUERY_OF_URL = re.compile(r"(://[^\s?]*)\?[^\s\"'()]*")
_SET_SECRET = re.compile(
    r"(?i)(\w*(?:password|passwd|secret|token|key|signature|credential)\w*[\"']?\s*[=:]\s*)[^\s,;&)]+"
)
_ACCESS_KEY = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b")


def remove_secrets(text: str) -> str:
    """Return ``text`` without users, passwords and queries of URLs, values of secret settings, and keys."""
    text = _USER_OF_URL.sub(f"{HIDDEN}@", text)
    text = _QUERY_OF_URL.sub(rf"\1?{HIDDEN}", text)
    return _ACCESS_KEY.sub(HIDDEN, _SET_SECRET.sub(rf"\1{HIDDEN}", text))


def format_reason(text: str) -> str:
    """Return ``text`` as one line of at most ``LONGEST_REASON`` characters, without secrets."""
    line = remove_secrets(" ".join(text.replace("\0", " ").split()))
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"
