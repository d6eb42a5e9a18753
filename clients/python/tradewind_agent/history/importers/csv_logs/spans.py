"""Durations as clock times and as words: ``00:01:30``, ``1:02:03.5``, ``2 days, 0:00:05``, ``1m30s``, ``PT1M30S``.

Slurm writes ``1-02:03:04``.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType

from tradewind.errors import InvalidValue

_CLOCK = re.compile(
    r"(?:(?P<days>\d{1,5})(?: days?,? +|d |\.(?=\d\d:)|-(?=\d\d:\d\d:)))?"
    r"(?P<first>\d{1,5}):(?P<second>\d{2})(?::(?P<third>\d{2}))?(?P<fraction>[.,]\d{1,9})?"
)
_WORD = r"(\d+(?:[.,]\d+)?) ?([a-zµ]+)\.?"
_WORDS = re.compile(rf"(?:{_WORD}(?: |, ?| and )?)+")
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?")
"""Behind the T an M is of minutes, before it of months, which have no fixed length."""

_ISO_PARTS_S = (604_800.0, 86400.0, 3600.0, 60.0, 1.0)
_UNITS_S: Mapping[str, float] = MappingProxyType(
    {
        name: seconds
        for seconds, names in {
            604_800.0: "w week weeks",
            86400.0: "d day days",
            3600.0: "h hr hrs hour hours std",
            60.0: "m min mins minute minutes",
            1.0: "s sec secs second seconds",
            1e-3: "ms msec millisecond milliseconds",
            1e-6: "us µs microsecond microseconds",
        }.items()
        for name in names.split()
    }
)
_MOST_MINUTES = 60


def is_span(text: str) -> bool:
    """Return whether a text is a duration with its parts or its units."""
    stripped = text.strip()
    return any(pattern.fullmatch(stripped) for pattern in (_CLOCK, _ISO)) or _read_words(stripped.lower()) is not None


def parse_span(title: str, text: str, unit: str | None = None) -> float:
    """Return a duration in s.

    Parameters
    ----------
    unit : that the header declares; it decides between minutes and hours where there are two parts.

    Raises
    ------
    InvalidValue : no duration, or one of two parts such as ``20:00``; the field is the column's title.
    """
    stripped = text.strip()
    if (clock := _CLOCK.fullmatch(stripped)) is not None:
        return _read_clock(title, clock, unit)
    if (words := _read_words(stripped.lower())) is not None:
        return words
    if len(stripped) > 1 and (iso := _ISO.fullmatch(stripped)) is not None:
        parts = (float((part or "0").replace(",", ".")) for part in iso.groups())
        return sum(part * seconds for part, seconds in zip(parts, _ISO_PARTS_S, strict=True))
    raise InvalidValue(title, f"is no duration such as 0:01:30 or 90s: {text[:40]!r}")


def _read_clock(title: str, clock: re.Match[str], unit: str | None) -> float:
    days, first, second = int(clock["days"] or 0), int(clock["first"]), int(clock["second"])
    fraction = float((clock["fraction"] or "0").replace(",", "."))
    if clock["third"] is not None:
        parts = (first, second, int(clock["third"]))
    elif clock["fraction"] is not None or unit == "min":
        parts = (0, first, second)
    elif unit == "h":
        parts = (first, second, 0)
    else:
        found = f"{clock[0]}, which may be minutes and seconds or hours and minutes"
        raise InvalidValue(title, f"is {found}; write min or h into the header, such as {title}_min")
    hours, minutes, seconds = parts
    if seconds >= _MOST_MINUTES or (hours and minutes >= _MOST_MINUTES):
        raise InvalidValue(title, f"does not exist: {clock[0][:40]!r}")
    return 86400.0 * days + 3600.0 * hours + 60.0 * minutes + seconds + fraction


def _read_words(text: str) -> float | None:
    if _WORDS.fullmatch(text) is None:
        return None
    found = re.findall(_WORD, text)
    if any(unit not in _UNITS_S for _, unit in found):
        return None
    return sum(float(value.replace(",", ".")) * _UNITS_S[unit] for value, unit in found)
