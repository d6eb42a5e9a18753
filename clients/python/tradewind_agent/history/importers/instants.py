"""Dates and times as logs write them: names of months and of zones, epochs in s to ns, compact forms."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from types import MappingProxyType
from zoneinfo import ZoneInfo

from tradewind.errors import InvalidValue

_MONTHS: Mapping[str, int] = MappingProxyType(
    {
        name: 1 + place
        for place, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split())  # noqa: SIM905
    }
)
_ENGLISH_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_OTHER_MONTHS: Mapping[str, str] = MappingProxyType(
    {
        name: english
        for english, names in {
            "Jan": "januar jan janner janvier janv enero ene gennaio gen janeiro januari",
            "Feb": "februar feb fevrier fevr fev febrero febbraio fevereiro februari",
            "Mar": "marz maerz mrz mar mars marzo marco maart mrt",
            "Apr": "april apr avril avr abril abr aprile",
            "May": "mai mayo maggio mag maio mei maj may",
            "Jun": "juni jun juin junio giugno giu junho",
            "Jul": "juli jul juillet juil julio luglio lug julho",
            "Aug": "august aug aout aou agosto ago augustus augusti",
            "Sep": "september sep sept septembre septiembre settembre set setembro",
            "Oct": "oktober okt oct octobre octubre ottobre ott outubro out",
            "Nov": "november nov novembre noviembre novembro",
            "Dec": "dezember dez dec decembre diciembre dic dicembre dezembro desember des",
        }.items()
        for name in names.split()
    }
)
"""Names of months in German, French, Spanish, Italian, Portuguese, Dutch and Nordic languages, without accents."""

_LETTERS = re.compile("[A-Za-z]+")
_NAME = re.compile(r"[^\W\d_]+\.?")
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +)?"
_CLOCK = r"(?P<clock>\d{1,2}:\d{2}\S*(?: ?[AaPp][Mm])?)"
_ZONE = r"(?: +(?P<zone>[A-Z]{1,5}|[+-]\d{2}:?\d{2}))?"
_DAY_MONTH = re.compile(
    rf"{_WEEKDAY}(?P<day>\d{{1,2}})[ /-](?P<month>[A-Za-z]{{3}})[a-z]*[ /-](?P<year>\d{{4}})[ :,T]+{_CLOCK}{_ZONE}"
)
_RFC_850 = re.compile(rf"[A-Z][a-z]+day, (?P<day>\d\d)-(?P<month>[A-Z][a-z]{{2}})-(?P<year>\d\d) {_CLOCK}{_ZONE}")
"""The one notation whose years of two digits are in a place of their own."""

_MONTH_DAY = re.compile(
    rf"{_WEEKDAY}(?P<month>[A-Za-z]{{3}})[a-z]* +(?P<day>\d{{1,2}}),? +(?:(?P<year>\d{{4}}),? +)?{_CLOCK}{_ZONE}"
    r"(?: +(?P<last>\d{4}))?"
)
_BRACKETS = str.maketrans("", "", "[]()")
_COMPACT = re.compile(r"(\d{4})(\d\d)(\d\d)[T_ ]?(\d\d)(\d\d)(\d\d)(\.\d+)?(Z|[+-]\d{2}:?\d{2})?")

FIRST_OF_CENTURY = 90
"""Two digits from here on are of the last century: no log is older than 1990."""

_EPOCH = re.compile(r"([12]\d{9}|[12]\d{12}|[12]\d{15}|[12]\d{18})(?:[.,](\d+))?")
"""From 2001 to 2065: other counts of as many digits begin elsewhere, as NTP's in 1900 and those of .NET in year 1."""

_EPOCH_IN_POWERS = re.compile(r"\d\.\d{6,}[eE](?:9|1[258])|\d\.\d{7,}[eE]\+?(?:0?9|1[258])")
"""Java writes as many digits as there are; C and R, which write a sign, round to 6 by default."""
_UNITS: Mapping[int, tuple[int, str]] = MappingProxyType(
    {10: (1, "seconds"), 13: (10**3, "milliseconds"), 16: (10**6, "microseconds"), 19: (10**9, "nanoseconds")}
)
"""Ticks a second, and their name, by the digits that an epoch of our time has at most."""

_TICKS: Mapping[str | None, int] = MappingProxyType({"s": 1, "ms": 10**3, "µs": 10**6, "ns": 10**9})
_ANY_EPOCH = re.compile(r"(\d{1,19})(?:[.,](\d+))?")
_LATEST_S = 4_102_444_800
"""The first second of 2100."""

_OFFSETS_H: Mapping[str, float] = MappingProxyType(
    {
        "Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 1, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "EET": 2, "EEST": 3,
        "MSK": 3, "JST": 9, "KST": 9, "HKT": 8, "SGT": 8, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
        "EST": -5, "EDT": -4, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    }
)  # fmt: skip
"""Hours before UTC of zones whose abbreviation means one thing; CST, IST and BST mean several."""

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_HOURS_ALONE = re.compile(r"1?\d(?::\d\d)?")
_MAYBE_MINUTES = re.compile(r"[+-]?\d{3}")
"""Offsets that may be minutes, such as ``-300``, whose sign is then the other one in some languages."""


_ODD = re.compile(r"[^\x00-\x7f]|\dt\d|\dz|[apAP]\.|\[|[+-]\d\d:?\d\d [A-Z+-]|,|@")
_SPACES = re.compile(r"[\u00a0\u2009\u202f]")
_MINUS = re.compile(r"[\u2212\u2013](?=\d\d:?\d\d)")
_LOWER_CASE = re.compile(r"(?<=\d)t(?=\d)|(?<=\d)z$")
_HALVES = re.compile(r"(?<=\d) ?([apAP])\. ?[mM]\.")
_NAMES_BEHIND = re.compile(
    r"(?<=\d)( ?[+-]\d\d:?\d\d|Z)(?: (?:[A-Z]{1,5}|[+-]\d{2,4})| ?\[[\w/+-]+\])(?: m=[+-][\d.]+)?$"
)
_DATE_END = re.compile(r"(?<=\d),? @ (?=\d)|(?<=\d), (?=\d{1,2}:)")


def write_plainly(text: str) -> str:
    """Return a time without what some programs put around its parts: a name of the zone behind its offset as of Go and
    Java, a comma or @ behind the date as of JavaScript and Kibana, other blanks, dots in a.m., t and z in lower case.
    """
    if _ODD.search(text) is None:  # nearly always
        return text
    text = _MINUS.sub("-", _SPACES.sub(" ", text))
    text = _HALVES.sub(lambda half: f" {half[1].upper()}M", _LOWER_CASE.sub(lambda found: found[0].upper(), text))
    return _NAMES_BEHIND.sub(r"\1", _DATE_END.sub(" ", text))


_ORACLE = re.compile(
    r"(?P<day>\d\d)-(?P<month>[A-Z]{3})-(?P<year>\d\d) (?P<hour>\d\d)\.(?P<minute>\d\d)\.(?P<second>\d\d)"
    r"(?P<fraction>\.\d{1,9})?(?P<half> [AP]M)?(?P<zone> [+-]\d\d:\d\d)?"
)
"""The default of Oracle's timestamps, whose dots between the hours no other program writes."""


def _find_named_month(text: str) -> re.Match[str] | None:
    """Return the parts of a date with an English name of its month, ``None`` for others."""
    found = _DAY_MONTH.fullmatch(text) or _MONTH_DAY.fullmatch(text) or _RFC_850.fullmatch(text)
    if found is None or (month := _MONTHS.get(found["month"].lower())) is None:
        return None
    name = _LETTERS.match(text, found.start("month"))
    written = "" if name is None else name[0].lower()
    return found if written == "sept" or _ENGLISH_MONTHS[month - 1].startswith(written) else None


def _write_in_english(text: str) -> str:
    """Return a date with the name of its month in English, without a weekday in another language."""
    words = [(found, _OTHER_MONTHS.get(remove_accents(found[0].rstrip(".").lower()))) for found in _NAME.finditer(text)]
    months = [(found, month) for found, month in words if month is not None]
    if not months:
        return text
    found, month = months[1] if len(months) > 1 and months[0][0].start() == 0 else months[0]
    before = re.sub(r"^[^\W\d_]+\.?,? *(?=\d|$)", "", text[: found.start()])
    before = re.sub(r"(?<=\d)\.? +(?:de +)?$|(?<=\d)\.$", " ", before)
    return f"{before}{month}{re.sub(r'^ +de +', ' ', text[found.end() :])}"


def remove_accents(text: str) -> str:
    """Return a text without the accents on its letters."""
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def spell_out(text: str) -> str:
    """Return a date with the name of its month, or in compact form, as year-month-day and time; others as they are."""
    text = text.translate(_BRACKETS).strip()
    found = _find_named_month(text)
    if found is None and (english := _write_in_english(text)) != text:
        found = _find_named_month(english)
    if found is not None:
        year = found["year"] or found.groupdict().get("last")
        if year is not None:
            year = year if len(year) > 2 else f"{19 if int(year) >= FIRST_OF_CENTURY else 20}{year}"
            date = f"{year}-{_MONTHS[found['month'].lower()]:02d}-{int(found['day']):02d}"
            return " ".join([date, found["clock"], found["zone"] or ""]).strip()
    if (oracle := _ORACLE.fullmatch(text)) is not None and oracle["month"].lower() in _MONTHS:
        clock = (
            f"{oracle['hour']}:{oracle['minute']}:{oracle['second']}{oracle['fraction'] or ''}{oracle['half'] or ''}"
        )
        year = int(oracle["year"]) + (1900 if int(oracle["year"]) >= FIRST_OF_CENTURY else 2000)
        return f"{year}-{_MONTHS[oracle['month'].lower()]:02d}-{oracle['day']} {clock}{oracle['zone'] or ''}"
    if (compact := _COMPACT.fullmatch(text)) is not None:
        year, month, day, hour, minute, second, fraction, zone = (part or "" for part in compact.groups())
        return f"{year}-{month}-{day} {hour}:{minute}:{second}{fraction}{zone}"
    return text


def describe_epoch(text: str) -> str | None:
    """Return the unit of a time since 1970, by its number of digits; ``None`` for other texts."""
    epoch = _EPOCH.fullmatch(_expand(text))
    return None if epoch is None else _find_unit(epoch)[1]


def parse_epoch(text: str, unit: str | None = None) -> datetime | None:
    """Return a time since 1970 in s, ms, µs or ns as UTC; ``None`` for other texts.

    Parameters
    ----------
    unit : as the log or its user states it. Without it, a number before 2001 or after 2065 is no time, as its digits do
        not show the unit; with a finer one than they show, neither.
    """
    epoch = _EPOCH.fullmatch(_expand(text))
    if epoch is not None:
        ticks_a_second, _ = _find_unit(epoch)
        if _TICKS.get(unit, 0) > ticks_a_second:  # since another moment, as a clock that counts from when a host began
            return None
    elif unit not in _TICKS or (epoch := _ANY_EPOCH.fullmatch(text)) is None:
        return None
    else:
        ticks_a_second = _TICKS[unit]
        if int(epoch[1]) // ticks_a_second > _LATEST_S:
            return None
    seconds, ticks = divmod(int(epoch[1]), ticks_a_second)
    micro = (ticks + float(f"0.{epoch[2] or 0}")) * 1e6 / ticks_a_second
    return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=round(micro))


def _expand(text: str) -> str:
    return f"{float(text):.6f}" if _EPOCH_IN_POWERS.fullmatch(text) else text


def _find_unit(epoch: re.Match[str]) -> tuple[int, str]:
    return next(unit for digits, unit in _UNITS.items() if len(epoch[1]) <= digits)


SHOWN_TWICE = "times that the clock showed twice, as it was set back, are taken as of the first time"
"""What is taken for granted of times without a zone next to a duration."""


def attach_zone(at: datetime, zone: tzinfo) -> datetime:
    """Return a time without a zone as one of ``zone``.

    Raises
    ------
    ValueError : no clock of the zone showed it.
    """
    local = at.replace(tzinfo=zone)
    require_shown(local)
    return local


def require_shown(at: datetime) -> None:
    """Refuse a time that no clock of its zone showed, as where it was set forward: the log is of another zone.

    Raises
    ------
    ValueError : says so.
    """
    if at.tzinfo is UTC:
        return
    first, second = at.replace(fold=0).utcoffset(), at.replace(fold=1).utcoffset()
    if first is not None and second is not None and first < second:
        raise ValueError("clocks were set forward over it; --timezone names another zone")


def compute_twice_s(at: datetime) -> float:
    """Return by how much a time is later where the clock shows it for the second time; 0 for all others."""
    if at.tzinfo is UTC:
        return 0.0
    first, second = at.replace(fold=0).utcoffset(), at.replace(fold=1).utcoffset()
    return 0.0 if first is None or second is None else max((first - second).total_seconds(), 0.0)


def find_zone(name: str, at: datetime, default: tzinfo) -> tzinfo | None:
    """Return the zone of a time by its offset, abbreviation or name; ``None`` if it is unknown, or means several.

    Parameters
    ----------
    at : the time without zone; an abbreviation that ``default`` uses then means that zone.
    """
    if (offset := _OFFSET.fullmatch(name)) is not None:
        minutes = 60 * int(offset[2]) + int(offset[3] or 0)
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    local = at.replace(tzinfo=default)
    if name == local.tzname():
        return timezone(local.utcoffset() or timedelta())
    if name in _OFFSETS_H:
        return timezone(timedelta(hours=_OFFSETS_H[name]))
    try:
        return ZoneInfo(name) if "/" in name else None
    except (KeyError, ValueError, OSError):
        return None


def find_zone_of_row(written: str, at: datetime, default: tzinfo, *, is_given: bool) -> tzinfo:
    """Return the zone that a column names; an offset in hours may lack its sign.

    Parameters
    ----------
    is_given : the user named ``default``, which then counts where the column is not clear.

    Raises
    ------
    ValueError : it is not clear, and the user named none.
    """
    text = f"+{written}" if _HOURS_ALONE.fullmatch(written) else written
    zone = None if _MAYBE_MINUTES.fullmatch(text) else find_zone(text, at, default)
    if zone is None and not is_given:
        raise ValueError(f"the zone {written} is unknown, or one of several; give it with --timezone")
    return zone or default


def parse_spelled_end(text: str, zone: tzinfo) -> datetime:
    """Parse the time with a month's name at which FTP servers say that a file ended, in UTC.

    Raises
    ------
    InvalidValue : it does not exist, in the calendar or in the zone.
    """
    try:
        return attach_zone(datetime.fromisoformat(spell_out(text)), zone).astimezone(UTC)
    except ValueError as impossible:
        raise InvalidValue("ended_at", f"does not exist: {text!r} ({impossible})") from None
