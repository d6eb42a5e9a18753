"""Tuned against untuned and against a common default: medians, and energy at other power constants."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from tradewind.energy import Host
from tradewind_agent.copy_report import CopyReport
from tradewind_agent.meters import assumed_profile, reprice

FACTORS = (0.5, 1.0, 1.5)
"""Of the model's idle and dynamic power: −50 %, as assumed, +50 %."""


@dataclass(frozen=True)
class Run:
    """One transfer of the compared files."""

    report: CopyReport

    def modelled_j(self, *, factor_idle: float = 1.0, factor_dynamic: float = 1.0) -> float:
        """Energy by the CPU model, whatever meter this host has, so that all machines print the same quantity."""
        work = self.report.work
        assert work is not None, "the demo meters every transfer"
        profile = assumed_profile(work.logical_cpus)
        reading = reprice(work, profile, host=Host.DESTINATION, factor_idle=factor_idle, factor_dynamic=factor_dynamic)
        return reading.total_j


def compared(runs: Mapping[str, Sequence[Run]]) -> dict[str, object]:
    """Medians of each kind of run, speedups by duration and savings of modelled energy."""
    figures = {name: _medians(each) for name, each in runs.items()}
    duration = {name: figure["duration_s"] for name, figure in figures.items()}
    energy = {name: figure["energy_j"] for name, figure in figures.items()}
    described = {name: figure | {"parameters": _parameters(runs[name][-1])} for name, figure in figures.items()}
    return {
        **described,
        "speedup": duration["untuned"] / duration["tuned"],
        "speedup_vs_default": duration["default"] / duration["tuned"],
        "energy_saving": 1 - energy["tuned"] / energy["untuned"],
        "energy_saving_vs_default": 1 - energy["tuned"] / energy["default"],
    }


def holds_at_any_constants(runs: Mapping[str, Sequence[Run]]) -> bool:
    """Whether the tuned transfer takes the least modelled energy at every combination of power constants."""

    def median_j(name: str, idle: float, dynamic: float) -> float:
        return statistics.median(run.modelled_j(factor_idle=idle, factor_dynamic=dynamic) for run in runs[name])

    return all(
        median_j("tuned", idle, dynamic) < min(median_j("untuned", idle, dynamic), median_j("default", idle, dynamic))
        for idle, dynamic in product(FACTORS, FACTORS)
    )


def _medians(runs: Sequence[Run]) -> dict[str, float]:
    return {
        "throughput_bps": statistics.median(run.report.throughput_bps for run in runs),
        "energy_j": statistics.median(run.modelled_j() for run in runs),
        "duration_s": statistics.median(run.report.duration_s for run in runs),
    }


def _parameters(run: Run) -> object:
    plan = run.report.plan
    if len(plan.chunks) == 1:
        return plan.parameters.known()
    return {
        **plan.parameters.known(),
        "chunks": {str(chunk.chunk): chunk.parameters.known() for chunk in plan.chunks},
    }
