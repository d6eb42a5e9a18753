"""The tuning benchmark: its tuners, its figures, its search for the best setting, its summary."""

import math
from pathlib import Path

import pytest

from benchmarks.testbed.path_spec import PathSpec
from benchmarks.tuning import history, metrics
from benchmarks.tuning.driver import TickRow, make_jobs
from benchmarks.tuning.falcon_bayes import FalconBayes
from benchmarks.tuning.oracle import StaticLattice, find_best_setting
from benchmarks.tuning.summary import compare_tuners, make_timeline, summarise
from benchmarks.tuning.task import Task
from benchmarks.tuning.traces import TRACES_A_FILE, compute_variation, make_trace_cases
from benchmarks.tuning.tuners import OURS, STATIC, VARIANTS, make_tuner
from tests.unit.tuning.simulated_path import SimulatedPath
from tradewind.dataset import Chunk, ChunkKind, DataSet
from tradewind.errors import InvalidValue
from tradewind.path import Path as NetworkPath
from tradewind.tuning import ChunkProgress, TickSample

SIMULATED = SimulatedPath()


@pytest.fixture
def table(tmp_path) -> Path:
    return history.write_table(SIMULATED.table(4e6), tmp_path)


def task(tuner: str, table: Path | None = None, **values) -> Task:
    known = {
        "tuner": tuner,
        "url": "http://10.0.0.1/",
        "names": ("a", "b"),
        "file_bytes": 4_000_000,
        "rounds": 50,
        "destination": "got",
        "ticks": 8,
        "bandwidth_bps": 100e6,
        "rtt_s": 0.06,
        "loss_rate": 2e-4,
        "table": None if table is None else str(table),
    }
    return Task(**(known | values))


def sample(tick: int, plan, bps: float = 50e6) -> TickSample:
    [chunk] = plan
    return TickSample(
        sequence=tick,
        at_s=5.0 * tick,
        interval_s=5.0,
        bytes_moved=int(tick * 5 * bps / 8),
        throughput_bps=bps,
        remaining_bytes=400_000_000 - int(tick * 5 * bps / 8),
        remaining_files=100,
        rtt_s=0.08,
        min_rtt_s=0.06,
        sent_bytes=int(tick * 5 * bps / 8),
        retransmitted_bytes=0,
        power_w=20.0,
        chunks=(
            ChunkProgress(kind=chunk.chunk, parameters=chunk.parameters, throughput_bps=bps, remaining_bytes=10**8),
        ),
    )


def row(tick: int, mbps: float, streams: int = 4, until_s: float | None = None) -> TickRow:
    return TickRow(
        tick=tick,
        until_s=5.0 * tick if until_s is None else until_s,
        interval_s=5.0,
        throughput_bps=1e6 * mbps,
        streams=streams,
        setting=(streams, 1, 1),
        rtt_s=0.07,
        min_rtt_s=0.06,
        loss=None,
        power_w=20.0,
        kind="",
        reason="",
        streams_asked=streams,
        step_s=0.001,
    )


def test_a_task_survives_the_way_to_its_process():
    asked = task(STATIC, setting=(4, 2, 1), target_bps=3e7)
    assert Task.from_json(asked.to_json()) == asked


def test_every_file_is_fetched_again_under_another_name_each_round():
    jobs = list(make_jobs(task(STATIC, setting=(1, 1, 1), rounds=3)))
    assert len({job.destination for job in jobs}) == 6
    assert {str(job.source) for job in jobs} == {"http://10.0.0.1/a", "http://10.0.0.1/b"}


@pytest.mark.parametrize("target_bps", [None, 40e6], ids=["fastest", "agreement"])
@pytest.mark.parametrize("name", [OURS, *VARIANTS])
def test_every_tuner_has_a_plan_before_the_first_byte_and_after_each_tick(name, target_bps, table):
    tuner = make_tuner(task(name, table, target_bps=target_bps))
    plan = tuner.plan
    for tick in range(1, 9):
        plan = tuner.decide(sample(tick, plan)).plan
        assert 1 <= plan[0].parameters.streams <= 128


def test_the_controller_opens_no_streams_for_more_than_the_path_carries(table):
    wide, narrow = (make_tuner(task(OURS, table, bandwidth_bps=bps)).plan[0].parameters for bps in (100e6, 20e6))
    assert narrow.streams < wide.streams


def test_a_tuner_without_what_it_starts_from_is_refused():
    with pytest.raises(InvalidValue, match="learned table"):
        make_tuner(task(OURS))
    with pytest.raises(InvalidValue, match="needs one"):
        make_tuner(task(STATIC))
    with pytest.raises(InvalidValue, match="is one of"):
        make_tuner(task("nobody"))


def test_the_learner_fits_a_table_to_a_history_and_ranks_few_streams_below_many():
    path = PathSpec(rate_bps=100e6, rtt_s=0.06, loss_rate=2e-4)
    rows = []
    for number, setting in enumerate(2 * history.SETTINGS):
        cc, p, _ = setting
        bps = min(12e6 * cc * p, 95e6) * (1 + 0.02 * math.sin(number))
        rows.append(
            {
                "setting": setting,
                "ended_s": 1e9 + 20.0 * number,
                "duration_s": 10.0,
                "throughput_bps": bps,
                "rtt_s": 0.061 + bps / 2e9,
                "min_rtt_s": 0.06,
                "loss": 2e-4,
                "power_w": 2.0 + cc * p / 50,
            }
        )
    fitted = history.fit_table(path, rows, seed=1)
    rates = {s.parameters.streams: math.exp(s.log_throughput_mean) for s in fitted.predicted.settings}
    assert rates[1] == pytest.approx(12e6, rel=0.3)
    assert rates[8] == pytest.approx(95e6, rel=0.2)
    assert fitted.loss_baseline == pytest.approx(2e-4, rel=0.1)
    assert fitted.queueing_delay_p90_s[8] > fitted.queueing_delay_p90_s[1]


@pytest.mark.parametrize("peak", [(1, 1, 1), (16, 2, 4), (64, 2, 16), (32, 4, 1)])
def test_brute_force_finds_the_peak_and_asks_for_each_setting_once(peak):
    lattice, asked = StaticLattice(), []

    def score(setting):
        asked.append(setting)
        places = zip(lattice.axes, setting, peak, strict=True)
        return -sum((axis.index(here) - axis.index(best)) ** 2 for axis, here, best in places)

    assert find_best_setting(lattice, score) == peak
    assert len(asked) == len(set(asked))
    assert all(cc * p <= lattice.most_streams for cc, p, _ in asked)


def test_fairness_is_one_for_equals_and_one_in_n_where_one_has_it_all():
    assert metrics.compute_jain_index([3e6, 3e6, 3e6]) == pytest.approx(1.0)
    assert metrics.compute_jain_index([9e6, 0.0, 0.0]) == pytest.approx(1 / 3)


def test_a_shortfall_is_the_share_of_bits_missing_and_never_below_nothing():
    assert metrics.compute_shortfall([row(1, 10), row(2, 30)], 25e6) == pytest.approx(0.2)
    assert metrics.compute_shortfall([row(1, 10), row(2, 50)], 25e6) == 0.0


def test_rates_are_compared_over_the_same_time_whatever_the_ticks():
    ticks = [row(1, 10, until_s=5.0), row(2, 20, until_s=10.0), row(3, 40, until_s=15.0)]
    assert metrics.compute_mean_bps_between(ticks, 5.0, 15.0) == pytest.approx(30e6)
    assert metrics.compute_mean_bps_between(ticks, 7.5, 12.5) == pytest.approx(30e6)
    assert metrics.compute_mean_bps_between(ticks, 90.0, 95.0) == 0.0


def test_oscillation_and_changes_are_nothing_where_nothing_moves():
    steady = [row(i, 20) for i in range(4)]
    assert metrics.compute_oscillation(steady) == 0.0
    assert metrics.count_changes([*steady, row(5, 10, streams=8), row(6, 30, streams=8)]) == 1
    assert metrics.compute_oscillation([row(1, 10), row(2, 30)]) == pytest.approx(0.5)


def test_a_competitor_that_gets_as_much_as_each_stream_has_all_it_is_due():
    assert metrics.compute_competitor_share(10e6, 50e6, 4) == pytest.approx(1.0)


def test_a_path_that_changes_carries_the_sum_of_its_rates_times_their_intervals():
    assert metrics.compute_capacity_bits((60e6, 20e6), 4.0, 8.0) == pytest.approx(320e6)
    assert metrics.compute_capacity_bits((60e6, 20e6), 4.0, 5.0) == pytest.approx(260e6)


def write_traces(folder: Path, rows: list[list[float]]) -> None:
    names = [f"t{number}" for number in range(1, len(rows[0]) + 1)]
    lines = [",".join(names), *(",".join(map(str, each)) for each in rows)]
    (folder / "recorded.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_traces_are_drawn_from_the_rows_that_vary_and_are_the_same_for_the_same_seed(tmp_path):
    steady, varying = [[900.0] * 4] * 5, [[900.0, 100.0 + row, 900.0, 300.0] for row in range(5)]
    write_traces(tmp_path, steady + varying)
    cases = make_trace_cases([tmp_path], seed=1)
    assert cases == make_trace_cases([tmp_path], seed=1)
    assert len(cases) == TRACES_A_FILE
    for case in cases:
        assert int(case.name.rpartition("/")[2]) > len(steady)
        assert max(case.rates_bps) == 60e6
        assert case.lasting_s == 4 * case.interval_s
    assert make_trace_cases([], seed=1) == []


def test_variation_is_the_mean_change_as_a_share_of_the_highest_rate():
    assert compute_variation([10.0, 5.0, 10.0]) == pytest.approx(0.5)
    assert compute_variation([10.0, 10.0]) == compute_variation([0.0, 0.0]) == compute_variation([1.0]) == 0.0


def test_a_folder_without_traces_is_refused(tmp_path):
    with pytest.raises(InvalidValue, match="holds no traces"):
        make_trace_cases([tmp_path], seed=1)


def cell(case: str, tuner: str, repeat: int, **found) -> dict:
    kept = {"case": case, "tuner": tuner, "repeat": repeat, "refused": 0, "timelines": [[row(1, 10)]]}
    return kept | found


def test_the_summary_has_the_worst_case_of_medians_and_the_same_for_each_variant():
    rows = [
        *(cell("step/a", OURS, i, oracle_fraction_after_5_ticks=each) for i, each in enumerate((0.5, 0.95, 0.99))),
        cell("step/b", OURS, 0, oracle_fraction_after_5_ticks=0.97, oscillation=0.02),
        cell("agreement", OURS, 0, sla_shortfall=0.01),
        cell("step/a", "falcon", 0, oracle_fraction_after_5_ticks=0.8),
    ]
    found = summarise(rows)
    assert found["oracle_fraction_after_5_ticks"] == 0.95
    assert (found["oscillation"], found["sla_shortfall"], found["jain"]) == (0.02, 0.01, None)
    assert found["reference"]["falcon"]["oracle_fraction_after_5_ticks"] == 0.8


def test_the_comparison_counts_variants_that_ran_the_same_cases_alone():
    rows = [
        *(cell(f"fairness/{n}", OURS, 0, jain=value) for n, value in ((2, 0.99), (4, 0.97))),
        *(cell(f"fairness/{n}", "htee", 0, jain=value) for n, value in ((2, 0.98), (4, 0.94), (8, 0.5))),
        *(cell(f"fairness/{n}", "falcon", 0, jain=value) for n, value in ((2, 0.92), (4, 0.85))),
        cell("fairness/2", "mine", 0, jain=1.0),
    ]
    [line] = [line for line in compare_tuners(rows) if line["figure"] == "jain"]
    assert line == {
        "figure": "jain",
        OURS: 0.97,
        "best of the others": 0.94,
        "htee": 0.94,
        "falcon": 0.85,
        "mine": None,
    }


def test_the_summary_names_the_figures_in_which_the_controller_leads_or_falls_short():
    ours = {"jain": 0.97, "sla_shortfall": 0.0, "oscillation": 0.08, "competitor_share": 0.8}
    theirs = {"jain": 0.94, "sla_shortfall": 0.0, "oscillation": 0.05, "competitor_share": 1.1}
    ours["oracle_fraction_after_5_ticks"], theirs["oracle_fraction_after_5_ticks"] = 0.95, 0.9
    found = summarise([cell("all", OURS, 0, **ours), cell("all", "htee", 0, **theirs)])
    assert found["better_than_all_others"] == "oracle_fraction_after_5_ticks, jain"
    assert found["as_good_as_the_best"] == "sla_shortfall"
    assert found["worse_than_the_best"] == "oscillation"
    assert (found["figures_better"], found["figures_worse"]) == (2, 1)
    some = summarise([cell("all", tuner, 0, jain=jain) for tuner, jain in ((OURS, 0.97), ("htee", 0.94))])
    assert (some["figures_better"], some["figures_worse"]) == (None, 0), "one of four is not most"
    alone = summarise([cell("all", OURS, 0, **ours)])
    assert (alone["figures_better"], alone["figures_worse"]) == (None, None), "nobody was beside it"


def test_timeline_has_queue_and_decision_of_each_tick():
    [line] = make_timeline(cell("step/a", OURS, 0))
    assert line["queue ms"] == pytest.approx(10.0)
    assert line["decided"] == "4 streams"


def try_workers(rate_bps, ticks):
    """Return the numbers of workers that the Bayesian search tries on a path without loss."""
    files = DataSet(file_count=10_000, total_bytes=10**9)
    variant = FalconBayes(
        (Chunk(ChunkKind.SMALL, files, None),), NetworkPath(bandwidth_bps=1e9, rtt_s=0.06), workers=64
    )
    state, _ = variant.begin()
    tried = []
    for tick in range(1, ticks + 1):
        tried.append(state.workers)
        state, plan = variant.step(
            state,
            TickSample(
                sequence=tick,
                at_s=5.0 * tick,
                interval_s=5.0,
                bytes_moved=0,
                throughput_bps=rate_bps(state.workers),
                remaining_bytes=10**9,
                remaining_files=10_000,
            ),
        )
        assert sum(each.parameters.concurrency for each in plan) == state.workers
    return tried


def test_bayesian_search_begins_at_random_and_ends_near_the_highest_utility():
    tried = try_workers(lambda workers: 1e7 * min(workers, 20), 30)
    assert len(set(tried[:3])) == 3
    assert sorted(tried[-9:])[4] in range(15, 26)


def test_bayesian_search_is_the_same_for_the_same_seed_and_bears_a_path_that_carries_nothing():
    assert try_workers(lambda workers: 1e7 * workers, 8) == try_workers(lambda workers: 1e7 * workers, 8)
    assert all(1 <= workers <= 64 for workers in try_workers(lambda _: 0.0, 12))
