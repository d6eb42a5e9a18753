"""What two columns of a CSV log say together: a number and its unit, a rounded size and the exact one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.names import DECLARED_UNITS, find_quantity, to_plain
from tradewind_agent.history.importers.csv_logs.units_inference import SIZE_UNITS
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS

_UNIT_TITLE = re.compile(r"(?P<quantity>.*?)units?")
_SIZE = re.compile(r"(?P<number>\d+(?:\.(?P<decimals>\d+))?)\s*(?P<unit>[A-Za-z]*)")
_PREFIXES = "KMGT"
_SHARE_THAT_AGREES = 0.9
"""Of rows with an exact size. Bytes moved have to agree in all of them: a transfer that failed was of more."""


def take_unit_columns(columns: Columns, rows: Sequence[Sequence[str]]) -> Columns:
    """Return the columns with the units that other columns hold, such as ``speed_unit``; each row has to have them.

    Raises
    ------
    InvalidValue : a column of units holds several, or one that is not known.
    """
    declared, constants = dict(columns.declared), dict(columns.constants)
    for place, title in enumerate(columns.header):
        quantity = _find_measured(columns, place, title)
        if quantity is None or quantity in columns.given:
            continue
        units = {text: None for row in rows if (text := row[place].strip()).lower() not in UNKNOWN_TEXTS}
        if not units:
            continue
        measured = columns.find_title(quantity)
        if len(units) > 1:
            seen = ", ".join(list(units)[:3])
            raise InvalidValue(
                title, f"has several units: {seen}; write each behind its number, such as {measured} 40 MB"
            )
        written = next(iter(units))
        _, unit = find_quantity(f"{to_plain(measured)} {written}")
        if unit is None:
            raise InvalidValue(title, f"is no known unit: {written[:20]!r}; give --unit '{measured}=UNIT'")
        declared[quantity], constants[place] = unit, written
    return replace(columns, declared=declared, constants=constants)


def _find_measured(columns: Columns, place: int, title: str) -> str | None:
    """Return the quantity whose unit a column holds, ``None`` for other columns, and for units that the title has."""
    found = _UNIT_TITLE.fullmatch(to_plain(title))
    if found is None:
        return None
    if found["quantity"]:
        quantity = find_quantity(found["quantity"])[0]
    else:
        quantity = next((each for each, at in columns.place.items() if at == place - 1), None)
    is_open = quantity in columns.place and quantity not in columns.declared and quantity in DECLARED_UNITS
    return quantity if is_open else None


def drop_rounded_sizes(columns: Columns, rows: Sequence[Sequence[str]]) -> Columns:
    """Return the columns without a size such as ``38M`` that another has to the byte."""
    exact = next((each for each in ("total_size", "moved_size") if _is_in_bytes(columns, each)), None)
    if exact is None or columns.given & {"file_size", "total_size"}:
        return columns
    for quantity in ("file_size", "total_size"):
        at, exact_at = columns.place.get(quantity), columns.place[exact]
        if at is None or at == exact_at:
            continue
        pairs = [(row[at].strip(), row[exact_at].strip()) for row in rows if row[exact_at].strip().isdecimal()]
        agreeing = sum(_is_rounded(size, int(exactly), columns.declared.get(quantity)) for size, exactly in pairs)
        if pairs and agreeing >= (_SHARE_THAT_AGREES if exact == "total_size" else 1) * len(pairs):
            place = {each: index for each, index in columns.place.items() if each != quantity}
            declared = {each: unit for each, unit in columns.declared.items() if each != quantity}
            if not {"file_size", "total_size"} & place.keys():
                place["total_size"], declared["total_size"] = exact_at, "B"
            return replace(columns, place=place, declared=declared)
    return columns


def _is_in_bytes(columns: Columns, quantity: str) -> bool:
    if quantity not in columns.place:
        return False
    return columns.declared.get(quantity, "B") == "B" and "byte" in to_plain(columns.find_title(quantity))


def _is_rounded(text: str, exact_bytes: int, declared: str | None) -> bool:
    """Return whether a size is a number of bytes in some unit, to its last digit."""
    found = _SIZE.fullmatch(text)
    if found is None or exact_bytes == 0:
        return False
    last_digit = 10.0 ** -len(found["decimals"] or "")
    scales = _list_scales(found["unit"], declared)
    return any(abs(exact_bytes / scale - float(found["number"])) <= last_digit for scale in scales if scale != 1)


def _list_scales(unit: str, declared: str | None) -> Iterator[float]:
    """Yield the bytes that a unit may mean; that of a number alone may be any, unless the title declares it."""
    if not unit:
        yield from SIZE_UNITS.values() if declared is None else (SIZE_UNITS[declared],)
    elif unit.upper() in _PREFIXES:
        power = 1 + _PREFIXES.index(unit.upper())
        yield from (1000.0**power, 1024.0**power)
    elif (known := find_quantity(f"size {unit}")[1]) is not None:
        yield SIZE_UNITS[known]
