"""Third-party copies: the servers move the files, their last line decides, and this host relays what they do not."""

import asyncio
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from tests.integration.engine.transfers import options, plan
from tests.integration.relays.file_source import FileSource
from tests.integration.relays.grid_server import CopyTurn, GridServer
from tests.integration.serve_files.serving import event_loop
from tradewind.transfer import Direction
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine import Credentials, DownloadJob, TransferResult, Url
from tradewind_agent.engine.http.address import Login
from tradewind_agent.engine.jobs import RelayJob
from tradewind_agent.engine.local.checksums import Checksum
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.engine.relay.relay_engine import RelayEngine
from tradewind_agent.engine.relay.third_party import ThirdPartyReceiver, takes_third_party_copies

CONTENT = bytes(range(256)) * 400


def copy(
    turn: Any = lambda _: CopyTurn(), *, known: Any = None, login: Login | None = None, **changes: Any
) -> tuple[TransferResult, GridServer, FileSource]:
    """Have a file copied from a web server to a grid server."""
    source, grid = FileSource({"/set/file": CONTENT}), GridServer({}, turn)

    async def story() -> TransferResult:
        async with source, grid, asyncio.timeout(30.0):
            place = Url.parse(f"{source.url}/set/file")
            grid.elsewhere[str(place)] = CONTENT
            used = options(**changes)
            destination = Url.parse(f"{grid.url}/up/file")
            used.hooks.add_receiver(destination.origin, ThirdPartyReceiver())
            fetched = DownloadJob(
                source=place._replace(login=login), destination="file", size_bytes=len(CONTENT), **(known or {})
            )
            return await RelayEngine(plan(2, 3), used).run([RelayJob(fetched=fetched, destination=destination)])

    return asyncio.run(story()), grid, source


def test_the_destination_fetches_the_file_itself():
    result, grid, source = copy()
    assert (result.failures, result.files_done) == ((), 1)
    assert result.bytes_moved == result.bytes_by_servers == len(CONTENT)
    assert grid.files == {"/up/file": CONTENT}
    assert source.requests == []
    (head,) = (head for head in grid.requests if head.method == "COPY")
    assert head.headers["source"].endswith("/set/file")
    assert (head.headers["x-number-of-streams"], head.headers["overwrite"]) == ("3", "T")
    assert "transferheaderauthorization" not in head.headers


@pytest.mark.parametrize("status", ["405 Method Not Allowed", "501 Not Implemented", "403 Forbidden"])
def test_this_host_relays_what_the_destination_does_not_fetch(status: str):
    result, grid, source = copy(lambda _: CopyTurn(status=status))
    assert (result.failures, result.bytes_by_servers) == ((), 0)
    assert grid.files == {"/up/file": CONTENT}
    assert source.requests
    assert result.notes == (
        f"1 file went through this host, as the servers do not move them: the destination answered {status} to COPY",
    )


def test_a_failure_in_the_last_line_is_tried_again_and_then_fails_the_file():
    turn = CopyTurn(stores=False, last="failure: the source answered 403\n")
    result, grid, _ = copy(lambda count: turn if count == 1 else CopyTurn())
    assert result.failures == ()
    assert grid.files == {"/up/file": CONTENT}
    result, grid, _ = copy(lambda _: turn)
    (failure,) = result.failures
    assert failure.reason.startswith("the destination could not copy it: the source answered 403")
    assert grid.count("COPY") == 4


@pytest.mark.parametrize("stores", [True, False])
def test_a_copy_that_breaks_off_is_judged_by_what_the_destination_has(stores: bool):
    result, grid, _ = copy(lambda count: CopyTurn(stores=stores, last=None) if count == 1 else CopyTurn())
    assert result.failures == ()
    assert grid.files == {"/up/file": CONTENT}
    assert grid.count("COPY") == (1 if stores else 2)


def test_a_copy_that_always_breaks_off_fails():
    result, grid, _ = copy(lambda _: CopyTurn(stores=False, last=None))
    (failure,) = result.failures
    assert "broke off" in failure.reason
    assert grid.files == {}


def test_an_answer_without_a_last_line_is_no_success():
    result, grid, _ = copy(lambda _: CopyTurn(stores=False, last="End\n"))
    (failure,) = result.failures
    assert "without saying whether the file is there" in failure.reason
    assert grid.files == {}


def test_a_file_of_another_size_is_reported():
    result, _, _ = copy(lambda _: CopyTurn(content=CONTENT[:-1]))
    (failure,) = result.failures
    assert failure.reason == "the destination has 102399 bytes of it, the source listed 102400; copy it again"


def test_a_refusal_for_load_is_tried_again():
    result, grid, _ = copy(lambda count: CopyTurn(status="503 Service Unavailable" if count == 1 else None))
    assert (result.failures, result.bytes_by_servers) == ((), len(CONTENT))
    assert grid.count("COPY") == 2


@pytest.mark.parametrize("kind", ["checksum", "manifest", "credentials", "never"])
def test_files_that_need_this_host_go_through_it(kind: str):
    known = {"checksum": Checksum("sha256", sha256(CONTENT).digest())} if kind == "manifest" else {}
    result, grid, _ = copy(
        known=known,
        login=Login("me", "secret") if kind == "credentials" else None,
        checksum=kind == "checksum",
        third_party=kind != "never",
    )
    assert (result.failures, result.bytes_by_servers) == ((), 0)
    assert grid.files == {"/up/file": CONTENT}
    assert grid.count("COPY") == 0


@pytest.mark.parametrize("offers_copy", [True, False])
def test_a_destination_says_whether_it_copies(offers_copy: bool):
    async def story() -> bool:
        async with GridServer({}, offers_copy=offers_copy) as grid:
            return await takes_third_party_copies(Url.parse(f"{grid.url}/up/"), options())

    assert asyncio.run(story()) is offers_copy


def test_the_token_of_the_source_goes_to_a_destination_that_is_secure():
    source = Url.parse("https://source.example/file")
    destination = Url.parse("https://grid.example/file")
    used = options(credentials=Credentials(tokens={source.origin: "token"}))
    job = RelayJob(fetched=DownloadJob(source=source, destination="file", size_bytes=5), destination=destination)

    async def story() -> tuple[Any, Any]:
        host = RelayEngine(plan(1), used)._sending
        secure = ThirdPartyReceiver().make_server_copy(job, host)
        plain = replace(job, destination=Url.parse("http://grid.example/file"))
        assert secure is not None
        return secure.take(4, 1), ThirdPartyReceiver().make_server_copy(plain, host)

    exchange, in_the_clear = asyncio.run(story())
    assert exchange.request.headers["TransferHeaderAuthorization"] == "Bearer token"
    assert exchange.request.headers["X-Number-Of-Streams"] == "4"
    assert in_the_clear is None


def test_a_copy_is_logged_as_moved_by_the_servers():
    source, grid = FileSource({"/set/file": CONTENT}), GridServer({})
    with event_loop() as run:
        for server in (source, grid):
            run(server.__aenter__())
        try:
            grid.elsewhere[f"{source.url}/set/file"] = CONTENT
            report = copy_files([f"{source.url}/set/file"], f"{grid.url}/up/", options=CopyOptions(engine=options()))
        finally:
            for server in (source, grid):
                run(server.__aexit__())
    assert grid.files == {"/up/file": CONTENT}
    assert report.bytes_by_servers == len(CONTENT)
    assert {(record.direction, record.mover.name) for record in report.records} == {
        (Direction.THIRD_PARTY, "tradewind-third-party")
    }
    assert "energy not measured, as the servers have moved it between them" in report.format_line()


def test_progress_is_what_the_markers_say():
    seen: list[Snapshot] = []
    source, grid = FileSource({"/file": CONTENT}), GridServer({})

    async def story() -> None:
        async with source, grid, asyncio.timeout(30.0):
            grid.elsewhere[f"{source.url}/file"] = CONTENT
            used = options()
            destination = Url.parse(f"{grid.url}/file")
            used.hooks.add_receiver(destination.origin, ThirdPartyReceiver())
            fetched = DownloadJob(source=Url.parse(f"{source.url}/file"), destination="file", size_bytes=len(CONTENT))
            engine = RelayEngine(plan(1), used)
            await engine.run([RelayJob(fetched=fetched, destination=destination)])
            seen.append(engine.take_snapshot())

    asyncio.run(story())
    assert (seen[0].moved_bytes, seen[0].remaining_bytes, seen[0].files_done) == (len(CONTENT), 0, 1)
