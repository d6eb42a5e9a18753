"""Compare tuned with untuned and with a common default: medians, and energy at other power constants."""

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from tradewind.energy.measured import Host
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.meters import CpuWork, build_assumed_profile, reprice

FACTORS = (0.5, 1.0, 1.5)
"""Factors of the model's idle and dynamic power: −50 %, as assumed, +50 %."""


Ends = Collection[Host]


@dataclass(frozen=True)
class DemoRun:
    """One transfer of the compared files."""

    report: CopyReport

    @property
    def work_by_end(self) -> dict[Host, CpuWork]:
        """Duration and CPU time by metered end; the demo downloads."""
        known = {Host.SOURCE: self.report.other_work, Host.DESTINATION: self.report.work}
        return {host: work for host, work in known.items() if work is not None}

    def compute_modelled_j(self, ends: Ends, *, factor_idle: float = 1.0, factor_dynamic: float = 1.0) -> float:
        """Return the energy of ``ends`` by the CPU model, whatever meters there are: all machines print the same
        quantity.
        """
        return sum(
            reprice(
                work,
                build_assumed_profile(work.logical_cpus),
                host=host,
                factor_idle=factor_idle,
                factor_dynamic=factor_dynamic,
            ).total_j
            for host, work in self.work_by_end.items()
            if host in ends
        )


def find_common_ends(runs: Mapping[str, Sequence[DemoRun]]) -> tuple[Host, ...]:
    """Return the ends that every run has metered: energies of different ends are not compared."""
    return tuple(host for host in Host if all(host in run.work_by_end for each in runs.values() for run in each))


def compare(runs: Mapping[str, Sequence[DemoRun]]) -> dict[str, object]:
    """Return medians of each kind of run, speedups by duration and savings of modelled energy at the same ends."""
    ends = find_common_ends(runs)
    figures = {name: _take_medians(each, ends) for name, each in runs.items()}
    duration = {name: figure["duration_s"] for name, figure in figures.items()}
    energy = {name: figure["energy_j"] for name, figure in figures.items()}
    describe = {name: figure | {"parameters": _describe_parameters(runs[name][-1])} for name, figure in figures.items()}
    return {
        **describe,
        "speedup": duration["untuned"] / duration["tuned"],
        "speedup_vs_default": duration["default"] / duration["tuned"],
        "energy_saving": 1 - energy["tuned"] / energy["untuned"],
        "energy_saving_vs_default": 1 - energy["tuned"] / energy["default"],
        "energy_ends": [str(host) for host in ends],
        "less_modelled_energy_at_any_constants": _holds_at_any_constants(runs, ends),
    }


def _holds_at_any_constants(runs: Mapping[str, Sequence[DemoRun]], ends: Ends) -> bool:
    """Return whether the tuned transfer takes the least modelled energy at every combination of power constants."""

    def compute_median_j(name: str, idle: float, dynamic: float) -> float:
        return statistics.median(
            run.compute_modelled_j(ends, factor_idle=idle, factor_dynamic=dynamic) for run in runs[name]
        )

    return all(
        compute_median_j("tuned", idle, dynamic)
        < min(compute_median_j("untuned", idle, dynamic), compute_median_j("default", idle, dynamic))
        for idle, dynamic in product(FACTORS, FACTORS)
    )


def _take_medians(runs: Sequence[DemoRun], ends: Ends) -> dict[str, float]:
    return {
        "throughput_bps": statistics.median(run.report.throughput_bps for run in runs),
        "energy_j": statistics.median(run.compute_modelled_j(ends) for run in runs),
        "duration_s": statistics.median(run.report.duration_s for run in runs),
    }


def _describe_parameters(run: DemoRun) -> object:
    plan = run.report.plan
    if len(plan.chunks) == 1:
        return plan.parameters.list_known()
    return {
        **plan.parameters.list_known(),
        "chunks": {str(chunk.chunk): chunk.parameters.list_known() for chunk in plan.chunks},
    }
