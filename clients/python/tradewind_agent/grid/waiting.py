"""Wait for the planned start of a copy, and plan again meanwhile: hours are corrected, models learn."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from tradewind.errors import InvalidValue
from tradewind_agent.errors import CopyFailed, ServiceProblem, ServiceUnreachable
from tradewind_agent.grid.start_planner import PlannedStart

REPLAN_EVERY = timedelta(minutes=15)
Plan = Callable[[datetime], PlannedStart]
"""Plans the start as of a time; `StartPlanner.plan` does."""
LONGEST_PAUSE_S = 60.0
"""A host that was suspended sees the time within so long after it wakes up."""


def wait_for_start(
    plan: Plan,
    first: PlannedStart,
    *,
    now: Callable[[], datetime],
    pause: Callable[[float], object],
    say: Callable[[str], None],
) -> PlannedStart:
    """Return the start that has come.

    Where planning again fails, the last plan holds; that is noted once. The wait ends at the deadline at the latest,
    since every start that is planned lies before it.
    """
    planned, is_failing = first, False
    while True:
        at = now()
        if planned.plan.start.at <= at or at >= planned.deadline:
            return planned
        until = min(planned.plan.start.at, planned.planned_at + REPLAN_EVERY)
        if at < until:
            pause(min((until - at).total_seconds(), LONGEST_PAUSE_S))
            continue
        try:
            again = _plan_again(plan, planned, at)
        except (ServiceUnreachable, ServiceProblem, CopyFailed) as failure:
            if not is_failing:
                say(f"cannot plan again: {failure}; the start stays at {planned.plan.start.at.astimezone():%H:%M%z}")
            is_failing, planned = True, _note_attempt(planned, at)
            continue
        is_failing = False
        if _describe_choice(again) != _describe_choice(planned):
            say(again.format_line())
        planned = again


def _plan_again(plan: Plan, planned: PlannedStart, at: datetime) -> PlannedStart:
    """Return the start as it is best planned now.

    Raises
    ------
    CopyFailed : the service does not plan any more; rules without history would be no ground to change the start.
    """
    try:
        again = plan(at)
    except InvalidValue as lost:
        raise CopyFailed(str(lost)) from lost
    if planned.from_service and not again.from_service:
        raise CopyFailed("the service does not recommend now")
    return again


def _note_attempt(planned: PlannedStart, at: datetime) -> PlannedStart:
    return replace(planned, planned_at=at)


def _describe_choice(planned: PlannedStart) -> tuple[datetime, str]:
    return planned.plan.start.at, planned.plan.start.pace.name
