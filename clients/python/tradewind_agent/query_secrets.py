"""Addresses as they are shown: the query of a signed one lets whoever reads it fetch the file."""

import re

HIDDEN = "…"
_ADDRESS = re.compile(r"([A-Za-z][\w+.-]{0,20}://[^\s\"'<>?]{1,8192}\?)([^\s\"'<>]*[^\s\"'<>,;:.)])")
_SECRET = re.compile(
    r"(?i)(?:^|[-_.])(?:signature|credential|secret|sig|hmac|jwt|(?:access|auth|id)?token|auth|passwd|password|pwd"
    r"|api[-_]?key|(?:aws)?access[-_]?key(?:[-_]?id)?)$"
)


def hide_query_secrets(text: str) -> str:
    """Return ``text`` with the addresses in it as they are, but for signatures, tokens and passwords in queries.

    What stands before the first question mark is the name of a file, whatever it looks like.
    """
    return _ADDRESS.sub(_hide, text) if "?" in text else text


def _hide(found: re.Match[str]) -> str:
    pieces = re.split("([&;])", found[2])
    return found[1] + "".join(map(_hide_value, pieces))


def _hide_value(piece: str) -> str:
    name, equals, value = piece.partition("=")
    return f"{name}={HIDDEN}" if equals and value and _SECRET.search(name) is not None else piece
