"""Origins that misbehave: retried within bounds, or one line that says what failed, while other files go on."""

import asyncio
import random
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.integration.engine.rough_server import (
    Answer,
    RoughServer,
    chunked,
    cut_short,
    gated,
    head,
    plain,
    redirect,
    silent,
    status,
    until_close,
    without_ranges,
)
from tests.integration.engine.transfers import digests, jobs_for, options, plan, until
from tradewind.errors import InvalidValue
from tradewind_agent.engine import DownloadJob, SizeTrust, TransferEngine, TransferResult, Url

CONTENT = random.Random(5).randbytes(3_000_000)
SMALL = CONTENT[:70_000]


async def fetch_one(
    server: RoughServer,
    folder: Path,
    *,
    settings: tuple[int, int, int] = (1, 3, 2),
    size: int | None = None,
    name: str = "file",
    **changes: Any,
) -> TransferResult:
    """Copy /file from ``server``."""
    jobs = jobs_for(server.url, [name], folder, {name: size} if size is not None else None)
    return await TransferEngine(plan(*settings), options(**changes)).run(jobs)


def copies(answer: Answer, folder: Path, expected: bytes, **changes: Any) -> tuple[TransferResult, RoughServer]:
    """The file arrives byte by byte and leaves nothing else behind; returns what the server saw, too."""

    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer({"/file": answer}) as server:
            return await fetch_one(server, folder, **changes), server

    result, server = asyncio.run(story())
    assert result.failures == ()
    assert {path.name for path in folder.iterdir()} == {"file"}
    assert (folder / "file").read_bytes() == expected
    return result, server


def reason_of_failure(
    answer: Answer, folder: Path, *, size: int | None = None, **changes: Any
) -> tuple[str, RoughServer]:
    """The file fails, the other one beside it arrives; returns the reason and what the server saw."""

    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer({"/file": answer, "/good": plain(SMALL)}) as server:
            jobs = jobs_for(server.url, ["file", "good"], folder, {"file": size, "good": None})
            return await TransferEngine(plan(2, 2, 2), options(**changes)).run(jobs), server

    result, server = asyncio.run(story())
    assert (result.files_done, len(result.failures)) == (1, 1)
    assert (folder / "good").read_bytes() == SMALL
    assert not (folder / "file").exists()
    assert result.failures[0].url == f"{server.url}/file"
    assert "\n" not in result.failures[0].reason
    return result.failures[0].reason, server


SIZES = pytest.mark.parametrize("size", [None, len(CONTENT)])


@SIZES
def test_bodies_cut_short_are_completed_from_where_they_broke(tmp_path: Path, size: int | None):
    result, _ = copies(cut_short(CONTENT, after=200_000, times=12), tmp_path, CONTENT, size=size)
    assert result.bytes_moved == len(CONTENT)


@SIZES
def test_a_server_without_ranges_is_read_in_one_stream(tmp_path: Path, size: int | None):
    copies(without_ranges(CONTENT), tmp_path, CONTENT, size=size)


@SIZES
def test_a_chunked_answer_of_unknown_length(tmp_path: Path, size: int | None):
    copies(chunked(CONTENT), tmp_path, CONTENT, size=size)


def test_an_answer_that_ends_with_the_connection(tmp_path: Path):
    copies(until_close(CONTENT), tmp_path, CONTENT)


@pytest.mark.parametrize("line", ["503 Service Unavailable", "500 Internal Server Error", "429 Too Many Requests"])
def test_a_passing_error_is_outwaited(tmp_path: Path, line: str):
    copies(status(line, 2, plain(SMALL), Retry_After=0), tmp_path, SMALL)


@pytest.mark.parametrize(
    ("line", "requests"), [("404 Not Found", 1), ("403 Forbidden", 1), ("503 Service Unavailable", 4)]
)
def test_an_error_that_stays_fails_this_file_alone(tmp_path: Path, line: str, requests: int):
    reason, server = reason_of_failure(status(line, 0), tmp_path)
    assert reason.startswith(f"the server answered {line}")
    assert sum(asked.path == "/file" for asked in server.asked) == requests


def test_a_file_that_shrank_since_it_was_listed_is_fetched_as_it_is_now(tmp_path: Path):
    copies(plain(SMALL), tmp_path, SMALL, size=len(CONTENT))


def test_a_file_that_grew_since_it_was_listed_is_fetched_as_it_is_now(tmp_path: Path):
    copies(plain(CONTENT), tmp_path, CONTENT, size=len(SMALL))


def test_a_refused_range_falls_back_to_the_whole_file(tmp_path: Path):
    whole = plain(CONTENT)
    refused = status("416 Range Not Satisfiable", 10**6)

    async def answer(asked, writer):
        return await (refused if "range" in asked.headers else whole)(asked, writer)

    copies(answer, tmp_path, CONTENT)


def test_a_manifest_size_that_the_server_does_not_have_is_a_failure(tmp_path: Path):
    async def story() -> TransferResult:
        async with RoughServer({"/file": plain(CONTENT)}) as server:
            job = DownloadJob(
                source=Url.parse(f"{server.url}/file"),
                destination=tmp_path / "file",
                size_bytes=5,
                size_trust=SizeTrust.BINDING,
            )
            return await TransferEngine(plan(1), options()).run([job])

    (failure,) = asyncio.run(story()).failures
    assert failure.reason == f"the server has {len(CONTENT)} bytes, the manifest says 5"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("right", [True, False])
def test_the_sum_of_a_manifest_is_checked(tmp_path: Path, right: bool):
    digest = sha256(CONTENT if right else SMALL).hexdigest()

    async def story() -> TransferResult:
        async with RoughServer({"/file": plain(CONTENT)}) as server:
            job = DownloadJob(source=Url.parse(f"{server.url}/file"), destination=tmp_path / "file", sha256=digest)
            return await TransferEngine(plan(1, 2), options()).run([job])

    result = asyncio.run(story())
    assert result.succeeded is right
    assert {path.name for path in tmp_path.iterdir()} == ({"file"} if right else set())
    assert right or "sha256 is" in result.failures[0].reason


def test_a_file_that_changes_while_it_is_fetched_is_never_mixed(tmp_path: Path):
    old, new = plain(CONTENT, '"old"'), plain(CONTENT[::-1], '"new"')

    async def answer(asked, writer):
        return await (old if asked.nth < 2 else new)(asked, writer)

    copies(answer, tmp_path, CONTENT[::-1], size=len(CONTENT))


def test_a_file_that_never_stops_changing_is_given_up(tmp_path: Path):
    async def answer(asked, writer):
        return await plain(CONTENT, f'"{asked.nth}"')(asked, writer)

    reason, _ = reason_of_failure(answer, tmp_path, size=len(CONTENT))
    assert "changed on the server" in reason


def test_a_silent_server_is_left_after_the_idle_timeout_and_asked_again(tmp_path: Path):
    _, server = copies(silent(1, plain(SMALL)), tmp_path, SMALL, idle_timeout_s=0.2)
    assert len(server.asked) == 2


def test_a_server_that_is_always_silent_fails_within_bounds(tmp_path: Path):
    reason, _ = reason_of_failure(silent(10**6, plain(SMALL)), tmp_path, idle_timeout_s=0.1)
    assert reason == "nothing received for 0.1 s (tried 4 times)"


def test_redirects_are_followed_to_another_host_without_the_credentials(tmp_path: Path):
    async def story() -> tuple[RoughServer, RoughServer]:
        async with RoughServer({"/there": plain(SMALL)}) as there:
            away = redirect(f"{there.url}/there", "307 Temporary Redirect")
            async with RoughServer({"/file": redirect("/moved"), "/moved": away}) as here:
                url = Url.parse(here.url.replace("//", "//ann:secret@") + "/file")
                job = DownloadJob(source=url, destination=tmp_path / "file")
                assert (await TransferEngine(plan(1, 2), options()).run([job])).succeeded
                return here, there

    here, there = asyncio.run(story())
    assert (tmp_path / "file").read_bytes() == SMALL
    assert {asked.headers.get("authorization") for asked in here.asked} == {"Basic YW5uOnNlY3JldA=="}
    assert {asked.headers.get("authorization") for asked in there.asked} == {None}


def test_a_circle_of_redirects_ends(tmp_path: Path):
    reason, _ = reason_of_failure(redirect("/file"), tmp_path)
    assert reason == "more than 10 redirects"


@pytest.mark.parametrize("says_so", [True, False])
def test_a_server_that_closes_after_every_answer_still_gives_everything(tmp_path: Path, says_so: bool):
    async def story() -> None:
        names = [f"f{number}" for number in range(40)]
        server = RoughServer({f"/{name}": plain(SMALL) for name in names}, requests_per_connection=1, says_so=says_so)
        async with server:
            result = await TransferEngine(plan(3, 1, 8), options()).run(jobs_for(server.url, names, tmp_path))
        assert result.failures == ()

    asyncio.run(story())
    assert len(digests(tmp_path)) == 40
    assert len(set(digests(tmp_path).values())) == 1


def test_what_is_not_http_fails_in_one_line(tmp_path: Path):
    async def answer(asked, writer):
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")

    reason, _ = reason_of_failure(answer, tmp_path)
    assert reason.startswith("the answer is not HTTP/1.1")


def test_nobody_listening_fails_in_one_line(tmp_path: Path):
    async def story() -> TransferResult:
        async with RoughServer({}) as server:
            gone = server.url
        return await TransferEngine(plan(2, 2), options()).run(jobs_for(gone, ["a", "b"], tmp_path))

    result = asyncio.run(story())
    assert len(result.failures) == 2
    assert all(failure.reason.startswith("cannot connect to 127.0.0.1:") for failure in result.failures)


def test_a_file_that_fails_half_way_can_be_resumed(tmp_path: Path):
    whole = plain(CONTENT)
    gone = status("410 Gone", 10**6)

    async def answer(asked, writer):
        return await (whole if asked.nth == 0 else gone)(asked, writer)

    async def story() -> tuple[TransferResult, TransferResult]:
        async with RoughServer({"/file": answer}) as server:
            failed = await fetch_one(server, tmp_path, size=len(CONTENT))
        async with RoughServer({"/file": whole}) as server:
            return failed, await fetch_one(server, tmp_path, size=len(CONTENT))

    failed, resumed = asyncio.run(story())
    assert failed.failures[0].reason == "the server answered 410 Gone"
    assert resumed.succeeded
    assert failed.bytes_moved + resumed.bytes_moved == len(CONTENT)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": CONTENT}


def test_a_short_outage_fails_no_file(tmp_path: Path):
    async def story() -> TransferResult:
        answered = 0

        async def answer(asked, writer):
            nonlocal answered
            answered += 1
            overloaded = answered <= 25
            return await (status("503 Service Unavailable", 10**6) if overloaded else plain(SMALL))(asked, writer)

        names = [f"f{number}" for number in range(60)]
        async with RoughServer(dict.fromkeys((f"/{name}" for name in names), answer)) as server:
            return await TransferEngine(plan(8, 1, 1), options()).run(jobs_for(server.url, names, tmp_path))

    assert asyncio.run(story()).failures == ()


def test_a_server_that_forgets_pipelined_requests_is_asked_one_by_one(tmp_path: Path):
    async def forgetful(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the first request of whatever has arrived and throws the rest away."""
        try:
            while await reader.read(65536):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndata")
        finally:
            writer.transport.abort()

    async def story() -> TransferResult:
        server = await asyncio.start_server(forgetful, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        names = [f"f{number}" for number in range(10)]
        engine = TransferEngine(plan(1, 1, 5), options(idle_timeout_s=0.2))
        result = await engine.run(jobs_for(url, names, tmp_path, dict.fromkeys(names, 4)))
        server.close()
        await server.wait_closed()
        return result

    assert asyncio.run(story()).files_done == 10


def test_files_of_several_servers_share_the_channels(tmp_path: Path):
    async def story() -> int:
        one = RoughServer({f"/a{number}": plain(SMALL) for number in range(20)})
        two = RoughServer({f"/b{number}": plain(SMALL) for number in range(20)})
        async with one, two:
            jobs = [
                job
                for number in range(20)
                for server, name in ((one, f"a{number}"), (two, f"b{number}"))
                for job in jobs_for(server.url, [name], tmp_path)
            ]
            assert (await TransferEngine(plan(3, 1, 4), options()).run(jobs)).files_done == 40
            return one.connections + two.connections

    connections = asyncio.run(story())
    assert len(digests(tmp_path)) == 40
    assert connections <= 6


def test_the_sum_that_a_server_offers_is_checked_when_asked_for(tmp_path: Path):
    digest = b64encode(sha256(CONTENT).digest()).decode()

    async def answer(asked, writer):
        assert asked.headers["want-repr-digest"] == "sha-256=10"
        field = f"sha-256=:{digest}:"
        writer.write(head("200 OK", asked, Content_Length=len(SMALL), Repr_Digest=field) + SMALL)

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server:
            return await fetch_one(server, tmp_path, checksum=True)

    (failure,) = asyncio.run(story()).failures
    assert failure.reason.startswith(f"sha256 is {sha256(SMALL).hexdigest()}, expected {sha256(CONTENT).hexdigest()}")


def test_two_jobs_for_one_place_are_refused(tmp_path: Path):
    jobs = jobs_for("http://127.0.0.1:1", ["a"], tmp_path)
    with pytest.raises(InvalidValue, match="two files would both become"):
        asyncio.run(TransferEngine(plan(1), options()).run(jobs * 2))


def test_connections_are_exactly_concurrency_times_parallelism(tmp_path: Path):
    async def story() -> RoughServer:
        gate = asyncio.Event()
        names = [f"f{number}" for number in range(12)]
        server = RoughServer({f"/{name}": gated(gate, plain(CONTENT)) for name in names})
        async with server:
            sizes = dict.fromkeys(names, len(CONTENT))
            engine = TransferEngine(plan(3, 4, 2), options())
            task = asyncio.create_task(engine.run(jobs_for(server.url, names, tmp_path, sizes)))
            await until(lambda: engine.snapshot().open_connections == 12)
            gate.set()
            assert (await task).succeeded
        return server

    server = asyncio.run(story())
    assert (server.most_open, server.connections) == (12, 12)
