"""Hours of a region from CSV: an instant an hour, a price, a carbon intensity.

Columns: ``starts_at``, and ``price_per_kwh`` or ``price_per_mwh``, and ``carbon_g_per_kwh`` (kg/MWh is the same). The
unit is part of the name, because a price in EUR/MWh looks like any other number. Empty cells are unknown. Lines are in
the order of time.

Times with an offset are instants. Times without one need the time zone: the hour that is skipped in spring is refused,
and the one that comes twice in autumn stands twice in the file, the first time in summer time.
"""

import csv
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tradewind.errors import InvalidValue
from tradewind.grid.hours import MOST_HOURS, Hour

STARTS_AT, PRICE, PRICE_PER_MWH, CARBON = "starts_at", "price_per_kwh", "price_per_mwh", "carbon_g_per_kwh"
COLUMNS = (STARTS_AT, PRICE, PRICE_PER_MWH, CARBON)
KWH_PER_MWH = 1000.0
_FIRST_YEAR, _LAST_YEAR = 1970, 9000


def find_zone(name: str) -> ZoneInfo:
    """Return the time zone of an IANA name.

    Raises
    ------
    InvalidValue : there is none of that name.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidValue("time_zone", f"{name!r} is no time zone, such as Europe/Berlin") from None


def read_hours(lines: Iterable[str], zone: ZoneInfo | None = None) -> list[Hour]:
    """Return the hours of a CSV file that has a header.

    Parameters
    ----------
    lines : of the file.
    zone : of times without an offset.

    Raises
    ------
    InvalidValue : names the line, counted from 1, and what is wrong with it.
    """
    rows = csv.DictReader(lines, skipinitialspace=True)
    names = _check_header(rows.fieldnames)
    hours: list[Hour] = []
    last: datetime | None = None
    for row in rows:
        if not any(value for value in row.values() if isinstance(value, str) and value.strip()):
            continue
        where = f"line {rows.line_num}"
        if len(hours) == MOST_HOURS:
            raise InvalidValue(where, f"is more than the {MOST_HOURS} hours that an upload may have")
        if None in row:
            raise InvalidValue(where, "has more cells than the header")
        price = _read_number(where, row, PRICE) if PRICE in names else _read_number(where, row, PRICE_PER_MWH)
        if price is not None and PRICE not in names:
            price /= KWH_PER_MWH
        hour = Hour(_read_instant(where, row[STARTS_AT], zone, last), price, _read_number(where, row, CARBON))
        if last is not None and hour.starts_at <= last:
            wrong = "is the same hour as" if hour.starts_at == last else "is before"
            raise InvalidValue(where, f"{wrong} the line before; lines must be in the order of time")
        last = hour.starts_at
        if price is not None or hour.carbon_g_per_kwh is not None:
            hours.append(hour)
    return hours


def _check_header(fieldnames: Iterable[str] | None) -> frozenset[str]:
    given = list(fieldnames or ())
    names = frozenset(given)
    known = ", ".join(COLUMNS)
    if len(names) < len(given):
        raise InvalidValue("line 1", f"must name each column once; there are {known}")
    if STARTS_AT not in names or not names & {PRICE, PRICE_PER_MWH, CARBON}:
        raise InvalidValue("line 1", f"must name {STARTS_AT} and a price or carbon intensity; there are {known}")
    if unknown := sorted(names - set(COLUMNS)):
        raise InvalidValue("line 1", f"{unknown[0]!r} is no column; there are {known}")
    if {PRICE, PRICE_PER_MWH} <= names:
        raise InvalidValue("line 1", f"names both {PRICE} and {PRICE_PER_MWH}")
    return names


def _read_number(where: str, row: Mapping[str, str | None], name: str) -> float | None:
    text = (row.get(name) or "").strip()
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidValue(where, f"{name} is no number: {text!r}") from None


def _read_instant(where: str, text: str | None, zone: ZoneInfo | None, last: datetime | None) -> datetime:
    text = (text or "").strip()
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidValue(where, f"{STARTS_AT} is no time such as 2026-10-25T02:00+01:00: {text!r}") from None
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise InvalidValue(where, f"{STARTS_AT} is in no year from {_FIRST_YEAR} to {_LAST_YEAR}: {text!r}")
    if at.tzinfo is not None:
        return at.astimezone(UTC)
    if zone is None:
        raise InvalidValue(where, f"{STARTS_AT} has no offset from UTC; give the time zone of such times")
    first = at.replace(tzinfo=zone, fold=0).astimezone(UTC)
    second = at.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if first.astimezone(zone).replace(tzinfo=None) != at:
        raise InvalidValue(where, f"{text} is skipped in {zone.key}, where clocks go forward")
    return second if first != second and last is not None and last >= first else first
