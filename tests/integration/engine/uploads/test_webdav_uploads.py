"""Folders that an upload needs on a WebDAV server."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.engine.servers.store import Store
from tests.integration.engine.transfers import options, plan
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


@pytest.mark.parametrize("mkcol", ["405 Method Not Allowed", "403 Forbidden"])
def test_folder_that_cannot_be_made_fails_with_the_answer_to_the_file(source: Path, mkcol: str):
    async def story() -> TransferResult:
        async with Store(mkcol=mkcol) as store:
            return await send(store, source)

    reasons = {failure.reason for failure in asyncio.run(story()).failures}
    assert reasons == {"the server answered 409 Conflict; the folder that it is to be stored in may be missing there"}
