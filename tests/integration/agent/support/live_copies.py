"""Copies for tests of tuning: files behind an emulated path that changes when told, and looks at how they went."""

import random
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.api.cases import SOURCE
from benchmarks.emulation.path import EmulatedPath, emulate
from benchmarks.emulation.profile import PathProfile
from tests.integration.live_transfers import DESTINATION
from tests.integration.serve_files.serving import event_loop
from tests.integration.serve_files.serving import serving as serving_files
from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.history.spool import Spool
from tradewind_agent.service.client import Client
from tradewind_agent.tuning.ticks import DecidedBy

FILE_BYTES = 150_000
FAST = PathProfile(rate_bps=40e6, rtt_s=0.02)
SLOW = PathProfile(rate_bps=12e6, rtt_s=0.02)
TICK_S = 0.4
OPTIONS = CopyOptions(source=SOURCE, destination=DESTINATION, bandwidth_bps=40e6, rtt_s=0.02, tick_s=TICK_S)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    source = random.Random(3)
    for number in range(60):
        (folder / f"{number:03d}").write_bytes(source.randbytes(FILE_BYTES))
    return folder


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool", warn=lambda _: None)


class ChangingPath:
    """An emulated path in a thread of its own, which changes when told."""

    def __init__(self, path: EmulatedPath, in_loop: Callable[[Awaitable[Any]], Any]) -> None:
        self.path, self._in_loop, self.changed = path, in_loop, False
        self.url = f"http://127.0.0.1:{path.port}/"

    def change(self, profile: PathProfile) -> None:
        async def change() -> None:
            self.path.change(profile)

        if not self.changed:
            self.changed = True
            self._in_loop(change())


@pytest.fixture
def path(files: Path) -> Iterator[ChangingPath]:
    with serving_files(files) as origin, event_loop() as in_loop:
        emulated = in_loop(emulate(FAST, ("127.0.0.1", origin.port)))
        try:
            yield ChangingPath(emulated, in_loop)
        finally:
            in_loop(emulated.close())


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def once_moved(share: float, then: Callable[[], object]) -> Callable[..., None]:
    """``then``, once, when that share of the bytes has moved."""
    done: list[bool] = []

    def look(snapshot: object, _: object) -> None:
        moved, left = snapshot.moved_bytes, snapshot.remaining_bytes  # type: ignore[attr-defined]
        if not done and moved > share * (moved + left):
            done.append(True)
            then()

    return look


def deciders(report: CopyReport) -> set[DecidedBy]:
    """Who has decided while it ran."""
    return {tick.verdict.by for tick in report.timeline[:-1]}


class Overheard:
    """A client whose heartbeats are counted."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.heard: list[int] = []

    def heartbeat(self, transfer_id, heartbeat: Heartbeat) -> HeartbeatAnswer:  # type: ignore[no-untyped-def]
        self.heard.append(heartbeat.sequence)
        return self._client.heartbeat(transfer_id, heartbeat)

    def __getattr__(self, name: str) -> object:
        return getattr(self._client, name)
