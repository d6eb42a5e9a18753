"""The resources of one copy: the user's limits, recommended limits, and who enforces them.

The engine moves every byte of the copy, so it keeps the network and disk rate itself; the host limits cores, frequency
and memory. Limits that are only recommended are applied if the user wants that, and reported otherwise.
"""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.transfer import Direction
from tradewind.tuning.resources import ADJUSTABLE
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.resources.adjusting import AdjustedResources
from tradewind_agent.resources.applied import Advice, Applied, Enforced, Verdict
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import RESOURCES, Limits
from tradewind_agent.resources.resource_trials import ResourceTrial, ResourceTrials
from tradewind_agent.session.planning import Plan, combine_chunk_settings
from tradewind_agent.session.transfer_naming import format_resources
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
    ``adjusted`` : limits that follow the plan while it runs.
    ``trial`` : the resources of a copy that takes part in the experiment ``trials``.
    """

    applied: Applied
    adjusted: AdjustedResources
    by_engine: tuple[Enforced, ...]
    not_applied: tuple[Advice, ...]
    engine: EngineOptions
    congestion_control: str | None
    trial: ResourceTrial | None = None
    trials: ResourceTrials | None = None

    def adjust(self, plan: Sequence[ChunkPlan]) -> tuple[ChunkPlan, ...]:
        """Apply what a plan says of resources that may change; return the plan with those in effect.

        All chunks run in one process, and so with the resources of the widest.
        """
        self.adjusted.adjust(Limits.of(combine_chunk_settings(tuple(plan))))
        return self.state_resources(plan)

    @property
    def _in_effect(self) -> Parameters:
        return Applied((*self.applied.enforced, *self.adjusted.applied.enforced)).parameters

    def format_in_effect(self) -> str:
        """Return the cores and the frequency that are in effect, as the other end reads them."""
        return format_resources(Limits.of(self._in_effect).select_only(*ADJUSTABLE))

    def state_resources(self, plan: Sequence[ChunkPlan]) -> tuple[ChunkPlan, ...]:
        """Return the plan with the cores and the frequency that are in effect."""
        in_effect = self._in_effect
        stated = {name: getattr(in_effect, name) for name in ADJUSTABLE}
        return tuple(chunk._replace(parameters=replace(chunk.parameters, **stated)) for chunk in plan)

    def finish_trial(self, moved_bytes: int) -> None:
        """Count what the copy has moved in the experiment on cores, if it takes part."""
        if self.trial is not None and self.trials is not None:
            self.trials.finish(self.trial, moved_bytes)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        now = self.adjusted.applied
        return (*self.applied.enforced, *now.enforced, *self.by_engine, *self._advice)

    @property
    def _advice(self) -> tuple[Advice, ...]:
        return (*self.applied.advice, *self.adjusted.advice, *self.not_applied)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user has to know: limits that are not enforced, and changes that could not be undone."""
        trial = self.trial
        tried = () if trial is None or not trial.is_experiment else (f"an experiment: {trial.describe()}",)
        return (*tried, *(str(each) for each in self._advice), *self.applied.left, *self.adjusted.left)

    def apply_to_plan(self, plan: Plan, main_settings: Mapping[ChunkKind, Parameters]) -> Plan:
        """Return the plan as records store it: with the limits that were enforced, whatever was recommended.

        ``main_settings`` : of the chunks that were tuned, with the resources in effect for most of their bytes.
        """
        enforced = (*self.applied.enforced, *self.adjusted.initial.enforced, *self.by_engine)
        parameters = Applied(enforced).parameters
        resources = {name: getattr(parameters, name) for name in RESOURCES}
        by_hand = self.applied.parameters  # these hold from the start to the end
        changing = [name for name in ADJUSTABLE if getattr(by_hand, name) is None]

        def with_limits(chunk: ChunkPlan) -> ChunkPlan:
            main = main_settings.get(chunk.chunk)
            stated = {} if main is None else {name: getattr(main, name) for name in changing}
            limited = {**resources, **stated, "congestion_control": self.congestion_control}
            return chunk._replace(parameters=replace(main or chunk.parameters, **limited))

        return replace(plan, chunks=tuple(map(with_limits, plan.chunks)))


def list_adjustable(options: CopyOptions) -> tuple[str, ...]:
    """Return the resources that may change while a copy runs: those that it applies and nobody has set by hand.

    None in an experiment, whose records state one setting, or in a copy that is not tuned.
    """
    if not options.tune or options.explore_resources or options.apply_resources is False:
        return ()
    applied = ADJUSTABLE if options.apply_resources else ("cores",)
    by_hand = options.resources.complete_from(Limits.of(options.by_hand)).select_known()
    return tuple(name for name in applied if name not in by_hand)


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

    ``ends`` : names of source and destination, to which the experiment belongs.
    """
    direction = listing.direction
    limits, not_applied = select_limits(plan, options)
    trials, trial = None, None
    adjustable = list_adjustable(options)
    if options.explore_resources and options.resources.cores is None and options.by_hand.cores is None:
        trials = ResourceTrials.of_this_host(os.environ)
        usual = None if limits.cores is None else math.ceil(limits.cores)
        # A frequency affects others on the host: it is tried where the user permits to apply one, and sets none.
        permitted = options.apply_resources is True and limits.frequency_hz is None
        trial = trials.begin(
            " → ".join(ends),
            sum(listing.sizes_bytes),
            options.sla,
            usual=usual,
            frequencies_hz=limiter.list_frequencies_hz() if permitted else (),
        )
        limits = Limits(cores=trial.cores, frequency_hz=trial.frequency_hz).complete_from(limits)
    try:
        with (
            limiter.apply(limits.without(*_ENGINE_LIMITS, *adjustable)) as applied,
            AdjustedResources(limiter, limits, adjustable) as adjusted,
        ):
            yield CopyResources(
                applied=applied,
                adjusted=adjusted,
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
