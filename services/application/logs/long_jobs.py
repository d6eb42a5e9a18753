"""Progress of long work: fits, daily sums, exports and retention."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from services.application.logs.export import ExportFailure
from services.application.logs.retention_page import NextStep, find_next_step
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.units import format_count

MAX_COUNTED = 200
"""Days that wait to be summed are counted up to this; more are shown as this many or more."""


class Progress(NamedTuple):
    done: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LongJob:
    """Progress of one kind of work.

    ``done`` : of ``total``, since this run started; ``None`` where runs are not counted and ``total`` is still to do.
    ``unit`` : of the counts, in the singular. ``left`` : what is still to do, as text. ``failure`` : what prevents it.
    """

    name: str
    done: int | None
    total: int
    unit: str
    left: str
    failure: ExportFailure | None = None


def list_long_jobs(uow: UnitOfWork, *, now: datetime, is_exporting: bool, months: int | None) -> Sequence[LongJob]:
    """Return the progress of all long work.

    Parameters
    ----------
    is_exporting : whether there is a place for exports.
    months : of logs that are retained, ``None`` for all.
    """
    return [
        _describe_fits(uow),
        _describe_sums(uow),
        describe_export(uow, now=now, is_exporting=is_exporting),
        _describe_retention(uow, now, months),
    ]


def describe_export(uow: UnitOfWork, *, now: datetime, is_exporting: bool) -> LongJob:
    """Return the progress of exports: a file for each past day of transfers, heartbeats and quotes."""
    done, total = uow.log_days.count_progress(now.date())
    if not is_exporting:
        return LongJob(name="Exports", done=0, total=0, unit="file", left="no export location is set")
    left = total - done
    return LongJob(
        name="Exports",
        done=done,
        total=total,
        unit="file",
        left=f"{format_count(left, 'file')} to write, each night or when asked"
        if left
        else "every past day is written",
        failure=uow.log_days.find_failure(),
    )


def _describe_fits(uow: UnitOfWork) -> LongJob:
    building = uow.release_work.find_building()
    if building is None:
        return LongJob(name="Fits", done=0, total=0, unit="link", left="starts when there are enough new logs")
    done, total = uow.release_work.count_progress(building)
    return LongJob(
        name="Fits", done=done, total=total, unit="link", left=f"release {building} becomes current once all are fitted"
    )


def _describe_sums(uow: UnitOfWork) -> LongJob:
    waiting = uow.rollups.count_waiting(MAX_COUNTED)
    more = "or more " if waiting == MAX_COUNTED else ""
    left = f"{waiting} {more}days of links wait to be summed, the oldest first" if waiting else "every row is counted"
    return LongJob(name="Daily sums", done=None, total=waiting, unit="day", left=left)


def _describe_retention(uow: UnitOfWork, now: datetime, months: int | None) -> LongJob:
    if months is None:
        return LongJob(name="Retention", done=0, total=0, unit="month", left="every row is retained")
    steps = [find_next_step(month, now=now, months=months) for month in uow.month_seals.list_page()]
    gone = steps.count(NextStep.GONE)
    due = sum(step in (NextStep.CLOSES, NextStep.WAITS, NextStep.GOES) for step in steps)
    left = f"{due} to drop once exported, at 02:40 UTC" if due else "no month is due"
    return LongJob(name="Retention", done=gone, total=gone + due, unit="month", left=left)
