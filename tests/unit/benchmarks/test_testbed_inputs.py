"""What a testbed is told: paths, recorded throughput, data sets; and how bytes and counters are read."""

import os
import subprocess
import threading
from itertools import count, pairwise

import pytest

from benchmarks.support.report import ROOT
from benchmarks.testbed.data_sets import (
    LEAST_FILES,
    Kind,
    compute_bytes_to_fill,
    draw_sizes,
    read_size_lists,
    write_files,
)
from benchmarks.testbed.lateness import Lateness
from benchmarks.testbed.measured_run import count_bytes_in
from benchmarks.testbed.path_spec import LEAST_QUEUE_BYTES, PathCounters, PathSpec
from benchmarks.testbed.peers import DEFAULTS, PEERS, TRADEWIND, Job, clean_environment
from benchmarks.testbed.traces import LEAST_SHARE, read_traces, replay
from benchmarks.testbed.uploads.tools import UPLOADING_PEERS, UPLOADING_TRADEWIND
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters

PATH = PathSpec(rate_bps=100e6, rtt_s=0.06, loss_rate=0.0002)
LISTS = {Kind.HTML: [80_000, 120_000], Kind.IMAGE: [2_000_000, 3_000_000], Kind.VIDEO: [200_000_000]}


def test_the_queue_is_one_bandwidth_delay_product_unless_given():
    assert PATH.queue_limit_bytes == 750_000
    assert PathSpec(rate_bps=1e6, rtt_s=0.001).queue_limit_bytes == LEAST_QUEUE_BYTES
    assert PathSpec(rate_bps=1e8, rtt_s=0.06, queue_bytes=9_000).queue_limit_bytes == 9_000


def test_another_rate_leaves_the_queue_as_it_was():
    assert PATH.with_rate(10e6).queue_limit_bytes == 750_000


@pytest.mark.parametrize(
    "wrong", [{"rate_bps": 0}, {"rate_bps": 1e12}, {"rtt_s": -1}, {"loss_rate": 1.0}, {"queue_bytes": 100}]
)
def test_a_path_that_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidValue, match=next(iter(wrong))):
        PathSpec(**({"rate_bps": 1e8, "rtt_s": 0.06} | wrong))


def test_counters_are_read_from_the_links_answer_and_subtracted():
    def line(forwarded: int) -> str:
        rest = "bytes=3000 dropped=1 lost=2 refused=0 queued_bytes=10 queued_peak_bytes=20"
        late = f"late=0:{forwarded},40:2,"
        return f"down forwarded={forwarded} {rest} {late} up forwarded=1 {rest} late="

    later = PathCounters.parse(line(9))
    assert (later.down.forwarded, later.up.forwarded, later.down.lost) == (9, 1, 2)
    since = later.subtract(PathCounters.parse(line(4)))
    assert (since.down.forwarded, since.up.bytes, since.down.queued_peak_bytes) == (5, 0, 20)
    assert since.late.counts == {0: 5}


def test_lateness_is_reported_within_a_quarter_and_never_too_low():
    ends_us = [1e6 * Lateness({bucket: 1}).compute_quantile_s(1.0) for bucket in range(40)]
    assert ends_us[:9] == pytest.approx([0, 2, 3, 4, 5, 6, 7, 8, 10])
    assert all(earlier < later <= 1.25 * earlier + 1 for earlier, later in pairwise(ends_us[1:]))
    mostly = Lateness.parse("0:90,39:9,").add(Lateness.parse("60:1,"))
    assert [mostly.compute_quantile_s(share) for share in (0.5, 0.9)] == [0.0, 0.0]
    assert 0.0 < mostly.compute_quantile_s(0.99) < mostly.compute_quantile_s(1.0)
    assert Lateness.parse("").compute_quantile_s(0.99) == 0.0


def test_recorded_throughput_becomes_rates_of_the_same_shape(tmp_path):
    file = tmp_path / "records.csv"
    file.write_text("t1,t2,t10,mean_throughput\n500.0,1000.0,0.0,9\nna,1,2,3\n1,2,3,4\n")
    traces = read_traces(file)
    assert traces == [[500.0, 1000.0, 0.0], [1.0, 2.0, 3.0]]
    steps = replay(traces[0], PATH, interval_s=5.0)
    assert [step.at_s for step in steps] == [0.0, 5.0, 10.0]
    assert [step.path.rate_bps for step in steps] == [50e6, 100e6, LEAST_SHARE * 100e6]
    assert {step.path.queue_limit_bytes for step in steps} == {750_000}


def test_a_file_without_recorded_throughput_is_refused(tmp_path):
    file = tmp_path / "records.csv"
    file.write_text("time,mean\n1,2\n")
    with pytest.raises(InvalidValue, match="t1, t2"):
        read_traces(file)


@pytest.mark.parametrize("kind", Kind)
def test_a_data_set_repeats_by_seed_and_keeps_a_tuned_transfer_busy(kind):
    wanted = compute_bytes_to_fill(PATH)
    sizes = draw_sizes(kind, LISTS, wanted, seed=3)
    assert sizes == draw_sizes(kind, LISTS, wanted, seed=3)
    assert sum(sizes) >= wanted
    assert len(sizes) >= LEAST_FILES


def test_a_mixture_has_files_of_every_kind():
    sizes = set(draw_sizes(Kind.MIXED, LISTS, 1e6, seed=1))
    assert all(sizes & set(each) for each in LISTS.values())


def test_different_seeds_draw_different_data_sets():
    drawn = {tuple(draw_sizes(Kind.HTML, LISTS, 4e6, seed)) for seed in range(5)}
    assert len(drawn) == 5


def test_size_lists_are_read_by_their_first_column(tmp_path):
    for kind in ("html", "image", "video"):
        (tmp_path / f"{kind}.tsv").write_text("10\t0\n20 \t1\n\n")
    assert read_size_lists(tmp_path) == {Kind.HTML: [10, 20], Kind.IMAGE: [10, 20], Kind.VIDEO: [10, 20]}
    (tmp_path / "image.tsv").write_text("size\n")
    with pytest.raises(InvalidValue, match=r"image\.tsv"):
        read_size_lists(tmp_path)


def test_files_have_their_sizes_and_differ_in_content(tmp_path):
    sizes = [1000, 1000, 9_000_000]
    assert write_files(tmp_path, sizes, seed=1) == sum(sizes)
    contents = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    assert [len(content) for content in contents] == sizes
    assert len(set(contents)) == 3
    assert all(len(set(content)) > 200 for content in contents)


def test_only_what_was_written_of_a_reserved_file_counts(tmp_path):
    (tmp_path / "whole").write_bytes(os.urandom(5000))
    with (tmp_path / "begun").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 10_000_000)
        file.write(os.urandom(1 << 20))
        file.flush()
        assert 5000 + (1 << 20) <= count_bytes_in(tmp_path) < 5000 + (1 << 20) + 65536


def test_file_that_gets_its_name_meanwhile_counts_once(tmp_path):
    (tmp_path / "0").write_bytes(bytes(5_000))
    stopped = threading.Event()

    def rename() -> None:
        for number in count():
            (tmp_path / f"{number}").rename(tmp_path / f"{number + 1}")
            if stopped.wait(0.001):
                return

    renaming = threading.Thread(target=rename)
    renaming.start()
    try:
        assert {count_bytes_in(tmp_path) for _ in range(2_000)} == {5_000}
    finally:
        stopped.set()
        renaming.join()


DOWNLOADERS, UPLOADERS = [*PEERS, TRADEWIND], [*UPLOADING_PEERS, UPLOADING_TRADEWIND]
ALL_TOOLS = pytest.mark.parametrize(
    "peer",
    [*DOWNLOADERS, *UPLOADERS],
    ids=[*(peer.name for peer in DOWNLOADERS), *(f"{peer.name}, uploading" for peer in UPLOADERS)],
)


@ALL_TOOLS
def test_a_tools_settings_are_on_its_command_line_and_its_defaults_are_not(peer, tmp_path):
    job = Job(url="http://origin/", sizes_bytes={"a": 1, "b": 2}, folder=tmp_path, scratch=tmp_path)
    setting = Parameters(concurrency=17, parallelism=19, pipelining=23)
    default, tuned = peer.command(job, DEFAULTS), peer.command(job, setting)
    words = " ".join(tuned).replace(str(tmp_path), "")  # which may have a number of its own
    assert ("17" in words) == ("concurrency" in peer.axes)
    assert ("19" in words) == ("parallelism" in peer.axes)
    assert (tuned == default) == (not peer.axes)


@ALL_TOOLS
def test_authority_of_a_server_is_on_the_command_line_of_a_tool_that_speaks_tls(peer, tmp_path):
    job = Job(url="https://origin/", sizes_bytes={"a": 1}, folder=tmp_path, scratch=tmp_path, ca_file=tmp_path / "ca")
    assert (str(tmp_path / "ca") in peer.command(job, DEFAULTS)) is not peer.over_gridftp


@pytest.mark.parametrize("engine", [TRADEWIND, UPLOADING_TRADEWIND], ids=["downloading", "uploading"])
def test_our_own_command_line_is_understood(engine, tmp_path):
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "a").write_bytes(b"1")
    job = Job(url="http://127.0.0.1:1/", sizes_bytes={"a": 1}, folder=tmp_path / "to", scratch=tmp_path)
    for setting in (DEFAULTS, Parameters(concurrency=2, parallelism=1, pipelining=4)):
        command = [*engine.command(job, setting), "--dry-run"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=ROOT, env=clean_environment(tmp_path)
        )
        assert done.returncode == 0, done.stderr
