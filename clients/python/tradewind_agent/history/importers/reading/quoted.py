"""Lines that an export quoted, or that Python printed, as the text or the object that they were."""

import json
from ast import literal_eval

CONTROLS = "".join(map(chr, [*range(9), *range(10, 32)]))
"""ASCII's control characters but the tab: brokers end messages with EOT or NUL, JSON sequences begin with RS."""


def open_quotes(text: str) -> str | None:
    """Return what is in the quotes of a line that is a string of JSON, CSV or Python; ``None`` for other lines."""
    if text[:2] in ('"{', "'{", '"D') and text.endswith(text[0]):
        return _unquote(text)
    return _unquote_bytes(text) if text[:3] in ("b'{", 'b"{') else None


def _unquote(text: str) -> str:
    """Return a line that was exported as a quoted string, by the rules of JSON or of CSV."""
    inner = text[1:-1]
    if inner.startswith("DATE="):
        return inner.replace('""', '"')
    if text[0] == '"' and '""' in inner and is_object(inner.replace('""', '"')):
        return inner.replace('""', '"')
    if text[0] == '"' and "\\" in inner:
        try:
            return str(json.loads(text))
        except (ValueError, RecursionError):
            return text
    return inner if is_object(inner) else text


def _unquote_bytes(text: str) -> str:
    """Return a message that Python printed as bytes."""
    try:
        found = literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    return found.decode(errors="replace").strip(CONTROLS) if isinstance(found, bytes) else text


def parse_printed(text: str) -> str:
    """Return an object that Python printed as a dictionary; other texts as they are."""
    if not text.startswith("{'"):
        return text
    try:
        found = literal_eval(text)
        return json.dumps(found, ensure_ascii=False) if isinstance(found, dict) else text
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return text


def is_object(text: str) -> bool:
    """Return whether a text is a JSON object."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
