"""Packed downloads that end early: what is kept for the next run, and what is not tried any more."""

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.compression.unlogged_copy import PackedReport, copy_packed
from tests.integration.compression.contents import digits
from tests.integration.compression.test_packed_copies import leftovers
from tests.integration.serve_files.serving import serving
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.engine.local import storage
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.serve import Server
from tradewind_agent.serve.options import ServerLimits

OPTIONS = EngineOptions(durable=False)
SLOW_OPTIONS = EngineOptions(durable=False, rate_bytes_per_s=1.5e6)
DIGITS = digits(6_000_000)
FILES = 6


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "large").write_bytes(DIGITS)
    (folder / "many").mkdir()
    for number in range(FILES):
        (folder / "many" / str(number)).write_bytes(DIGITS[: 100_000 + number])
    return folder


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Server]:
    with serving(root) as running:
        yield running


def listed(server: Server, name: str, to: Path) -> Listing:
    return list_files([f"{server.url}{name}"], str(to), options=OPTIONS)


def opened_in(folder: Path, descriptor: Path) -> bool:
    try:
        return folder in descriptor.readlink().parents
    except FileNotFoundError:  # somebody else's, closed meanwhile
        return False


def test_stopped_download_resumes_in_next_run(server: Server, tmp_path: Path) -> None:
    listing = listed(server, "large", tmp_path / "large")
    stopped = copy_until_first_bytes(listing)
    assert stopped.cancelled
    assert 0 < stopped.moved_bytes < len(DIGITS)
    assert not (tmp_path / "large").exists()
    again = copy_packed(listing, PackingMode.parse("gzip:1"), OPTIONS)
    assert again.succeeded, again.failures
    assert again.moved_bytes == len(DIGITS) - stopped.moved_bytes
    assert (tmp_path / "large").read_bytes() == DIGITS
    assert leftovers(tmp_path) == []
    assert copy_packed(listing, PackingMode.parse("gzip:1"), OPTIONS).files_skipped == 1


def copy_until_first_bytes(listing: Listing) -> PackedReport:
    """Run a slow copy that the user interrupts when its first bytes are there."""

    interrupts = [signal.SIGINT]

    def interrupt(seen: Snapshot) -> None:
        if seen.moved_bytes and interrupts:
            signal.raise_signal(interrupts.pop())

    return copy_packed(listing, PackingMode.parse("gzip:1"), SLOW_OPTIONS, on_snapshot=interrupt)


def stopped_at_once(listing: Listing) -> int:
    """Bytes that come of a copy that is stopped with its first."""
    return copy_until_first_bytes(listing).moved_bytes


def test_received_bytes_are_retained_while_server_has_no_packing_slot(
    root: Path, server: Server, tmp_path: Path
) -> None:
    packed_bytes = stopped_at_once(listed(server, "large", tmp_path / "large"))
    with serving(root, limits=ServerLimits(max_packed_downloads=0)) as busy:
        listing = listed(busy, "large", tmp_path / "large")
        plain_bytes = stopped_at_once(listing)
        assert (tmp_path / ".large.tradewind-part").exists()
        again = copy_packed(listing, PackingMode.parse("gzip:1"), OPTIONS)
    assert again.succeeded, again.failures
    assert min(packed_bytes, plain_bytes) > 0
    assert again.moved_bytes == len(DIGITS) - packed_bytes - plain_bytes
    assert (tmp_path / "large").read_bytes() == DIGITS
    assert leftovers(tmp_path) == []


def test_unpacked_partial_download_resumes_packed(root: Path, server: Server, tmp_path: Path) -> None:
    with serving(root, limits=ServerLimits(max_packed_downloads=0)) as busy:
        plain_bytes = stopped_at_once(listed(busy, "large", tmp_path / "large"))
    again = copy_packed(listed(server, "large", tmp_path / "large"), PackingMode.parse("gzip:1"), OPTIONS)
    assert 0 < plain_bytes == len(DIGITS) - again.moved_bytes
    assert again.packed_bytes < again.plain_bytes
    assert (tmp_path / "large").read_bytes() == DIGITS


def test_bytes_of_another_version_are_discarded(root: Path, tmp_path: Path) -> None:
    (root / "changed").write_bytes(DIGITS)
    with serving(root, limits=ServerLimits(max_packed_downloads=0)) as busy:
        listing = listed(busy, "changed", tmp_path / "changed")
        assert stopped_at_once(listing) > 0
        (root / "changed").write_bytes(DIGITS[::-1])
        again = copy_packed(listing, PackingMode.parse("gzip:1"), OPTIONS)
    assert again.succeeded, again.failures
    assert (tmp_path / "changed").read_bytes() == DIGITS[::-1]


def test_full_disk_stops_copy_and_leaves_no_open_file(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    listing = listed(server, "many/", tmp_path)
    monkeypatch.setattr(storage.os, "pwrite", full)
    report = copy_packed(listing, PackingMode.parse("gzip:1"), OPTIONS)
    assert "no space is left" in str(report.stopped)
    assert (report.files_done, report.failures) == (0, [])
    assert not [each for each in Path("/proc/self/fd").iterdir() if opened_in(tmp_path, each)]
