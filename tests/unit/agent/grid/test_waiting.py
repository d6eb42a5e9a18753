"""Waiting for the planned start: bounded, planned again, and steady where the service does not answer."""

from datetime import UTC, datetime, timedelta

import pytest

from tradewind.errors import InvalidValue
from tradewind.grid.hours import Hour, HourlySeries
from tradewind.grid.schedule import GridEnd, Pace, When, choose_start
from tradewind.prediction import Interval
from tradewind.sla.kinds import Sla, SlaKind
from tradewind_agent.errors import ServiceUnreachable
from tradewind_agent.grid.start_planner import FASTEST, FRUGAL, PlannedStart, StartRequest, check_start
from tradewind_agent.grid.waiting import LONGEST_PAUSE_S, wait_for_start

BEGIN = datetime(2026, 11, 28, 12, tzinfo=UTC)
DEADLINE = BEGIN + timedelta(hours=10)
REQUEST = StartRequest(when=When.GREENEST, deadline=DEADLINE)


class Simulation:
    """A clock that pauses move, a plan by the carbon of each hour, and what was reported."""

    def __init__(self, *carbon: float) -> None:
        self.at = BEGIN
        self.carbon = list(carbon)
        self.pauses: list[float] = []
        self.lines: list[str] = []
        self.fails_from: datetime | None = None
        self.from_service = True

    def plan(self, now: datetime) -> PlannedStart:
        if self.fails_from is not None and now >= self.fails_from:
            raise ServiceUnreachable("http://service does not answer")
        series = HourlySeries.of(Hour(BEGIN + timedelta(hours=i), None, g) for i, g in enumerate(self.carbon))
        ends = (GridEnd(endpoint="a", region="DE", series=series), GridEnd(endpoint="b"))
        pace = Pace(
            name=FASTEST, sla=Sla(kind=SlaKind.MAX_THROUGHPUT), throughput_bps=Interval(8e6, 7e6, 9e6), energy_j=3.6e6
        )
        plan = choose_start(When.GREENEST, 10**9, [pace], ends, now=now, deadline=DEADLINE, confidence=0.9)
        return PlannedStart(
            request=REQUEST, plan=plan, ends=ends, planned_at=now, is_founded=True, from_service=self.from_service
        )

    def pause(self, seconds: float) -> None:
        assert 0 < seconds <= LONGEST_PAUSE_S
        self.pauses.append(seconds)
        self.at += timedelta(seconds=seconds)

    def wait(self) -> PlannedStart:
        first = self.plan(self.at)
        return wait_for_start(self.plan, first, now=lambda: self.at, pause=self.pause, say=self.lines.append)


def test_start_that_is_best_now_waits_for_nothing() -> None:
    simulation = Simulation(100, 400, 400, 400, 400, 400)
    assert simulation.wait().plan.start.at == BEGIN
    assert simulation.pauses == []


def test_wait_ends_in_the_hour_of_least_carbon() -> None:
    simulation = Simulation(400, 400, 400, 100, 400, 400)
    started = simulation.wait()
    assert BEGIN + timedelta(hours=3) <= simulation.at < BEGIN + timedelta(hours=4)
    assert started.plan.start.at <= simulation.at
    assert simulation.lines == []


def test_corrected_hours_move_the_start_and_are_reported() -> None:
    simulation = Simulation(400, 400, 400, 100, 400, 400)
    first = simulation.plan(BEGIN)
    simulation.carbon[3], simulation.carbon[1] = 500, 50
    wait_for_start(
        simulation.plan, first, now=lambda: simulation.at, pause=simulation.pause, say=simulation.lines.append
    )
    assert BEGIN + timedelta(hours=1) <= simulation.at < BEGIN + timedelta(hours=2)
    assert len(simulation.lines) == 1


@pytest.mark.parametrize("loses_model", [False, True])
def test_plan_holds_while_the_service_is_away_and_that_is_noted_once(loses_model: bool) -> None:
    simulation = Simulation(400, 400, 400, 100, 400, 400)
    first = simulation.plan(BEGIN)
    if loses_model:
        simulation.from_service = False
    else:
        simulation.fails_from = BEGIN
    started = wait_for_start(
        simulation.plan, first, now=lambda: simulation.at, pause=simulation.pause, say=simulation.lines.append
    )
    assert started.plan.start.at == first.plan.start.at <= simulation.at
    assert len(simulation.lines) == 1
    assert "cannot plan again" in simulation.lines[0]


def test_host_that_slept_past_the_start_starts_at_once() -> None:
    simulation = Simulation(400, 400, 400, 100, 400, 400)
    first = simulation.plan(BEGIN)
    simulation.at = DEADLINE + timedelta(hours=1)
    wait_for_start(
        simulation.plan, first, now=lambda: simulation.at, pause=simulation.pause, say=simulation.lines.append
    )
    assert simulation.pauses == []


def test_frugal_pace_runs_to_a_deadline_of_the_time_that_is_left() -> None:
    planned = Simulation(100, 400, 400).plan(BEGIN)
    assert planned.choose_sla(BEGIN).kind is SlaKind.MAX_THROUGHPUT
    sla = Sla(kind=SlaKind.MIN_ENERGY, confidence=0.95)
    start = planned.plan.start
    pace = Pace(name=FRUGAL, sla=sla, throughput_bps=start.pace.throughput_bps)
    object.__setattr__(start, "pace", pace)
    chosen = planned.choose_sla(BEGIN + timedelta(hours=4))
    assert (chosen.kind, chosen.target, chosen.confidence) == (SlaKind.DEADLINE, 6 * 3600, 0.95)


def test_line_and_document_say_what_is_unknown() -> None:
    planned = Simulation(400, 400, 400, 100, 400, 400).plan(BEGIN)
    line = planned.format_line()
    assert "75% less carbon" in line
    assert "100 g CO2" in line
    assert "the region of b is unknown" in line
    document = planned.build_document()
    assert document["expected_carbon_g"] == pytest.approx(100)
    assert document["expected_carbon_g_if_started_now"] == pytest.approx(400)
    assert [end["region"] for end in document["ends"]] == ["DE", None]


def test_deadline_goes_with_a_start_that_may_wait() -> None:
    assert check_start(None, None) is None
    assert check_start(When.NOW, None) == StartRequest(when=When.NOW)
    for when, deadline, reason in ((When.CHEAPEST, None, "needs a --deadline"), (When.NOW, DEADLINE, "goes with")):
        with pytest.raises(InvalidValue, match=reason):
            check_start(when, deadline)
    with pytest.raises(InvalidValue, match="goes with"):
        check_start(None, DEADLINE)
