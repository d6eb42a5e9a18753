"""Packing as a stage of a copy: which files are packed, and with what; the engine moves them as it moves all others."""

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Self

from tradewind.compression.codecs import CodecSetting
from tradewind_agent.compression.codecs import require_codec
from tradewind_agent.compression.options import PackingOptions
from tradewind_agent.compression.packed.download import PackedDownload
from tradewind_agent.compression.packed.packing_host import PackingHost
from tradewind_agent.compression.packed.report import PackedBytes, find_codec
from tradewind_agent.compression.packed.upload import PackedUpload
from tradewind_agent.compression.planning import FileAdvice, PackingMode
from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.jobs import DownloadJob, Job, UploadJob
from tradewind_agent.engine.plain_transfer import make_plain_transfer
from tradewind_agent.engine.transfer_host import TransferHost

PLAIN_MOVER, PACKED_MOVER = "tradewind", "tradewind-packed"
"""Names of the mover in records. What packed files reach says nothing of what the engine would without packing."""


class PackingStage(closing[PackingHost]):
    """The stage of one copy; a context manager that ends its threads.

    Parameters
    ----------
    advised : the files to pack, with what is known of each.
    line_bps : rate of the path for all of them, where it is known. at_once : of packed files, as planned.
    adapts : whether codec and level may change on the way.
    on_end : called when the files are moved, before the copy is logged; returns what the user should know.

    Raises
    ------
    CodecMissing : this host lacks the codec that was requested.
    """

    def __init__(
        self,
        mode: PackingMode,
        advised: Mapping[Job, FileAdvice],
        host: PackingHost,
        *,
        line_bps: float | None = None,
        at_once: int = 1,
        adapts: bool = True,
        on_end: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        super().__init__(host)
        if mode.setting is not None:
            require_codec(mode.setting.codec)
        self.host = host
        self._mode, self._advised, self._adapts = mode, advised, adapts
        self._line_bps, self._files_at_once, self._on_end = line_bps, at_once, on_end
        self._notes: tuple[str, ...] = ()

    def __enter__(self) -> Self:  # type: ignore[override]
        return self

    @property
    def mover(self) -> str:
        return PACKED_MOVER if self._advised else PLAIN_MOVER

    def make_transfer(self, job: Job, host: TransferHost) -> FileTransfer:
        """Return the transfer of one job: packed if it was chosen, and has bytes."""
        advice = self._advised.get(job)
        if advice is None or not self.encodes(job):
            return make_plain_transfer(job, host)
        packing = PackingOptions(
            mode=self._choose_mode(advice),
            line_bps=self._line_bps,
            advised=advice,
            at_once=self._files_at_once,
            pool=self.host.packers,
        )
        if isinstance(job, UploadJob):
            return PackedUpload(job, host, packing, self.host)
        assert isinstance(job, DownloadJob)  # files between two servers are not packed
        return PackedDownload(job, host, packing, self.host)

    def _choose_mode(self, advice: FileAdvice) -> PackingMode:
        """Return the mode; of files that are not to adapt, the setting that was advised first."""
        best = None if advice.answer is None else advice.answer.best
        if self._adapts or not self._mode.is_adaptive or best is None or best.codec is None or best.level is None:
            return self._mode
        return PackingMode(CodecSetting(best.codec, best.level))

    def count_wire_bytes(self, moved_bytes: int) -> int:
        """Return what went over the path; of packed files that are not done, nothing."""
        return self.host.totals.add_plain_files(moved_bytes).packed_bytes

    def find_codec(self, holds: Callable[[int], bool]) -> str | None:
        used: dict[CodecSetting | None, int] = {}
        for size, used_by_file in self.host.totals.used_by_file:
            for setting, plain_bytes in used_by_file.items() if holds(size) else ():
                used[setting] = used.get(setting, 0) + plain_bytes
        return find_codec(used)

    def encodes(self, job: Job) -> bool:
        return job in self._advised and job.size_bytes != 0

    def note_end(self) -> None:
        self._notes = self._on_end()

    def report_bytes(self, moved_bytes: int) -> PackedBytes:
        return self.host.totals.add_plain_files(moved_bytes)

    def list_notes(self) -> tuple[str, ...]:
        return (*self.host.totals.list_notes(), *self._notes)
