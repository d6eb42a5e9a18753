"""Packed files as drawn, moved by the engine through a faulty relay from and to a real ``serve-files``."""

import asyncio
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import ClassVar

from benchmarks.fuzz.faulty_relays import FaultyRelay, RelayFaults
from benchmarks.fuzz.random_servers import RandomServer
from benchmarks.fuzz.random_transfers import (
    STALE,
    STALE_SHARE,
    DrawnDownload,
    DrawnTransfer,
    DrawnUpload,
    describe_content,
)
from tradewind_agent.compression.packed.packing_host import PackingHost
from tradewind_agent.compression.packed.stage import PackingStage
from tradewind_agent.compression.planning import FileAdvice, PackingMode
from tradewind_agent.engine import EngineOptions, TransferEngine, TransferResult
from tradewind_agent.engine.jobs import Job

MODES = ("auto", "auto", "auto", "raw", "gzip:1", "gzip:6", "bzip2:1", "xz:0", "zstd:1", "zstd:9", "lz4:1", "brotli:4")
LINES_BPS = (None, 1e5, 1e7, 1e9)
LONGEST_BYTES = 3_000_000
LONG_SHARE, PLAIN_SHARE, SUMMED_SHARE = 0.1, 0.2, 0.3
"""Shares of longer files, of files that go as they are, and of copies that compare sums."""

_SIGNS = bytes(b"0123456789\n"[value % 11] for value in range(256))


class PackedTransfer(DrawnTransfer):
    """A transfer whose files are packed, but for some that go as they are in the same run."""

    longest_before_s: ClassVar = 0.2

    def __init__(self, seed: str, folder: Path) -> None:
        super().__init__(seed, folder)
        self.faults = RelayFaults.draw(self.draw, is_calm=self.behaviour.is_calm)
        self._mode = PackingMode.parse(self.draw.choice(MODES))
        self._line_bps = self.draw.choice(LINES_BPS)
        self._packed_at_once = self.draw.randint(1, 4)
        self._compares_sums = self.draw.random() < SUMMED_SHARE
        self._root = folder / "served"

    @abstractmethod
    def list_contents(self) -> Mapping[str, Sequence[bytes]]:
        """Return the contents of each file by name."""

    @property
    def must_succeed(self) -> bool:
        return super().must_succeed and not self.faults.strips_fields

    def draw_content(self, content: bytes) -> bytes:
        """Return a content of the same size, or a larger one, that can be packed or cannot."""
        if self.draw.random() < LONG_SHARE:
            content = self.draw.randbytes(self.draw.randrange(LONGEST_BYTES))
        return content.translate(_SIGNS) if self.draw.random() < 2 / 3 else content

    def open_server(self) -> RandomServer:
        contents = self.list_contents()
        changes = {name: (self.draw.randrange(1, 5), each[1]) for name, each in contents.items() if len(each) > 1}
        return FaultyRelay(self.behaviour, Random(self.seed), self.faults, self._root, changes)

    def make_options(self) -> EngineOptions:
        return replace(super().make_options(), checksum=self._compares_sums)

    async def move(self, jobs: Sequence[Job]) -> TransferResult:
        draw = Random(f"{self.seed} packed")
        advised = {job: FileAdvice() for job in jobs if draw.random() >= PLAIN_SHARE}
        host = PackingHost(self._packed_at_once)
        stage = PackingStage(
            self._mode, advised, host, line_bps=self._line_bps, at_once=self._packed_at_once, adapts=True
        )
        try:
            result = await TransferEngine(self.plan, self.make_options(), stage.make_transfer).run(jobs)
        finally:
            await asyncio.to_thread(host.close)
        self.note_faults(self._find_wrong_totals(stage, result, jobs))
        return result

    def _find_wrong_totals(self, stage: PackingStage, result: TransferResult, jobs: Sequence[Job]) -> Iterator[str]:
        """Yield what the report says wrongly, where the run has moved all bytes itself."""
        contents = self.list_contents()
        if self.interrupted_after_s is not None or self.has_rival:
            return
        if result.files_skipped:
            yield f"{result.files_skipped} files are reported as skipped, which nobody else has moved"
        if result.failures or result.files_skipped:
            return
        if any(len(each) > 1 for each in contents.values()):
            return
        sizes = {job: len(contents[str(job).rpartition("/")[2]][0]) for job in jobs}
        reported_bytes = stage.report_bytes(result.bytes_moved).plain_bytes
        if reported_bytes < sum(sizes.values()):
            yield f"{reported_bytes} bytes are reported, {sum(sizes.values())} moved"
        packed_bytes = sum(size for job, size in sizes.items() if stage.encodes(job))
        if stage.host.totals.plain_bytes > packed_bytes:
            yield f"{stage.host.totals.plain_bytes} packed bytes are reported, at most {packed_bytes} moved"


class DrawnPackedDownload(PackedTransfer, DrawnDownload):
    """Files of one or two versions, from a server that packs them."""

    def __init__(self, seed: str, folder: Path) -> None:
        super().__init__(seed, folder)
        self.files = {
            name: replace(file, contents=[self.draw_content(each) for each in file.contents])
            for name, file in self.files.items()
        }

    def list_contents(self) -> Mapping[str, Sequence[bytes]]:
        return {name: file.contents for name, file in self.files.items()}

    def prepare(self) -> None:
        super().prepare()
        self._root.mkdir()
        for name, file in self.files.items():
            if not file.is_gone:
                (self._root / name).write_bytes(file.contents[0])

    def find_faults(self, failures: Mapping[str, str], stored: Mapping[str, bytes]) -> Iterator[str]:
        yield from super().find_faults(failures, stored)
        found = {each.name for each in self.folder.iterdir()} - {self._root.name, *self.files}
        left = {each for each in found if not each.endswith("-new")}
        if left and not failures and not self.has_rival:
            yield f"it left {sorted(left)}"


class DrawnPackedUpload(PackedTransfer, DrawnUpload):
    """Local files that are packed on their way to a receiver, where others stand in their places already."""

    def __init__(self, seed: str, folder: Path) -> None:
        super().__init__(seed, folder)
        self.contents = {name: self.draw_content(content) for name, content in self.contents.items()}
        self._stale = [name for name in self.contents if self.draw.random() < STALE_SHARE]

    def list_contents(self) -> Mapping[str, Sequence[bytes]]:
        return {name: [content] for name, content in self.contents.items()}

    def prepare(self) -> None:
        super().prepare()
        self._root.mkdir()
        for name in self._stale:
            (self._root / name).write_bytes(STALE)

    def read_stored(self) -> Mapping[str, bytes]:
        return {name: (self._root / name).read_bytes() for name in self.contents if (self._root / name).exists()}

    def find_faults(self, failures: Mapping[str, str], stored: Mapping[str, bytes]) -> Iterator[str]:
        yield from super().find_faults(failures, stored)
        for name in failures:
            if stored.get(name) not in (None, STALE, self.contents[name]):
                yield f"{name} has failed and is stored otherwise: {describe_content(stored.get(name))}"
