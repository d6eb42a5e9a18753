"""The benchmark of energy: what it chooses of a made-up set whose best settings are known."""

from datetime import UTC, datetime, timedelta

import numpy as np
import psutil
import pytest

from benchmarks.energy.__main__ import compare_with_boosting
from benchmarks.energy.choices import (
    FASTEST,
    FRACTION,
    HeldOutSet,
    Outcome,
    compute_throughput_scatter,
    has_resources,
    make_frugal_sla,
)
from benchmarks.energy.core_cells import Measured, judge_runs, summarise_core_cells
from benchmarks.energy.live_budget import Copy, CpuLog, EndModel, Setup, summarise_live_budgets
from benchmarks.energy.made_up import LINE_BPS, make_set
from benchmarks.surfaces.sets import SurfaceSet
from tradewind.parameters import Parameters
from tradewind.sla.kinds import EnergyBasis

SEEDS = 5


@pytest.fixture(scope="module")
def surfaces() -> SurfaceSet:
    return make_set(3)


def test_frugal_settings_retain_most_of_the_throughput_for_less_energy(surfaces: SurfaceSet) -> None:
    pairs = []
    for seed in range(SEEDS):
        held_out = HeldOutSet(surfaces, seed)
        choice, frugal = held_out.choose(make_frugal_sla(EnergyBasis.DYNAMIC))
        assert choice.setting in held_out.table.settings
        pairs.append((held_out.choose(FASTEST)[1], frugal))
    assert sum(frugal.dynamic_j for _, frugal in pairs) < sum(fastest.dynamic_j for fastest, _ in pairs)
    fastest_bps, frugal_bps = (sum(each.throughput_bps for each in column) for column in zip(*pairs, strict=True))
    assert FRACTION * fastest_bps * 0.9 < frugal_bps < SEEDS * LINE_BPS


def test_baseline_chooses_among_the_same_rows(surfaces: SurfaceSet) -> None:
    fastest, frugal = HeldOutSet(surfaces, 0).choose_by_boosting(EnergyBasis.DYNAMIC)
    of_rows = surfaces.observations.throughput_bps
    assert fastest.throughput_bps in of_rows
    assert frugal.throughput_bps in of_rows
    assert frugal.dynamic_j <= fastest.dynamic_j


def test_frugal_settings_are_compared_with_those_of_boosting_and_not_with_its_fastest() -> None:
    frugal = Outcome(row=0, throughput_bps=9e8, total_j=2.0, dynamic_j=0.6)
    fastest = Outcome(row=1, throughput_bps=1e9, total_j=2.1, dynamic_j=1.0)
    costly = Outcome(row=2, throughput_bps=8e8, total_j=4.2, dynamic_j=2.0)  # its ratios look better for this one
    compared = compare_with_boosting([(fastest, frugal)], [(costly, frugal)])
    assert compared["frugal_total_vs_boosting"] == compared["frugal_dynamic_vs_boosting"] == 1.0
    assert compared["fastest_total_vs_boosting"] == compared["fastest_dynamic_vs_boosting"] == 0.5


def test_dynamic_energy_is_what_lies_above_the_base_power(surfaces: SurfaceSet) -> None:
    above_w = surfaces.dynamic_energy_j * surfaces.observations.throughput_bps / (8 * surfaces.total_bytes)
    np.testing.assert_allclose(above_w, surfaces.observations.power_w - surfaces.base_power_w)
    assert has_resources(surfaces)


def make_copy(setup: Setup, banks_j: list[float | None], *, cpu_s_per_s: float = 0.5) -> Copy:
    """Return a copy of 100 bytes in ticks of 5 s whose ends are equally busy, with the banks that decisions stated."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    log = CpuLog(psutil.Process(), psutil.Process())
    for second in range(-1, 40):
        log.at_s.append(begin.timestamp() + second)
        log.cpu_s.append((cpu_s_per_s * second, cpu_s_per_s * second))
    timeline = [
        {
            "sample": {"at": (begin + timedelta(seconds=5 * n)).isoformat(), "remaining_bytes": 100 - 10 * n},
            "decision": {"sla_bank": bank_j, "reason": "metered at the destination alone"},
        }
        for n, bank_j in enumerate(banks_j)
    ]
    return Copy({"timeline": timeline, "agreement_kept": True}, log)


def test_budget_error_is_the_difference_from_what_both_ends_took() -> None:
    setup = Setup(name="x", server=EndModel(10.0, 30.0), client=EndModel(20.0, 20.0))
    spent_j = 5 * (10.0 + 20.0) + 20.0 * 0.5 * 5 / (psutil.cpu_count() or 1)
    exact = make_copy(setup, [0.0, 100.0 - spent_j, None])
    assert exact.list_budget_errors(setup, 1000.0) == pytest.approx([0.0], abs=1e-9)
    one_end = make_copy(setup, [0.0, 100.0 - spent_j / 2, None])
    assert one_end.list_budget_errors(setup, 1000.0) == pytest.approx([spent_j / 2 / 1000.0])
    assert exact.says_what_is_scaled


def test_error_of_the_budget_is_judged_with_both_ends_metered_alone() -> None:
    both = {"metered_ends": 2, "budget_error": 0.01, "sla_met": True, "is_feasible": True}
    one = {"metered_ends": 1, "budget_error": 0.2, "sla_met": None, "is_scaling_said": True}
    hopeless = both | {"is_feasible": False, "sla_met": False}
    summary = summarise_live_budgets([both, both | {"budget_error": 0.02, "sla_met": False}, hopeless, one])
    assert summary["live_feasible"] == 2
    assert summary["live_budget_error_max"] == 0.02
    assert summary["live_sla_met"] == 0.5
    assert summary["one_end_budget_error_max"] == 0.2
    assert summary["one_end_scaling_said"] is True


def test_scatter_of_the_throughput_contains_what_the_surfaces_predict(surfaces: SurfaceSet) -> None:
    picks = []
    residuals: dict[int, float] = {}
    for seed in range(SEEDS):
        held_out = HeldOutSet(surfaces, seed)
        picks.append((held_out.choose(make_frugal_sla(EnergyBasis.DYNAMIC)), held_out.choose(FASTEST)))
        residuals |= held_out.list_residuals()
    scatter = compute_throughput_scatter(picks, residuals, 0)
    assert scatter["throughput_vs_fastest_low"] < scatter["throughput_vs_fastest_predicted"]
    assert scatter["throughput_vs_fastest_predicted"] < scatter["throughput_vs_fastest_high"]
    exact = compute_throughput_scatter(picks, dict.fromkeys(residuals, 0.1), 0)
    assert exact["throughput_vs_fastest_low"] == pytest.approx(exact["throughput_vs_fastest_predicted"])
    assert 2 <= scatter["rows_chosen"] <= 2 * SEEDS


def test_cell_is_judged_by_runs_of_its_own() -> None:
    fast, frugal = (Parameters(concurrency=cc, parallelism=1, cores=cores) for cc, cores in ((8, 2), (2, 1)))
    history = [(fast, Measured(100e6, 10.0, 8.0)), (frugal, Measured(95e6, 6.0, 8.4))]
    runs = {fast: [Measured(99e6, 10.0, 8.0)] * 3, frugal: [Measured(94e6, 7.0, 8.4)] * 3}
    row = {"case": "x"} | judge_runs(history, runs, fast, frugal)
    assert row["brute_force_dynamic"] == pytest.approx(0.6)
    assert row["has_frugal_setting"] is True
    assert row["frugal_dynamic"] == pytest.approx(0.7)
    assert (row["fastest"], row["frugal"]) == ("8 × 1, 2 cores", "2 × 1, 1 core")
    other = row | {"has_frugal_setting": False, "frugal_dynamic": 1.01, "frugal_throughput": 1.0}
    summary = summarise_core_cells([row, other])
    assert summary["core_dynamic_vs_fastest_max"] == pytest.approx(0.7)
    assert summary["core_dynamic_vs_fastest_anywhere_max"] == pytest.approx(1.01)
    assert summary["core_cells_with_frugal_setting"] == 1
