"""Logs kept on disk until the service has acknowledged them.

The spool is a folder of sealed segments, ``<sequence>-<sha256>.ndjson``. A segment is written under a draft name,
synced and renamed, so that it is there whole or not at all, whatever is killed when; it is never changed afterwards.
Its hash is the idempotency key of its upload: sent twice, it is stored once, and spooled twice, it is kept once.
Segments are uploaded in the order of their sequence and removed when acknowledged. What the service refuses for good
is moved to ``refused/``. Beyond its bound the spool gives up its oldest segments and says so.

Several processes may use one spool: appends take one lock, uploads another (held by one process at a time).
"""

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tradewind.transfer import TransferRecord
from tradewind.units import MIB, format_bytes, format_count
from tradewind_agent.errors import BodyTooLarge, ConflictRefused, RequestRefused, SpoolFailed
from tradewind_agent.folders import make_private, replace_durably, sync_folder
from tradewind_agent.service.batches import MAX_BATCH_BYTES, LogBatch, to_ndjson_line
from tradewind_agent.system_errors import explain_os_error

if TYPE_CHECKING:
    from tradewind.wire.logs import BatchReceipt
    from tradewind.wire.records import WireRecord

DEFAULT_MAX_BYTES = 256 * MIB
"""About 400,000 records: months of one busy host's transfers."""

_REFUSED_FOR_GOOD = (BodyTooLarge, ConflictRefused, RequestRefused)


class Uploads(Protocol):
    """What the spool needs of a service; :class:`tradewind_agent.service.client.Client` has it."""

    def upload_batch(self, batch: LogBatch, *, idempotency_key: str | None = None) -> "BatchReceipt": ...


@dataclass(frozen=True, slots=True)
class Segment:
    """One sealed file of the spool."""

    path: Path
    sequence: int
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class DrainResult:
    """What one round of uploads did; ``busy`` when another process is at it."""

    receipts: "tuple[BatchReceipt, ...]" = ()
    refused: tuple[str, ...] = ()
    """One line for each segment that the service will never take: what it said and where the segment is kept."""
    busy: bool = False

    @property
    def accepted(self) -> int:
        return sum(receipt.accepted for receipt in self.receipts)


@dataclass(frozen=True, slots=True)
class SpoolState:
    """What lies in the spool, and what it had to give up since it was made."""

    segments: int
    bytes: int
    max_bytes: int
    refused_segments: int
    lost_segments: int
    lost_bytes: int


class Spool:
    """The spool in ``folder``, which is made with mode 0700 when first written to.

    Parameters
    ----------
    max_bytes : bound of the segments together.
    warn : called with one line when segments had to be given up.
    """

    def __init__(self, folder: Path, *, warn: Callable[[str], None], max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self.warn = warn

    def append(self, records: "Iterable[WireRecord | TransferRecord | bytes]") -> tuple[Segment, ...]:
        """Keep ``records``; on disk when this returns. Up to 16 MiB they are one segment: all of them or none.

        Raises
        ------
        SpoolFailed : the folder cannot be written, or one segment alone is above the bound.
        """
        try:
            make_private(self.folder)
            return tuple(self._seal(content) for content in _encode_contents(records))
        except OSError as failure:
            raise SpoolFailed(f"logs cannot be spooled to {self.folder}: {explain_os_error(failure)}") from None

    def drain(self, service: Uploads, *, keep_going: Callable[[], bool] = lambda: True) -> DrainResult:
        """Upload segments, oldest first, until none is left or ``keep_going`` says no.

        Raises
        ------
        ServiceUnreachable, KeyRefused, ScopeMissing, ServiceFailed : segments not yet acknowledged stay.
        SpoolFailed : the folder cannot be read or written.
        """
        if not self.folder.is_dir():
            return DrainResult()
        receipts: list[BatchReceipt] = []
        refused: list[str] = []
        try:
            with self._hold_lock("upload.lock", wait=False) as locked:
                if not locked:
                    return DrainResult(busy=True)
                for segment in self._iterate_waiting(keep_going):
                    self._deliver(segment, service, receipts, refused)
        except OSError as failure:
            raise SpoolFailed(f"the spool {self.folder} cannot be used: {explain_os_error(failure)}") from None
        return DrainResult(tuple(receipts), tuple(refused))

    def list_segments(self) -> tuple[Segment, ...]:
        """List the segments that wait, oldest first."""
        return tuple(sorted(self._list_segments(self.folder), key=lambda segment: segment.sequence))

    def read_state(self) -> SpoolState:
        """Return the sizes and losses of the spool."""
        waiting = self.list_segments()
        lost = self._read_lost()
        return SpoolState(
            segments=len(waiting),
            bytes=sum(segment.bytes for segment in waiting),
            max_bytes=self._max_bytes,
            refused_segments=sum(1 for _ in self._list_segments(self._refused_folder)),
            lost_segments=lost["segments"],
            lost_bytes=lost["bytes"],
        )

    @property
    def _refused_folder(self) -> Path:
        return self.folder / "refused"

    def _seal(self, content: bytes) -> Segment:
        sha256 = hashlib.sha256(content).hexdigest()
        with self._hold_lock("append.lock"):
            self._remove_drafts()
            waiting = self.list_segments()
            for segment in waiting:
                if segment.sha256 == sha256:
                    return segment
            self._make_room(waiting, len(content))
            sequence = waiting[-1].sequence + 1 if waiting else 1
            path = self.folder / f"{sequence:012d}-{sha256}.ndjson"
            replace_durably(path, content)
        return Segment(path, sequence, sha256, len(content))

    def _remove_drafts(self) -> None:
        """Remove what killed processes left; drafts are written under the append lock, so that none is in use now."""
        for draft in self.folder.glob(".*"):
            draft.unlink(missing_ok=True)

    def _make_room(self, waiting: tuple[Segment, ...], needed: int) -> None:
        """Give up the oldest segments until ``needed`` bytes fit: the newest logs say most about the path as it is."""
        if needed > self._max_bytes:
            raise SpoolFailed(
                f"{format_bytes(needed)} of logs are above the spool's bound, {format_bytes(self._max_bytes)}; raise it"
            )
        stored_bytes = sum(segment.bytes for segment in waiting)
        given_up = []
        for segment in waiting:
            if stored_bytes + needed <= self._max_bytes:
                break
            segment.path.unlink(missing_ok=True)
            stored_bytes -= segment.bytes
            given_up.append(segment)
        if given_up:
            self._report_lost(len(given_up), sum(segment.bytes for segment in given_up))

    def _report_lost(self, segments: int, lost_bytes: int) -> None:
        lost = self._read_lost()
        total = {"segments": lost["segments"] + segments, "bytes": lost["bytes"] + lost_bytes}
        replace_durably(self.folder / "lost.json", json.dumps(total).encode())
        self.warn(
            f"the spool is full ({format_bytes(self._max_bytes)}): the oldest {format_bytes(lost_bytes)} of logs were"
            " given up; reach the service (`tradewind doctor`) or raise TRADEWIND_SPOOL_MAX"
        )

    def _read_lost(self) -> dict[str, int]:
        try:
            content = json.loads((self.folder / "lost.json").read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            content = {}
        return {name: int(content.get(name, 0)) for name in ("segments", "bytes")}

    def _iterate_waiting(self, keep_going: Callable[[], bool]) -> Iterator[Segment]:
        """Yield the segments that wait, the oldest first, those that arrive meanwhile included."""
        last = 0
        while later := [segment for segment in self.list_segments() if segment.sequence > last]:
            for segment in later:
                if not keep_going():
                    return
                last = segment.sequence
                yield segment

    def _deliver(self, segment: Segment, service: Uploads, receipts: "list[BatchReceipt]", refused: list[str]) -> None:
        try:
            content = segment.path.read_bytes()
        except FileNotFoundError:
            return  # given up meanwhile by an append that needed room
        if hashlib.sha256(content).hexdigest() != segment.sha256:
            refused.append(self._set_aside(segment, "it is damaged on disk"))
            return
        try:
            receipt = service.upload_batch(LogBatch.of_ndjson(content), idempotency_key=segment.sha256)
        except _REFUSED_FOR_GOOD as refusal:
            refused.append(self._set_aside(segment, str(refusal)))
            return
        receipts.append(receipt)
        if receipt.rejected and not receipt.stored_any:
            refused.append(self._set_aside(segment, _explain_none_accepted(receipt)))
            return
        segment.path.unlink(missing_ok=True)
        sync_folder(self.folder)

    def _set_aside(self, segment: Segment, reason: str) -> str:
        make_private(self._refused_folder)
        aside = self._refused_folder / segment.path.name
        segment.path.replace(aside)
        sync_folder(self._refused_folder)
        sync_folder(self.folder)
        return f"{reason}; kept in {aside}"

    @contextlib.contextmanager
    def _hold_lock(self, name: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold an advisory lock, which the kernel releases however the process ends; yield whether it is held."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self.folder / name, flags, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(descriptor)

    @staticmethod
    def _list_segments(folder: Path) -> Iterator[Segment]:
        try:
            names = os.listdir(folder)  # noqa: PTH208 -- names alone, without a Path each
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in names:
            sequence, _, rest = name.partition("-")
            sha256, dot, ending = rest.partition(".")
            if dot and ending == "ndjson" and sequence.isdecimal():
                path = folder / name
                with contextlib.suppress(FileNotFoundError):
                    yield Segment(path, int(sequence), sha256, path.stat().st_size)


def _explain_none_accepted(receipt: "BatchReceipt") -> str:
    first = "".join(f"; first {each.field}: {each.reason}" for each in receipt.rejections[:1])
    return f"the service accepted none of {format_count(receipt.rejected, 'row')}{first}"


def _leave_failure_out(record: "WireRecord | TransferRecord | bytes") -> "WireRecord | TransferRecord | bytes":
    """Return a record as plain logs have it: a service of before would refuse a row with a failure, and none stores it
    from there.
    """
    if isinstance(record, bytes) or record.outcome.failure is None:
        return record
    if isinstance(record, TransferRecord):
        return replace(record, outcome=replace(record.outcome, failure=None))
    return record.model_copy(update={"outcome": record.outcome.model_copy(update={"failure": None})})


def _encode_contents(records: "Iterable[WireRecord | TransferRecord | bytes]") -> Iterator[bytes]:
    content = bytearray()
    for record in records:
        line = to_ndjson_line(_leave_failure_out(record))
        if content and len(content) + len(line) > MAX_BATCH_BYTES:
            yield bytes(content)
            content.clear()
        content += line
    if content:
        yield bytes(content)
