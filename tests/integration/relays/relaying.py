"""Relays of one file by the engine, from a source to a receiver of a test."""

import asyncio
from typing import Any

from tests.integration.engine.transfers import options, plan
from tests.integration.relays.file_source import FileSource
from tests.integration.stores.object_store import ObjectStore
from tradewind_agent.engine import DownloadJob, EngineOptions, TransferResult, Url
from tradewind_agent.engine.jobs import RelayJob
from tradewind_agent.engine.relay.relay_engine import RelayEngine
from tradewind_agent.engine.relay.sending import PutReceiver
from tradewind_agent.stores.s3.sending.object_receiver import ObjectReceiver
from tradewind_agent.stores.s3.session import AccessKey, StoreSession
from tradewind_agent.stores.s3.store import S3Store

UNIT_BYTES = 100_000
LONG = b"".join(bytes([n % 251]) * 977 for n in range(600))
"""A file of six units."""
SHORT = LONG[:3_000]


class ShortUnits(ObjectReceiver):
    """A bucket that is sent short parts."""

    def choose_unit_bytes(self, _size_bytes: int) -> int:
        return UNIT_BYTES


class ShortPuts(PutReceiver):
    """A web server that is sent short units."""

    def choose_unit_bytes(self, _size_bytes: int) -> int:
        return UNIT_BYTES


def make_job(source: FileSource, place: Url, path: str = "/file", **known: Any) -> RelayJob:
    usual = {"size_bytes": len(source.files[path])}
    fetched = DownloadJob(source=Url.parse(source.url + path), destination=path.lstrip("/"), **{**usual, **known})
    return RelayJob(fetched=fetched, destination=place)


def open_bucket(store: ObjectStore, used: EngineOptions) -> S3Store:
    session = StoreSession("us-east-1", store.url, lambda: AccessKey("AK", "SK"), pays=False)
    bucket = S3Store("data", session, used)
    used.hooks.add_receiver(bucket.url.origin, ShortUnits(bucket.url, bucket.find_key))
    return bucket


def relay_to_bucket(source: FileSource, store: ObjectStore, *, known: Any = None, **changes: Any) -> TransferResult:
    """Relay ``/file`` to the key ``up/file``."""

    async def story() -> TransferResult:
        async with source, store, asyncio.timeout(30.0):
            used = options(**changes)
            place = open_bucket(store, used).find_url("up/file")
            return await RelayEngine(plan(2, 3, 2), used).run([make_job(source, place, **(known or {}))])

    return asyncio.run(story())


def relay_to_web(source: FileSource, place: Any, *, known: Any = None, **changes: Any) -> TransferResult:
    """Relay all files to ``/up/``."""

    async def story() -> TransferResult:
        async with source, place, asyncio.timeout(30.0):
            used = options(**changes)
            folder = Url.parse(f"{place.url}/up/")
            used.hooks.add_receiver(folder.origin, ShortPuts())
            jobs = [make_job(source, folder.join_path(path[1:]), path, **(known or {})) for path in source.files]
            return await RelayEngine(plan(2, 3, 2), used).run(jobs)

    return asyncio.run(story())
