"""The resources of one copy: the user's limits, recommended limits, and who enforces them.

The engine moves every byte of the copy, so it keeps the network and disk rate itself; the host limits cores, frequency
and memory. Limits that are only recommended are applied if the user wants that, and reported otherwise.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tradewind.parameters import Parameters
from tradewind.transfer import Direction
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.resources.applied import Advice, Applied, Enforced, Verdict, describe
from tradewind_agent.resources.core_trials import CoreTrial, CoreTrials
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import RESOURCES, Limits
from tradewind_agent.session.planning import Plan
from tradewind_agent.transport.choosing import read_congestion_control

_ENGINE_LIMITS = ("nic_bps", "disk_bps")
_AT_DISK = {
    Direction.UPLOAD: "reads what it sends",
    Direction.DOWNLOAD: "writes what it receives",
    Direction.THIRD_PARTY: "may put what it relays into temporary files",
}
_ONLY_RECOMMENDED = "it is only recommended; --apply-resources applies recommended limits"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyResources:
    """The limits of a running copy, enforced or not.

    ``engine`` : the engine's options, with the rate that it keeps.
    ``congestion_control`` : of the connections that send an upload; ``None`` for downloads, which the server sends.
    ``trial`` : the cores of a copy that takes part in the experiment ``trials``.
    """

    applied: Applied
    by_engine: tuple[Enforced, ...]
    not_applied: tuple[Advice, ...]
    engine: EngineOptions
    congestion_control: str | None
    trial: CoreTrial | None = None
    trials: CoreTrials | None = None

    def finish_trial(self, moved_bytes: int) -> None:
        """Count what the copy has moved in the experiment on cores, if it takes part."""
        if self.trial is not None and self.trials is not None:
            self.trials.finish(self.trial, moved_bytes)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return (*self.applied.enforced, *self.by_engine, *self.applied.advice, *self.not_applied)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user has to know: limits that are not enforced, and changes that could not be undone."""
        advice = (*self.applied.advice, *self.not_applied)
        trial = self.trial
        tried = (
            () if trial is None or not trial.is_experiment else (f"an experiment: {describe('cores', trial.cores)}",)
        )
        return (*tried, *(str(each) for each in advice), *self.applied.left)

    def apply_to_plan(self, plan: Plan) -> Plan:
        """Return the plan as records store it: with the limits that were enforced, whatever was recommended."""
        parameters = Applied((*self.applied.enforced, *self.by_engine)).parameters
        resources = {name: getattr(parameters, name) for name in RESOURCES}

        def with_limits(planned: Parameters) -> Parameters:
            return replace(planned, **resources, congestion_control=self.congestion_control)

        return replace(
            plan, chunks=tuple(chunk._replace(parameters=with_limits(chunk.parameters)) for chunk in plan.chunks)
        )


def select_limits(plan: Plan, options: CopyOptions) -> tuple[Limits, tuple[Advice, ...]]:
    """Return the limits to apply, and advice about those that are only recommended.

    Recommended cores are applied unless the user refuses: they bind this process alone.
    """
    user_limits = options.resources.complete_from(Limits.of(options.by_hand))
    recommended = Limits.of(plan.parameters)
    limits = user_limits
    if options.apply_resources is not False:
        limits = limits.complete_from(recommended if options.apply_resources else Limits(cores=recommended.cores))
    not_applied = recommended.without(*limits.select_known()).select_known()
    return limits, tuple(Advice(name, value, _ONLY_RECOMMENDED) for name, value in not_applied.items())


@contextmanager
def hold_resources(
    plan: Plan, listing: Listing, options: CopyOptions, limiter: ResourceLimiter, ends: tuple[str, str]
) -> Iterator[CopyResources]:
    """Limit this process, and the engine that runs in it, until the end of the block.

    ``ends`` : names of source and destination, to which the experiment on cores belongs.
    """
    direction = listing.direction
    limits, not_applied = select_limits(plan, options)
    trials, trial = None, None
    if options.explore_resources and options.resources.cores is None and options.by_hand.cores is None:
        trials = CoreTrials.of_this_host(os.environ)
        usual = None if limits.cores is None else math.ceil(limits.cores)
        trial = trials.begin(" → ".join(ends), sum(listing.sizes_bytes), options.sla, usual=usual)
        limits = Limits(cores=trial.cores).complete_from(limits)
    try:
        with limiter.apply(limits.without(*_ENGINE_LIMITS)) as applied:
            yield CopyResources(
                applied=applied,
                by_engine=tuple(_list_engine_verdicts(limits, direction, options.engine)),
                not_applied=not_applied,
                engine=_limit_engine(options.engine, limits),
                congestion_control=read_congestion_control(options.engine.congestion_control)
                if direction is not Direction.DOWNLOAD
                else None,
                trial=trial,
                trials=trials,
            )
    except BaseException:
        if trial is not None and trials is not None:
            trials.finish(trial, 0)
        raise


def _list_engine_verdicts(limits: Limits, direction: Direction, engine: EngineOptions) -> Iterator[Enforced]:
    if limits.nic_bps is not None:
        yield Enforced("nic_bps", limits.nic_bps, "the engine's own rate")
    if limits.disk_bps is not None:
        at_disk = _AT_DISK[direction]
        excluded = ", not counting reads for checksums" if engine.checksum else ""
        yield Enforced("disk_bps", limits.disk_bps, f"the rate of the engine, which {at_disk}{excluded}")


def _limit_engine(engine: EngineOptions, limits: Limits) -> EngineOptions:
    """Return the engine's options with the lowest of all rate limits."""
    rates_bps = [rate for rate in (limits.nic_bps, limits.disk_bps) if rate is not None]
    if engine.rate_bytes_per_s is not None:
        rates_bps.append(BITS_PER_BYTE * engine.rate_bytes_per_s)
    return replace(engine, rate_bytes_per_s=min(rates_bps) / BITS_PER_BYTE) if rates_bps else engine
