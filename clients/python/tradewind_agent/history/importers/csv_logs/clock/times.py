"""The start times of the rows of a CSV log, in many notations; some lack the hour or the entire time."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.clock.dates import NUMERIC_DATE, DateEvidence, read_date
from tradewind_agent.history.importers.csv_logs.clock.zones import find_stated_zone, reject_zone_above
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS
from tradewind_agent.history.importers.instants import (
    compute_twice_s,
    describe_epoch,
    find_zone,
    find_zone_of_row,
    parse_epoch,
    require_shown,
    spell_out,
    write_plainly,
)
from tradewind_agent.history.importers.ports import DateOrder, ImportContext, ImportReport

_TIME = re.compile(
    r"(?P<hour>\d{1,2}):(?P<minute>\d{2}):(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9})|:(?P<count>\d{1,9}))?"
    r"\s*(?P<half>[AaPp][Mm])?\s*(?P<zone>(?:UTC|GMT)?[+-]\d{1,2}(?::?\d{2})?|[A-Z]{1,5}|[A-Z]\w+/[\w/+-]+)?"
    r"|(?P<first>\d{1,2}):(?P<then>\d{2})(?:(?P<rest>[.,]\d+)|(?:\s*(?P<short_half>[AaPp][Mm]))?"
    r"\s*(?P<short_zone>[+-]\d{2}:?\d{2}|[A-Z]{1,5})?)?"
)
_COUNT = re.compile(r"\d{1,20}(?:[.,]\d+)?")
_SHORT_COUNT = re.compile(r":\d{2}:\d{2}:\d{1,2}(?!\d)")
_START_OF_DAY = time()
_LAST_SECOND = 59
_LONG_FOR_MINUTES_S = 1200.0
"""Between times without seconds, which may be wrong by one minute: 5 % of this."""

_MINUTE_S = 60.0
_SECONDS = re.compile(r":\d{2}:\d{2}")

_TIME_FACTORS = (60.0, 1e3, 3600.0, 1e6, 1e9)
"""Between units of durations."""

_UNIT_TOLERANCE = 0.05
_MIDNIGHT = re.compile(r"[ T]0{1,2}:00(?::00(?:\.0+)?)?$")
"""What exports of spreadsheets write behind a date alone."""


def _require_long(lasted_s: float) -> None:
    """Refuse a time between two that are written to the minute, unless that hardly matters.

    Raises
    ------
    InvalidValue : says so.
    """
    if lasted_s < _LONG_FOR_MINUTES_S:
        advice = "write times with seconds, or a duration"
        raise InvalidValue("ended_at", f"is written to the minute, {lasted_s:g} s after the start; {advice}")


def is_clock(text: str) -> bool:
    """Return whether a text is a time of day without a date."""
    return ":" in text[1:3] and _TIME.fullmatch(text) is not None


def _read_hour(text: str, half: str | None) -> int:
    hour = int(text)
    return hour if not half else hour % 12 + (12 if half.lower() == "pm" else 0)


@dataclass(frozen=True, slots=True)
class Moment:
    """Time of a row, in UTC.

    ``hour_known`` : false for texts such as ``57:22.9``, minutes, seconds of a lost hour.
    ``to_minute`` : it has no seconds.
    ``twice_s`` : how much later it is if the clock showed it a second time, as where it was set back; else 0.
    """

    at: datetime
    hour_known: bool
    twice_s: float = 0.0
    to_minute: bool = False


@dataclass(frozen=True, slots=True)
class TimeColumns:
    """Where a row says when it began and when it ended, and in which order it writes dates.

    ``places`` : columns of the start, its date first where that has one of its own.
    ``zone_given`` : the user named the zone, which then counts for rows whose own is not known.
    ``zone_stated`` : titles do, and it is not UTC.
    """

    columns: Columns
    places: tuple[int, ...]
    order: DateOrder
    zone: tzinfo
    zone_given: bool = False
    zone_stated: bool = False

    def read_text(self, row: list[str]) -> str:
        """Return date and time of a row in one text, "" where the row has none."""
        text = " ".join([row[at].strip() for at in self.places if at < len(row)]).strip()
        return f"{self._read_day(row, 'date')} {text}".strip() if is_clock(text) else text

    def read_moment(self, row: list[str]) -> Moment | None:
        """Return when a row began, ``None`` where it does not say.

        Raises
        ------
        InvalidValue : it says so in no way that is known, or names a day that does not exist.
        """
        return self._read(self.read_text(row), zone=self._find_zone(row), quantity="start")

    def compute_duration_s(self, row: list[str], end: str = "end") -> float | None:
        """Return the time from the start of a row to its end, s; ``None`` if it lacks either, or no time is between
        them. An end that is a time of day alone is the first one after the start.

        Parameters
        ----------
        end : the column of the end; "stated_end" where the rows have a duration, too.

        Raises
        ------
        InvalidValue : otherwise as `read_moment`, or the end is before the start.
        """
        at = self.columns.place.get(end)
        if at is None:
            return None
        text, follows = row[at].strip(), False
        if is_clock(text):
            day = self._read_day(row, "end_date")
            follows = not day
            text = f"{day or self._read_day(row, 'date') or self._find_day_of_start(row)} {text}".strip()
        zone = self._find_zone(row)
        start, ended = self.read_moment(row), self._read(text, zone=zone, quantity="end")
        if start is None or ended is None or not (start.hour_known and ended.hour_known) or start.at == ended.at:
            return None
        if follows and ended.at < start.at:
            self._require_single_hour(text, ended)
            ended = self._read(text, days=1, zone=zone) or ended
        lasted_s = (ended.at - start.at).total_seconds()
        if start.twice_s and ended.twice_s and lasted_s < 0:
            lasted_s += ended.twice_s
        if lasted_s < 0:
            raise InvalidValue("ended_at", f"is {-lasted_s:g} s before started_at")
        if (start.twice_s == 0) != (ended.twice_s == 0):
            shown = text if ended.twice_s else self.read_text(row)
            advice = "write times with their offset, such as +01:00, or a duration"
            raise InvalidValue("ended_at", f"is unclear, for the clock showed {shown[:40]!r} twice; {advice}")
        if end == "end" and "throughput" not in self.columns.place and start.to_minute and ended.to_minute:
            _require_long(lasted_s)
        return lasted_s

    def settle_minutes(self, row: list[str], lasted_s: float, by_size_s: float | None = None) -> float:
        """Return how long a row lasted, s, whose start and end may be written to the minute.

        Parameters
        ----------
        lasted_s : from start to end.
        by_size_s : size over rate; it decides within the minute by which the other may be wrong.

        Raises
        ------
        InvalidValue : they are, and are too near to each other to say, or further from size over rate.
        """
        if "duration" in self.columns.place or "end" not in self.columns.place:
            return lasted_s
        ended = row[self.columns.place["end"]]
        if _SECONDS.search(self.read_text(row)) is not None or _SECONDS.search(ended) is not None:  # nearly always
            return lasted_s
        start = self.read_moment(row)
        if start is None or not start.to_minute:
            return lasted_s
        if by_size_s is None or abs(by_size_s - lasted_s) >= _MINUTE_S:
            _require_long(lasted_s)
            return lasted_s
        return lasted_s if abs(by_size_s / lasted_s - 1) < _UNIT_TOLERANCE else by_size_s

    def require_duration(self, row: list[str], title: str, duration_s: float) -> None:
        """Refuse a row whose duration differs from start to end as two units do, where those of the file agree.

        Raises
        ------
        InvalidValue : names the column of durations.
        """
        lasted_s = self.compute_duration_s(row, "stated_end")
        if lasted_s is None:
            return
        ratio = max(duration_s / lasted_s, lasted_s / duration_s)
        if any(abs(ratio / factor - 1) < _UNIT_TOLERANCE for factor in _TIME_FACTORS):
            raise InvalidValue(title, f"is {duration_s:g} s, and from start to end are {lasted_s:g} s")

    def _read_day(self, row: list[str], quantity: str) -> str:
        """Return the date that a column has for times of day, "" where it has none."""
        at = self.columns.place.get(quantity)
        return "" if at is None else _MIDNIGHT.sub("", row[at].strip())

    def _find_day_of_start(self, row: list[str]) -> str:
        """Return the date of a start without a zone, for an end on the same day."""
        text = spell_out(self.read_text(row))
        found = NUMERIC_DATE.match(text)
        time = None if found is None else _TIME.fullmatch(text[found.end() :].strip().lstrip("T_-"))
        return "" if found is None or time is None or time["zone"] or time["short_zone"] else found[0]

    def _require_single_hour(self, text: str, ended: Moment) -> None:
        """Refuse an end before the start in an hour that the clock showed twice: it may be of that day or of the next.

        Raises
        ------
        InvalidValue : it is in such an hour.
        """
        if ended.twice_s:
            raise InvalidValue("ended_at", f"is in an hour that the clock showed twice: {text[:40]!r}")

    def _find_zone(self, row: list[str]) -> str:
        """Return what a column of zones says, "" where there is none."""
        at = self.columns.place.get("zone")
        text = "" if at is None else row[at].strip()
        return "" if text.lower() in UNKNOWN_TEXTS else text

    def _read(self, text: str, *, days: int = 0, zone: str = "", quantity: str = "end") -> Moment | None:
        """Read a time; ``days`` later than its date says. ``zone`` : of times that have none."""
        if not text:
            return None
        text = write_plainly(text)
        date, time = NUMERIC_DATE.match(text), None
        if date is None or text[-1] in ")]":
            if (since_1970 := parse_epoch(text, self.columns.declared.get(quantity))) is not None:
                return Moment(since_1970, hour_known=True)
            text = spell_out(text)
            date = NUMERIC_DATE.match(text)
        if date is not None:
            time = _TIME.fullmatch(text[date.end() :].strip().lstrip("T_-"))
        if date is None or time is None:
            raise InvalidValue("started_at", f"is no date and time: {text[:40]!r}{self._advise(text, quantity)}")
        try:
            moment = self._parse_moment(date, time, days, zone)
            require_shown(moment.at)
            # Where the clock is changed, two times of one zone are not as far apart as it shows.
            return replace(moment, at=moment.at.astimezone(UTC), twice_s=compute_twice_s(moment.at))
        except (ValueError, OverflowError) as impossible:
            raise InvalidValue("started_at", f"does not exist: {text[:40]!r} ({impossible})") from None

    def _advise(self, text: str, quantity: str) -> str:
        """Return what settles a number that may count from 1970, "" for other texts."""
        at = self.columns.place.get(quantity, self.columns.place.get("stated_end"))
        if at is None or _COUNT.fullmatch(text) is None:
            return ""
        title = self.columns.header[at]
        return f"; if it counts from 1970, give --unit '{title}=s', or ms, µs or ns; other counts have to be converted"

    def _parse_moment(self, date: re.Match[str], time: re.Match[str], days: int, zone_of_row: str) -> Moment:
        day = read_date(date, self.order)
        if day is None:
            raise ValueError(f"no date as {self.order}")
        midnight = datetime.combine(day, _START_OF_DAY, self.zone) + timedelta(days=days)
        written = time["zone"] or time["short_zone"]
        if zone_of_row and not written:
            zone = find_zone_of_row(zone_of_row, midnight, self.zone, is_given=self.zone_given)
            midnight = midnight.replace(tzinfo=zone)
        if time["first"] is not None and not (time["short_half"] or time["short_zone"]):
            return self._build_short_moment(midnight, int(time["first"]), int(time["then"]), time["rest"])
        hour = _read_hour(time["hour"] or time["first"], time["half"] or time["short_half"])
        # A number of its own after a colon counts milliseconds and may lack their leading zeros; longer ones are finer.
        fraction = time["fraction"] or (time["count"] or "").rjust(3, "0")
        micro = int(fraction.ljust(6, "0")[:6])
        minute, second = int(time["minute"] or time["then"]), int(time["second"] or 0)
        leap_s = max(second - _LAST_SECOND, 0) if minute == _LAST_SECOND else 0  # it belongs to the next minute
        at = midnight.replace(hour=hour, minute=minute, second=second - leap_s, microsecond=micro)
        if written:
            at = at.replace(tzinfo=self._require_zone(written, at))
        return Moment(at + timedelta(seconds=leap_s), hour_known=True, to_minute=time["first"] is not None)

    def _require_zone(self, written: str, at: datetime) -> tzinfo:
        zone = find_zone(written, at, self.zone)
        if zone is None:
            raise ValueError(f"the zone {written} is unknown, or one of several; give it with --timezone")
        return zone

    @staticmethod
    def _build_short_moment(day: datetime, first: int, second: int, fraction: str | None) -> Moment:
        if fraction is None and first < 24:
            return Moment(day.replace(hour=first, minute=second), hour_known=True, to_minute=True)
        micro = int((fraction or ".")[1:].ljust(6, "0")[:6])
        return Moment(day.replace(minute=first, second=second, microsecond=micro), hour_known=False)


def judge_time_columns(
    columns: Columns, rows: Iterable[list[str]], dates: DateEvidence, context: ImportContext, report: ImportReport
) -> TimeColumns:
    """Judge how a file writes times: by sampled rows, and by the dates of all of them.

    Raises
    ------
    InvalidValue : dates may be read in several ways.
    """
    names = ("start",) if "start" in columns.place else ("date", "time")
    places = tuple(columns.place[name] for name in names if name in columns.place)
    stated, zone = find_stated_zone(columns, context), context.zone
    if stated is not None:
        zone = stated  # a column of zones then says where its hosts are
        columns = replace(columns, place={each: at for each, at in columns.place.items() if each != "zone"})
    title = columns.header[places[0]] if places else "start"
    order = context.date_order or dates.decide(title, report)
    times = TimeColumns(
        columns, places, order, zone, zone_given=context.timezone is not None, zone_stated=stated not in (None, UTC)
    )
    rows = list(rows)
    if stated is None:
        reject_zone_above(columns, map(times.read_text, rows), context)
    end_at = columns.place.get("end", columns.place.get("stated_end"))
    for row in rows:
        text = times.read_text(row)
        if (unit := describe_epoch(text)) is not None:
            report.assume(f"starts are {unit} since 1970")
        if _SHORT_COUNT.search(text):
            report.assume("the last number of times such as 10:00:00:7 counts milliseconds")
        if end_at is not None and "end_date" not in columns.place and is_clock(row[end_at].strip()):
            report.assume("ends without a date are the first such time of day after the start")
    return times
