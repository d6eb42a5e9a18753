"""Run tuners of the papers, and ours, on real transfers: what each reaches and takes, tick by tick.

A tuner decides at the end of each tick on a transfer that never runs out of files of 4 MB. Power is that of the
client's processor by the agent's model.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.papers import trial
from benchmarks.papers.catalogue import Claims
from benchmarks.papers.paths import make_path
from benchmarks.support.report import ROOT
from benchmarks.testbed.cross_traffic import CrossTraffic, run_cross_traffic
from benchmarks.testbed.soundness import find_disturbance
from benchmarks.tuning import history
from benchmarks.tuning.cases import BASE
from benchmarks.tuning.driver import TickRow
from benchmarks.tuning.transfers import TransferSpec, TransferTestbed, set_up_transfers
from benchmarks.tuning.tuners import OURS, STATIC
from benchmarks.wan.runs import Row, RunLog
from tradewind.heuristics import EFFICIENCY_STEP, MAX_CHANNELS, list_efficiency_levels

TICK_S = 3.0
STEADY_TICKS = 3
"""Ticks of a constant setting: the first is slow start."""

LEVELS = (1, 2, 4, 8, 12, 16, 24, 32)
"""Channels of the brute force: not those that EE tries, which are one more than a multiple of four."""

CONVERGED_TICKS = 3
"""Ticks of a search, once it is finished."""

FLEXIBLE_TICKS, FLEXIBLE_CONVERGED = 7, 3
SLA_TICKS = 12
SLA_TICK_S = 5.0
SLA_SHARES = (0.5, 0.7)
"""Shares of the path, next to other downloads that come and go."""

_TABLES = ROOT / "var" / "bench"


def _compute_mean_metrics(ticks: Sequence[TickRow]) -> dict[str, float]:
    """Return mean rate and modelled power."""
    powers = [tick["power_w"] for tick in ticks if tick["power_w"] is not None]
    return {"bps": statistics.fmean(tick["throughput_bps"] for tick in ticks), "power_w": statistics.fmean(powers)}


@dataclass(frozen=True, slots=True)
class _OnPath:
    """What trials of tuners on one path have in common."""

    path: str

    @property
    def source_part(self) -> str:
        return "tuners"

    def describe_conditions(self, claims: Claims) -> str:
        return str(make_path(self.path, claims))


@dataclass(frozen=True, slots=True)
class Schemes(_OnPath):
    """MaxThr, MinE and EE against brute force over channels, on a path."""

    @property
    def name(self) -> str:
        return f"MaxThr, MinE and EE, {self.path}"

    def measure(self, site: trial.TrialSite) -> Row:
        with set_up_transfers(
            make_path(self.path, site.claims), seed=site.seed, folder=site.folder, prioritised=site.prioritised
        ) as testbed:
            runs = _TunerRuns(testbed)
            search = len(list_efficiency_levels(MAX_CHANNELS)) + CONVERGED_TICKS
            return {
                "brute_force": {str(n): runs.run_static(n) for n in LEVELS},
                "ee": runs.run_last("ee", ticks=search, last=CONVERGED_TICKS),
                "mine": runs.run_last("mine", ticks=STEADY_TICKS, last=STEADY_TICKS - 1),
                "maxthr": runs.run_last("maxthr", ticks=STEADY_TICKS, last=STEADY_TICKS - 1),
                "step": EFFICIENCY_STEP,
                "disturbed": runs.disturbance,
            }


@dataclass(frozen=True, slots=True)
class Targets(_OnPath):
    """FlexibleThr towards shares of the highest rate of MaxThr, and MinE against one channel, on a path."""

    shares_pct: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"FlexibleThr towards {', '.join(map(str, self.shares_pct))} %, {self.path}"

    def measure(self, site: trial.TrialSite) -> Row:
        with set_up_transfers(
            make_path(self.path, site.claims), seed=site.seed, folder=site.folder, prioritised=site.prioritised
        ) as testbed:
            runs = _TunerRuns(testbed)
            most = runs.run_last("maxthr", ticks=STEADY_TICKS, last=STEADY_TICKS - 1)
            reached = {
                str(share): runs.run_last(
                    "slaee",
                    ticks=FLEXIBLE_TICKS,
                    last=FLEXIBLE_CONVERGED,
                    target_bps=share / 100 * most["bps"],
                )
                for share in self.shares_pct
            }
            return {
                "one": runs.run_static(1),
                "maxthr": most,
                "mine": runs.run_last("mine", ticks=STEADY_TICKS, last=STEADY_TICKS - 1),
                "reached": reached,
                "disturbed": runs.disturbance,
            }


class _TunerRuns:
    """Transfers of a testbed one after another; ``disturbance`` is the first of the machine's."""

    def __init__(self, testbed: TransferTestbed) -> None:
        self._testbed = testbed
        self.disturbance: str | None = None

    def run_static(self, channels: int) -> dict[str, float]:
        spec = TransferSpec(tuner=STATIC, ticks=STEADY_TICKS, tick_s=TICK_S, setting=(channels, 1, 1))
        return self._run_spec(spec, last=STEADY_TICKS - 1)

    def run_last(self, tuner: str, *, ticks: int, last: int, target_bps: float | None = None) -> dict[str, float]:
        return self._run_spec(TransferSpec(tuner=tuner, ticks=ticks, tick_s=TICK_S, target_bps=target_bps), last=last)

    def _run_spec(self, spec: TransferSpec, *, last: int) -> dict[str, float]:
        [ticks] = self._testbed.run([spec])
        testbed = self._testbed
        self.disturbance = self.disturbance or find_disturbance(
            testbed.path, testbed.share, rtt_s=testbed.known.rtt_s, prioritised=testbed.prioritised
        )
        return _compute_mean_metrics(ticks[-last:])


@dataclass(frozen=True, slots=True)
class SlaTargets:
    """Our own controller towards the rates of SLAs, from what it learned of the path, next to cross traffic."""

    @property
    def name(self) -> str:
        return "agreed rates beside others"

    @property
    def source_part(self) -> str:
        return "tuners"

    def describe_conditions(self, claims: Claims) -> str:  # noqa: ARG002 -- the path is the tuning benchmark's own
        return f"{BASE}; {SLA_TICKS} × {SLA_TICK_S:g} s"

    def measure(self, site: trial.TrialSite) -> Row:
        log = RunLog(ROOT / "benchmarks" / "records" / "tuning-history.ndjson")
        rows = history.measure_history(BASE, log, seed=site.seed, folder=site.folder)
        table = history.write_table(history.fit_table(BASE, rows, seed=site.seed), _TABLES)
        reached: dict[str, list[float]] = {}
        disturbance: str | None = None
        for share in SLA_SHARES:
            with set_up_transfers(
                BASE, clients=2, seed=site.seed, folder=site.folder, prioritised=site.prioritised
            ) as testbed:
                spec = TransferSpec(
                    tuner=OURS,
                    ticks=SLA_TICKS,
                    tick_s=SLA_TICK_S,
                    table=table,
                    target_bps=share * BASE.rate_bps,
                )
                traffic = CrossTraffic(flows=1, on_s=10.0, off_s=10.0, seed=site.seed)
                with run_cross_traffic(testbed.bed, testbed.bed.clients[1], traffic):
                    [ticks] = testbed.run([spec])
                disturbance = disturbance or find_disturbance(
                    testbed.path, testbed.share, rtt_s=BASE.rtt_s, prioritised=testbed.prioritised
                )
            reached[f"{share:g}"] = [tick["throughput_bps"] / (share * BASE.rate_bps) for tick in ticks]
        return {"reached": reached, "disturbed": disturbance}
