"""Folders that an upload needs on a WebDAV server."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.engine.servers.store import Store
from tests.integration.engine.transfers import options, plan
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import copy_files
from tradewind_agent.engine import TransferEngine, TransferResult, Url, list_uploads

NAMES = ("a", "sub/b", "sub/deep/er/c", "sub/deep/er/d")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in NAMES:
        path = tmp_path / "set" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path / "set"


async def send(store: Store, source: Path) -> TransferResult:
    jobs = list_uploads([source], Url.parse(f"{store.url}/up/")).jobs
    return await TransferEngine(plan(4), options()).run(jobs)


@pytest.mark.parametrize("missing", ["409 Conflict", "404 Not Found"])
def test_missing_folders_are_made_once_and_the_files_sent_again(source: Path, missing: str):
    async def story() -> tuple[TransferResult, Store]:
        async with Store(missing=missing) as store:
            return await send(store, source), store

    result, store = asyncio.run(story())
    assert result.failures == ()
    assert store.files == {f"/up/{name}": name.encode() for name in NAMES}
    assert store.folders == {"/", "/up/", "/up/sub/", "/up/sub/deep/", "/up/sub/deep/er/"}
    assert store.methods.count("PUT") <= 2 * len(NAMES)


@pytest.mark.parametrize(("has_folder", "kind"), [(False, "webdav"), (True, "http")])
def test_server_that_has_made_a_folder_is_logged_as_webdav(source: Path, *, has_folder: bool, kind: str):
    async def story() -> CopyReport:
        async with Store() as store:
            store.folders |= {"/up/", "/up/sub/", "/up/sub/deep/", "/up/sub/deep/er/"} if has_folder else set()
            return await asyncio.to_thread(copy_files, [f"{source}/"], f"{store.url}/up/")

    report = asyncio.run(story())
    assert report.succeeded, report.failures
    assert {record.store for record in report.records} == {kind}


@pytest.mark.parametrize("missing", ["409 Conflict", "404 Not Found"])
@pytest.mark.parametrize("mkcol", ["405 Method Not Allowed", "403 Forbidden", "404 Not Found"])
def test_copy_to_a_folder_that_cannot_be_made_stops_with_one_message(tmp_path: Path, missing: str, mkcol: str):
    for number in range(40):
        (tmp_path / f"f{number}").write_bytes(b"x")

    async def story() -> tuple[TransferResult, Store]:
        async with Store(missing=missing, mkcol=mkcol) as store:
            return await send(store, tmp_path), store

    result, store = asyncio.run(story())
    message = f"the folder {store.url}/up/ does not exist and could not be made (MKCOL: {mkcol}"
    assert str(result.stopped).startswith(message)
    assert len(result.failures) <= 1, "one alone may be the server's whim"
    assert store.methods.count("PUT") <= 40


def test_folders_that_cannot_be_made_stop_no_file_of_another(tmp_path: Path):
    """Those of the first files are refused, and many others wait."""
    for name in [*(f"a/f{number}" for number in range(8)), *(f"g{number:02d}" for number in range(40))]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x" * (100 if name.startswith("a/") else 1))

    async def story() -> tuple[TransferResult, Store]:
        async with Store(mkcol="403 Forbidden") as store:
            store.folders.add("/up/")
            return await send(store, tmp_path), store

    result, store = asyncio.run(story())
    assert result.stopped is None
    assert len(result.failures) == 8
    assert len(store.files) == 40


@pytest.mark.parametrize("missing", ["409 Conflict", "404 Not Found"])
def test_file_whose_folder_cannot_be_made_is_sent_once(source: Path, missing: str):
    async def story() -> tuple[TransferResult, Store]:
        async with Store(missing=missing, mkcol="405 Method Not Allowed") as store:
            return await send(store, source / "a"), store

    result, store = asyncio.run(story())
    (failure,) = result.failures
    assert failure.reason == (
        f"the server answered {missing}: the folder {store.url}/up/ does not exist and could not be made "
        "(MKCOL: 405 Method Not Allowed)"
    )
    assert store.methods.count("PUT") == 1


def test_folder_that_somebody_else_has_made_meanwhile_is_used(source: Path):
    async def story() -> tuple[TransferResult, Store]:
        async with Store(mkcol="405 Method Not Allowed", appearing=True) as store:
            return await send(store, source), store

    result, store = asyncio.run(story())
    assert result.failures == ()
    assert len(store.files) == len(NAMES)
