"""The cells of the wide-area table: their names, their tools, what is learned for them, and other paths."""

import subprocess
import sys

import pytest

from benchmarks.support.direction import Direction
from benchmarks.support.report import ROOT
from benchmarks.testbed.data_sets import Kind
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.wan.cell_row import OURS_ALONE, Plan
from benchmarks.wan.cells import ALL_CELLS, DOWN_CELLS, PATHS, TLS_CELLS, UP_CELLS, Cell, select_cells
from benchmarks.wan.duration import estimate_duration_s
from benchmarks.wan.knowledge import Knowledge, digest_logs
from benchmarks.wan.lessons import draw_lesson_sizes
from benchmarks.wan.other_paths import parse_cells, summarise_without_history
from benchmarks.wan.repeats import list_repeated
from tradewind.errors import InvalidValue


@pytest.mark.parametrize(
    ("names", "meant"),
    [
        (["html/60ms"], ["100M-60ms/html"]),
        (["100M-60ms/html"], ["100M-60ms/html"]),
        (["290ms/down"], [f"100M-290ms/{kind}" for kind in Kind]),
        (["290ms/up"], ["100M-290ms/image/up", "100M-290ms/mixed/up"]),
        (["100M-60ms/image"], ["100M-60ms/image"]),
        (["60ms/image"], ["100M-60ms/image", "100M-60ms/image/up", "100M-60ms/image/tls"]),
        (["up"], [f"{path}/{kind}/up" for path in PATHS for kind in ("image", "mixed")]),
        (["tls"], ["100M-60ms/image/tls", "100M-60ms/mixed/tls"]),
        (
            ["video", "50M/image/down"],
            [cell.name for cell in ALL_CELLS if cell.kind is Kind.VIDEO or cell.name == "50M-20ms/image"],
        ),
    ],
)
def test_cells_are_selected_by_the_words_of_their_names(names: list[str], meant: list[str]):
    assert sorted(cell.name for cell in select_cells(ALL_CELLS, names)) == sorted(meant)


@pytest.mark.parametrize("name", ["html/61ms", "wget/up", "video/up", "html/tls", "sideways"])
def test_a_name_that_means_no_cell_is_refused(name: str):
    with pytest.raises(InvalidValue, match=f"'{name}' matches none of"):
        select_cells(ALL_CELLS, ["html/60ms", name])


def test_table_has_sixteen_downloads_and_eight_uploads():
    assert (len(DOWN_CELLS), len(UP_CELLS), len(TLS_CELLS)) == (16, 8, 2)
    assert select_cells(ALL_CELLS, None) == list(ALL_CELLS)
    assert len({cell.name for cell in ALL_CELLS}) == 26


def test_peers_of_a_cell_are_the_tools_that_can_do_it():
    def names(cell: Cell) -> set[str]:
        return {peer.name for peer in cell.peers}

    everyone = {"wget", "curl", "curl -Z", "aria2", "rclone", "globus-url-copy"}
    assert names(DOWN_CELLS[0]) == everyone
    assert names(UP_CELLS[0]) == everyone - {"wget", "aria2"}
    assert names(TLS_CELLS[0]) == everyone - {"globus-url-copy"}


def test_lessons_are_short_and_of_other_files_than_what_is_compared():
    lists = {Kind.HTML: [90_000, 110_000], Kind.IMAGE: [2_000_000], Kind.VIDEO: [200_000_000]}
    for cell in ALL_CELLS:
        sizes = draw_lesson_sizes(cell, lists, seed=1)
        assert sizes == draw_lesson_sizes(cell, lists, seed=1)
        assert len(sizes) >= 2
        shortest_s = 8 * sum(sizes) / cell.path.rate_bps
        assert 30 * cell.path.rtt_s < shortest_s < max(10.0, 50 * cell.path.rtt_s)


def test_estimated_duration_grows_with_the_data_and_stays_below_the_cut():
    for cell in (DOWN_CELLS[4], UP_CELLS[2]):
        searched = [peer for peer in cell.peers if peer.axes]
        plan = Plan(repeats=3, cut_s=60.0, search_cut_s=12.0, seed=1, searched=searched, hashes={})
        short, long, endless = (estimate_duration_s(cell, total_bytes, plan) for total_bytes in (2e8, 4e8, 4e12))
        assert 600 < short < long < endless < 7200


def test_logs_of_other_sources_or_files_are_nothing_that_is_known(tmp_path):
    lists = {Kind.HTML: [90_000, 110_000], Kind.IMAGE: [2_000_000], Kind.VIDEO: [200_000_000]}
    cell, elsewhere = DOWN_CELLS[0], DOWN_CELLS[-1]
    digest_sources = {"engine": "a", "testbed": "b", "uploads": "c"}

    def of(cell, seed=1, **changed):
        return Knowledge.of(cell, lists, seed, hashes=digest_sources | changed, folder=tmp_path)

    log = of(cell).own / "0-00.ndjson"
    log.parent.mkdir(parents=True)
    log.write_text("{}\n")
    assert of(cell).list_own_logs() == of(elsewhere).list_foreign_logs() == [log]
    assert of(cell).list_foreign_logs() == []
    for other in ({"engine": "d"}, {"testbed": "d"}, {"seed": 2}):
        assert of(cell, **other).list_own_logs() == of(elsewhere, **other).list_foreign_logs() == []
    assert digest_logs([log]) != digest_logs([])


def test_uploads_and_downloads_teach_a_service_nothing_of_each_other(tmp_path):
    lists = {Kind.HTML: [90_000], Kind.IMAGE: [2_000_000], Kind.VIDEO: [200_000_000]}
    hashes = {"engine": "a", "testbed": "b", "uploads": "c"}

    def of(cell: Cell, **changed: str) -> Knowledge:
        return Knowledge.of(cell, lists, 1, hashes=hashes | changed, folder=tmp_path)

    own = {cell: of(cell).own for cell in ALL_CELLS}
    assert len(set(own.values())) == len(ALL_CELLS)
    for cell in (DOWN_CELLS[1], UP_CELLS[0], TLS_CELLS[0]):
        foreign = {other for other in ALL_CELLS if own[other] in of(cell).foreign}
        assert {other.direction for other in foreign} == {cell.direction}
        assert {other.path_name for other in foreign} == set(PATHS) - {cell.path_name}
        assert not any(other.over_tls for other in foreign)
    assert of(UP_CELLS[0], uploads="d").own != own[UP_CELLS[0]]
    assert of(DOWN_CELLS[0], uploads="d").own == own[DOWN_CELLS[0]]


def test_a_path_that_is_not_in_the_table_is_read_from_its_words():
    [cell] = parse_cells("150Mbps,200ms,0.1%", ["html"])
    assert (cell.name, cell.path) == ("150Mbps,200ms,0.1%/html", PathSpec(rate_bps=150e6, rtt_s=0.2, loss_rate=0.001))
    assert [each.kind for each in parse_cells("150Mbps,200ms,0%", None)] == list(Kind)


def test_a_path_may_be_measured_upwards_and_over_tls():
    [cell] = parse_cells("30Mbps,40ms,0%", ["mixed"], Direction.UP, over_tls=True)
    assert cell.name == "30Mbps,40ms,0%/mixed/up/tls"
    assert {peer.name for peer in cell.peers} == {"curl", "curl -Z", "rclone"}


@pytest.mark.parametrize(
    ("words", "code", "reason"),
    [
        (["--paths", "30Mbps,40ms,0%", "--direction", "sideways"], 2, "invalid choice: 'sideways'"),
        (["--direction", "up"], 1, "go with --paths; --cells up"),
        (["--tls"], 1, "go with --paths; --cells up and --cells tls"),
    ],
    ids=["no-such-direction", "direction-of-no-path", "tls-of-no-path"],
)
def test_options_that_mean_nothing_are_refused(words: list[str], code: int, reason: str):
    command = [sys.executable, "-P", "-m", "benchmarks.wan", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == code
    assert reason in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("path", "kinds"),
    [("150Mbps,200ms", None), ("150Mbps,200ms,0", None), ("fast,200ms,0%", None), ("1Mbps,1ms,0%", ["films"])],
)
def test_words_that_are_no_path_are_refused(path, kinds):
    with pytest.raises(InvalidValue):
        parse_cells(path, kinds)


def test_cells_in_which_no_tool_moved_anything_do_not_count():
    lines = [{"vs_best_default": ratio, "failed_runs": 0} for ratio in (1.2, None, 0.9)]
    assert summarise_without_history(lines) == {
        "cells": 3,
        "unseen_vs_best_default_min": 0.9,
        "unseen_vs_best_default_median": pytest.approx(1.05),
        "failed_runs": 0,
    }


def test_tools_that_cannot_be_the_best_default_are_not_repeated():
    first_bps = {OURS_ALONE: 20e6, "wget": 10e6, "curl -Z": 79e6, "aria2": 80e6, "rclone": 100e6}
    defaults = [name for name in first_bps if name != OURS_ALONE]
    runs = {name: [{"throughput_bps": bps, "exit_code": 0}] for name, bps in first_bps.items()}
    assert list_repeated(runs, defaults) == {OURS_ALONE, "aria2", "rclone"}
    runs["wget"][0]["exit_code"] = 4
    assert list_repeated(runs, defaults) == {OURS_ALONE, "aria2", "rclone", "wget"}
