"""The cases: steps of a path, an SLA under cross traffic, equal transfers at one bottleneck, one competitor, traces."""

from dataclasses import dataclass, replace

from benchmarks.testbed.cross_traffic import CrossTraffic
from benchmarks.testbed.path_spec import PathSpec

BASE = PathSpec(rate_bps=60e6, rtt_s=0.060, loss_rate=0.0003)
"""The path of the history, on which every case starts: a stream reaches a quarter of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCase:
    """The path becomes ``then`` at the end of tick ``warm``; the ticks after the fifth from there on are scored."""

    name: str
    then: PathSpec
    warm: int = 6
    within: int = 5
    scored: int = 6

    @property
    def ticks(self) -> int:
        return self.warm + self.within + self.scored


@dataclass(frozen=True, slots=True, kw_only=True)
class SlaCase:
    """At least ``target_bps`` over the entire transfer, next to other downloads that come and go."""

    name: str
    target_bps: float
    traffic: CrossTraffic
    ticks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FairnessCase:
    """Equal transfers, started ``apart_s`` after one another; compared over the last half of the first 60 s of all."""

    name: str
    transfers: int
    apart_s: float = 5.0
    from_s: float = 30.0
    to_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CompetitorCase:
    """One plain TCP download starts at the end of tick ``warm``; compared from ``warm_up_ticks`` ticks later on."""

    name: str
    warm: int = 4
    warm_up_ticks: int = 2
    scored: int = 8

    @property
    def ticks(self) -> int:
        return self.warm + self.warm_up_ticks + self.scored


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCase:
    """From the end of tick ``warm`` on, the path has each of these rates for ``interval_s``; all of it is scored.

    An interval is shorter than a tick, so that changes come at any moment of one.
    """

    name: str
    rates_bps: tuple[float, ...]
    interval_s: float = 4.0
    warm: int = 4

    @property
    def lasting_s(self) -> float:
        return self.interval_s * len(self.rates_bps)


Case = StepCase | SlaCase | FairnessCase | CompetitorCase | TraceCase

STEPS = (
    StepCase(name="step/faster", then=BASE.with_rate(120e6)),
    StepCase(name="step/slower", then=BASE.with_rate(20e6)),
    StepCase(name="step/farther", then=replace(BASE, rtt_s=0.150, queue_bytes=BASE.queue_limit_bytes)),
    StepCase(name="step/nearer", then=replace(BASE, rtt_s=0.020, queue_bytes=BASE.queue_limit_bytes)),
    StepCase(name="step/lossier", then=replace(BASE, loss_rate=0.003)),
)

_TRAFFIC = CrossTraffic(flows=3, on_s=15.0, off_s=15.0, seed=3)

ALL_CASES: tuple[Case, ...] = (
    *STEPS,
    SlaCase(name="agreement", target_bps=0.6 * BASE.rate_bps, traffic=_TRAFFIC, ticks=24),
    *(FairnessCase(name=f"fairness/{count}", transfers=count) for count in (2, 3, 4)),
    CompetitorCase(name="competitor"),
)

QUICK_CASES: tuple[Case, ...] = (
    replace(STEPS[0], warm=3, scored=3),
    SlaCase(name="agreement", target_bps=0.6 * BASE.rate_bps, traffic=_TRAFFIC, ticks=8),
    FairnessCase(name="fairness/2", transfers=2, from_s=20.0, to_s=40.0),
    CompetitorCase(name="competitor", warm=2, warm_up_ticks=3, scored=3),
)
