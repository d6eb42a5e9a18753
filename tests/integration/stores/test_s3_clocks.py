"""Objects of a store whose clock differs from this host's: a file that has changed since is sent."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from tests.integration.engine.servers.rough_server import RoughRequest, RoughServer, head
from tests.integration.engine.transfers import options
from tradewind_agent.engine.jobs import DownloadJob, RelayJob, UploadJob
from tradewind_agent.engine.remote.source import list_uploads
from tradewind_agent.engine.skipping import SkipDecision, SkipRule, StoredFile, judge_stored
from tradewind_agent.stores.port import StoredRequest
from tradewind_agent.stores.s3.session import AccessKey, StoreSession
from tradewind_agent.stores.s3.store import S3Store


def find_stored(file: Path, offset_s: int, *, is_relay: bool = False) -> tuple[StoredFile, datetime]:
    """Return the object of a file that was stored now, and when by the clock of its store."""
    file.write_bytes(b"1")
    now = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=offset_s)
    row = f"<Contents><Key>a</Key><Size>1</Size><LastModified>{now.isoformat()}</LastModified></Contents>"
    text = f"<ListBucketResult>{row}</ListBucketResult>".encode()

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        date = format_datetime(now, usegmt=True)
        writer.write(head("200 OK", asked, Content_Length=len(text), Content_Type="application/xml", Date=date) + text)

    async def story() -> Sequence[StoredFile | None]:
        async with RoughServer({"/data/": answer}) as server:
            used = options()
            session = StoreSession("us-east-1", server.url, lambda: AccessKey("AK", "SK"), pays=False)
            store = S3Store("data", session, used)
            place = store.find_url("a")
            jobs: Sequence[UploadJob | RelayJob] = list_uploads([file], place).jobs
            if is_relay:
                jobs = [RelayJob(fetched=DownloadJob(source=place, destination="a"), destination=place)]
            return await store.find_stored(jobs, StoredRequest(options=used))

    (stored,) = asyncio.run(story())
    assert stored is not None
    return stored, now


@pytest.mark.parametrize("offset_s", [7200, 600, 0, -7200])
def test_file_that_changed_after_it_was_stored_is_sent_by_whatever_clock(tmp_path: Path, offset_s: int):
    stored, _ = find_stored(tmp_path / "a", offset_s)
    assert judge_stored(stored, (tmp_path / "a").stat(), SkipRule.SAME, checksum=False) is SkipDecision.SEND


@pytest.mark.parametrize("offset_s", [7200, 600, 0])
def test_old_file_stays_by_whatever_clock(tmp_path: Path, offset_s: int):
    stored, now = find_stored(tmp_path / "a", offset_s)
    assert stored.modified_at is not None
    assert abs(stored.modified_at - (now - timedelta(seconds=offset_s if offset_s > 900 else 0))).total_seconds() < 5


@pytest.mark.parametrize("offset_s", [7200, 0, -7200])
def test_objects_of_two_stores_are_compared_by_the_times_that_they_state(tmp_path: Path, offset_s: int):
    stored, now = find_stored(tmp_path / "a", offset_s, is_relay=True)
    assert stored.modified_at == now
