import json
import signal
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from time import monotonic

import pytest

from benchmarks.emulation.path import emulate
from benchmarks.emulation.profile import PathProfile
from tests.conditions import eventually
from tests.integration.agent.support.faulty_service import faulty_service
from tests.integration.agent.support.preparing import prepare
from tests.integration.serve_files.serving import ask, event_loop, serving
from tradewind.dataset import ChunkKind
from tradewind.energy.measured import EnergyMethod, Host
from tradewind.errors import InvalidValue
from tradewind.parameters import Caps, Parameters
from tradewind.transfer import Direction, Status
from tradewind.wire.records import WireRecord, parse_row
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine import EngineOptions, RetryPolicy
from tradewind_agent.errors import CopyFailed, UnusableSource
from tradewind_agent.history.spool import Spool
from tradewind_agent.meters import HostReader
from tradewind_agent.service.client import Client
from tradewind_agent.service.retries import NO_RETRIES
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.metering import HostMeter

SMALL, LARGE = 20_000, 3_000_000
WAN = CopyOptions(source="alpha", destination="beta", network="wan", bandwidth_bps=1e9, rtt_s=0.002)
"""A BDP of 250 kB: both sizes of file have a chunk of their own."""

BY_HAND = replace(WAN, by_hand=Parameters(concurrency=4, parallelism=1, pipelining=1))


@pytest.fixture
def files(tmp_path):
    """A folder with small and large files in two levels."""
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    random = Random(1)
    for number in range(10):
        (source / f"small{number}").write_bytes(random.randbytes(SMALL))
    (source / "deep" / "large").write_bytes(random.randbytes(LARGE))
    return source


@pytest.fixture
def origin(files):
    with serving(files) as server:
        yield server


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool", warn=lambda _: None)


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def spooled(spool):
    return [parse_row(line) for each in spool.list_segments() for line in each.path.read_bytes().splitlines()]


def test_a_folder_is_copied_with_a_plan_per_chunk_and_logged(origin, files, tmp_path, spool):
    report = copy_files([origin.url], str(tmp_path / "copy"), options=WAN, logbook=Logbook(spool=spool))
    assert contents(tmp_path / "copy") == contents(files)
    assert report.succeeded
    assert report.plan.source == "heuristic"
    assert "no service is configured" in report.plan.rationale
    rows = spooled(spool)
    assert [row.chunk for row in rows] == [ChunkKind.WHOLE, ChunkKind.SMALL, ChunkKind.MEDIUM]
    assert {row.transfer_id for row in rows} == {report.plan.transfer_id}
    assert len({row.id for row in rows}) == 3
    whole, small, medium = rows
    assert (whole.dataset.file_count, whole.dataset.total_bytes) == (11, 10 * SMALL + LARGE)
    assert (small.dataset.file_count, small.outcome.bytes_moved) == (10, 10 * SMALL)
    assert (medium.dataset.file_count, medium.outcome.bytes_moved) == (1, LARGE)
    assert (whole.source, whole.destination, whole.network) == ("alpha", "beta", "wan")
    assert whole.path.rtt_s == 0.002
    assert whole.parameters.concurrency == sum(row.parameters.concurrency for row in (small, medium))
    assert whole.direction is Direction.DOWNLOAD
    assert whole.sla == "max_throughput"
    assert "log spooled" in report.format_line()


def test_parameters_set_by_hand_run_and_are_logged(origin, tmp_path, spool):
    report = copy_files([origin.url], str(tmp_path / "copy"), options=BY_HAND, logbook=Logbook(spool=spool))
    (row,) = spooled(spool)
    assert report.plan.source == "given"
    parameters = row.parameters
    assert (parameters.concurrency, parameters.parallelism, parameters.pipelining) == (4, 1, 1)
    assert row.chunk is ChunkKind.WHOLE
    assert parameters.io_block_bytes is not None


def test_a_metered_copy_reports_energy_with_method_quality_and_end(origin, tmp_path):
    report = copy_files([origin.url], str(tmp_path / "copy"), options=WAN, meter=HostMeter.of_this_host())
    (reading,) = report.energy
    assert reading.host is Host.DESTINATION
    assert reading.method in set(EnergyMethod)
    whole, *chunks = report.records
    assert whole.energy == report.energy
    assert sum(chunk.energy[0].total_j for chunk in chunks) == pytest.approx(reading.total_j)
    assert report.energy_j == reading.total_j
    assert report.work.duration_s > 0
    assert f"({reading.method}, {reading.quality})" in report.format_line()
    assert report.usage.cpu is not None


def test_the_first_file_does_not_wait_for_the_meters_first_reading(origin, tmp_path):
    copy, meter = tmp_path / "copy", HostMeter.of_this_host()

    class ReadsOnceAFileIsThere(HostReader):
        def read(self):
            eventually(lambda: copy.is_dir() and any(copy.iterdir()))
            return super().read()

    report = copy_files(
        [origin.url], str(copy), options=WAN, meter=replace(meter, reader=ReadsOnceAFileIsThere(monotonic))
    )
    assert report.succeeded
    assert report.energy


def test_a_second_copy_moves_nothing_and_logs_nothing(origin, tmp_path, spool):
    for _ in range(2):
        report = copy_files([origin.url], str(tmp_path / "copy"), options=WAN, logbook=Logbook(spool=spool))
    assert report.files_skipped == 11
    assert report.succeeded
    assert len(spool.list_segments()) == 1
    assert report.format_line() == "moved nothing (11 already there); log is empty"


def test_a_folder_named_without_its_slash_is_copied_as_a_folder(origin, files, tmp_path):
    (files / "sub").mkdir()
    (files / "sub" / "one.bin").write_bytes(b"one")
    report = copy_files([f"{origin.url.rstrip('/')}/sub"], str(tmp_path / "here"))
    assert report.succeeded
    assert contents(tmp_path / "here") == {"one.bin": b"one"}


def test_files_are_sent_to_a_receiver(files, tmp_path, spool):
    received = tmp_path / "received"
    received.mkdir()
    with serving(received, writable=True) as receiver:
        report = copy_files([str(files)], receiver.url, options=WAN, logbook=Logbook(spool=spool))
    assert report.succeeded, report.format_line()
    assert contents(received) == contents(files)
    whole = spooled(spool)[0]
    assert whole.direction is Direction.UPLOAD
    assert whole.outcome.retransmitted_bytes is not None


def test_an_upload_to_a_server_that_takes_none_says_how_to_start_it_and_is_not_logged(files, origin, spool):
    report = copy_files([str(files)], f"{origin.url}new/", options=WAN, logbook=Logbook(spool=spool))
    assert not report.succeeded
    assert "serve-files with --writable" in report.format_line()
    assert "bit/s" not in report.format_line()
    assert "%" not in report.format_line()
    assert not spool.list_segments()


def test_a_manifest_lists_what_is_copied(origin, tmp_path):
    manifest = tmp_path / "manifest"
    manifest.write_text("small1\ndeep/large\n")
    folder = origin.url.rstrip("/")
    report = copy_files([folder], str(tmp_path / "copy"), options=WAN, manifest=str(manifest))
    assert sorted(contents(tmp_path / "copy")) == ["deep/large", "small1"]
    assert report.records[0].dataset.total_bytes == SMALL + LARGE


def test_a_manifest_of_addresses_needs_no_source(origin, tmp_path):
    manifest = tmp_path / "manifest"
    manifest.write_text(f"{origin.url}small1\n")
    report = copy_files([], str(tmp_path / "copy"), options=WAN, manifest=str(manifest))
    assert report.succeeded
    assert list(contents(tmp_path / "copy")) == ["small1"]


def test_files_that_fail_are_reported_and_the_others_stay(origin, tmp_path, spool):
    manifest = tmp_path / "manifest"
    manifest.write_text("small1\nabsent\n")
    report = copy_files(
        [origin.url], str(tmp_path / "copy"), options=WAN, manifest=str(manifest), logbook=Logbook(spool=spool)
    )
    assert report.status is Status.FAILED
    assert [failure.file.rpartition("/")[2] for failure in report.failures] == ["absent"]
    assert list(contents(tmp_path / "copy")) == ["small1"]
    assert "1 failed, first" in report.format_line()
    assert spooled(spool)[0].outcome.status is Status.FAILED


def test_records_go_to_the_service_and_wait_in_the_spool_while_it_is_unreachable(origin, tmp_path, spool):
    with faulty_service() as service:
        url = service.url
    with Client(url, "key", retries=NO_RETRIES) as client:
        book = Logbook(spool=spool, client=client)
        report = copy_files([origin.url], str(tmp_path / "one"), options=WAN, client=client, logbook=book)
    assert report.log.startswith("spooled: ")
    assert "does not answer" in report.plan.rationale
    with faulty_service() as service, Client(service.url, "key") as client:
        book = Logbook(spool=spool, client=client)
        report = copy_files([origin.url], str(tmp_path / "two"), options=BY_HAND, client=client, logbook=book)
    assert report.log.startswith("uploaded, but the service refused")  # it has logs, but no transfers
    assert len(service.rows) == 4
    assert spool.list_segments() == ()


def test_a_refused_key_is_reported_and_the_files_are_moved_all_the_same(origin, files, tmp_path, spool):
    with faulty_service() as service, Client(service.url, "revoked", retries=NO_RETRIES) as client:
        service.faults.extend([(401, {}), (401, {})])
        book = Logbook(spool=spool, client=client)
        report = copy_files([origin.url], str(tmp_path / "copy"), options=WAN, client=client, logbook=book)
    assert contents(tmp_path / "copy") == contents(files)
    assert report.plan.source == "heuristic"
    assert "tradewind login" in report.notes[0]
    assert report.log.startswith("spooled: the service refused (401)")


def test_an_upload_that_takes_too_long_is_left_for_the_next_time(origin, tmp_path, spool):
    with faulty_service() as service, Client(service.url, "key") as client:
        book = Logbook(spool=spool, client=client, upload_budget_s=0.0)
        report = copy_files([origin.url], str(tmp_path / "copy"), options=BY_HAND, logbook=book)
    assert report.log == "spooled, sent with the next"
    assert len(spool.list_segments()) == 1


def test_a_log_that_can_be_stored_nowhere_is_reported(origin, tmp_path):
    (tmp_path / "file").write_text("")
    book = Logbook(spool=Spool(tmp_path / "file" / "spool", warn=lambda _: None))
    report = copy_files([origin.url], str(tmp_path / "copy"), options=BY_HAND, logbook=book)
    assert report.succeeded
    assert report.log.startswith("lost: logs cannot be spooled")


def test_a_rate_above_the_stated_bandwidth_is_logged_without_it(origin, tmp_path):
    slow = replace(BY_HAND, bandwidth_bps=1.0)
    report = copy_files([origin.url], str(tmp_path / "copy"), options=slow)
    assert report.records[0].path.bandwidth_bps is None
    assert WireRecord.from_domain(report.records[0])


def test_caps_hold_for_the_plan(origin, tmp_path):
    prepared = prepare([origin.url], str(tmp_path / "copy"), options=replace(WAN, limits=Caps(concurrency=2)))
    assert all(chunk.parameters.concurrency <= 2 for chunk in prepared.plan.chunks)


def test_the_round_trip_is_timed_where_it_is_not_given(origin, tmp_path):
    prepared = prepare([origin.url], str(tmp_path / "copy"))
    assert 0 < prepared.path.rtt_s < 1
    ask(origin.port, "GET", "/small1")  # by now the origin has seen the ends of the timed connections too


@contextmanager
def slowly(server):
    """The address of ``server`` behind a path that takes most of a second for the large file."""
    with event_loop() as run_in_loop:
        profile = PathProfile(rate_bps=40e6, rtt_s=0.002)
        path = run_in_loop(emulate(profile, ("127.0.0.1", server.port)))
        try:
            yield f"http://127.0.0.1:{path.port}/"
        finally:
            run_in_loop(path.close())


class InterruptWhenMoving:
    """Press Ctrl-C, once, when the first bytes have come."""

    def __init__(self):
        self.pressed = False

    def __call__(self, snapshot, _):
        if snapshot.moved_bytes and not self.pressed:
            self.pressed = True
            signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("resume", [True, False])
def test_an_interrupted_copy_is_logged_and_gone_on_with_unless_that_is_unwanted(origin, files, tmp_path, resume, spool):
    target = tmp_path / "large"
    with slowly(origin) as address:
        first = copy_files(
            [f"{address}deep/large"],
            str(target),
            options=BY_HAND,
            logbook=Logbook(spool=spool),
            on_snapshot=InterruptWhenMoving(),
        )
    assert first.status is Status.CANCELLED
    assert first.format_line().startswith("interrupted; run the same command again to resume; finished no file, ")
    assert 0 < first.bytes_moved < LARGE
    assert not target.exists()
    assert spooled(spool)[0].outcome.status is Status.CANCELLED
    second = copy_files([f"{origin.url}deep/large"], str(target), options=replace(BY_HAND, resume=resume))
    assert second.succeeded, second.format_line()
    assert second.bytes_moved == (LARGE - first.bytes_moved if resume else LARGE)
    assert target.read_bytes() == (files / "deep" / "large").read_bytes()


@pytest.mark.parametrize(
    ("sources", "destination", "error"),
    [
        (["/a"], "/b", InvalidValue),
        (["http://a/", "/a"], "http://b/", InvalidValue),
        (["http:///nowhere"], "/b", UnusableSource),
        (["http://127.0.0.1:9/"], "/b", UnusableSource),
    ],
)
def test_places_that_make_no_copy_are_refused_in_one_line(sources, destination, error):
    with pytest.raises(error) as raised:
        prepare(sources, destination, options=CopyOptions(engine=EngineOptions(retry=RetryPolicy(most_tries=1))))
    assert "\n" not in str(raised.value)


def test_an_empty_folder_is_nothing_to_copy(tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    with serving(empty) as origin, pytest.raises(CopyFailed, match="nothing to copy"):
        prepare([origin.url], str(tmp_path / "copy"))


def test_the_report_is_a_document_of_plain_values(origin, tmp_path):
    report = copy_files([origin.url], str(tmp_path / "copy"), options=WAN, meter=HostMeter.of_this_host())
    document = json.loads(json.dumps(report.build_document()))
    assert document["status"] == "succeeded"
    assert document["parameters"]["concurrency"] == report.parameters.concurrency
    assert document["energy"][0]["total_j"] == report.energy_j
    assert document["bits_per_joule"] == pytest.approx(8 * report.bytes_moved / report.energy_j)
    assert document["throughput_per_joule"] == pytest.approx(report.throughput_bps / report.energy_j)
    assert document["plan"]["predicted"]["throughput_bps"]["mean"] > 0
    assert [parse_row(json.dumps(row).encode()).chunk for row in document["records"]] == ["whole", "small", "medium"]
