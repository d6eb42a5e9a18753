"""Packed copies that are killed, damaged or left alone by the service: what is there in the end is whole or nothing."""

import asyncio
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.compression.slow_path import run_slow_path
from tests.conditions import eventually
from tests.integration.agent.support.command import environment, run, start
from tests.integration.compression.contents import digits
from tests.integration.compression.test_packed_copies import copied, leftovers
from tests.integration.serve_files.serving import serving
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.compression.packed.packing_host import PackingHost
from tradewind_agent.compression.packed.stage import PackingStage
from tradewind_agent.compression.planning import FileAdvice, PackingMode
from tradewind_agent.copy.listing import list_files
from tradewind_agent.engine import DownloadJob, EngineOptions, TransferEngine, TransferResult, Url
from tradewind_agent.serve import Server

DIGITS = digits(3_000_000)
SLOW_BYTES_PER_S = 400_000


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "large").write_bytes(DIGITS)
    (folder / "empty").touch()
    return folder


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with serving(root, writable=True) as running:
        yield running


def killed_on_the_way(home: Path, source: str, destination: str, begun: Callable[[], bool]) -> None:
    process = start("copy", "--compress", "gzip:1", source, destination, env=environment(home))
    try:
        eventually(begun)
        assert process.poll() is None, "it was over before it could be killed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def test_killed_download_leaves_no_file_and_next_run_completes_it(server: Server, tmp_path: Path) -> None:
    target, home = tmp_path / "down" / "large", tmp_path / "home"
    target.parent.mkdir()
    with run_slow_path(server.port, SLOW_BYTES_PER_S) as url:
        killed_on_the_way(home, f"{url}large", str(target), lambda: bool(leftovers(target.parent)))
    assert not target.exists()
    again = run("copy", "--compress", "gzip:1", f"{server.url}large", str(target), env=environment(home))
    assert again.code == 0, again.err
    assert target.read_bytes() == DIGITS
    assert leftovers(target.parent) == []


def test_killed_upload_leaves_no_file_and_next_run_completes_it(server: Server, root: Path, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(DIGITS)
    source, home, folder = str(tmp_path / "large"), tmp_path / "home", root / "up"
    folder.mkdir()
    with run_slow_path(server.port, SLOW_BYTES_PER_S) as url:
        killed_on_the_way(home, source, f"{url}up/sent", lambda: bool(leftovers(folder)))
    assert not (folder / "sent").exists()
    again = run("copy", "--compress", "gzip:1", source, f"{server.url}up/sent", env=environment(home))
    assert again.code == 0, again.err
    assert (folder / "sent").read_bytes() == DIGITS


def clients_of(listening: socket.socket) -> Iterator[socket.socket]:
    """Who connects, until nobody listens any more."""
    with suppress(OSError):
        while True:
            yield listening.accept()[0]


@contextmanager
def meddling(behind: Server, change: Callable[[bytes], bytes]) -> Iterator[str]:
    """The address of a server whose answers come through ``change``, piece by piece."""
    listening = socket.create_server(("127.0.0.1", 0))

    def carry(source: socket.socket, sink: socket.socket, how: Callable[[bytes], bytes]) -> None:
        with source:
            with suppress(OSError):  # one end has left
                while data := source.recv(65536):
                    sink.sendall(how(data))
            with suppress(OSError):
                sink.shutdown(socket.SHUT_WR)

    def accept() -> None:
        for client in clients_of(listening):
            server = socket.create_connection(("127.0.0.1", behind.port))
            for ends in ((client, server, bytes), (server, client, change)):
                threading.Thread(target=carry, args=ends, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        listening.close()


class Damage:
    """Turns one bit of the ``times`` first pieces that are no head of an answer."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, data: bytes) -> bytes:
        if not self.left or data.startswith(b"HTTP/") or len(data) < 30_000:
            return data
        self.left -= 1
        changed = bytearray(data)
        changed[len(data) // 2] ^= 0x10
        return bytes(changed)


def test_damaged_download_is_fetched_again(server: Server, tmp_path: Path) -> None:
    damage = Damage(1)
    with meddling(server, damage) as url:
        report = copied(f"{url}large", str(tmp_path / "large"), "gzip:1")
    assert damage.left == 0
    assert report.succeeded, report.failures
    assert (tmp_path / "large").read_bytes() == DIGITS


def test_a_download_that_always_comes_damaged_leaves_no_file(server: Server, tmp_path: Path) -> None:
    with meddling(server, Damage(1000)) as url:
        report = copied(f"{url}large", str(tmp_path / "large"), "gzip:1")
    ((_, reason),) = report.failures
    assert "damaged" in reason
    assert list(tmp_path.iterdir()) == []


@contextmanager
def receiving(answers: list[bytes]) -> Iterator[str]:
    """The address of a receiver that gives its answers one after the other, and resets the connection after each."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer(client: socket.socket) -> None:
        asked = client.makefile("rb")
        while (line := asked.readline()) and line != b"0\r\n":  # the end of what is sent in chunks
            if line.startswith(b"HEAD "):
                client.sendall(b"HTTP/1.1 404 Not Found\r\nServer: tradewind\r\nTradewind-Codecs: gzip\r\n\r\n")
        if line:  # a file, and no question alone
            asked.readline()
            client.sendall(answers.pop(0))
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        asked.close()

    def accept() -> None:
        for client in clients_of(listening):
            with client:
                answer(client)

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def test_an_answer_that_breaks_off_is_no_fault_of_the_source(tmp_path: Path) -> None:
    source = tmp_path / "large"
    source.write_bytes(DIGITS)
    broken = b"\r\nServer: tradewind\r\nContent-Length: 900\r\n\r\n{"
    answers = [b"HTTP/1.1 503 Service Unavailable" + broken, b"HTTP/1.1 201 Created" + broken]
    with receiving(answers) as url:
        report = copied(str(source), f"{url}large", "raw")
    assert report.succeeded, report.failures
    assert (report.files_done, answers) == (1, [])


def test_codec_missing_at_receiver_is_reported_before_the_first_byte(
    server: Server, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "large").write_bytes(DIGITS)
    with meddling(server, lambda data: data.replace(b",zstd", b"")) as url:
        report = copied(str(tmp_path / "large"), f"{url}lacking", "zstd:3")
    ((_, reason),) = report.failures
    assert "one end has no zstd" in reason
    assert report.moved_bytes == 0
    assert not [each for each in root.iterdir() if "lacking" in each.name]


def test_auto_continues_while_service_is_unreachable(server: Server, root: Path, tmp_path: Path) -> None:
    source = tmp_path / "data"
    source.mkdir()
    (source / "large").write_bytes(DIGITS)
    (source / "empty").touch()
    away = {"TRADEWIND_URL": "http://127.0.0.1:9", "TRADEWIND_KEY": "a key"}
    env = environment(tmp_path, TRADEWIND_SPOOL=str(tmp_path / "spool"), **away)
    slow = ("--bandwidth", "8Mbps", "--rtt", "1ms")
    done = run("copy", "--compress", "auto", "--json", *slow, str(source), f"{server.url}away/", env=env)
    assert done.code == 0, done.err
    assert sum(done.document["used"].values()) == len(DIGITS)
    assert set(done.document["used"]) != {"raw"}
    assert (done.document["files_done"], done.document["files_failed"]) == (2, 0)
    assert {each.name: each.read_bytes() for each in (root / "away").iterdir()} == {"large": DIGITS, "empty": b""}
    assert list((tmp_path / "spool" / "transfers").glob("*.ended")), "the log of a tuned copy waits for the service"
    assert list((tmp_path / "spool" / "observations").glob("*.json")), "so does what the codec has made of the file"
    back = run("copy", "--compress", "auto", "--json", *slow, f"{server.url}away/", str(tmp_path / "back"), env=env)
    assert back.code == 0, back.err
    assert {each.name: each.read_bytes() for each in (tmp_path / "back").iterdir()} == {"large": DIGITS, "empty": b""}


class LostAnswers:
    """Loses the connection in place of so many answers that confirm a file, or a part of one."""

    def __init__(self, times: int) -> None:
        self.left = times

    def __call__(self, data: bytes) -> bytes:
        if self.left and data.startswith((b"HTTP/1.1 201", b"HTTP/1.1 202")):
            self.left -= 1
            raise ConnectionResetError
        return data


def test_packed_upload_whose_answer_is_lost_is_reported_as_moved(server: Server, root: Path, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(DIGITS)
    with meddling(server, lost := LostAnswers(1)) as url:
        report = copied(str(tmp_path / "large"), f"{url}unanswered", "gzip:1")
    assert lost.left == 0
    assert report.succeeded, report.failures
    assert (root / "unanswered").read_bytes() == DIGITS
    assert (report.files_done, report.files_skipped) == (1, 0)
    assert report.plain_bytes == report.moved_bytes == len(DIGITS)
    assert report.packed_bytes < len(DIGITS)


def test_upload_in_parts_whose_answers_are_lost_is_reported_as_moved(
    server: Server, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "large").write_bytes(DIGITS)
    plan = [ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=1, parallelism=2, pipelining=1))]
    with meddling(server, lost := LostAnswers(2)) as url:
        jobs = list_files([str(tmp_path / "large")], f"{url}parts", options=EngineOptions(durable=False)).jobs
        result = asyncio.run(TransferEngine(plan, EngineOptions(durable=False)).run(jobs))
    assert lost.left == 0
    assert result.succeeded, result.failures
    assert (root / "parts").read_bytes() == DIGITS
    assert (result.files_done, result.files_skipped) == (1, 0)


def test_plain_answer_of_unknown_size_that_broke_off_is_completed(tmp_path: Path) -> None:
    head = 'HTTP/1.1 200 OK\r\nETag: "one"\r\nTransfer-Encoding: chunked\r\n\r\n'
    entire = f"{head}5\r\nsome \r\n5\r\nlines\r\n0\r\n\r\n".encode()
    broken = f"{head}5\r\nsome \r\n".encode()

    async def fetch_file() -> TransferResult:
        answers = [broken]

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answers.pop() if answers else entire)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as web:
            port = web.sockets[0].getsockname()[1]
            place = Url.parse(f"http://127.0.0.1:{port}/file")
            job = DownloadJob(source=place, destination=tmp_path / "file", size_bytes=None)
            plan = [ChunkPlan(ChunkKind.WHOLE, None, Parameters(concurrency=1, parallelism=1, pipelining=1))]
            with PackingStage(PackingMode(None), {job: FileAdvice()}, PackingHost(1)) as stage:
                async with asyncio.timeout(20):
                    return await TransferEngine(plan, EngineOptions(durable=False), stage.make_transfer).run([job])

    result = asyncio.run(fetch_file())
    assert result.succeeded, result.failures
    assert (tmp_path / "file").read_bytes() == b"some lines"
