"""Lines that are JSON objects, and their values as text, whichever type a version of the writer gave them."""

import json
from collections.abc import Mapping

from tradewind.errors import InvalidValue
from tradewind.wire.base import BIGINT_MAX
from tradewind_agent.history.importers.fields import parse_number, round_within


def find_message(text: str, field: str = "row") -> Mapping[str, object]:
    """Parse the JSON object of a line, or of the field that is named.

    Raises
    ------
    InvalidValue : the text is no JSON, or no object.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidValue(field, "is not valid JSON") from None
    if not isinstance(message, dict):
        raise InvalidValue(field, "is no JSON object")
    return message


def find_text(message: Mapping[str, object], key: str) -> str:
    """Return a value as text: numbers as they are written, "" for what is absent or no single value."""
    value = message.get(key)
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return ""


def find_object(message: Mapping[str, object], key: str) -> Mapping[str, object]:
    """Return an object inside an object, empty if it is absent or something else."""
    value = message.get(key)
    return value if isinstance(value, dict) else {}


def read_count(field: str, message: Mapping[str, object], key: str) -> int:
    """Return a whole number ≥ 0 of a message, 0 where it has none.

    Raises
    ------
    InvalidValue : it is no such number.
    """
    value = message.get(key)
    if type(value) is int and 0 <= value <= BIGINT_MAX:  # nearly always
        return value
    text = find_text(message, key)
    return round_within(field, parse_number(field, text), 0) if text else 0
