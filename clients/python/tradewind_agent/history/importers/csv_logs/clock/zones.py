"""Zones that a CSV log states outside its cells: behind the title of a column, or in a line above the table."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.names import LOCAL, is_zone
from tradewind_agent.history.importers.instants import describe_epoch, find_zone, write_plainly
from tradewind_agent.history.importers.ports import ImportContext

_NAME = re.compile(
    r"(?<![\w/-])(?:(?:UTC|GMT) ?[+-]\d{1,2}(?::?\d\d)?|[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+|(?P<short>[A-Z]{3,4}))(?![\w/-])"
)
_OF_TIMES = re.compile(
    r"\b(?:times?|timestamps?|clocks?|(?:time)?zones?|tz|hours?|uhr|zeit\w*|heures?|hora)\b|\d:\d\d", re.IGNORECASE
)
"""What lines speak of that state a zone."""
_HAS_ZONE = re.compile(r"(?:Z|[+-]\d{2}:?\d{2}|\b[A-Z]{3,5}|/[A-Za-z_]+)$")
_WINTER, _SUMMER = datetime(2026, 1, 15), datetime(2026, 7, 15)  # noqa: DTZ001 -- in whatever zone
_OF_UTC = ("UTC", "GMT", "Etc/")
"""How names of UTC begin; other zones may have its offset for half a year."""

_HOURS_OF_SEVERAL: Mapping[str, frozenset[float]] = MappingProxyType(
    {
        "CST": frozenset({-6, 8}),
        "IST": frozenset({5.5, 1, 2}),
        "BST": frozenset({1, 6, 11}),
        "AST": frozenset({-4, 3}),
    }
)
"""Hours before UTC of zones that share an abbreviation. The data of zones do not know all of them."""

_IN_ENGLISH: Mapping[str, str] = MappingProxyType({"MEZ": "CET", "MESZ": "CEST"})


def find_stated_zone(columns: Columns, context: ImportContext) -> tzinfo | None:
    """Return the zone that the titles of times say, ``None`` where they say none.

    Raises
    ------
    InvalidValue : start and end differ in it, or it means several zones and the user names none.
    """
    start = next((each for each in ("start", "time") if is_zone(columns.declared.get(each))), None)
    end = "end" if "end" in columns.place else "stated_end"
    name = None if start is None else columns.declared[start]
    end_name = columns.declared["end"] if end in columns.place and is_zone(columns.declared.get("end")) else None
    is_one_sided = end in columns.place and name != end_name and (name or end_name) is not None
    is_utc = context.timezone is None or _is_utc(context.timezone)
    if is_one_sided and not (is_utc and {name, end_name} == {"UTC", None}):
        stated, silent = ("start" if start is None else start, end) if name else (end, "start")
        is_other = name is not None and end_name is not None
        found = "is in another zone than" if is_other else f"does not say its zone, and {name or end_name} is that of"
        advice = "write the same one behind both, or offsets into the cells"
        raise InvalidValue(columns.find_title(silent), f"{found} {columns.find_title(stated)}; {advice}")
    if start is None or name is None:
        return None
    return _find(columns.find_title(start), name, context)


def _find(title: str, name: str, context: ImportContext) -> tzinfo:
    if name == "UTC":
        return UTC
    if context.timezone is not None and (name == LOCAL or _means(name, context.zone)):
        return context.zone
    zone = None if name == LOCAL else find_zone(name, _WINTER, UTC)
    if zone is None and context.timezone is None:
        raise InvalidValue(title, f"is in {name} time, which may be that of several zones; give it with --timezone")
    if zone is None or (context.timezone is not None and not _is_offset(name)):
        raise InvalidValue(
            title, f"is in {name} time, and --timezone names {context.timezone}; give another zone, or change the title"
        )
    return zone


def _is_offset(name: str) -> bool:
    return any(letter.isdecimal() for letter in name)


def _means(name: str, zone: tzinfo) -> bool:
    """Return whether a name is one of a zone, in winter or in summer."""
    offsets = [_count_hours(zone, at) for at in (_WINTER, _SUMMER)]
    names = [at.replace(tzinfo=zone).tzname() or "" for at in (_WINTER, _SUMMER)]
    if name == str(zone) or _IN_ENGLISH.get(name, name) in names:
        return True
    if not names[0].startswith(("+", "-", "UTC")):  # a zone with names of its own
        return False
    named = find_zone(name, _WINTER, UTC)
    hours = _HOURS_OF_SEVERAL.get(name, frozenset()) if named is None else {_count_hours(named, _WINTER)}
    return not hours.isdisjoint(offsets)


def _count_hours(zone: tzinfo, at: datetime) -> float:
    """Return by how many hours a zone is before UTC."""
    return (at.replace(tzinfo=zone).utcoffset() or timedelta()) / timedelta(hours=1)


def _is_utc(zone: tzinfo) -> bool:
    return all(_count_hours(zone, at) == 0 for at in (_WINTER, _SUMMER))


def _list_named(line: str) -> Iterator[str]:
    """Yield the zones that a line names; an abbreviation before a noun, as in ``the EST project``, may be none."""
    for found in _NAME.finditer(line):
        behind = line[found.end() : found.end() + 2].strip()
        is_noun = found["short"] is not None and behind[:1].isalpha() and not line[: found.start()].endswith("in ")
        if is_zone(found[0]) and not (is_noun and _OF_TIMES.search(line) is None):
            yield found[0]


def _states_utc(name: str) -> bool:
    zone = find_zone(name.replace(" ", ""), _WINTER, UTC)
    return name.startswith(_OF_UTC) and zone is not None and _is_utc(zone)


def reject_zone_above(columns: Columns, texts: Iterable[str], context: ImportContext) -> None:
    """Refuse times without a zone below a line that names one other than UTC, unless the user names it.

    Raises
    ------
    InvalidValue : names the zone, and the option.
    """
    if context.timezone is not None or "zone" in columns.place:
        return
    named = [name for line in columns.lines_above for name in _list_named(line)]
    name = next((each for each in named if not _states_utc(each)), None)
    if name is not None and any(map(_lacks_zone, texts)):
        advice = "give --timezone, such as Europe/Berlin, or UTC if the times are in UTC"
        raise InvalidValue("started_at", f"has no zone, and a line above the table names {name}; {advice}")


def _lacks_zone(text: str) -> bool:
    plain = write_plainly(text).strip()
    return bool(plain) and describe_epoch(plain) is None and _HAS_ZONE.search(plain) is None
