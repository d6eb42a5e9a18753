"""Units that stand in the cells of a CSV log, such as ``40 MB`` or ``1.2 Gbit/s``, as plain numbers in SI units."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.names import find_quantity
from tradewind_agent.history.importers.csv_logs.units_inference import RATE_UNITS, SIZE_UNITS, TIME_UNITS
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS

_WITH_UNIT = re.compile(r"([+-]?[\d.,\s'’_]*\d(?:[eE][+-]?\d{1,3})?)\s*([A-Za-zµ][A-Za-zµ/]*)")
_MEGABITS = re.compile(r"[KMGT]i?b")
_LEAST_KNOWN = 0.5

_SIZE = ("size", "B", SIZE_UNITS)
_RATE = ("throughput", "bit/s", RATE_UNITS)
_QUANTITIES: Mapping[str, tuple[str, str, Mapping[str, float]]] = MappingProxyType(
    {
        "file_size": _SIZE,
        "total_size": _SIZE,
        "moved_size": _SIZE,
        "buffer": _SIZE,
        "io_block": _SIZE,
        "throughput": _RATE,
        "bandwidth": _RATE,
        "rtt": ("rtt", "s", TIME_UNITS),
    }
)
"""For each quantity: a title whose units are its own, the unit of the plain numbers, and the scales to it."""


def take_numbers(quantity: str, cells: Sequence[str]) -> list[str] | None:
    """Return the numbers in cells of a column, if most of them have a unit that is known; else ``None``."""
    if quantity not in _QUANTITIES:
        return None
    found = [_WITH_UNIT.fullmatch(cell) for cell in cells]
    known = [match[1] for match in found if match is not None and _find_scale(quantity, match[2]) is not None]
    return known if len(known) > _LEAST_KNOWN * len(cells) else None


def get_plain_unit(quantity: str) -> str:
    """Return the unit of the plain numbers of a quantity."""
    return _QUANTITIES[quantity][1]


def make_converter(title: str, quantity: str, to_number: Callable[[str], str]) -> Callable[[str], str]:
    """Return what makes plain numbers of the cells of a column; ``to_number`` reads their marks.

    It raises `InvalidValue` for a cell without a unit, or with one that is unknown or means several.
    """
    return partial(_convert, title, quantity, to_number)


def _convert(title: str, quantity: str, to_number: Callable[[str], str], cell: str) -> str:
    text = cell.strip()
    if text.lower() in UNKNOWN_TEXTS or text == "0":
        return text
    match = _WITH_UNIT.fullmatch(text)
    if match is None:
        raise InvalidValue(title, f"has no unit, as other rows have: {text[:40]!r}")
    if quantity in _QUANTITIES and _QUANTITIES[quantity] is _SIZE and _MEGABITS.fullmatch(match[2]):
        raise InvalidValue(title, f"is in {match[2]}, which may be bits or bytes; write {match[2][:-1]}B")
    scale = _find_scale(quantity, match[2])
    if scale is None:
        raise InvalidValue(title, f"has an unknown unit: {text[:40]!r}")
    try:
        return repr(float(to_number(match[1])) * scale)
    except ValueError:
        raise InvalidValue(title, f"is not a number: {text[:40]!r}") from None


def _find_scale(quantity: str, unit: str) -> float | None:
    title, _, scales = _QUANTITIES[quantity]
    _, name = find_quantity(f"{title} {unit}")
    return None if name is None else scales.get(name)
