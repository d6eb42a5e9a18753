"""Files between two servers of which either may fail: each arrives as one version, or nothing has its name."""

import asyncio
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.integration.engine.servers.store import Store
from tests.integration.engine.servers.stream_server import RequestHead
from tests.integration.engine.transfers import options, plan, until
from tests.integration.relays.file_source import FileSource, Turn
from tests.integration.relays.relaying import (
    LONG,
    SHORT,
    UNIT_BYTES,
    make_job,
    open_bucket,
    relay_to_bucket,
    relay_to_web,
)
from tests.integration.stores.object_store import LOST_BEHIND, ObjectStore
from tests.integration.stores.test_s3_uploads import refuse
from tradewind.dataset import ChunkKind
from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind_agent.engine import SizeTrust, TransferResult, Url
from tradewind_agent.engine.local.checksums import Checksum
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.engine.relay.relay_engine import RelayEngine
from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.stores.s3.sending.upload_notes import open_note

OTHER = bytes(reversed(LONG))


def make_source(content: bytes = LONG, **kinds: Any) -> FileSource:
    return FileSource({"/file": content}, **kinds)


def drop(count: int, sent_bytes: int) -> Any:
    """Drop the connection of one request after some bytes of its body."""
    return lambda _head, number: Turn(sent_bytes=sent_bytes if number == count else None)


SOURCES = {
    "ranges": {},
    "no ranges": {"has_ranges": False},
    "no validator": {"has_tags": False},
    "neither": {"has_ranges": False, "has_tags": False},
    "sums": {"states_sums": True},
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("content", [LONG, SHORT, b""], ids=["long", "short", "empty"])
def test_a_file_arrives_as_it_is(kind: str, content: bytes):
    source, store = make_source(content, **SOURCES[kind]), ObjectStore()
    result = relay_to_bucket(source, store, checksum=kind == "sums")
    assert result.failures == ()
    assert (result.files_done, result.bytes_moved) == (1, len(content))
    assert store.objects == {"up/file": content}
    assert store.uploads == {}
    web = Store()
    result = relay_to_web(make_source(content, **SOURCES[kind]), web, checksum=kind == "sums")
    assert result.failures == ()
    assert web.files == {"/up/file": content}


@pytest.mark.parametrize("content", [LONG, SHORT, b""], ids=["long", "short", "empty"])
@pytest.mark.parametrize("has_lengths", [True, False])
@pytest.mark.parametrize("has_ranges", [True, False])
def test_a_file_of_unknown_size_arrives(content: bytes, has_ranges: bool, has_lengths: bool):
    source = make_source(content, has_ranges=has_ranges, has_lengths=has_lengths)
    store = ObjectStore()
    assert relay_to_bucket(source, store, known={"size_bytes": None}).failures == ()
    assert store.objects == {"up/file": content}


def test_a_file_of_a_rounded_size_arrives():
    store = ObjectStore()
    known = {"size_bytes": 500_000, "size_trust": SizeTrust.ROUNDED, "least_bytes": 400_000}
    assert relay_to_bucket(make_source(), store, known=known).failures == ()
    assert store.objects == {"up/file": LONG}


@pytest.mark.parametrize("kind", ["ranges", "no ranges", "no validator", "neither"])
@pytest.mark.parametrize("sent_bytes", [0, 40_000, 99_999])
@pytest.mark.parametrize("count", [1, 3])
def test_a_source_that_drops_in_the_middle_costs_no_file(kind: str, sent_bytes: int, count: int):
    store = ObjectStore()
    result = relay_to_bucket(make_source(turn=drop(count, sent_bytes), **SOURCES[kind]), store)
    assert result.failures == ()
    assert store.objects == {"up/file": LONG}
    assert store.uploads == {}
    web = Store()
    assert relay_to_web(make_source(turn=drop(count, sent_bytes), **SOURCES[kind]), web).failures == ()
    assert web.files == {"/up/file": LONG}


@pytest.mark.parametrize(("kind", "broken"), [("no validator", 1), ("no validator", 2), ("neither", 1)])
def test_parts_of_an_answer_that_broke_off_are_not_joined_with_those_of_another(kind: str, broken: int):
    """The file changes between two answers that name no version."""
    source = make_source(**SOURCES[kind])

    def turn(_head: RequestHead, count: int) -> Turn:
        if count == broken:
            return Turn(sent_bytes=3 * UNIT_BYTES + 5)
        if count > broken:
            source.files["/file"] = OTHER
        return Turn()

    source.turn = turn
    store = ObjectStore()
    assert relay_to_bucket(source, store).failures == ()
    assert len(source.requests) > broken, source.requests
    assert store.objects == {"up/file": OTHER}
    assert store.uploads == {}


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("content", [OTHER, LONG[:-1], LONG + b"!"])
def test_a_source_that_changes_fails_in_one_line_and_nothing_is_stored(count: int, content: bytes):
    def make() -> FileSource:
        source = make_source()

        def turn(_head: RequestHead, number: int) -> Turn:
            if number == count:
                source.files["/file"] = content
            return Turn()

        source.turn = turn
        return source

    store = ObjectStore()
    (failure,) = relay_to_bucket(make(), store).failures
    assert "changed since it was listed; copy it again when it is at rest" in failure.reason
    assert (store.objects, store.uploads) == ({}, {})
    web = Store()
    (failure,) = relay_to_web(make(), web).failures
    assert "changed since it was listed" in failure.reason
    assert web.files == {}


@pytest.mark.parametrize("content", [LONG, SHORT], ids=["long", "short"])
@pytest.mark.parametrize("by", ["manifest", "digest"])
def test_a_file_with_another_sum_gets_no_name(content: bytes, by: str):
    known = {"checksum": Checksum("sha256", sha256(b"other").digest())} if by == "manifest" else {}
    for_sums = {"wrong_sum": by == "digest"}
    store = ObjectStore()
    (failure,) = relay_to_bucket(make_source(content, **for_sums), store, known=known, checksum=True).failures
    assert failure.reason.startswith(f"sha256 is {sha256(content).hexdigest()}, expected ")
    assert (store.objects, store.uploads) == ({}, {})
    web = Store()
    (failure,) = relay_to_web(make_source(content, **for_sums), web, known=known, checksum=True).failures
    assert failure.reason.startswith("sha256 is ")
    assert web.files == {}


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("PUT partNumber uploadId", "", ""),
        ("PUT partNumber uploadId", "503 Slow Down", "SlowDown"),
        ("PUT partNumber uploadId", "400 Bad Request", "BadDigest"),
        ("PUT partNumber uploadId", "404 Not Found", "NoSuchUpload"),
        ("GET uploads", "403 Forbidden", "AccessDenied"),
        ("GET uploads", "501 Not Implemented", "NotImplemented"),
        ("POST uploads", "", ""),
        ("POST uploads", "200 OK", "InternalError"),
        ("PUT partNumber uploadId", *LOST_BEHIND),
        ("POST uploads", *LOST_BEHIND),
        ("POST uploadId", *LOST_BEHIND),
        ("POST uploadId", "500 Internal Server Error", "InternalError"),
        ("POST uploadId", "200 OK", "InternalError"),
    ],
)
@pytest.mark.parametrize("first", [1, 3])
def test_refusals_of_the_receiver_that_pass_cost_no_file(kind: str, status: str, code: str, first: int):
    store = ObjectStore(refuse(kind, status, code, first=first, last=first))
    assert relay_to_bucket(make_source(), store).failures == ()
    assert store.objects == {"up/file": LONG}
    assert store.uploads == {}


def test_a_part_that_the_receiver_refuses_for_good_fails_the_file_and_is_forgotten():
    def fault(head: RequestHead, count: int) -> tuple[str, str] | None:
        return ("403 Forbidden", "AccessDenied") if head.method == "PUT" and count > 2 else None

    store = ObjectStore(fault)
    (failure,) = relay_to_bucket(make_source(), store).failures
    assert failure.reason.startswith("these credentials may not do that")
    assert (store.objects, store.uploads) == ({}, {})


@pytest.mark.parametrize("content", [LONG, SHORT], ids=["long", "short"])
def test_a_source_that_refuses_fails_the_file_alone(content: bytes):
    source = FileSource(
        {"/file": content, "/other": SHORT},
        turn=lambda head, _: Turn(status="403 Forbidden" if head.target == "/file" else None),
    )
    web = Store()
    (failure,) = relay_to_web(source, web).failures
    assert failure.reason.startswith("the server answered 403 Forbidden")
    assert failure.url.endswith("/file")
    assert web.files == {"/up/other": SHORT}


def test_parts_of_an_earlier_run_are_reused_where_their_sums_are_those_of_the_file():
    store = ObjectStore()
    parts = {n + 1: LONG[n * UNIT_BYTES : (n + 1) * UNIT_BYTES] for n in range(6)}
    store.uploads["left"] = {1: parts[1], 2: bytes(UNIT_BYTES), 4: parts[4]}
    store.properties["left"] = {"content-type": "application/x-relayed"}
    assert relay_to_bucket(make_source(), store).failures == ()
    assert store.objects == {"up/file": LONG}
    assert store.requests.count("PUT uploadId partNumber") == 4


def test_an_upload_of_somebody_else_is_neither_used_nor_ended():
    store = ObjectStore()
    store.uploads["other"] = {1: bytes(UNIT_BYTES), 2: LONG[UNIT_BYTES : 2 * UNIT_BYTES]}
    assert relay_to_bucket(make_source(), store).failures == ()
    assert store.objects == {"up/file": LONG}
    assert list(store.uploads) == ["other"]


@pytest.mark.parametrize("parts", [{}, {1: bytes(UNIT_BYTES)}], ids=["none", "other"])
def test_an_upload_that_an_earlier_run_has_noted_is_gone_on_with(tmp_path: Path, parts: dict[int, bytes]):
    store = ObjectStore()
    store.uploads["ours"] = dict(parts)
    store.properties["ours"] = {"content-type": "application/x-relayed"}
    notes = tmp_path / "notes"

    async def story() -> TransferResult:
        source = make_source()
        async with source, store, asyncio.timeout(30.0):
            used = options(stores=StoreAccess(notes_folder=notes))
            place = open_bucket(store, used).find_url("up/file")
            note = open_note(notes, str(place))
            assert note is not None
            note.write("ours")
            note.close(is_over=False)
            return await RelayEngine(plan(2, 3, 2), used).run([make_job(source, place)])

    assert asyncio.run(story()).failures == ()
    assert (store.objects, store.uploads, list(notes.iterdir())) == ({"up/file": LONG}, {}, [])


@pytest.mark.parametrize("content", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("is_stated_first", [True, False])
def test_sum_of_a_version_whose_answer_broke_off_says_nothing_of_the_next(content: bytes, is_stated_first: bool):
    """Without a validator the file is fetched again, and only the sum of what has come then counts."""
    changed = bytes(reversed(content))

    def change(_head: RequestHead, count: int) -> Turn:
        source.states_sums = is_stated_first or count > 1
        source.files["/file"] = content if count == 1 else changed
        return Turn(sent_bytes=1_000 if count == 1 else None)

    source = make_source(content, has_tags=False, has_ranges=False, turn=change)
    store = ObjectStore()
    assert relay_to_bucket(source, store).failures == ()
    assert store.objects == {"up/file": changed}


def test_many_files_of_all_sizes_arrive():
    draw = random.Random(3)
    files = {f"/{number:03}": draw.randbytes(draw.choice([0, 10, 5_000, 150_000, 650_000])) for number in range(300)}
    web = Store()
    result = relay_to_web(FileSource(files), web)
    assert result.failures == ()
    assert web.files == {f"/up{path}": content for path, content in files.items()}
    assert result.files_done == 300


@pytest.mark.parametrize("has_ranges", [True, False])
@pytest.mark.parametrize("size_bytes", [100, 3 * UNIT_BYTES])
def test_web_page_is_not_stored_under_the_name_of_data(size_bytes: int, *, has_ranges: bool):
    page = b"<!DOCTYPE html><html><form>".ljust(size_bytes)
    source, web = FileSource({"/set.nc": page}, media_type="text/html", has_ranges=has_ranges), Store()
    web.folders.add("/up/")
    (failure,) = relay_to_web(source, web, known={"size_bytes": None}).failures
    assert "a web page instead of the file" in failure.reason
    assert web.files == {}


def test_a_receiver_that_stored_a_file_without_an_answer_is_not_sent_it_again():
    web = Store(silent=1, folders={"/", "/up/"})
    assert relay_to_web(make_source(SHORT), web).failures == ()
    assert web.files == {"/up/file": SHORT}
    assert web.methods.count("PUT") == 1


def test_a_streamed_file_whose_folder_is_missing_is_sent_once_it_is_made():
    web = Store(missing="409 Conflict")
    assert relay_to_web(make_source(), web).failures == ()
    assert web.files == {"/up/file": LONG}


def test_chunks_and_changes_of_the_plan_lose_no_file():
    draw = random.Random(5)
    files = {f"/{number:03}": draw.randbytes(draw.choice([10, 5_000, 150_000])) for number in range(600)}
    source, web = FileSource(files), Store(folders={"/", "/up/"})

    def divide(most_bytes: int, concurrency: int) -> list[ChunkPlan]:
        setting = Parameters(concurrency=concurrency, parallelism=2, pipelining=2)
        return [ChunkPlan(ChunkKind.SMALL, most_bytes, setting), ChunkPlan(ChunkKind.LARGE, None, setting)]

    async def story() -> tuple[TransferResult, Snapshot]:
        async with source, web, asyncio.timeout(60.0):
            used = options()
            folder = Url.parse(f"{web.url}/up/")
            jobs = [make_job(source, folder.join_path(path[1:]), path) for path in files]
            engine = RelayEngine(divide(1_000, 1), used)
            running = asyncio.create_task(engine.run(jobs))
            for least, settings in ((20, divide(10_000, 3)), (200, plan(2)), (400, divide(100, 2))):
                await until(lambda least=least: engine.take_snapshot().files_done >= least)
                engine.retune(settings)
                now = engine.take_snapshot()
                assert now.files_done + now.remaining_files == len(files)
            return await running, engine.take_snapshot()

    result, last = asyncio.run(story())
    assert (result.failures, result.files_done) == ((), len(files))
    assert web.files == {f"/up{path}": content for path, content in files.items()}
    assert (last.remaining_files, last.remaining_bytes) == (0, 0)


def test_a_source_that_wants_to_be_left_alone_ends_the_copy():
    def turn(_head: RequestHead, _count: int) -> Turn:
        return Turn(status="429 Too Many Requests\r\nRetry-After: 4000")

    result = relay_to_web(FileSource({"/file": SHORT, "/other": SHORT}, turn=turn), Store())
    assert result.stopped is not None
    assert "Too Many Requests" in str(result.stopped)


def test_a_defect_ends_the_copy_instead_of_leaving_it_waiting(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("tradewind_agent.engine.relay.sending.RelayedUpload.take", fail)
    with pytest.raises(ZeroDivisionError):
        relay_to_web(make_source(), Store())
