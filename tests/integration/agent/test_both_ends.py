"""Copies whose other end meters itself: a record with both ends, and no harm done by a server that cannot tell."""

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID, uuid4

import psutil
import pytest

from tests.integration.agent.support.command import environment, run, start
from tests.integration.engine.servers.rough_server import Answer, RoughRequest, RoughServer, head, plain, redirect
from tests.integration.engine.transfers import jobs_for, options
from tests.integration.serve_files.serving import event_loop, serving
from tradewind.dataset import ChunkKind
from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind.parameters import Parameters
from tradewind.wire.records import WireRecord, parse_row
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.session.metering import HostMeter
from tradewind_agent.session.other_end import OtherEnd
from tradewind_agent.session.server_query import PATIENCE_S
from tradewind_agent.session.transfer_naming import TRANSFER_HEADER, TRANSFERS_PATH, format_energy_path

SMALL, LARGE = 20_000, 3_000_000
WAN = CopyOptions(source="alpha", destination="beta", bandwidth_bps=1e9, rtt_s=0.002)
"""A BDP of 250 kB: both sizes of file have a chunk of their own."""

BY_HAND = replace(WAN, by_hand=Parameters(concurrency=2, parallelism=1, pipelining=2))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    random = Random(1)
    for number in range(10):
        (folder / f"small{number}").write_bytes(random.randbytes(SMALL))
    (folder / "large").write_bytes(random.randbytes(LARGE))
    return folder


class Origin:
    """``tradewind serve-files`` in a process of its own."""

    def __init__(self, process: psutil.Process, url: str) -> None:
        self._process, self.url = process, url

    @property
    def cpu_s(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system


@pytest.fixture
def origin(files: Path, tmp_path: Path) -> Iterator[Origin]:
    words = ("serve-files", str(files), "--port", "0", "--writable", "--power-profile", "20W,60W", "--json")
    process = start(*words, env=environment(tmp_path, PYTHONUNBUFFERED="1"))
    assert process.stdout is not None
    assert process.stderr is not None
    with process, process.stdout, process.stderr:
        try:
            yield Origin(psutil.Process(process.pid), json.loads(process.stdout.readline())["url"])
        finally:
            process.terminate()


def copy(source: str, destination: str, options: CopyOptions = BY_HAND) -> CopyReport:
    return copy_files([source], destination, options=options, meter=HostMeter.of_this_host())


def by_host(report: CopyReport) -> dict[Host, float]:
    return {reading.host: reading.total_j for reading in report.energy}


def test_a_download_is_metered_at_both_ends_in_every_row(origin: Origin, tmp_path: Path):
    report = copy(origin.url, str(tmp_path / "copy"), WAN)
    assert report.succeeded
    whole, *chunks = report.records
    assert [row.chunk for row in chunks] == [ChunkKind.SMALL, ChunkKind.MEDIUM]
    assert {reading.host for reading in whole.energy} == set(Host)
    source = next(reading for reading in whole.energy if reading.host is Host.SOURCE)
    assert (source.method, source.quality, source.base_w) == (EnergyMethod.CPU_MODEL, EnergyQuality.ASSUMED, 20.0)
    assert source.total_j == pytest.approx(20.0 * report.work.duration_s + source.dynamic_j)
    for host, total_j in by_host(report).items():
        parts = [reading.total_j for row in chunks for reading in row.energy if reading.host is host]
        assert len(parts) == 2
        assert sum(parts) == pytest.approx(total_j)
    for row in report.records:
        assert parse_row(WireRecord.from_domain(row).to_line()).to_record() == row
    assert report.energy_j == pytest.approx(sum(by_host(report).values()))
    assert " at the destination" in report.format_line()
    assert " at the source" in report.format_line()
    assert json.loads(json.dumps(report.build_document()))["other_work"]["cpu_s"] == report.other_work.cpu_s


def test_an_upload_is_metered_at_both_ends(origin: Origin, files: Path):
    report = copy(str(files / "large"), f"{origin.url}received", BY_HAND)
    assert report.succeeded, report.format_line()
    assert set(by_host(report)) == set(Host)
    (destination,) = (reading for reading in report.energy if reading.host is Host.DESTINATION)
    assert destination.base_w == 20.0
    assert (files / "received").read_bytes() == (files / "large").read_bytes()


def test_two_copies_at_once_are_never_charged_more_than_the_server_spent(origin: Origin, tmp_path: Path):
    begun = threading.Barrier(2)

    def moved(number: int) -> CopyReport:
        begun.wait(30)
        return copy(origin.url, str(tmp_path / f"copy{number}"))

    before_s = origin.cpu_s
    with ThreadPoolExecutor(2) as threads:
        reports = list(threads.map(moved, range(2)))
    spent_s = origin.cpu_s - before_s
    assert len({report.plan.transfer_id for report in reports}) == 2
    for report in reports:
        assert report.succeeded
        assert set(by_host(report)) == set(Host)
    assert sum(report.other_work.cpu_s for report in reports) <= spent_s + 1e-6


def test_a_server_configured_not_to_meter_leaves_its_end_unmeasured(files: Path, tmp_path: Path):
    with serving(files) as server:
        report = copy(server.url, str(tmp_path / "copy"))
    assert set(by_host(report)) == {Host.DESTINATION}
    assert report.other_work is None
    env = environment(tmp_path, PYTHONUNBUFFERED="1")
    process = start("serve-files", str(files), "--port", "0", "--no-meter", "--json", env=env)
    assert process.stdout is not None
    assert process.stderr is not None
    with process, process.stdout, process.stderr:
        try:
            url = json.loads(process.stdout.readline())["url"]
            outcome = run("copy", url, str(tmp_path / "again"), "--json", env=env)
        finally:
            process.terminate()
    assert [reading["host"] for reading in outcome.document["energy"]] == ["destination"]


def test_a_copy_that_is_not_metered_queries_no_server_to_meter(files: Path, tmp_path: Path):
    with rough(plain(b"data")) as server:
        assert copy_files([f"{server.url}/file"], str(tmp_path / "file"), options=BY_HAND).succeeded
    assert TRANSFERS_PATH not in {asked.path for asked in server.asked}


# Servers that cannot tell


@contextmanager
def rough(file: Answer, **answers: Answer) -> Iterator[RoughServer]:
    """A server of /file in a thread, with further answers by the last part of their path."""
    paths = {"meter": TRANSFERS_PATH}
    server = RoughServer({"/file": file} | {paths.get(name, f"/{name}"): each for name, each in answers.items()})
    with event_loop() as in_loop:
        in_loop(server.__aenter__())
        try:
            yield server
        finally:
            in_loop(server.__aexit__())


def document(**fields: object) -> Answer:
    body = json.dumps(fields).encode()

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(head("200 OK", asked, Content_Type="application/json", Content_Length=len(body)) + body)

    return answer


TRANSFER = UUID(int=5)
METER = document(method="cpu_model", quality="assumed")


@pytest.mark.parametrize(
    "meter",
    [
        document(),
        document(method="guess", quality="assumed"),
        plain(b"<html>everything is answered by this page</html>"),
        redirect("/file"),
        redirect("http:///nowhere"),
        redirect(TRANSFERS_PATH),
        document(method="rapl", quality="measured"),  # of this very host: this end counts it already
    ],
)
def test_a_server_that_does_not_say_that_it_meters_is_reported_no_transfer(tmp_path: Path, meter: Answer):
    with rough(plain(b"data"), meter=meter) as server:
        report = copy(f"{server.url}/file", str(tmp_path / "file"))
    assert report.succeeded
    assert set(by_host(report)) == {Host.DESTINATION}
    assert all(TRANSFER_HEADER.lower() not in asked.headers for asked in server.asked)


def end_of(reply: Answer, *, moved_bytes: int = 4, duration_s: float = 2.0) -> tuple[Any, list[RoughRequest]]:
    """What the agent makes of a server that reports ``reply``, and what that server was asked."""

    async def story() -> tuple[Any, list[RoughRequest]]:
        async with RoughServer({TRANSFERS_PATH: METER, format_energy_path(TRANSFER): reply}) as server:
            jobs = jobs_for(server.url, ["file"], Path("unused"))
            other = await OtherEnd.find(jobs, TRANSFER, Host.SOURCE, options())
            assert other is not None
            return await other.fetch_reading(moved_bytes, duration_s), server.asked

    return asyncio.run(story())


TOLD = {
    "transfer_id": str(TRANSFER),
    "duration_s": 1.5,
    "moved_bytes": 4,
    "total_j": 20.0,
    "dynamic_j": 5.0,
    "base_w": 10.0,
    "method": "cpu_model",
    "quality": "calibrated",
    "cpu_s": 0.25,
    "logical_cpus": 4,
}


def test_the_time_that_the_server_did_not_see_counts_with_its_base_power():
    end, asked = end_of(document(**TOLD))
    assert end.energy.total_j == pytest.approx(10.0 * 2.0 + 5.0)
    assert (end.energy.dynamic_j, end.energy.base_w, end.energy.quality) == (5.0, 10.0, EnergyQuality.CALIBRATED)
    assert (end.work.duration_s, end.work.cpu_s, end.work.logical_cpus) == (2.0, 0.25, 4)
    assert [each.path for each in asked] == [TRANSFERS_PATH, format_energy_path(TRANSFER)]


def test_unknown_fields_are_ignored_and_missing_ones_stay_unknown():
    reply = {name: value for name, value in TOLD.items() if name not in ("dynamic_j", "base_w")}
    end, _ = end_of(document(**reply, something="new"))
    assert (end.energy.total_j, end.energy.dynamic_j, end.energy.base_w) == (20.0, None, None)


async def hang_up(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool:
    return False


@pytest.mark.parametrize(
    "reply",
    [
        hang_up,
        plain(b"{"),
        document(),
        document(**TOLD | {"total_j": -1.0}),
        document(**TOLD | {"total_j": float("nan")}),
        document(**TOLD | {"duration_s": 1e6}),  # less than nothing would be left for the transfer
        document(**TOLD | {"moved_bytes": 3}),  # the rest went elsewhere
        redirect("/file"),
    ],
)
def test_a_report_that_does_not_come_or_makes_no_sense_is_an_end_not_measured(reply: Answer):
    end, _ = end_of(reply)
    assert end is None


def test_a_copy_by_a_manifest_does_not_wait_for_what_the_server_says_of_its_meter(tmp_path: Path):
    manifest = tmp_path / "manifest"
    manifest.write_text(json.dumps({"path": "file", "size_bytes": 4}))
    begun = threading.Event()

    async def file(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        begun.set()
        await plain(b"data")(asked, writer)

    async def meter(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        await METER(asked, writer)

    with rough(file, meter=meter) as server:
        report = copy_files(
            [server.url],
            str(tmp_path),
            options=BY_HAND,
            meter=HostMeter.of_this_host(),
            manifest=str(manifest),
        )
    assert report.succeeded
    asked = {each.path: each for each in server.asked}
    assert set(asked) == {TRANSFERS_PATH, "/file", format_energy_path(report.plan.transfer_id)}
    assert asked["/file"].headers[TRANSFER_HEADER.lower()] == str(report.plan.transfer_id)


def test_jobs_of_several_servers_have_no_single_other_end(tmp_path: Path):
    async def story() -> None:
        async with RoughServer({TRANSFERS_PATH: METER}) as one, RoughServer({TRANSFERS_PATH: METER}) as two:
            jobs = [*jobs_for(one.url, ["a"], tmp_path), *jobs_for(two.url, ["b"], tmp_path)]
            assert await OtherEnd.find(jobs, uuid4(), Host.SOURCE, options()) is None
            assert one.asked == two.asked == []

    asyncio.run(story())


def test_the_name_of_the_transfer_stays_with_the_server_that_requested_it(tmp_path: Path):
    with rough(plain(b"data")) as there, rough(redirect(f"{there.url}/file"), meter=METER) as here:
        report = copy(f"{here.url}/file", str(tmp_path / "file"))
    assert report.succeeded
    named = [[TRANSFER_HEADER.lower() in asked.headers for asked in server.asked] for server in (here, there)]
    assert any(named[0])
    assert not any(named[1])
