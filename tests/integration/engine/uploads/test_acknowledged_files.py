"""A WebDAV server may acknowledge files and store less: the end of a copy shows it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.integration.engine.servers.store import Store
from tests.integration.engine.transfers import options
from tests.integration.serve_files.serving import serving
from tradewind.transfer import Status
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine import DownloadJob, SizeTrust, Url, list_uploads
from tradewind_agent.engine.jobs import RelayJob
from tradewind_agent.stores.http_acknowledged import find_unstored

SIZES = {f"f{number:02}": 100 + number for number in range(60)}  # many: the first ones are looked at by themselves


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    folder.mkdir()
    for name, size in SIZES.items():
        (folder / name).write_bytes(bytes(size))
    return folder


def send(source: Path, store: Store) -> CopyReport:
    async def story() -> CopyReport:
        store.folders.add("/up/")
        async with store:
            return await asyncio.to_thread(copy_files, [f"{source}/"], f"{store.url}/up/")

    return asyncio.run(story())


def fail(line: str) -> None:
    raise AssertionError(line)


def test_file_that_is_not_stored_is_a_failure(source: Path):
    report = send(source, Store(lists=True, keep=lambda path, body: None if path.endswith("f30") else body))
    (failure,) = report.failures
    assert failure.file.endswith("/up/f30")
    assert failure.reason == "the server acknowledged the file, and does not have it"
    assert (report.files_done, report.is_complete) == (len(SIZES) - 1, False)
    for record in report.records:
        assert (record.outcome.status, record.outcome.files_done, record.outcome.files_failed) == (
            Status.FAILED,
            len(SIZES) - 1,
            1,
        )


def test_files_of_another_size_are_found(source: Path):
    async def story() -> Mapping[str, str]:
        store = Store(lists=True, folders={"/", "/up/"})
        async with store:
            store.files = {f"/up/{name}": bytes(size) for name, size in SIZES.items()} | {"/up/f30": bytes(5)}
            jobs = list_uploads([source], Url.parse(f"{store.url}/up/")).jobs
            return await find_unstored(jobs, options(), fail)

    ((address, reason),) = asyncio.run(story()).items()
    assert address.endswith("/up/f30")
    assert reason == "the server acknowledged the file, and has 5 bytes of 130"


def test_list_that_differs_from_the_files_themselves_is_no_failure(source: Path):
    store = Store(lists=True, listed={"/up/f03": 5, "/up/f04": None})
    report = send(source, store)
    assert report.failures == ()
    assert report.files_done == len(SIZES)


@pytest.mark.parametrize("folders", [1, 3])
def test_one_list_of_each_folder_shows_all_files_and_other_servers_get_one_request(source: Path, folders: int):
    for number in range(1, folders):
        (source / f"d{number}").mkdir()
        (source / f"d{number}" / "file").write_bytes(b"x")
    listing, plain = Store(lists=True), Store()
    send(source, listing)
    send(source, plain)
    assert listing.methods.count("PROPFIND") - plain.methods.count("PROPFIND") == folders - 1
    assert len(listing.files) == len(plain.files) == len(SIZES) + folders - 1


@pytest.fixture
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tradewind_agent.stores.http_acknowledged._SECOND_LOOK_S", 0.0)


@pytest.mark.usefixtures("_no_wait")
def test_server_without_lists_that_stores_nothing_after_a_while_is_found(source: Path):
    stored: set[str] = set()

    def keep(path: str, body: bytes) -> bytes | None:
        stored.update({path} if len(stored) < 20 else ())
        return body if path in stored else None

    report = send(source, Store(keep=keep))
    assert {failure.reason for failure in report.failures} == {"the server acknowledged the file, and does not have it"}
    assert (len(report.failures), report.files_done) == (len(SIZES) - 20, 20)


@pytest.mark.usefixtures("_no_wait")
@pytest.mark.parametrize("shown", [{}, {"Age": "7"}, {"Content-Length": None}], ids=["sizes", "of a cache", "nothing"])
def test_server_without_lists_that_has_all_files_is_believed(source: Path, shown: dict[str, str | None]):
    store = Store(fields=shown)
    report = send(source, store)
    assert (report.failures, report.files_done) == ((), len(SIZES))
    assert store.methods.count("HEAD") < len(SIZES)


@pytest.mark.usefixtures("_no_wait")
def test_receiver_of_a_copy_between_servers_that_stores_nothing_is_found(source: Path):
    async def story(origin: str) -> CopyReport:
        store = Store(keep=lambda path, body: None if path > "/up/f30" else body, folders={"/", "/up/"})
        async with store:
            return await asyncio.to_thread(copy_files, [origin], f"{store.url}/up/")

    with serving(source) as server:
        report = asyncio.run(story(f"{server.url}/"))
    assert (len(report.failures), report.files_done) == (29, 31)
    assert all(failure.reason.endswith("acknowledged the file, and does not have it") for failure in report.failures)


@pytest.mark.usefixtures("_no_wait")
@pytest.mark.parametrize("trust", [SizeTrust.LISTED, SizeTrust.ROUNDED])
def test_receiver_of_a_copy_between_servers_that_stores_less_is_found(trust: SizeTrust):
    async def story() -> Mapping[str, str]:
        async with Store(folders={"/", "/up/"}, files={"/up/a": b"all", "/up/b": b"l"}) as store:
            fetched = [
                DownloadJob(source=Url.parse(f"http://source/{name}"), destination=name, size_bytes=3, size_trust=trust)
                for name in "ab"
            ]
            up = Url.parse(f"{store.url}/up/")
            jobs = [RelayJob(fetched=each, destination=up.join_path(each.destination)) for each in fetched]
            return await find_unstored(jobs, options(), fail)

    found = asyncio.run(story())
    assert list(found) == ["http://source/b"] * (trust is SizeTrust.LISTED)
    assert all(reason.endswith("acknowledged the file, and has 1 byte of 3") for reason in found.values())


@pytest.mark.usefixtures("_no_wait")
def test_server_without_lists_that_stores_less_of_each_file_is_found(source: Path):
    async def story() -> Mapping[str, str]:
        async with Store(folders={"/", "/up/"}, files={f"/up/{name}": b"cut" for name in SIZES}) as store:
            return await find_unstored(list_uploads([source], Url.parse(f"{store.url}/up/")).jobs, options(), fail)

    assert len(asyncio.run(story())) == len(SIZES)


NOT_VERIFIED = "not verified: the server acknowledged what was sent, and "


@pytest.mark.parametrize("files", [1, 3, 60])
def test_server_that_shows_nothing_of_what_it_acknowledged_is_reported(source: Path, files: int):
    for name in sorted(SIZES)[files:]:
        (source / name).unlink()
    report = send(source, Store(keep=lambda _path, _body: None))
    assert (report.failures, report.files_done) == ((), files)
    assert report.notes == (f"{NOT_VERIFIED}shows nothing of it",)


@pytest.mark.parametrize("files", [1, 3])
def test_server_that_shows_files_a_little_later_is_not_reported(source: Path, files: int):
    """The first file is looked at when it is sent, and again."""
    for name in sorted(SIZES)[files:]:
        (source / name).unlink()
    report = send(source, Store(hidden_looks=2))
    assert (report.failures, report.notes) == ((), ())


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "405 Not Allowed"])
def test_drop_box_that_lets_nobody_look_is_believed_without_a_word(source: Path, status: str):
    report = send(source, Store(head_refusal=status, keep=lambda _path, _body: None))
    assert (report.failures, report.notes) == ((), ())


@pytest.mark.parametrize("files", [1, 12])
def test_server_that_answers_no_head_is_reported_soon(source: Path, files: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tradewind_agent.engine.options.QUESTION_TIMEOUT_S", 0.3)
    for name in sorted(SIZES)[files:]:
        (source / name).unlink()
    report = send(source, Store(head_s=60.0))
    assert (report.failures, report.files_done) == ((), files)
    assert report.notes == (f"{NOT_VERIFIED}answers no question about it",)
    assert report.duration_s < 30.0  # as long as the silence of a body, 60 s, before


def test_question_behind_a_file_may_take_longer_than_others(source: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tradewind_agent.engine.options.QUESTION_TIMEOUT_S", 1.0)
    for name in sorted(SIZES)[1:]:
        (source / name).unlink()
    report = send(source, Store(head_s=1.5, keep=lambda _path, body: body[:-1]))
    assert report.failures[0].reason.startswith("the server has 99 bytes of 100")
