"""The lessons of the mobile benchmark on made-up runs."""

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import pytest

from benchmarks.mobile.cells import DATA_SETS, PATHS, Setting, make_grid
from benchmarks.mobile.lessons import Contest, choose_contests, compute_contest_saving, find_best_saving, judge_lessons
from benchmarks.mobile.pricing import (
    load_published_constants,
    price_energy_j,
    price_tail_saving,
    split_energy,
    vary_constants,
)
from benchmarks.mobile.reporting import AT_LEAST, RADIOS, MobileRuns, judge_all_lessons, make_results, summarise
from benchmarks.mobile.running import PhonePath
from benchmarks.support.report import judge_summary, name_machine
from benchmarks.support.sources import Sources, SourcesChanged
from benchmarks.wan.runs import RunLog

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
WIFI = load_published_constants("wifi")


def held(grounds, repeated=None):
    energy = partial(price_energy_j, constants=WIFI)
    return {verdict.lesson: verdict.held for verdict in judge_lessons(grounds, repeated or {}, energy, energy)}


def test_energy_is_that_of_the_profiles_per_100_mb_with_the_screen_on():
    split = split_energy(run(1, 1, 80e6, cpu_s=5.0), WIFI)  # 100 MB in 10 s; 20 s of a phone's four cores: half of them
    assert split.base_j == pytest.approx(10 * (0.3 + 0.6 + 0.005))
    assert split.dynamic_j == pytest.approx(10 * (0.13286 - 0.005 + 3.2 * 0.5) + 0.8e9 * 1.3701e-7 / (1 + 80e6 / 20e6))
    assert split.tail_j == pytest.approx((0.1193 - 0.005) * 0.2381 / 2)
    assert price_energy_j(run(1, 1, 0.0), WIFI) == math.inf


@pytest.mark.parametrize(("phone", "busy"), [("nexus-s", 0.8), ("galaxy-nexus", 0.4), ("galaxy-s4", 0.2)])
def test_a_phone_is_as_busy_as_its_own_cores_make_it(phone, busy):
    constants = load_published_constants("wifi", phone)
    idle, ran = (split_energy(run(1, 1, 80e6, cpu_s=cpu_s), constants).dynamic_j for cpu_s in (0.0, 2.0))
    assert ran - idle == pytest.approx(10 * busy * constants.device.component_w["cpu"].value)


def afresh(rows):
    """Each contest's settings run again as they were, and again."""
    pairs = choose_contests("html", rows, partial(price_energy_j, constants=WIFI))
    return {name: ([less] * 4, [more] * 4) for name, (less, more) in pairs.items()}


def test_lessons_are_judged_by_the_runs_not_by_the_paper():
    energy = partial(price_energy_j, constants=WIFI)
    saved, best = find_best_saving(HTML, energy, along="concurrency")
    assert (saved > 0.6, best["concurrency"]) == (True, 16)
    told = held({"290ms/html": HTML, "290ms/large": LARGE}, {"290ms/html": afresh(HTML)})
    assert told["290ms, html: concurrency cuts energy by 60% or more"]
    assert told["290ms, html: streams a file do not help one file at a time"]
    assert told["290ms, large: streams a file help one file at a time"]
    slow = [run(1, 1, 2.6e6), run(1, 4, 20e6), run(16, 1, 3e6)]
    assert set(held({"290ms/html": slow}, {"290ms/html": afresh(slow)}).values()) == {False}


def test_saving_by_concurrency_is_judged_by_repeated_runs_not_by_the_best_of_many():
    lucky = afresh(HTML) | {Contest.CONCURRENCY: (again(16, 1, 6, 5, 42, 6), again(1, 1, 2.6, 2.6, 2.6, 2.6))}
    lesson = "290ms, html: concurrency cuts energy by 60% or more"
    assert not held({"290ms/html": HTML}, {"290ms/html": lucky})[lesson]
    assert not held({"290ms/html": HTML})[lesson]
    assert compute_contest_saving(lucky[Contest.CONCURRENCY], partial(price_energy_j, constants=WIFI)) < 0.6


def test_best_setting_of_every_data_set_is_repeated_with_one_file_and_stream():
    for name, rows in {"html": HTML, "image": VIDEO, "video": VIDEO, "large": LARGE}.items():
        best, start = choose_contests(name, rows, partial(price_energy_j, constants=WIFI))[Contest.SAVING]
        assert (start["concurrency"], start["parallelism"]) == (1, 1)
        assert price_energy_j(best, WIFI) == min(price_energy_j(row, WIFI) for row in rows)


LONGER = "html: the longer the path, the more concurrency saves"


def test_paths_are_compared_by_round_trip_time_whatever_their_order():
    near = [run(1, 1, 20e6), run(16, 1, 60e6)]
    repeated = {"59ms/html": afresh(near), "290ms/html": afresh(HTML)}
    assert held({"59ms/html": near, "290ms/html": HTML}, repeated)[LONGER]
    assert held({"290ms/html": HTML, "59ms/html": near}, repeated)[LONGER]
    turned = {"59ms/html": afresh(HTML), "290ms/html": afresh(near)}
    assert not held({"290ms/html": near, "59ms/html": HTML}, turned)[LONGER]


VIDEO = [run(1, 1, 13e6), run(1, 4, 40e6), run(8, 1, 46e6), run(16, 1, 45e6), run(8, 4, 61e6)]
INTERIOR = "290ms, video: the least energy is at fewer files at once than the most"
COMBINED = "290ms, video: both parameters together save more than either alone"


def again(cc, p, *rates_mbps):
    return [run(cc, p, 1e6 * rate) for rate in rates_mbps]


def test_one_setting_beats_another_by_runs_made_afresh_that_noise_does_not_mix():
    pairs = choose_contests("video", VIDEO, partial(price_energy_j, constants=WIFI))
    assert {name: [each["concurrency"] for each in pair] for name, pair in pairs.items()} == {
        Contest.SAVING: [8, 1],
        Contest.INTERIOR: [8, 16],
        Contest.COMBINED: [8, 8],
    }
    apart = (again(8, 1, 46, 47, 46, 45), again(16, 1, 40, 39, 41, 40))
    mixed = (again(8, 4, 61, 60, 62, 45), again(8, 1, 46, 47, 46, 45))
    told = held({"290ms/video": VIDEO}, {"290ms/video": {Contest.INTERIOR: apart, Contest.COMBINED: mixed}})
    assert (told[INTERIOR], told[COMBINED]) == (True, False)


def test_a_difference_too_small_to_matter_is_no_lesson_however_surely_it_is_measured():
    close = (again(8, 1, 46, 46, 46, 46), again(16, 1, 45.9, 45.9, 45.9, 45.9))
    assert not held({"290ms/video": VIDEO}, {"290ms/video": {Contest.INTERIOR: close}})[INTERIOR]


def test_optimum_at_the_most_files_is_not_interior():
    rising = [run(1, 1, 13e6), run(8, 1, 45e6), run(16, 1, 60e6)]
    assert choose_contests("video", rising, partial(price_energy_j, constants=WIFI)).keys() == {Contest.SAVING}
    assert not held({"290ms/video": rising})[INTERIOR]


def test_groups_of_constants_are_varied_one_by_one():
    groups = {each.name: price_energy_j(HTML[0], each) for each in vary_constants("lte", 0.5)}
    whole_j = price_energy_j(HTML[0], load_published_constants("lte"))
    assert set(groups) == {"base", "cpu", "radio", "tail"}
    assert all(whole_j / 2 < energy < whole_j for energy in groups.values())


def test_short_transfers_save_most_of_their_tails_back_to_back():
    assert 0.5 < price_tail_saving(HTML, load_published_constants("lte")) < 0.9
    lte = load_published_constants("lte")
    no_bits = replace(lte, radio=replace(lte.radio, receive_j_per_bit=replace(lte.radio.receive_j_per_bit, value=0.0)))
    assert price_tail_saving(HTML, no_bits) > price_tail_saving(HTML, lte)  # which are spent either way


def test_grid_of_one_large_file_has_concurrency_one():
    large = make_grid(DATA_SETS["large"], quick=False)
    assert {setting.concurrency for setting in large} == {1}
    assert [setting.parallelism for setting in large] == [1, 2, 4, 8]
    assert {setting.concurrency for setting in make_grid(DATA_SETS["video"], quick=False)} == {1, 2, 4, 8, 16, 32}


def test_paths_carry_what_the_paper_saw_over_them():
    assert [(round(1e3 * path.rtt_s), path.rate_bps / 1e6) for path in PATHS.values()] == [
        (59, 124),
        (115, 55),
        (290, 104),
    ]


def test_one_large_file_is_judged_without_concurrency():
    assert choose_contests("large", LARGE, partial(price_energy_j, constants=WIFI)).keys() <= {Contest.SAVING}
    assert held({"290ms/large": LARGE}) == {"290ms, large: streams a file help one file at a time": True}


def make_log_rows(rows, ground, turn=None):
    """As a log of runs has them."""
    return [
        row
        | {
            "key": f"{ground} {number} {turn}",
            "ground": ground,
            "io_block_bytes": row.get("io_block_bytes"),
            "cut": False,
        }
        for number, row in enumerate(rows)
    ]


def measured_html(most_mbps=42):
    html = make_log_rows(HTML, "290ms/html")
    best, one = (
        make_log_rows(again(16, 1, *[most_mbps] * 4), "290ms/html", 1),
        make_log_rows(again(1, 1, *[2.6] * 4), "290ms/html", 2),
    )
    repeated = {Contest.SAVING: (best, one), Contest.CONCURRENCY: (best, one)}
    blocks = make_log_rows([run(8, 1, 40e6) | {"io_block_bytes": 4096}], "290ms/html", 3)
    return MobileRuns(grounds={"290ms/html": html}, repeated={"290ms/html": repeated}, blocks=blocks)


def test_every_lesson_and_every_run_is_written_down():
    measured = measured_html()
    results = make_results(measured)
    told = [each for each in results if each["sort"] == "lesson"]
    assert [each["case"] for each in told] == [
        lesson.verdict.lesson for radio in RADIOS for lesson in judge_all_lessons(measured, radio)
    ]
    assert all(
        {"held", "figures", "papers", "held_at"} <= each.keys() and each["other_constants"] == 8 for each in told
    )
    assert {name: sum(each["sort"] == name for each in results) for name in ("grid", "afresh", "io_block")} == {
        "grid": 2 * len(HTML),
        "afresh": 2 * 8,
        "io_block": 2,
    }
    assert summarise(measured)["runs"] == len(HTML) + 8 + 1


@pytest.mark.parametrize(("most_mbps", "code"), [(42, 0), (4, 1)])
def test_html_that_saves_too_little_ends_the_benchmark_with_1(most_mbps, code):
    assert judge_summary(summarise(measured_html(most_mbps)), {}, AT_LEAST) == code


def test_html_that_was_not_requested_is_not_missed():
    other = MobileRuns(
        grounds={"59ms/html": make_log_rows(HTML, "59ms/html")},
        repeated={"59ms/html": {}},
        blocks=make_log_rows(HTML, "b"),
    )
    summary = summarise(other)
    assert summary["html_saving"] is None
    assert judge_summary(summary, {}, AT_LEAST, is_complete=False) == 0
    assert judge_summary(summary, {}, AT_LEAST) == 1


AS_THEY_ARE = Sources.of({"mobile": ("benchmarks/mobile/cells.py",)})


def standing(folder, sources):
    return Standing(
        bed=SimpleNamespace(path=PATHS["59ms"]),
        url="",
        name="59ms/html",
        total_bytes=MB,
        folder=folder,
        cut_s=1.0,
        prioritised=False,
        sources=sources,
    )


class Standing(PhonePath):
    """One on which nothing is transferred."""

    def _run_until_sound(self, _setting):
        return SimpleNamespace(duration_s=1.0, bytes_done=MB, cpu_s=0.1, cut=False, exit_code=0, throughput_bps=8e6)


def test_run_during_which_the_sources_changed_is_not_stored(tmp_path):
    log = RunLog(tmp_path / "runs.ndjson")
    others = Sources(AS_THEY_ARE.parts, {"mobile": "another digest"}, {"mobile": "other contents"})
    with pytest.raises(SourcesChanged):
        standing(tmp_path, others).run(Setting(4, 1), log)
    assert log.list_rows() == []
    standing(tmp_path, AS_THEY_ARE).run(Setting(4, 1), log)
    assert len(log.list_rows()) == 1


def test_a_run_of_this_machine_is_found_again_and_one_of_another_is_not(tmp_path):
    log, setting = RunLog(tmp_path / "runs.ndjson"), Setting(4, 1)
    ground = standing(tmp_path, AS_THEY_ARE)
    elsewhere = ground.build_key(setting).replace(name_machine(), "5.10.0, another processor, 64 cores")
    assert elsewhere != ground.build_key(setting)
    log.add(elsewhere, {"duration_s": 1.0})
    assert log.find(ground.build_key(setting)) is None
    known = log.add(ground.build_key(setting), {"duration_s": 2.0})
    assert ground.run(setting, log) == known  # nothing is transferred
