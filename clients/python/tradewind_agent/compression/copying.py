"""Copies whose files are packed on their way, beside the engine: a file a connection, a few at once."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4, uuid5

from tradewind.compression.codecs import Setting
from tradewind.compression.model import Speeds
from tradewind.units import format_bps, format_bytes, format_count, throughput_bps
from tradewind_agent.compression.codecs import require
from tradewind_agent.compression.download import PackedDownload
from tradewind_agent.compression.packing import Work
from tradewind_agent.compression.planning import Wish
from tradewind_agent.compression.sampling import cpu_class, measured
from tradewind_agent.compression.upload import upload_packed
from tradewind_agent.compression.wishes import PackedOutcome, Packing
from tradewind_agent.copy_listing import Listing
from tradewind_agent.engine.jobs import DownloadJob, Job
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import AgentError, FileFault

if TYPE_CHECKING:
    from tradewind.wire.compression import WireObservation
    from tradewind_agent.client import Client

FILES_AT_ONCE = 2
"""While one is answered, the next is packed."""

TRIES = 4
LONGEST_PAUSE_S = 5.0
OBSERVED_FROM_BYTES = 64 * 1024
"""Smaller files say little of a codec."""


@dataclass(slots=True, kw_only=True)
class PackedReport:
    """What came of a packed copy; ``packed_bytes`` : that went over the path."""

    direction: str
    transfer_id: UUID = field(default_factory=uuid4)
    files_done: int = 0
    files_skipped: int = 0
    plain_bytes: int = 0
    packed_bytes: int = 0
    duration_s: float = 0.0
    used: dict[Setting | None, int] = field(default_factory=dict)
    failures: list[tuple[str, str]] = field(default_factory=list)
    cancelled: bool = False

    @property
    def succeeded(self) -> bool:
        return not self.failures and not self.cancelled

    @property
    def throughput_bps(self) -> float:
        return throughput_bps(self.plain_bytes, self.duration_s) if self.duration_s > 0 else 0.0

    @property
    def ratio(self) -> float:
        return self.plain_bytes / self.packed_bytes if self.packed_bytes else 1.0

    def line(self) -> str:
        """The closing line."""
        skipped = f" ({self.files_skipped} already there)" if self.files_skipped else ""
        files = format_count(self.files_done, "file")
        done = f"moved {format_bytes(self.plain_bytes)} in {files}{skipped} in {self.duration_s:.1f} s"
        rate = f"{format_bps(self.throughput_bps)}, {format_bytes(self.packed_bytes)} on the wire"
        used = ", ".join(_named(each) for each in sorted(self.used, key=lambda each: -self.used[each]))
        failed = f"; {len(self.failures)} failed, first {': '.join(self.failures[0])}" if self.failures else ""
        begin = "interrupted; run the same command again to go on; " if self.cancelled else ""
        return f"{begin}{done}: {rate} ({self.ratio:.2f} to 1, packed with {used or 'nothing'}){failed}"

    def document(self) -> dict[str, Any]:
        return {
            "transfer_id": str(self.transfer_id),
            "status": "cancelled" if self.cancelled else "succeeded" if self.succeeded else "failed",
            "direction": self.direction,
            "files_done": self.files_done,
            "files_skipped": self.files_skipped,
            "files_failed": len(self.failures),
            "failures": [{"file": file, "reason": reason} for file, reason in self.failures],
            "bytes_moved": self.plain_bytes,
            "packed_bytes": self.packed_bytes,
            "ratio": self.ratio,
            "duration_s": self.duration_s,
            "throughput_bps": self.throughput_bps,
            "used": {_named(setting): plain_bytes for setting, plain_bytes in self.used.items()},
        }


def copy_packed(
    listing: Listing,
    wish: Wish,
    options: EngineOptions,
    *,
    line_bps: float | None = None,
    client: "Client | None" = None,
    say: Callable[[str], None] = lambda _: None,
    on_moved: Callable[[int, int], None] | None = None,
    on_outcome: Callable[[PackedOutcome], None] = lambda _: None,
) -> PackedReport:
    """Copy all files of ``listing``; what goes wrong with one is in the report.

    Parameters
    ----------
    line_bps : rate of the path, where it is known.
    on_moved : told of plain bytes and files that are over.
    on_outcome : told what came of each file.

    Raises
    ------
    CodecMissing : this host lacks the codec that was asked for.
    """
    if wish.setting is not None:
        require(wish.setting.codec)
    copy = _Copy(
        listing=listing,
        wish=wish,
        options=options,
        line_bps=line_bps,
        client=client,
        say=say,
        on_moved=on_moved,
        on_outcome=on_outcome,
    )
    return copy.run()


class _Copy:
    def __init__(
        self,
        *,
        listing: Listing,
        wish: Wish,
        options: EngineOptions,
        line_bps: float | None,
        client: "Client | None",
        say: Callable[[str], None],
        on_moved: Callable[[int, int], None] | None,
        on_outcome: Callable[[PackedOutcome], None],
    ) -> None:
        self._on_outcome = on_outcome
        self._listing, self._wish, self._options = listing, wish, options
        self._line_bps, self._client, self._say, self._on_moved = line_bps, client, say, on_moved
        self._report = PackedReport(direction=str(listing.direction))
        self._lock = Lock()
        self._moved_bytes = 0
        self._stopped = False
        self._observations: list[WireObservation] = []

    def run(self) -> PackedReport:
        begun_s = time.monotonic()
        with ThreadPoolExecutor(FILES_AT_ONCE, thread_name_prefix="tradewind-file") as pool:
            under_way = {pool.submit(self._file, job): job for job in self._listing.jobs}
            try:
                for done in as_completed(under_way):
                    self._account(under_way[done], done.result())
            except KeyboardInterrupt:
                self._stopped = self._report.cancelled = True
                pool.shutdown(cancel_futures=True)
        self._report.duration_s = time.monotonic() - begun_s
        self._tell_observations()
        return self._report

    def _account(self, job: Job, outcome: PackedOutcome | str) -> None:
        report = self._report
        if isinstance(outcome, str):
            report.failures.append((str(job), outcome))
        elif outcome.skipped:
            report.files_skipped += 1
        else:
            self._on_outcome(outcome)
            report.files_done += 1
            report.plain_bytes += outcome.work.plain_bytes
            report.packed_bytes += outcome.wire_bytes or outcome.work.packed_bytes
            for setting, plain_bytes in outcome.work.used.items():
                report.used[setting] = report.used.get(setting, 0) + plain_bytes
        self._moved(0)

    def _moved(self, plain_bytes: int) -> None:
        with self._lock:
            self._moved_bytes += plain_bytes
            if self._on_moved is not None:
                self._on_moved(self._moved_bytes, self._report.files_done + len(self._report.failures))
        if self._stopped:
            raise FileFault("stopped", retryable=False)

    def _file(self, job: Job) -> PackedOutcome | str:
        """One file; why it failed, where it did. A defect of one is no reason to lose the others."""
        try:
            return self._tried(job)
        except Exception as defect:  # noqa: BLE001 -- it is told with the file
            return f"cannot be copied: {defect!r}"

    def _tried(self, job: Job) -> PackedOutcome | str:
        """One file, tried again within bounds."""
        packing = Packing(wish=self._wish, line_bps=self._line_bps, client=self._client, say=self._say)
        download = PackedDownload(job, packing, self._options, self._moved) if isinstance(job, DownloadJob) else None
        for left in reversed(range(TRIES)):
            try:
                if download is not None:
                    return download.run()
                outcome = upload_packed(job, packing, self._options, self._moved)  # type: ignore[arg-type]
            except FileFault as fault:
                if not (fault.retryable and left):
                    return str(fault)
                time.sleep(min(2.0 ** (TRIES - left - 2), LONGEST_PAUSE_S))
            except AgentError as error:
                return str(error)
            else:
                self._observe(outcome.work, packing)
                return outcome
        return "tried too often"

    def _observe(self, work: Work, packing: Packing) -> None:
        """Note what the codec made of the file, for the service."""
        setting, sample = work.main_setting, packing.sample
        if self._client is None or setting is None or sample is None or set(work.used) != {setting}:
            return
        if work.plain_bytes < OBSERVED_FROM_BYTES or not work.pack_s > 0:
            return
        from tradewind.wire.compression import WireObservation, WireSpeeds  # noqa: PLC0415

        speeds = Speeds(
            work.plain_bytes / work.packed_bytes,
            work.compress_bps(setting),
            measured(sample.blocks[:1], setting).decompress_bps,
        )
        with self._lock:
            self._observations.append(
                WireObservation(
                    id=uuid5(self._report.transfer_id, str(len(self._observations))),
                    seen_at=datetime.now(UTC),
                    codec=setting.codec,
                    level=setting.level,
                    file_bytes=work.plain_bytes,
                    kind=sample.content.kind,
                    cpu_class=cpu_class(),
                    probe=WireSpeeds.of(sample.probe),
                    speeds=WireSpeeds.of(speeds),
                )
            )

    def _tell_observations(self) -> None:
        """Add them to the service's history; it does without them where it is away."""
        if self._client is None or not self._observations:
            return
        from tradewind.wire.compression import MOST_OBSERVATIONS, NewObservations  # noqa: PLC0415

        with suppress(AgentError):
            told = NewObservations(observations=tuple(self._observations[:MOST_OBSERVATIONS]))
            self._client.compression.add_observations(told)


def _named(setting: Setting | None) -> str:
    return "raw" if setting is None else str(setting)
