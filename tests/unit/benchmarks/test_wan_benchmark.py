"""The wide-area table: its search, its memory of finished runs, its summary."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.support.direction import Direction
from benchmarks.support.sources import digest_parts, strip_python
from benchmarks.testbed.path_spec import PathCounters
from benchmarks.wan.cell_row import OURS_ALONE
from benchmarks.wan.cell_runner import make_judge
from benchmarks.wan.cells import ALL_CELLS
from benchmarks.wan.runs import UPLOADS, RunLog, digest_sources, digest_sources_of_rules, select_digests
from benchmarks.wan.search import (
    AXES,
    FIRST_BYTES,
    GIVEN_UP_BELOW,
    MOST_STREAMS,
    PAYLOAD_SHARE,
    SearchRun,
    find_leading_settings,
    list_coarse_settings,
    list_neighbours,
)
from benchmarks.wan.summary import list_missing, make_result, summarise
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

    assert find_leading_settings(ALL, score)[0] == peak
    assert len(tried) == len(set(tried)) < 0.5 * 7 * 5 * 6


def test_mover_is_tested_only_with_settings_that_its_users_can_choose():
    settings = list_coarse_settings(("concurrency",))
    assert [setting.concurrency for setting in settings] == [16, 4, 64, 1]
    assert all(setting.parallelism is setting.pipelining is None for setting in settings)


def test_neither_lattice_has_more_streams_than_the_most():
    corner = Parameters(concurrency=64, parallelism=2, pipelining=1)
    assert all(
        setting.streams <= MOST_STREAMS for setting in [*list_coarse_settings(ALL), *list_neighbours(corner, ALL)]
    )


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


def test_digests_differ_between_parts_and_repeat():
    first = digest_sources()
    assert first == digest_sources()
    assert set(first) == {"engine", "controller", "testbed", "uploads", "harness"}
    assert all(a != b for a, b in pairwise(first.values()))


def a_cell(name: str, tuned_mbps: float, oracle_mbps: float, **defaults_mbps: float):
    def figures(mbps: float, j_per_gb: float):
        return {
            "setting": None,
            "throughput_bps": mbps * 1e6,
            "modelled_j_per_gb": j_per_gb,
            "dynamic_j_per_gb": j_per_gb,
            "duration_s": 30.0,
            "failed": 0,
        }

    [peers] = {tuple(cell.peers) for cell in ALL_CELLS if cell.name == name}
    contenders = {peer.name: figures(defaults_mbps.get(peer.name, 10.0), 100.0) for peer in peers}
    contenders |= {"best tradewind": figures(oracle_mbps, 50.0), "best aria2": figures(oracle_mbps / 2, 50.0)}
    contenders |= {"tuned": figures(tuned_mbps, 60.0), "tuned min_energy": figures(tuned_mbps, 40.0)}
    contenders |= {"tuned min_energy, dynamic basis": figures(tuned_mbps, 40.0)}
    contenders |= {"tuned unseen": figures(0.9 * tuned_mbps, 60.0)}
    contenders |= {OURS_ALONE: figures(0.8 * tuned_mbps, 60.0)}
    least = {"dynamic_j_per_gb": 30.0, "of_fastest_j_per_gb": 60.0 if oracle_mbps > 50 else 31.0}
    return {"cell": name, "contenders": contenders, "least_dynamic_energy": least}


def test_the_summary_compares_with_the_oracle_and_the_best_default():
    rows = [
        a_cell("100M-60ms/html", 80.0, 100.0, wget=10.0, rclone=20.0, aria2=50.0),
        a_cell("50M-20ms/video", 45.0, 45.0, wget=46.0),
    ]
    figures = summarise(rows)
    assert figures["oracle_fraction_min"] == pytest.approx(0.8)
    assert figures["oracle_fraction_median"] == pytest.approx(0.9)
    assert figures["unseen_fraction_min"] == pytest.approx(0.9 * 0.8)
    assert figures["vs_best_default_min"] == pytest.approx(45 / 46)
    assert figures["cells_above_best_default"] == 1
    assert figures["alone_vs_best_default_min"] == pytest.approx(0.8 * 45 / 46)
    assert figures["alone_vs_best_default_median"] == pytest.approx(0.8 * (45 / 46 + 80 / 50) / 2)
    assert figures["dynamic_energy_vs_best_default_median"] == pytest.approx(0.4)
    assert figures["dynamic_energy_vs_least_default_median"] == pytest.approx(0.4)
    assert figures["html_60ms_vs_rclone"] == pytest.approx(4.0)
    assert figures["html_60ms_vs_wget"] == pytest.approx(8.0)
    assert figures["energy_vs_best_default_max"] == pytest.approx(0.4)
    assert figures["energy_vs_rclone_median"] == pytest.approx(0.4)
    assert figures["cells_with_30_percent_to_save"] == 1
    assert figures["cells_saving_30_percent"] == figures["saving_share"] == 0
    assert figures["dynamic_saving_min"] == pytest.approx(1 - 40 / 50)
    assert figures["unseen_ticks_max"] == pytest.approx(6.0)
    assert figures["cells_missing"] == 24 - 2
    [unmeasured] = list_missing(rows)
    assert "100M-60ms/video" in unmeasured
    assert "100M-60ms/html" not in unmeasured
    assert make_result(rows[0])["vs_best_default"] == pytest.approx(1.6)


def test_dynamic_energy_is_compared_with_the_fastest_default_and_with_the_one_that_takes_least():
    row = a_cell("100M-60ms/html", 80.0, 100.0, aria2=50.0)
    row["contenders"]["aria2"]["dynamic_j_per_gb"] = 200.0
    row["contenders"]["wget"]["dynamic_j_per_gb"] = 20.0
    figures = summarise([row])
    assert figures["dynamic_energy_vs_best_default_median"] == pytest.approx(40 / 200)
    assert figures["dynamic_energy_vs_least_default_median"] == pytest.approx(40 / 20)


def test_a_run_of_ours_that_failed_is_counted_and_a_peers_is_not():
    row = a_cell("50M-20ms/video", 45.0, 45.0)
    row["contenders"]["tuned"]["failed"] = 2
    row["contenders"]["rclone"]["failed"] = 1
    assert summarise([row])["failed_runs"] == 2


def test_a_tool_without_a_byte_at_the_cut_has_no_ratio_and_breaks_nothing():
    row = a_cell("100M-60ms/html", 80.0, 100.0, rclone=0.0)
    row["contenders"]["rclone"]["modelled_j_per_gb"] = None
    figures = summarise([row])
    assert list_missing([row])[1] == "no figure yet: energy_vs_rclone_median, html_60ms_vs_rclone"
    assert figures["html_60ms_vs_rclone"] is None
    assert figures["energy_vs_rclone_median"] is None
    assert figures["energy_vs_best_default_max"] == pytest.approx(0.4)


def test_uploads_have_figures_of_their_own_and_change_none_of_the_downloads():
    down = [a_cell("100M-60ms/html", 80.0, 100.0, wget=10.0), a_cell("50M-20ms/video", 45.0, 45.0)]
    up = [a_cell("50M-20ms/image/up", 30.0, 60.0, curl=40.0), a_cell("50M-20ms/mixed/up", 48.0, 60.0)]
    tls = a_cell("100M-60ms/image/tls", 63.0, 70.0)
    assert "wget" not in up[0]["contenders"]
    of_downloads, figures = summarise(down), summarise([*up, *down, tls])
    assert {name for name in of_downloads if figures[name] != of_downloads[name]} == {"cells", "cells_missing"}
    assert (figures["cells"], figures["cells_missing"]) == (5, 24 - 4)
    assert figures["upload_oracle_fraction_min"] == pytest.approx(0.5)
    assert figures["upload_oracle_fraction_median"] == pytest.approx(0.65)
    assert figures["upload_vs_best_default_min"] == pytest.approx(30 / 40)
    assert figures["upload_cells_above_best_default"] == 1
    assert figures["tls_oracle_fraction_min"] == pytest.approx(0.9)


def test_uploads_alone_have_no_figures_of_downloads():
    figures = summarise([a_cell("50M-20ms/image/up", 30.0, 60.0)])
    assert figures["oracle_fraction_min"] is figures["vs_best_default_min"] is figures["energy_vs_wget_median"] is None
    assert figures["upload_oracle_fraction_min"] == pytest.approx(0.5)


def a_heat(best_bps: float, least_bps: float = 0.0) -> SearchRun:
    return SearchRun(rate_bps=100e6, cut_s=12.0, best_bps=best_bps, least_bps=least_bps)


def test_a_run_is_watched_from_its_first_file_on_whatever_its_program_took_to_start():
    late, soon = a_heat(0.0), a_heat(0.0)
    assert not any(late.is_finished(age_s, 50e6) for age_s in (0.5, 5.0, 20.0))
    assert late.score_bps(20.0, 50_000) == 0.0
    for heat, started_s in ((late, 21.0), (soon, 0.5)):
        heat.start(started_s, 1e6, 0.5e6)
        assert not heat.is_finished(started_s, 1e6)
        assert not heat.is_finished(started_s + 11.9, 1e6 + 10e6)
        assert heat.is_finished(started_s + 12.0, 1e6 + 12e6)
        assert heat.carried_bps == pytest.approx(8e6)
        assert not heat.is_hopeless
        assert heat.score_bps(started_s + 12.0, 0.5e6 + 9e6) == pytest.approx(6e6)


def counters(direction: Direction, carried_bytes: int) -> PathCounters:
    """What a link says that has carried bytes in one direction alone."""
    link = "forwarded=0 bytes={} dropped=0 lost=0 refused=0 queued_bytes=0 queued_peak_bytes=0 late="
    down, up = (carried_bytes if way is direction else 0 for way in (Direction.DOWN, Direction.UP))
    return PathCounters.parse(f"down {link.format(down)} up {link.format(up)}")


@pytest.mark.parametrize("direction", list(Direction))
def test_leftover_traffic_and_listings_start_no_run(tmp_path: Path, direction: Direction):
    heat = a_heat(best_bps=90e6)
    enough = make_judge(heat, direction, tmp_path)
    carried = counters(direction, 5_000_000)
    assert not any(enough(age_s, carried) for age_s in (0.1, 1.0, 3.0))
    assert not heat.has_started
    (tmp_path / "one").write_bytes(bytes(FIRST_BYTES))
    assert not enough(3.1, carried)
    assert heat.has_started
    assert enough(6.0, carried)  # three seconds without a byte cannot be made up for
    assert heat.is_hopeless


def test_run_is_judged_by_what_the_link_carries_in_its_own_direction(tmp_path: Path):
    (tmp_path / "one").write_bytes(bytes(FIRST_BYTES))
    for judged, is_hopeless in ((Direction.UP, False), (Direction.DOWN, True)):
        heat = a_heat(best_bps=0.0, least_bps=50e6)
        enough = make_judge(heat, judged, tmp_path)
        assert not enough(1.0, counters(Direction.UP, 0))
        assert enough(13.0, counters(Direction.UP, round(12 * 90e6 / 8)))
        assert heat.is_hopeless is is_hopeless


def test_run_that_retransmits_less_scores_higher_on_a_full_path():
    thrifty, wasteful = a_heat(0.0), a_heat(0.0)
    for heat in (thrifty, wasteful):
        heat.start(1.0, FIRST_BYTES, FIRST_BYTES)
        assert heat.is_finished(13.0, FIRST_BYTES + 12 * 100e6 / 8)
    assert thrifty.carried_bps == wasteful.carried_bps
    assert thrifty.score_bps(13.0, 140e6) > wasteful.score_bps(13.0, 130e6)


@pytest.mark.parametrize(
    "limit", [{"best_bps": PAYLOAD_SHARE * 90e6 / GIVEN_UP_BELOW}, {"best_bps": 0.0, "least_bps": 90e6}]
)
def test_a_run_is_given_up_only_when_a_full_path_could_not_save_it(limit):
    most_bytes = 12.0 * 90e6 / 8
    for missing_bytes, is_hopeless in ((-1, False), (2, True)):
        heat = a_heat(**limit)
        heat.start(1.0, FIRST_BYTES, FIRST_BYTES)
        carried_bytes = FIRST_BYTES + most_bytes - 6.0 * 100e6 / 8 - missing_bytes
        assert heat.is_finished(7.0, carried_bytes) is heat.is_hopeless is is_hopeless


def test_a_good_second_of_a_run_that_is_given_up_is_no_match_for_a_good_run():
    brisk = a_heat(best_bps=PAYLOAD_SHARE * 100.2e6 / GIVEN_UP_BELOW)
    brisk.start(1.0, FIRST_BYTES, 0.0)
    assert brisk.is_finished(
        2.0, FIRST_BYTES + 101e6 / 8
    )  # a queue that empties: more than the path's rate for a moment
    assert brisk.carried_bps == pytest.approx((101e6 + 11 * 100e6) / 12)
    assert brisk.score_bps(2.0, 2 * 101e6 / 8) == pytest.approx(PAYLOAD_SHARE * brisk.carried_bps)


def test_digests_of_rules_and_learned_service_differ_in_the_controller():
    learned, by_rules = digest_sources(), digest_sources_of_rules()
    assert {part for part in learned if learned[part] != by_rules[part]} == {"controller"}


def test_a_source_that_is_gone_is_no_digest():
    with pytest.raises(FileNotFoundError):
        digest_parts({"engine": ("clients/python/tradewind_agent/no_such_file.py",)})


def test_digest_ignores_comments_and_docstrings_but_no_other_word():
    first = strip_python(
        '"""What it is."""\n\nLIMIT = 3  # s\n"""Why."""\n\n\ndef f():\n    """Tell."""\n    return "# 1"\n'
    )
    again = strip_python('LIMIT = 3\n\n\ndef f():\n    # so that\n    return "# 1"\n')
    assert first == again == 'LIMIT = 3\ndef f():\n    return "# 1"'
    assert strip_python('LIMIT = 3\ndef f():\n    return "# 2"\n') != again


def test_row_of_a_download_does_not_depend_on_what_only_uploads_run_through():
    current = digest_sources()
    assert select_digests(current, Direction.UP) == current
    assert set(current) - set(select_digests(current, Direction.DOWN)) == {UPLOADS}


def test_forgotten_run_is_measured_again_and_stored_once(tmp_path):
    log = RunLog(tmp_path / "runs.ndjson")
    log.add("a", {"value": 1})
    log.forget("a")
    assert log.find("a") is None
    log.add("a", {"value": 2})
    assert RunLog(log.path).list_rows() == [{"key": "a", "value": 2}]
