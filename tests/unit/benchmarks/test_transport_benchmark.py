"""What the transport benchmark makes of what it saw."""

import json
from types import SimpleNamespace

import pytest

from benchmarks.papers.trials.page_trials import LOADS
from benchmarks.support.disturbance import DisturbanceWatch
from benchmarks.support.processes import ProcessorShare, ProcessorWatch
from benchmarks.support.report import ROOT, judge_summary
from benchmarks.support.sources import Sources, SourcesChanged
from benchmarks.testbed.lateness import Lateness
from benchmarks.testbed.path_spec import LinkCounters, PathCounters, PathSpec
from benchmarks.transport import __main__ as command
from benchmarks.transport.__main__ import AT_LEAST, summarise
from benchmarks.transport.alternation import FULL_SHARE, REFILL_ROUND_TRIPS, Alternation
from benchmarks.transport.cases import ROUNDS
from benchmarks.transport.measuring import model_even_share_gain
from benchmarks.transport.pages import draw_typical_sizes, read_har_sizes, write_page
from benchmarks.transport.rows import PARTS, Rows
from benchmarks.transport.wire import parse_segments, split_into_rounds
from benchmarks.wan.runs import RunLog
from tests.unit.connections.hars import entry, har
from tradewind.errors import InvalidValue


def test_a_pause_of_more_than_half_a_round_trip_begins_a_round():
    lines = ["watching", "10.000 9101 40000 1 1448", "10.001 9101 40000 1449 1448", "10.060 9101 40000 2897 500"]
    segments = parse_segments(lines)
    assert split_into_rounds(segments, rtt_s=0.1) == [2 * 1448, 500]
    assert split_into_rounds(segments, rtt_s=0.2) == [2 * 1448 + 500]
    assert split_into_rounds([], rtt_s=0.1) == []


def test_the_model_with_an_even_share_saves_rounds_until_the_path_is_full():
    wide = PathSpec(rate_bps=10e9, rtt_s=0.1)
    assert model_even_share_gain(wide, 500_000, rtt_s=0.1, others=0) == pytest.approx(6 / 4, rel=0.01)
    assert model_even_share_gain(wide, 10_000, rtt_s=0.1, others=0) == pytest.approx(1.0)
    narrow = PathSpec(rate_bps=1e6, rtt_s=0.05)
    assert model_even_share_gain(narrow, 500_000, rtt_s=0.05, others=0) == pytest.approx(1.0, abs=0.01)


def test_the_summary_judges_flows_by_the_model_with_an_even_share_and_the_worst_of_all():
    short = {"case": "LTE", "fld_s": 1.0}
    rows = [
        {**short, "gain": 1.3, "even_share_gain": 1.2, "of_even_share": 1.3 / 1.2},
        {**short, "gain": 1.5, "even_share_gain": 1.5, "of_even_share": 1.0},
        {**short, "gain": 0.8, "even_share_gain": 1.0, "of_even_share": 0.8},
        {"case": "long", "share": 1.1},
        {"case": ROUNDS[0].name, "fld_tcp_rounds": 4, "cubic_rounds": 6, "reno_rounds": 6},
        {"case": ROUNDS[1].name, "fld_tcp_rounds": 5, "cubic_rounds": 6, "reno_rounds": 6},
        {"case": ROUNDS[0].name, "conditions": "…"},
    ]
    figures = summarise(rows)
    assert figures["fld_vs_cubic_short_flows"] == pytest.approx(1.4)
    assert figures["fld_even_share_fraction"] == pytest.approx(0.8)
    assert figures["fld_long_flow_share"] == pytest.approx(1.1)
    assert (figures["fld_rounds_500kB"], figures["reno_rounds_500kB"], figures["cubic_rounds_500kB"]) == (4, 6, 6)
    assert figures["rows_disturbed"] == 0
    assert summarise([]) == {}


def test_a_row_that_other_programs_disturbed_counts_for_nothing_but_its_number():
    sound = {"case": "LTE", "gain": 1.3, "even_share_gain": 1.2, "of_even_share": 1.1, "disturbed": None}
    stalled = {**sound, "of_even_share": 0.2, "disturbed": "packets left up to 90 ms late"}
    figures = summarise([sound, stalled, {**stalled, "share": 3.0}])
    assert figures["fld_even_share_fraction"] == pytest.approx(1.1)
    assert "fld_long_flow_share" not in figures
    assert figures["rows_disturbed"] == 2


def attempts(*disturbance):
    """Each call measures once more, with what disturbed it."""
    left = list(disturbance)

    def measure():
        return {"case": "LTE", "gain": 10.0 - len(left), "disturbed": left.pop(0)}

    return measure


AS_THEY_ARE = Sources.of({"transport": ("benchmarks/transport/alternation.py",)})
OTHERS = Sources(AS_THEY_ARE.parts, {"transport": "another digest"}, {"transport": "other contents"})


def rows_of(folder, slept=None, sources=AS_THEY_ARE):
    sleep = ([] if slept is None else slept).append
    log = RunLog(folder / "runs.ndjson")
    return Rows(log=log, sources=sources, machine="here", prioritised=True, pauses_s=(5.0, 15.0), sleep=sleep)


def test_a_disturbed_row_is_measured_again_after_a_pause(tmp_path):
    slept = []
    row = rows_of(tmp_path, slept).find_or_measure("LTE", "50000 B", measure=attempts("late", None))
    assert (row["gain"], row["disturbed"], slept) == (9.0, None, [5.0])


def test_a_row_that_stays_disturbed_says_so_and_is_measured_by_the_next_run(tmp_path):
    assert rows_of(tmp_path).find_or_measure("LTE", measure=attempts("late", "late", "late"))["disturbed"] == "late"
    assert rows_of(tmp_path).find_or_measure("LTE", measure=attempts(None))["disturbed"] is None


def test_row_during_which_the_sources_changed_is_not_stored(tmp_path):
    with pytest.raises(SourcesChanged, match="start again"):
        rows_of(tmp_path, sources=OTHERS).find_or_measure("LTE", measure=attempts(None))
    assert RunLog(tmp_path / "runs.ndjson").list_rows() == []


@pytest.mark.parametrize(
    "name", ["copy/run.py", "copy/plan.py", "copy/moving.py", "engine/jobs.py", "serve/__init__.py"]
)
def test_a_row_depends_on_what_copies_and_serves(name):
    source = ROOT / "clients/python/tradewind_agent" / name
    assert source.is_file()
    assert any(source.is_relative_to(ROOT / part) for part in PARTS["transport"])


def test_a_row_depends_on_all_of_the_benchmark_that_measures():
    here = {f"benchmarks/transport/{each.name}" for each in (ROOT / "benchmarks/transport").glob("*.py")}
    left_out = {f"benchmarks/transport/{name}.py" for name in ("__init__", "__main__", "scripted_receiver")}
    assert here - left_out <= set(PARTS["transport"])


def test_an_interrupted_run_goes_on_behind_what_it_has_measured(tmp_path):
    first = rows_of(tmp_path).find_or_measure("LTE", "50000 B", measure=attempts(None))
    again = rows_of(tmp_path)
    assert again.has_row("LTE", "50000 B")
    assert again.find_or_measure("LTE", "50000 B", measure=attempts()) == first  # nothing is measured
    assert not again.has_row("LTE", "120000 B")


def test_a_page_has_objects_as_large_as_the_papers_connections():
    sizes = sorted(draw_typical_sizes(seed=1, count=20_000))
    assert sizes[int(0.85 * len(sizes))] == pytest.approx(50_000, rel=0.1)
    assert sizes[int(0.99 * len(sizes))] == pytest.approx(500_000, rel=0.2)


def test_page_is_written_and_replayed_in_the_requested_sizes(tmp_path):
    recorded = json.dumps(har(entry(size=1_001), entry(5, size=70_000))).encode()
    write_page(tmp_path, read_har_sizes(recorded), seed=1)
    assert [(tmp_path / name).stat().st_size for name in ("0.js", "1.js")] == [1_001, 70_000]
    assert (tmp_path / "page.html").read_text().count("<script async") == 2


def test_summary_keeps_pages_separate():
    row = {"case": "page", "cubic_net_s": 2.0, "fld_tcp_net_s": 1.6}
    row |= {"cubic_idle_share": 0.4, "fld_tcp_idle_share": 0.5, "cubic_concurrency": 2.0, "fld_tcp_concurrency": 1.5}
    slower = row | {"fld_tcp_net_s": 2.5}
    figures = summarise([row, row, slower])
    assert figures["page_net_transfer_gain"] == pytest.approx(1.25)
    assert figures["page_net_transfer_gain_min"] == pytest.approx(0.8)
    assert (figures["page_idle_share_cubic"], figures["page_idle_share_fld_tcp"]) == (0.4, 0.5)


BED_PATH = PathSpec(rate_bps=25e6, rtt_s=0.026, queue_bytes=100_000)
IN_TIME, LATE = 0, 56
"""Buckets of lateness: none, and 33 to 41 ms."""


class SlowlyFilling:
    """A path whose queue grows by 10 kB while one waits a quarter of a round trip through it, all of it full.

    What a bulk flow sends meanwhile leaves in time, or late where the machine is ``busy``.
    """

    def __init__(self, grows_bytes=10_000):
        self.path, self.now_s, self.queued_bytes, self._grows_bytes = BED_PATH, 0.0, 0, grows_bytes
        self.link, self.busy, self.left = SimpleNamespace(is_real_time=True), False, {IN_TIME: 0, LATE: 0}

    def read_counters(self):
        late = Lateness(dict(self.left))
        numbers = dict.fromkeys(("forwarded", "bytes", "dropped", "lost", "refused", "queued_peak_bytes"), 0)
        down = LinkCounters(**numbers, queued_bytes=self.queued_bytes, late=late)
        return PathCounters(down=down, up=LinkCounters(**numbers, queued_bytes=0, late=Lateness({})))

    def sends(self, packets):
        self.left[LATE if self.busy else IN_TIME] += packets

    def sleep(self, seconds):
        self.now_s += seconds
        self.queued_bytes += self._grows_bytes
        self.sends(100)


@pytest.fixture(autouse=True)
def calm(monkeypatch):
    """Nothing else runs: these turns last microseconds, in which one tick of the host's clock would be all of it."""
    monkeypatch.setattr(ProcessorWatch, "measure_share", lambda _: ProcessorShare(waited=0.0, others=0.0, stolen=0.0))


def alternate_on(bed, background=1):
    return Alternation(
        bed, background, DisturbanceWatch(bed, prioritised=True), clock_s=lambda: bed.now_s, sleep=bed.sleep
    )


REPEATS = [getattr(command, name) for name in vars(command) if name.endswith("REPEATS")]


@pytest.mark.parametrize("repeats", [*REPEATS, LOADS])
def test_each_congestion_control_is_as_often_first_as_second(repeats):
    turns, order = alternate_on(SlowlyFilling(), background=0), []
    assert turns.measure_each(("cubic", "fld_tcp"), repeats, order.append).keys() == {"cubic", "fld_tcp"}
    assert order == ["cubic", "fld_tcp", "fld_tcp", "cubic"] * (repeats // 2)
    assert turns.report() == {"disturbed": None}


def test_an_odd_number_of_repeats_is_refused():
    assert len(REPEATS) == 9
    with pytest.raises(InvalidValue, match="even"):
        alternate_on(SlowlyFilling(), background=0).measure_each(("cubic", "fld_tcp"), 11, print)


def test_measurement_under_load_waits_until_other_flows_have_filled_the_queue():
    bed = SlowlyFilling()
    turns, found = alternate_on(bed), []

    def fetch(control):
        found.append(bed.queued_bytes)
        bed.queued_bytes = 0
        return control

    assert turns.measure_each(("cubic", "fld_tcp"), 2, fetch) == {"cubic": ["cubic"] * 2, "fld_tcp": ["fld_tcp"] * 2}
    assert found == [FULL_SHARE * 100_000] * 4
    assert turns.report() == {"queued_share": 1.0, "disturbed": None}


def test_a_queue_that_others_never_fill_is_waited_for_so_many_round_trips_and_the_row_is_disturbed():
    bed = SlowlyFilling(grows_bytes=0)
    turns = alternate_on(bed)
    full_rtt_s = 0.026 + 8 * 100_000 / 25e6
    turns.measure_each(("cubic",), 2, str)
    assert bed.now_s == pytest.approx(2 * REFILL_ROUND_TRIPS * full_rtt_s, abs=2 * full_rtt_s)
    told = turns.report()
    assert told["queued_share"] == 0.0
    assert "filled the queue in 0% of the turns; 75% are required" in told["disturbed"]


@pytest.mark.parametrize(("queued", "disturbed"), [(6, False), (5, True)])
def test_no_congestion_control_is_judged_by_a_median_without_the_bulk_flow(queued, disturbed):
    turns = alternate_on(SlowlyFilling())
    turns.started, turns.queued = 8, queued
    assert (turns.report()["disturbed"] is not None) is disturbed


@pytest.mark.parametrize("while_measured", [True, False])
def test_traffic_while_the_queue_drains_does_not_count(while_measured):
    bed = SlowlyFilling()
    turns = alternate_on(bed)
    bed.busy = not while_measured

    def fetch(_control):
        bed.busy = while_measured
        bed.sends(20)
        bed.busy, bed.queued_bytes = not while_measured, 0

    turns.measure_each(("cubic", "fld_tcp"), 4, fetch)
    assert bed.left[LATE] == (8 * 20 if while_measured else 8 * 400)
    assert (turns.report()["disturbed"] is not None) is while_measured


def test_a_queue_counts_as_filled_at_what_cubic_leaves_of_it():
    for products in (1, 4):
        assert (0.7 * (1 + products) - 1) / products >= FULL_SHARE - 1e-9


@pytest.mark.parametrize(("gain", "code"), [(0.91, 0), (0.89, 1)])
def test_a_page_that_takes_a_tenth_longer_misses_the_bound(gain, code, capsys):
    name = "page_net_transfer_gain_min"
    assert judge_summary({name: gain}, {}, {name: AT_LEAST[name]}) == code
    assert ("MISSED" in capsys.readouterr().out) == bool(code)
