"""Zones that a CSV log states outside its cells: behind the title of a column, or in a line above the table."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.names import LOCAL, is_zone
from tradewind_agent.history.importers.instants import describe_epoch, find_zone, write_plainly
from tradewind_agent.history.importers.ports import ImportContext

_NAME = re.compile(
    r"(?<![\w/])(?:(?:UTC|GMT) ?[+-]\d{1,2}(?::?\d\d)?|[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+|[A-Z]{3,4})(?![\w/])"
)
_HAS_ZONE = re.compile(r"(?:Z|[+-]\d{2}:?\d{2}|\b[A-Z]{3,5}|/[A-Za-z_]+)$")
_WINTER, _SUMMER = datetime(2026, 1, 15), datetime(2026, 7, 15)  # noqa: DTZ001 -- in whatever zone
_STATES_UTC = frozenset({"UTC", "GMT"})


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
    if is_one_sided and not (context.timezone in (None, UTC) and {name, end_name} == {"UTC", None}):
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
    if context.timezone is not None and name in (LOCAL, *_list_names(context.zone)):
        return context.zone
    zone = None if name == LOCAL else find_zone(name, _WINTER, UTC)
    if zone is None and context.timezone is None:
        raise InvalidValue(title, f"is in {name} time, which may be that of several zones; give it with --timezone")
    return zone or context.zone


def _list_names(zone: tzinfo) -> list[str | None]:
    """List the names of a zone in winter and in summer."""
    return [at.replace(tzinfo=zone).tzname() for at in (_WINTER, _SUMMER)]


def reject_zone_above(columns: Columns, texts: Iterable[str], context: ImportContext) -> None:
    """Refuse times without a zone below a line that names one other than UTC, unless the user names it.

    Raises
    ------
    InvalidValue : names the zone, and the option.
    """
    if context.timezone is not None or "zone" in columns.place:
        return
    named = [name for line in columns.lines_above for name in _NAME.findall(line) if is_zone(name)]
    name = next((each for each in named if each not in _STATES_UTC), None)
    if name is not None and any(map(_lacks_zone, texts)):
        advice = "give --timezone, such as Europe/Berlin, or UTC if the times are in UTC"
        raise InvalidValue("started_at", f"has no zone, and a line above the table names {name}; {advice}")


def _lacks_zone(text: str) -> bool:
    plain = write_plainly(text).strip()
    return bool(plain) and describe_epoch(plain) is None and _HAS_ZONE.search(plain) is None
