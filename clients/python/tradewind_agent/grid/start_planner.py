"""Plan when a copy starts and at which pace, from the service's predictions and the electricity of both ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tradewind.errors import InvalidValue
from tradewind.grid.hours import Signal
from tradewind.grid.schedule import GridEnd, Pace, StartPlan, When, choose_start
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.units import format_measured_seconds, format_probability
from tradewind_agent.errors import CopyFailed

if TYPE_CHECKING:
    from tradewind_agent.copy.listing import Listing
    from tradewind_agent.copy.options import CopyOptions
    from tradewind_agent.copy.run import PreparedCopy
    from tradewind_agent.service.client import Client

FASTEST, FRUGAL, AS_SET = "fastest", "frugal", "as set"
"""Paces: as fast as possible, with the least energy that meets the deadline, by the user's own SLA."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """When the user wants a copy to start; ``deadline`` : by when it must have ended, unless it starts now."""

    when: When
    deadline: datetime | None = None

    @property
    def waits(self) -> bool:
        """Whether the copy may start later than now."""
        return self.when is not When.NOW


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStart:
    """A start with what it was planned from.

    ``plan`` : the chosen start next to one now. ``ends`` : with their regions.
    ``is_founded`` : the predicted rate rests on history or a known path; otherwise on an assumed one.
    ``from_service`` : the service has predicted it.
    """

    request: StartRequest
    plan: StartPlan
    ends: tuple[GridEnd, GridEnd]
    planned_at: datetime
    is_founded: bool
    from_service: bool

    @property
    def deadline(self) -> datetime:
        assert self.request.deadline is not None, "a start is planned for a deadline"
        return self.request.deadline

    def choose_sla(self, now: datetime) -> Sla:
        """Return the SLA of a copy that starts now: at the frugal pace the time that is left is a deadline."""
        pace = self.plan.start.pace
        if pace.name != FRUGAL:
            return pace.sla
        left_s = max((self.deadline - now).total_seconds(), 1.0)
        return replace(pace.sla, kind=SlaKind.DEADLINE, target=left_s)

    def format_line(self) -> str:
        """Describe the start in one line."""
        start = self.plan.start
        wait_s = (start.at - self.planned_at).total_seconds()
        at = "now" if wait_s <= 0 else f"{start.at.astimezone():%Y-%m-%d %H:%M%z}, in {format_measured_seconds(wait_s)}"
        parts = [f"starts {at}, {start.pace.name}: {self.plan.reason}"]
        if (amount := self._format_expected()) is not None:
            parts.append(f"expects {amount} in {format_measured_seconds(start.duration_s)}")
        by = f"{self.deadline.astimezone():%Y-%m-%d %H:%M%z}"
        met = f"meets the deadline {by} with a probability of {format_probability(start.probability)}"
        parts.append(met if self.is_founded else f"{met}, by an assumed rate")
        parts += [f"the region of {end.endpoint} is unknown" for end in self.ends if end.region is None]
        return "; ".join(parts)

    def _format_expected(self) -> str | None:
        start, signal = self.plan.start, self.request.when.signal
        if start.expected is None:
            return None
        currency = next((end.currency for end in self.ends if end.knows(signal) and end.currency), "")
        unit = "g CO2" if signal is Signal.CARBON else currency
        return f"{start.expected:.4g} {unit}" + ("" if start.pace.energy_j is not None else " a kWh")

    def build_document(self) -> dict[str, Any]:
        """Return the start under wire names; what is ``None`` is unknown."""
        start, signal = self.plan.start, self.request.when.signal
        unit = "carbon_g" if signal is Signal.CARBON else "cost"
        expected = unit if start.pace.energy_j is not None else f"{unit}_per_kwh"
        return {
            "when": str(self.request.when),
            "at": start.at.isoformat(),
            "pace": start.pace.name,
            "deadline": self.deadline.isoformat(),
            "deadline_probability": start.probability,
            "feasible": self.plan.is_feasible,
            "expected_duration_s": start.duration_s,
            f"expected_{expected}": start.expected,
            f"expected_{expected}_if_started_now": self.plan.now.expected,
            "reason": self.plan.reason,
            "is_assumed": not self.is_founded,
            "ends": [{"endpoint": end.endpoint, "region": end.region, "currency": end.currency} for end in self.ends],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPlanner:
    """Plans the start of one listed copy, as often as it is called.

    ``prepare`` : makes the plan of the listed files under other options; it moves nothing.
    """

    listing: "Listing"
    options: "CopyOptions"
    client: "Client"
    request: StartRequest
    prepare: "Callable[[Listing, CopyOptions, Client], PreparedCopy]" = field(repr=False)

    def plan(self, now: datetime) -> PlannedStart:
        """Return the start as it is best planned now.

        Raises
        ------
        InvalidValue : the start cannot be planned at all, such as without a region.
        CopyFailed : nothing predicts the rate.
        ServiceUnreachable, ServiceProblem : the service does not answer about the electricity.
        """
        assert self.request.deadline is not None, "a start is planned for a deadline"
        prepared = self.prepare(self.listing, self.options, self.client)
        hours = int((self.request.deadline - now) / timedelta(hours=1)) + 2
        grid = self.client.regions.grid(prepared.source, prepared.destination, begin=now, hours=max(hours, 1))
        ends = grid.list_ends()
        paces = self._list_paces(prepared)
        plan = choose_start(
            self.request.when,
            sum(self.listing.sizes_bytes),
            paces,
            ends,
            now=now,
            deadline=self.request.deadline,
            confidence=self.options.sla.confidence,
        )
        return PlannedStart(
            request=self.request,
            plan=plan,
            ends=ends,
            planned_at=now,
            is_founded=not prepared.plan.is_assumed,
            from_service=prepared.plan.answer is not None,
        )

    def _list_paces(self, prepared: "PreparedCopy") -> Sequence[Pace]:
        """Return the paces: those of the user's SLA alone, unless it is to go as fast as possible."""
        own = _build_pace(AS_SET, self.options.sla, prepared)
        if own is None:
            raise CopyFailed("nothing predicts the rate of this copy, so no start can be planned; leave a setting free")
        if self.options.sla.kind is not SlaKind.MAX_THROUGHPUT:
            return (own,)
        fastest = replace(own, name=FASTEST)
        sla = replace(self.options.sla, kind=SlaKind.MIN_ENERGY)
        other = self.prepare(self.listing, replace(self.options, sla=sla), self.client)
        frugal = _build_pace(FRUGAL, sla, other)
        if frugal is None or frugal.energy_j is None or other.plan.source != prepared.plan.source:
            return (fastest,)
        return (fastest, frugal)


def _build_pace(name: str, sla: Sla, prepared: "PreparedCopy") -> Pace | None:
    predicted = prepared.plan.predicted
    if predicted is None:
        return None
    energy_j = None if predicted.energy_j is None else predicted.energy_j.mean
    return Pace(name=name, sla=sla, throughput_bps=predicted.throughput_bps, energy_j=energy_j)


def check_start(when: When | None, deadline: datetime | None) -> StartRequest | None:
    """Return what the user wants of the start; ``None`` where nothing is wanted.

    Raises
    ------
    InvalidValue : a deadline is missing or has nothing to do.
    """
    if when in (None, When.NOW):
        if deadline is not None:
            raise InvalidValue("--deadline", "goes with --when cheapest or greenest; --sla deadline=2h limits a copy")
        return None if when is None else StartRequest(when=When.NOW)
    if deadline is None:
        raise InvalidValue("--when", f"{when} needs a --deadline, such as 6h or 07:00")
    return StartRequest(when=when, deadline=deadline)
