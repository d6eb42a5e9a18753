"""Addresses as they are shown: the query of a signed one lets whoever reads it fetch the file."""

import re

HIDDEN = "…"
_SECRET = re.compile(
    r"(?i)([?&;](?:[\w.~-]*(?:signature|credential|token|secret|passw|api[_-]?key|access[_-]?key)[\w.~-]*|sig|pwd|auth)=)"
    r"[^&\s\"'<>]*[^&\s\"'<>,;:.)]"
)


def hide_query_secrets(text: str) -> str:
    """Return ``text`` with the addresses in it as they are, but for signatures, tokens and passwords in queries."""
    return _SECRET.sub(rf"\1{HIDDEN}", text) if "=" in text else text
