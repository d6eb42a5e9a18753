"""Objects that exports flatten: names with dots, values in lists of one, and logfmt. Each becomes the object it was."""

import json
import re
from collections.abc import Mapping

from tradewind.errors import InvalidValue

FLAT_ROOTS = ("_source.", "fields.", "data.", "payload.", "stats.")
"""How names begin where exports and collectors made one level of several."""

_LEVELS = ("_source", "fields", "data")

_PAIR = re.compile(r"([A-Za-z_@][\w.@/-]*)=(\"(?:[^\"\\]|\\.)*\"|[^\s\"=]*)(?:\s+|$)")
_LEVEL = re.compile(r"(?:^| )(?:level|lvl|msg)=")
_BEGINNING = re.compile(r"[a-z_@][\w.@/-]{0,60}=")
_LEAST_PAIRS = 3
_TRUTHS = {"true": True, "false": False}


def is_flattened(message: Mapping[str, object]) -> bool:
    """Return whether an object has names that stand for levels."""
    return any(name.startswith(FLAT_ROOTS) for name in message)


def nest_names(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return an object whose names with dots are objects again, without the levels of searches around it.

    A name that stands for a value and for an object, as of a further index of the same field, remains the value.
    """
    nested: dict[str, object] = {}
    for name, value in message.items():
        *levels, last = name.split(".") if name.startswith(FLAT_ROOTS) else [name]
        level: object = nested
        for each in levels:
            level = level.setdefault(each, {}) if isinstance(level, dict) else None
        if isinstance(level, dict) and not isinstance(level.get(last), dict):
            level[last] = value
    return _open_levels(nested)


def _open_levels(message: dict[str, object]) -> Mapping[str, object]:
    """Return what is in the levels that a search and WLCG's monitoring put around a message."""
    for root in _LEVELS:
        inner = message.get(root)
        if isinstance(inner, dict):
            return _open_levels(inner)
    return message


def take_single_values(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return an object whose values were lists of one, as searches return ``fields``."""
    return {name: each[0] if isinstance(each, list) and len(each) == 1 else each for name, each in message.items()}


def may_be_logfmt(text: str) -> bool:
    """Return whether a line may be of logfmt; GridFTP's names are in capitals, or no level is among them."""
    return text[:1].islower() and _BEGINNING.match(text) is not None and _LEVEL.search(text) is not None


def parse_logfmt(text: str) -> Mapping[str, object] | None:
    """Return the object of a line of logfmt, its numbers as text; ``None`` for a line that is none to its end."""
    found: dict[str, object] = {}
    end = 0
    while (pair := _PAIR.match(text, end)) is not None:
        name, value = pair.groups()
        if name in found:
            return None
        found[name] = _unquote(value) if value.startswith('"') else read_truth(value)
        end = pair.end()
    return found if end == len(text) and len(found) >= _LEAST_PAIRS else None


def read_truth(text: str) -> str | bool:
    """Return what is true or false as such: readers of messages tell these from texts."""
    return _TRUTHS.get(text.lower(), text)


def _unquote(value: str) -> str:
    try:
        return str(json.loads(value))
    except ValueError:
        return value[1:-1]


def explain_open_line() -> InvalidValue:
    """Return the fault of a last line of logfmt without a line end: any of its values may be the last."""
    return InvalidValue("row", "has no line end and may be cut off; end the file with a line break if it is complete")
