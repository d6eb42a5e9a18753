"""Servers that permit few connections or requests: the engine steps down, loses no file, and the next run knows."""

import asyncio
import json
import random
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.integration.engine.servers.rough_server import Answer, RoughRequest, RoughServer, head, plain, status
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind.units import MIB
from tradewind_agent.engine import TransferEngine, TransferResult, UploadJob, Url
from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.credentials import NO_CREDENTIALS, Credentials
from tradewind_agent.engine.origin.book import NOTHING_KNOWN, OriginBook, OriginRecord, PermittedConnections

CONTENT = random.Random(3).randbytes(3000)
NAMES = [f"f{number:02}" for number in range(40)]
LANES = 16
STATUSES = [
    "403 Forbidden",
    "421 Misdirected Request",
    "429 Too Many Requests",
    "503 Service Unavailable",
    "509 Bandwidth Limit Exceeded",
]


class Gate:
    """Serves ``limit`` requests at a time and refuses others."""

    def __init__(self, limit: int, line: str, then: Answer, **fields: object) -> None:
        self.limit, self.line, self.then, self.fields = limit, line, then, fields
        self.open = self.refused = 0

    async def __call__(self, asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        if self.open >= self.limit:
            self.refused += 1
            writer.write(head(self.line, asked, Content_Length=0, **self.fields))
            return None
        self.open += 1
        try:
            await asyncio.sleep(0.005)  # the time that the server takes for a file
            return await self.then(asked, writer)
        finally:
            self.open -= 1


@dataclass(eq=False)
class FewConnections(RoughServer):
    """Resets connections above ``most``."""

    most: int = 1
    refused: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.open_now >= self.most:
            self.refused += 1
            writer.transport.abort()
            return
        await super().serve(reader, writer)


def copy_all(
    server: RoughServer,
    folder: Path,
    names: list[str] = NAMES,
    *,
    size: int = len(CONTENT),
    parallelism: int = 1,
    **changes: Any,
) -> TransferResult:
    async def story() -> TransferResult:
        async with server, asyncio.timeout(40.0):
            engine = TransferEngine(plan(LANES, parallelism, 4), options(**changes))
            return await engine.run(jobs_for(server.url, names, folder, dict.fromkeys(names, size)))

    return asyncio.run(story())


def answers(answer: Answer, names: list[str] = NAMES) -> dict[str, Answer]:
    return {f"/{name}": answer for name in names}


def expect_all(folder: Path, names: list[str] = NAMES, content: bytes = CONTENT) -> None:
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == dict.fromkeys(names, content)


@pytest.mark.parametrize("line", STATUSES)
@pytest.mark.parametrize("limit", [1, 3])
def test_refusals_of_too_many_requests_at_once_lose_no_file(tmp_path: Path, line: str, limit: int):
    gate = Gate(limit, line, plain(CONTENT))
    result = copy_all(RoughServer(answers(gate)), tmp_path)
    assert (result.failures, result.files_done) == ((), len(NAMES))
    expect_all(tmp_path)
    assert max(known.count for known in result.permitted.values()) <= LANES // 2


@pytest.mark.parametrize("most", [1, 3])
def test_connections_that_are_reset_lose_no_file(tmp_path: Path, most: int):
    slow = Gate(10**6, "503 Service Unavailable", plain(CONTENT))
    server = FewConnections(answers(slow), most=most)
    result = copy_all(server, tmp_path)
    assert (result.failures, result.files_done) == ((), len(NAMES))
    expect_all(tmp_path)
    assert server.refused < 4 * LANES


def test_ranges_of_large_files_keep_within_the_limit(tmp_path: Path):
    content = random.Random(4).randbytes(3 * MIB)
    gate = Gate(2, "503 Service Unavailable", plain(content))
    names = NAMES[:4]
    result = copy_all(RoughServer(answers(gate, names)), tmp_path, names, size=len(content), parallelism=4)
    assert result.failures == ()
    expect_all(tmp_path, names, content)


@pytest.mark.parametrize("line", STATUSES)
def test_uploads_step_down_too(tmp_path: Path, line: str):
    stored: set[str] = set()

    async def store(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        if asked.method == "PUT":
            stored.add(asked.path)
        writer.write(head("201 Created" if asked.method == "PUT" else "404 Not Found", asked, Content_Length=0))

    gate = Gate(2, line, store)

    @dataclass(eq=False)
    class Taking(RoughServer):
        async def _read(self, reader: asyncio.StreamReader) -> RoughRequest | None:
            asked = await super()._read(reader)
            if asked is not None:
                await reader.readexactly(int(asked.headers.get("content-length", "0")))
            return asked

    def job(url: str, name: str) -> UploadJob:
        source = tmp_path / name
        source.write_bytes(CONTENT)
        modified_at_ns = source.stat().st_mtime_ns
        return UploadJob(
            source=source,
            destination=Url.parse(f"{url}/{name}"),
            size_bytes=len(CONTENT),
            modified_at_ns=modified_at_ns,
        )

    async def story() -> TransferResult:
        async with Taking(answers(gate)) as server, asyncio.timeout(40.0):
            jobs = [job(server.url, name) for name in NAMES]
            return await TransferEngine(plan(LANES, 1, 4), options()).run(jobs)

    result = asyncio.run(story())
    assert (result.failures, result.files_done) == ((), len(NAMES))
    assert stored == set(answers(gate))


@pytest.mark.parametrize("count", [1, 6])
def test_forbidden_files_fail_and_slow_no_others(tmp_path: Path, count: int):
    forbidden = NAMES[::7][:count]
    server = RoughServer(answers(plain(CONTENT)) | answers(status("403 Forbidden", 0), forbidden))
    result = copy_all(server, tmp_path)
    assert {failure.url.rpartition("/")[2] for failure in result.failures} == set(forbidden)
    assert all(failure.reason.startswith("the server answered 403") for failure in result.failures)
    expect_all(tmp_path, [name for name in NAMES if name not in forbidden])
    assert result.permitted == {}


def test_forbidden_files_fail_where_403_also_means_too_many_connections(tmp_path: Path):
    forbidden = NAMES[5:9]
    gate = Gate(3, "403 Forbidden", plain(CONTENT))
    server = RoughServer(answers(gate) | answers(status("403 Forbidden", 0), forbidden))
    result = copy_all(server, tmp_path)
    assert {failure.url.rpartition("/")[2] for failure in result.failures} == set(forbidden)
    expect_all(tmp_path, [name for name in NAMES if name not in forbidden])


def test_every_file_fails_when_every_request_is_forbidden(tmp_path: Path):
    result = copy_all(RoughServer(answers(status("403 Forbidden", 0))), tmp_path)
    assert len(result.failures) == len(NAMES)


def test_one_broken_file_fails_and_slows_no_others(tmp_path: Path):
    broken = NAMES[3]
    server = RoughServer(answers(plain(CONTENT)) | answers(status("503 Service Unavailable", 0), [broken]))
    result = copy_all(server, tmp_path)
    assert [failure.url.rpartition("/")[2] for failure in result.failures] == [broken]
    assert result.permitted == {}


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_pauses_entire_origin(tmp_path: Path, form: str):
    later = format_datetime(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=1), usegmt=True)
    now = format_datetime(datetime(2026, 1, 1, tzinfo=UTC), usegmt=True)
    fields: dict[str, object] = {"Retry_After": "1"} if form == "seconds" else {"Retry_After": later, "Date": now}
    refused_at_s: float | None = None
    came_at_s: list[float] = []

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        nonlocal refused_at_s
        came_at_s.append(asyncio.get_running_loop().time())
        if refused_at_s is None and len(came_at_s) > LANES:
            refused_at_s = came_at_s[-1]
            writer.write(head("429 Too Many Requests", asked, Content_Length=0, **fields))
        else:
            await plain(CONTENT)(asked, writer)

    names = [f"f{number}" for number in range(500)]
    server = RoughServer(answers(answer, names))
    result = copy_all(server, tmp_path, names)
    assert result.failures == ()
    assert refused_at_s is not None
    after_s = [at_s for at_s in came_at_s if at_s >= refused_at_s]
    pauses_s = [later_s - earlier_s for earlier_s, later_s in pairwise(after_s)]
    pause = pauses_s.index(max(pauses_s))
    assert after_s[pause + 1] - refused_at_s > 0.95
    assert pause < len(names) // 2  # requests that were on their way when the answer came


def test_a_rate_limit_of_hours_ends_the_copy_with_the_time(tmp_path: Path):
    names = [f"f{number}" for number in range(500)]
    server = RoughServer(answers(status("429 Too Many Requests", 0, Retry_After="7200"), names))
    result = copy_all(server, tmp_path, names)
    assert str(result.stopped) == (
        "the server answered 429 Too Many Requests; it asks to be left alone for 2 h: run the same command after that"
    )
    assert len(server.asked) < len(names) // 2  # those that were on their way when the answer came


def test_a_file_that_is_away_for_hours_fails_alone_and_at_once(tmp_path: Path):
    away = status("503 Service Unavailable", 0, Retry_After="7200")
    server = RoughServer(answers(plain(CONTENT)) | answers(away, NAMES[3:4]))
    result = copy_all(server, tmp_path)
    assert [failure.url.rpartition("/")[2] for failure in result.failures] == NAMES[3:4]
    assert "left alone for 2 h" in result.failures[0].reason
    expect_all(tmp_path, [name for name in NAMES if name != NAMES[3]])


def test_a_rate_limit_raises_nothing_and_loses_no_file(tmp_path: Path):
    last_s = 0.0

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        nonlocal last_s
        now_s = asyncio.get_running_loop().time()
        if now_s - last_s < 0.02:
            writer.write(head("429 Too Many Requests", asked, Content_Length=0))
            return
        last_s = now_s
        await plain(CONTENT)(asked, writer)

    result = copy_all(RoughServer(answers(answer)), tmp_path)
    assert (result.failures, result.files_done) == ((), len(NAMES))


# What the next run knows.


def test_the_next_run_begins_within_the_limit(tmp_path: Path):
    book = OriginBook(tmp_path / "state" / "origins.json")
    gate = Gate(2, "503 Service Unavailable", plain(CONTENT))

    async def story() -> tuple[int, int]:
        async with RoughServer(answers(gate)) as server, asyncio.timeout(40.0):
            refused = []
            for run in ("one", "two"):
                gate.refused = 0
                engine = TransferEngine(plan(LANES, 1, 4), options(origins=book))
                jobs = jobs_for(server.url, NAMES, tmp_path / run, dict.fromkeys(NAMES, len(CONTENT)))
                assert (await engine.run(jobs)).failures == ()
                refused.append(gate.refused)
            return refused[0], refused[1]

    first, second = asyncio.run(story())
    assert first > 0
    assert second == 0
    assert stat.S_IMODE((tmp_path / "state" / "origins.json").stat().st_mode) == 0o600


ORIGIN = Origin("https", "data.example", 443)


def test_remembered_limits_expire(tmp_path: Path):
    now_s = 1_000_000.0
    book = OriginBook(tmp_path / "origins.json", lambda: now_s)
    book.write({ORIGIN: OriginRecord(PermittedConnections(3, now_s), now_s)}, NO_CREDENTIALS)
    assert book.read(ORIGIN, NO_CREDENTIALS) == OriginRecord(PermittedConnections(3, now_s), now_s)
    now_s += 25 * 3600
    assert book.read(ORIGIN, NO_CREDENTIALS) == NOTHING_KNOWN


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"version": 2}',
        b'{"version": 1, "origins": []}',
        b'{"version": 1, "origins": {"https://data.example": {"connections": 0, "refused_at_s": 999999}}}',
        b'{"version": 1, "origins": {"https://data.example": {"connections": "4", "refused_at_s": 999999}}}',
        b'{"version": 1, "origins": {"https://data.example": {"connections": true, "refused_at_s": 999999}}}',
        b'{"version": 1, "origins": {"https://data.example": {"connections": 4, "refused_at_s": 1e99}}}',
        b'{"version": 1, "origins": {"https://data.example": {"pipelining_failed_at_s": "yesterday"}}}',
        b'{"version": 1, "origins": {"https://data.example": null}}',
        b"[" * 100_000,
    ],
)
def test_a_broken_file_is_as_good_as_none(tmp_path: Path, content: bytes):
    path = tmp_path / "origins.json"
    path.write_bytes(content)
    book = OriginBook(path, lambda: 1_000_000.0)
    assert book.read(ORIGIN, NO_CREDENTIALS) == NOTHING_KNOWN
    book.write({ORIGIN: OriginRecord(PermittedConnections(3, 1_000_000.0))}, NO_CREDENTIALS)
    assert json.loads(path.read_bytes())["origins"] == {
        "https://data.example": {"connections": 3, "refused_at_s": 1_000_000.0}
    }


def test_record_keeps_what_a_later_run_does_not_learn(tmp_path: Path):
    book = OriginBook(tmp_path / "origins.json", lambda: 1_000_000.0)
    book.write({ORIGIN: OriginRecord(PermittedConnections(3, 999_999.0))}, NO_CREDENTIALS)
    book.write({ORIGIN: OriginRecord(pipelining_failed_at_s=1_000_000.0)}, NO_CREDENTIALS)
    assert book.read(ORIGIN, NO_CREDENTIALS) == OriginRecord(PermittedConnections(3, 999_999.0), 1_000_000.0)


def test_a_folder_that_cannot_be_written_fails_nothing(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    book = OriginBook(tmp_path / "file" / "origins.json")
    book.write({ORIGIN: OriginRecord(PermittedConnections(3, 1_000_000.0))}, NO_CREDENTIALS)
    assert book.read(ORIGIN, NO_CREDENTIALS) == NOTHING_KNOWN


def test_known_limit_of_an_origin_depends_on_the_headers_of_the_user(tmp_path: Path):
    origin, book = Origin("http", "example.org", 80), OriginBook(tmp_path / "origins.json")
    keyed = Credentials(unbound={"X-Api-Key": "secret"}).bind([origin])
    book.write({origin: OriginRecord(PermittedConnections(2, datetime.now(UTC).timestamp()))}, keyed)
    assert book.read(origin, keyed).permitted is not None
    assert book.read(origin, NO_CREDENTIALS) == NOTHING_KNOWN
    assert book.read(origin, Credentials(unbound={"X-Api-Key": "other"}).bind([origin])) == NOTHING_KNOWN
    assert "secret" not in (tmp_path / "origins.json").read_text()
