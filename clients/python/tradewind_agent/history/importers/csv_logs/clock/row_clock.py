"""The start of each row of a CSV log in turn, also of those that do not say when they began."""

from datetime import datetime, timedelta

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.clock.times import Moment, TimeColumns
from tradewind_agent.history.importers.fields import check_instant
from tradewind_agent.history.importers.instants import SHOWN_TWICE
from tradewind_agent.history.importers.ports import SYNTHETIC_START, ImportContext, ImportReport

_HOUR = timedelta(hours=1)


class RowClock:
    """Start of each row in turn; rows that do not tell, or have lost the hour, follow the row before."""

    def __init__(self, times: TimeColumns, context: ImportContext, report: ImportReport) -> None:
        self._times = times
        self._report = report
        self._first = context.started_at or SYNTHETIC_START
        self._zone_given = context.timezone is not None or times.zone_stated
        self._in_parts = context.in_parts
        self._assumed_order = f"rows without a time follow each other by their duration, from {self._first.isoformat()}"
        self._free_from: datetime | None = None

    def find_start(self, row: list[str], duration_s: float) -> datetime:
        """Return when the row began; otherwise as ``TimeColumns.read_moment``."""
        moment = self._times.read_moment(row)
        if self._in_parts and (moment is None or not moment.hour_known):
            raise InvalidValue("started_at", "is incomplete: `logs upload` reads such a log once it is complete")
        if moment is None:
            at = self._free_from or self._first
            self._report.assume(self._assumed_order)
            return check_instant("started_at", at)
        if not self._zone_given:
            self._report.assume("times without a zone are taken as UTC; --timezone names another")
        if moment.twice_s:
            self._report.assume(SHOWN_TWICE)
        if self._times.columns.starts_are_ends:
            return self._compute_start(moment, duration_s)
        if moment.hour_known:
            return check_instant("started_at", moment.at)
        self._report.assume("times such as 57:22.9 have lost the hour: rows of a day follow each other from midnight")
        return check_instant("started_at", self._find_hour(moment.at))

    def _compute_start(self, ended: Moment, duration_s: float) -> datetime:
        if not ended.hour_known:
            raise InvalidValue("ended_at", "has lost its hour")
        self._report.assume("rows say when they ended: they started earlier by their duration")
        return check_instant("started_at", ended.at - timedelta(seconds=duration_s))

    def _find_hour(self, at: datetime) -> datetime:
        """Find the hour of its day at which a row comes nearest to the end of the row before."""
        if self._free_from is None:
            return at
        hours = round((self._free_from - at) / _HOUR)
        return at + min(max(hours, 0), 23) * _HOUR

    def note_end(self, end: datetime) -> None:
        """Note the end of the row that was started last."""
        self._free_from = end
