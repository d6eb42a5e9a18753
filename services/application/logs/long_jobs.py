"""How far the work is that takes longer than a page waits: fits, rollups, exports and months that go."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from services.application.logs.export import ExportFailure
from services.application.logs.retention_page import NextStep, find_next_step
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.units import format_count

MOST_WAITING = 200
"""Days of links that wait to be added up are counted so far: more are told as so many."""


class Progress(NamedTuple):
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LongJob:
    """``unit`` : of what is counted, in the singular. ``left`` : what is to come, in words.

    ``failure`` : what keeps it from being done.
    ``done`` : of ``total``, since this run began; ``None`` where no run counts what it does, and ``total`` is to come.
    """

    name: str
    done: int | None
    total: int
    unit: str
    left: str
    failure: ExportFailure | None = None


def list_long_jobs(uow: UnitOfWork, *, now: datetime, is_exporting: bool, months: int | None) -> Sequence[LongJob]:
    """All of it.

    Parameters
    ----------
    is_exporting : whether there is a place for exports.
    months : of logs that are kept, ``None`` for all.
    """
    return [_fits(uow), _sums(uow), describe_export(uow, now=now, is_exporting=is_exporting), _months(uow, now, months)]


def describe_export(uow: UnitOfWork, *, now: datetime, is_exporting: bool) -> LongJob:
    """Days of transfers, heartbeats and quotes that are over, a file each: those written today beside those left."""
    done, total = uow.log_days.progress(now.date())
    if not is_exporting:
        return LongJob(name="Exports", done=0, total=0, unit="file", left="no place for them is set")
    left = total - done
    return LongJob(
        name="Exports",
        done=done,
        total=total,
        unit="file",
        left=f"{format_count(left, 'file')} to write, each night or when asked"
        if left
        else "every day that is over is written",
        failure=uow.log_days.failure(),
    )


def _fits(uow: UnitOfWork) -> LongJob:
    building = uow.release_work.building()
    if building is None:
        return LongJob(name="Fits", done=0, total=0, unit="link", left="begun when enough new logs have come")
    done, total = uow.release_work.progress(building)
    return LongJob(
        name="Fits", done=done, total=total, unit="link", left=f"release {building} is in force once all are fitted"
    )


def _sums(uow: UnitOfWork) -> LongJob:
    waiting = uow.rollups.waiting(MOST_WAITING)
    more = "or more " if waiting == MOST_WAITING else ""
    left = f"{waiting} {more}days of links wait to be added up, the oldest first" if waiting else "every row is counted"
    return LongJob(name="Daily sums", done=None, total=waiting, unit="day", left=left)


def _months(uow: UnitOfWork, now: datetime, months: int | None) -> LongJob:
    if months is None:
        return LongJob(name="Retention", done=0, total=0, unit="month", left="every row is kept")
    next_up = [find_next_step(each, now=now, months=months) for each in uow.month_seals.page()]
    gone = next_up.count(NextStep.GONE)
    due = sum(each in (NextStep.CLOSES, NextStep.WAITS, NextStep.GOES) for each in next_up)
    left = f"{due} to go once exported, at 02:40 UTC" if due else "no month is older than is kept"
    return LongJob(name="Retention", done=gone, total=gone + due, unit="month", left=left)
