"""Tuners of the papers, and ours, at work on real transfers: what each reaches and takes, tick by tick.

A tuner decides at the end of each tick on a transfer that never runs out of files of 4 MB. Power is that of the
client's processor by the agent's model.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.papers import trial
from benchmarks.papers.catalogue import Facts
from benchmarks.papers.grounds import path_of
from benchmarks.support.report import ROOT
from benchmarks.testbed.cross_traffic import CrossTraffic, run_cross_traffic
from benchmarks.testbed.soundness import find_disturbance
from benchmarks.tuning import history
from benchmarks.tuning.cases import BASE
from benchmarks.tuning.driver import TickRow
from benchmarks.tuning.transfers import TransferSpec, TransferTestbed, set_up_transfers
from benchmarks.tuning.tuners import OURS, STATIC
from benchmarks.wan.runs import Row, RunLog
from tradewind.heuristics import EFFICIENCY_STEP, MAX_CHANNELS, efficiency_levels

TICK_S = 3.0
STEADY_TICKS = 3
"""Of a setting that stays: the first is slow start."""

LEVELS = (1, 2, 4, 8, 12, 16, 24, 32)
"""Channels of the brute force: not those that EE tries, which are one more than a multiple of four."""

SETTLED_TICKS = 3
"""Of a search, once it is over."""

FLEXIBLE_TICKS, FLEXIBLE_SETTLED = 7, 3
AGREED_TICKS = 12
AGREED_TICK_S = 5.0
AGREED_SHARES = (0.5, 0.7)
"""Of the path, beside other people's downloads that come and go."""

_TABLES = ROOT / "var" / "bench"


def _figures(ticks: Sequence[TickRow]) -> dict[str, float]:
    """Mean rate and modelled power."""
    powers = [tick["power_w"] for tick in ticks if tick["power_w"] is not None]
    return {"bps": statistics.fmean(tick["throughput_bps"] for tick in ticks), "power_w": statistics.fmean(powers)}


@dataclass(frozen=True, slots=True)
class _OnPath:
    """What trials of tuners on one path have in common."""

    path: str

    @property
    def sort(self) -> str:
        return "tuners"

    def conditions(self, facts: Facts) -> str:
        return str(path_of(self.path, facts))


@dataclass(frozen=True, slots=True)
class Schemes(_OnPath):
    """MaxThr, MinE and EE beside brute force over channels, on a path."""

    @property
    def name(self) -> str:
        return f"MaxThr, MinE and EE, {self.path}"

    def measured(self, ground: trial.Yard) -> Row:
        with set_up_transfers(
            path_of(self.path, ground.facts), seed=ground.seed, folder=ground.folder, prioritised=ground.prioritised
        ) as here:
            took = _Taking(here)
            search = len(efficiency_levels(MAX_CHANNELS)) + SETTLED_TICKS
            return {
                "brute_force": {str(n): took.static(n) for n in LEVELS},
                "ee": took.last("ee", ticks=search, last=SETTLED_TICKS),
                "mine": took.last("mine", ticks=STEADY_TICKS, last=STEADY_TICKS - 1),
                "maxthr": took.last("maxthr", ticks=STEADY_TICKS, last=STEADY_TICKS - 1),
                "step": EFFICIENCY_STEP,
                "disturbed": took.wrong,
            }


@dataclass(frozen=True, slots=True)
class Targets(_OnPath):
    """FlexibleThr towards shares of the highest rate of MaxThr, and MinE beside one channel, on a path."""

    shares_pct: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"FlexibleThr towards {', '.join(map(str, self.shares_pct))} %, {self.path}"

    def measured(self, ground: trial.Yard) -> Row:
        with set_up_transfers(
            path_of(self.path, ground.facts), seed=ground.seed, folder=ground.folder, prioritised=ground.prioritised
        ) as here:
            took = _Taking(here)
            most = took.last("maxthr", ticks=STEADY_TICKS, last=STEADY_TICKS - 1)
            reached = {
                str(share): took.last(
                    "slaee",
                    ticks=FLEXIBLE_TICKS,
                    last=FLEXIBLE_SETTLED,
                    target_bps=share / 100 * most["bps"],
                )
                for share in self.shares_pct
            }
            return {
                "one": took.static(1),
                "maxthr": most,
                "mine": took.last("mine", ticks=STEADY_TICKS, last=STEADY_TICKS - 1),
                "reached": reached,
                "disturbed": took.wrong,
            }


class _Taking:
    """Transfers of a yard one after another; ``wrong`` is the first complaint about the machine."""

    def __init__(self, here: TransferTestbed) -> None:
        self._here = here
        self.wrong: str | None = None

    def static(self, channels: int) -> dict[str, float]:
        order = TransferSpec(tuner=STATIC, ticks=STEADY_TICKS, tick_s=TICK_S, setting=(channels, 1, 1))
        return self._of(order, last=STEADY_TICKS - 1)

    def last(self, tuner: str, *, ticks: int, last: int, target_bps: float | None = None) -> dict[str, float]:
        return self._of(TransferSpec(tuner=tuner, ticks=ticks, tick_s=TICK_S, target_bps=target_bps), last=last)

    def _of(self, order: TransferSpec, *, last: int) -> dict[str, float]:
        [ticks] = self._here.run([order])
        here = self._here
        self.wrong = self.wrong or find_disturbance(
            here.path, here.share, rtt_s=here.known.rtt_s, prioritised=here.prioritised
        )
        return _figures(ticks[-last:])


@dataclass(frozen=True, slots=True)
class Agreements:
    """Our own controller towards agreed rates, from what it learned of the path, beside cross traffic."""

    @property
    def name(self) -> str:
        return "agreed rates beside others"

    @property
    def sort(self) -> str:
        return "tuners"

    def conditions(self, facts: Facts) -> str:  # noqa: ARG002 -- the path is the tuning benchmark's own
        return f"{BASE}; {AGREED_TICKS} × {AGREED_TICK_S:g} s"

    def measured(self, ground: trial.Yard) -> Row:
        log = RunLog(ROOT / "benchmarks" / "records" / "tuning-history.ndjson")
        rows = history.measure_history(BASE, log, seed=ground.seed, folder=ground.folder)
        table = history.write_table(history.fit_table(BASE, rows, seed=ground.seed), _TABLES)
        reached: dict[str, list[float]] = {}
        wrong: str | None = None
        for share in AGREED_SHARES:
            with set_up_transfers(
                BASE, clients=2, seed=ground.seed, folder=ground.folder, prioritised=ground.prioritised
            ) as here:
                order = TransferSpec(
                    tuner=OURS,
                    ticks=AGREED_TICKS,
                    tick_s=AGREED_TICK_S,
                    table=table,
                    target_bps=share * BASE.rate_bps,
                )
                traffic = CrossTraffic(flows=1, on_s=10.0, off_s=10.0, seed=ground.seed)
                with run_cross_traffic(here.bed, here.bed.clients[1], traffic):
                    [ticks] = here.run([order])
                wrong = wrong or find_disturbance(here.path, here.share, rtt_s=BASE.rtt_s, prioritised=here.prioritised)
            reached[f"{share:g}"] = [tick["throughput_bps"] / (share * BASE.rate_bps) for tick in ticks]
        return {"reached": reached, "disturbed": wrong}
