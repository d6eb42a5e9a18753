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
_UNCLEAR_SIZE = re.compile(r"([KMGTPkmgtp])(i?b)?")
"""A prefix alone is of 1000 or of 1024, and ``Mb`` of bits or of bytes; ``kb`` and ``mb`` are bytes."""

_UNCLEAR_RATE = re.compile(r"([KMGTPkmgtp])(?:/s|ps)?|([kmgtp])b/s")
_BINARY = re.compile("[KMGTP]i")
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
    known = [match[1] for match in found if match is not None and _is_unit(quantity, match[2])]
    return known if len(known) > _LEAST_KNOWN * len(cells) else None


def _is_unit(quantity: str, unit: str) -> bool:
    return is_unclear(quantity, unit) or _find_scale(quantity, unit) is not None


def is_unclear(quantity: str, unit: str) -> bool:
    """Return whether a unit of sizes or rates may be one of several."""
    if _QUANTITIES[quantity] is _SIZE:
        return _UNCLEAR_SIZE.fullmatch(unit) is not None and not (unit.islower() and unit.endswith("b"))
    return _QUANTITIES[quantity] is _RATE and _UNCLEAR_RATE.fullmatch(unit) is not None


def reject_unclear_units(title: str, quantity: str, cells: Sequence[str]) -> None:
    """Refuse a column whose cells mostly have units that may be one of several.

    Raises
    ------
    InvalidValue : names one of them, and the option that settles it.
    """
    found = [match for cell in cells if (match := _WITH_UNIT.fullmatch(cell)) is not None]
    unclear = [match for match in found if is_unclear(quantity, match[2])]
    if len(unclear) > _LEAST_KNOWN * len(cells):
        raise InvalidValue(title, f"is {unclear[0][0][:40]}, {_explain_unclear(title, quantity, unclear[0][2])}")


def reject_other_units(title: str, quantity: str, declared: str | None, cells: Sequence[str]) -> None:
    """Refuse a column whose title has a unit that none of its cells has; bytes may be written in any.

    Raises
    ------
    InvalidValue : names both.
    """
    if declared in (None, "B"):
        return
    own, _, _ = _QUANTITIES[quantity]
    written = {
        match[2]: find_quantity(f"{own} {match[2]}")[1] for cell in cells if (match := _WITH_UNIT.fullmatch(cell))
    }
    if written and declared not in written.values():
        raise InvalidValue(
            title, f"is in {declared} by its title, and in {next(iter(written))} by its cells; rename it"
        )


def _explain_unclear(title: str, quantity: str, unit: str) -> str:
    prefix = unit[0].upper()
    decimal = "k" if prefix == "K" else prefix
    if _QUANTITIES[quantity] is _RATE:
        possible = [f"{decimal}bit/s", f"{decimal}B/s", f"{prefix}iB/s"]
        return f"whose unit may be one of {', '.join(possible)}; give --unit '{title}={possible[0]}' or another"
    if unit.endswith("b"):
        return f"which may be bits or bytes; give --unit '{title}={decimal}B' if bytes are meant"
    options = f"--unit '{title}={decimal}B' or --unit '{title}={prefix}iB'"
    return f"where {unit} may be a power of 1000 or of 1024 bytes; give {options}"


def get_plain_unit(quantity: str) -> str:
    """Return the unit of the plain numbers of a quantity."""
    return _QUANTITIES[quantity][1]


def make_converter(
    title: str, quantity: str, to_number: Callable[[str], str], given: str | None = None
) -> Callable[[str], str]:
    """Return what makes plain numbers of the cells of a column; ``to_number`` reads their marks.

    It raises `InvalidValue` for a cell without a unit, or with one that is unknown or means several.

    Parameters
    ----------
    given : the unit that the user names, by whose kind those that mean several are read.
    """
    return partial(_convert, title, quantity, to_number, given)


def _convert(title: str, quantity: str, to_number: Callable[[str], str], given: str | None, cell: str) -> str:
    text = cell.strip()
    if text.lower() in UNKNOWN_TEXTS or text == "0":
        return text
    match = _WITH_UNIT.fullmatch(text)
    if match is None:
        raise InvalidValue(title, f"has no unit, as other rows have: {text[:40]!r}")
    if is_unclear(quantity, match[2]):
        if given is None:
            raise InvalidValue(title, f"is {text[:40]}, {_explain_unclear(title, quantity, match[2])}")
        scale: float | None = _scale_as(match[2], given)
    else:
        scale = _find_scale(quantity, match[2])
    if scale is None:
        raise InvalidValue(title, f"has an unknown unit: {text[:40]!r}")
    try:
        return repr(float(to_number(match[1])) * scale)
    except ValueError:
        raise InvalidValue(title, f"is not a number: {text[:40]!r}") from None


def _scale_as(unit: str, given: str) -> float:
    """Return the scale of a prefix that counts as the given unit does: by 1000 or 1024, bits or bytes."""
    power = 1 + "KMGTP".index(unit[0].upper())
    base = 1024.0 if _BINARY.match(given) else 1000.0
    bits_per_unit = 8.0 if given.endswith("B/s") else 1.0
    return bits_per_unit * base**power


def _find_scale(quantity: str, unit: str) -> float | None:
    title, _, scales = _QUANTITIES[quantity]
    _, name = find_quantity(f"{title} {unit}")
    return None if name is None else scales.get(name)
