"""The lessons of the mobile benchmark on made-up runs."""

import math
from functools import partial

import pytest

from benchmarks.mobile.lessons import saving, verdicts
from benchmarks.mobile.pricing import as_published, energy_j, split_of, tail_saving, varied

MB = 10**6


def run(concurrency, parallelism, rate_bps, cpu_s=0.5):
    return {
        "concurrency": concurrency,
        "parallelism": parallelism,
        "duration_s": 10.0,
        "bytes_done": round(rate_bps * 10 / 8),
        "total_bytes": 200 * MB,
        "cpu_s": cpu_s,
    }


HTML = [run(1, 1, 2.6e6), run(1, 4, 2.0e6), run(16, 1, 42e6), run(16, 4, 30e6)]
LARGE = [run(1, 1, 24e6), run(1, 8, 86e6)]
WIFI = as_published("wifi")


def test_energy_is_that_of_the_profiles_per_100_mb_with_the_screen_on():
    split = split_of(run(1, 1, 80e6, cpu_s=5.0), WIFI)  # 100 MB in 10 s; 20 s of a phone's four cores: half of them
    assert split.base_j == pytest.approx(10 * (0.3 + 0.6 + 0.005))
    assert split.dynamic_j == pytest.approx(10 * (0.13286 - 0.005 + 3.2 * 0.5) + 0.8e9 * 1.3701e-7)
    assert split.tail_j == pytest.approx((0.1193 - 0.005) * 0.2381 / 2)
    assert energy_j(run(1, 1, 0.0), WIFI) == math.inf


def test_lessons_are_judged_by_the_runs_not_by_the_paper():
    energy = partial(energy_j, constants=WIFI)
    saved, best = saving(HTML, energy, along="concurrency")
    assert (saved > 0.6, best["concurrency"]) == (True, 16)
    told = {verdict.lesson: verdict.held for verdict in verdicts({"290ms/html": HTML, "290ms/large": LARGE}, energy)}
    assert told["290ms, html: concurrency cuts energy by 60% or more"]
    assert told["290ms, html: streams a file do not help one file at a time"]
    assert told["290ms, large: streams a file help one file at a time"]
    video = [run(1, 1, 13e6), run(1, 4, 40e6), run(8, 1, 45e6), run(8, 4, 61e6)]
    told = {verdict.lesson: verdict.held for verdict in verdicts({"290ms/video": video}, energy)}
    assert told["290ms, video: both parameters together save more than either alone"]
    assert not told["290ms, video: the least energy is at fewer files at once than the most"]
    slow = [run(1, 1, 2.6e6), run(1, 4, 20e6), run(16, 1, 3e6)]
    told = {verdict.lesson: verdict.held for verdict in verdicts({"290ms/html": slow}, energy)}
    assert set(told.values()) == {False}


def test_groups_of_constants_are_varied_one_by_one():
    groups = {each.name: energy_j(HTML[0], each) for each in varied("lte", 0.5)}
    whole_j = energy_j(HTML[0], as_published("lte"))
    assert set(groups) == {"base", "cpu", "radio", "tail"}
    assert all(whole_j / 2 < energy < whole_j for energy in groups.values())


def test_short_transfers_save_most_of_their_tails_back_to_back():
    assert 0.5 < tail_saving(HTML, as_published("lte")) < 0.9
