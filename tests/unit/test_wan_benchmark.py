"""The wide-area table: its search, its memory of finished runs, its summary."""

import json
from itertools import pairwise

import pytest

from benchmarks.testbed.peers import PEERS
from benchmarks.wan.runs import RunLog, hashes
from benchmarks.wan.search import AXES, MOST_STREAMS, best_setting, coarse, neighbours
from benchmarks.wan.summary import result, summary
from tradewind.parameters import Parameters

ALL = tuple(AXES)


def ridge(best: Parameters):
    """A score with one peak, falling by the distance in steps of the lattice."""

    def score(setting: Parameters) -> float:
        steps = (AXES[axis].index(getattr(setting, axis)) - AXES[axis].index(getattr(best, axis)) for axis in ALL)
        return -float(sum(step * step for step in steps))

    return score


@pytest.mark.parametrize("values", [(1, 1, 1), (16, 2, 8), (64, 2, 32), (2, 16, 1), (32, 4, 2)])
def test_the_search_finds_the_peak_wherever_it_is_with_few_of_all_settings(values):
    peak = Parameters(**dict(zip(ALL, values, strict=True)))
    tried: list[Parameters] = []

    def score(setting: Parameters) -> float:
        tried.append(setting)
        return ridge(peak)(setting)

    assert best_setting(ALL, score) == peak
    assert len(tried) == len(set(tried)) < 0.5 * 7 * 5 * 6


def test_a_mover_is_asked_only_for_what_it_lets_its_users_set():
    settings = coarse(("concurrency",))
    assert [setting.concurrency for setting in settings] == [1, 4, 16, 64]
    assert all(setting.parallelism is setting.pipelining is None for setting in settings)


def test_neither_lattice_has_more_streams_than_the_most():
    corner = Parameters(concurrency=64, parallelism=2, pipelining=1)
    assert all(setting.streams <= MOST_STREAMS for setting in [*coarse(ALL), *neighbours(corner, ALL)])


def test_an_interrupted_log_goes_on_without_its_torn_line(tmp_path):
    path = tmp_path / "runs.ndjson"
    log = RunLog(path)
    log.add("b", {"value": 1})
    log.add("a", {"value": 2})
    log.add("b", {"value": 3})
    with path.open("a") as file:
        file.write('{"key": "c", "val')
    again = RunLog(path)
    assert again.find("b") == {"key": "b", "value": 3}
    assert again.find("c") is None
    again.rewrite()
    assert [json.loads(line)["key"] for line in path.read_text().splitlines()] == ["a", "b"]


def test_digests_tell_the_parts_apart_and_repeat():
    first = hashes()
    assert first == hashes()
    assert set(first) == {"engine", "controller", "testbed", "harness"}
    assert all(a != b for a, b in pairwise(first.values()))


def a_cell(name: str, tuned_mbps: float, oracle_mbps: float, **defaults_mbps: float):
    def figures(mbps: float, j_per_gb: float):
        return {
            "setting": None,
            "throughput_bps": mbps * 1e6,
            "modelled_j_per_gb": j_per_gb,
            "dynamic_j_per_gb": j_per_gb,
        }

    contenders = {peer.name: figures(defaults_mbps.get(peer.name, 10.0), 100.0) for peer in PEERS}
    contenders |= {"best tradewind": figures(oracle_mbps, 50.0), "best aria2": figures(oracle_mbps / 2, 50.0)}
    contenders |= {"tuned": figures(tuned_mbps, 60.0), "tuned min_energy": figures(tuned_mbps, 40.0)}
    least = {"dynamic_j_per_gb": 30.0, "of_fastest_j_per_gb": 60.0 if oracle_mbps > 50 else 31.0}
    return {"cell": name, "contenders": contenders, "least_dynamic_energy": least}


def test_the_summary_compares_with_the_oracle_and_the_best_default():
    rows = [
        a_cell("100M-60ms/html", 80.0, 100.0, wget=10.0, rclone=20.0, aria2=50.0),
        a_cell("50M-20ms/video", 45.0, 45.0, wget=46.0),
    ]
    figures = summary(rows)
    assert figures["oracle_fraction_min"] == pytest.approx(0.8)
    assert figures["oracle_fraction_median"] == pytest.approx(0.9)
    assert figures["vs_best_default_min"] == pytest.approx(45 / 46)
    assert figures["cells_above_best_default"] == 1
    assert figures["html_60ms_vs_rclone"] == pytest.approx(4.0)
    assert figures["html_60ms_vs_wget"] == pytest.approx(8.0)
    assert figures["energy_vs_best_default_max"] == pytest.approx(0.4)
    assert figures["energy_vs_rclone_median"] == pytest.approx(0.4)
    assert figures["cells_with_30_percent_to_save"] == 1
    assert figures["dynamic_saving_min"] == pytest.approx(1 - 40 / 50)
    assert result(rows[0])["vs_best_default"] == pytest.approx(1.6)


def test_a_tool_without_a_byte_at_the_cut_has_no_ratio_and_breaks_nothing():
    row = a_cell("100M-60ms/html", 80.0, 100.0, rclone=0.0)
    row["contenders"]["rclone"]["modelled_j_per_gb"] = None
    figures = summary([row])
    assert figures["html_60ms_vs_rclone"] is None
    assert figures["energy_vs_rclone_median"] is None
    assert figures["energy_vs_best_default_max"] == pytest.approx(0.4)
