"""Ended transfers that the service may not have: their records and ticks, until it acknowledges their completion.

A sealed transfer is one file, ``<id>.ended``: a line of records, then a line a tick, written atomically. A
completion sent twice is stored once. A service that is older than completions gets the records as plain logs. Ticks
that the service refuses are kept aside in ``<id>.refused``, a line each with the reason.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from pydantic import TypeAdapter, ValidationError

from tradewind.units import MIB, format_bytes, format_count
from tradewind.wire.heartbeats import SpooledHeartbeat
from tradewind.wire.records import WireRecord
from tradewind_agent.errors import SpoolFailed
from tradewind_agent.folders import make_private, replace_durably
from tradewind_agent.history.spool import Spool
from tradewind_agent.service.completion import CompletionResult, CompletionService, RefusedTick, complete
from tradewind_agent.session.abandoned_transfers import find_abandoned_transfers
from tradewind_agent.system_errors import explain_os_error

ENDING = ".ended"
DAMAGED_ENDING = ".damaged"
REFUSED_ENDING = ".refused"
FOLDER = "transfers"

MOST_BYTES = 64 * MIB
"""Of sealed transfers together, some 60,000 ticks; beyond it ticks are given up, the oldest first, never records."""

MOST_REFUSED_BYTES = 16 * MIB
"""Of refused ticks together; beyond it the oldest transfer's are removed."""

_RECORDS = TypeAdapter(tuple[WireRecord, ...])


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """What one round did: transfers ``completed``, and those whose records went to the spool of logs instead.

    ``refused`` : lines on ticks or records that the service refused, or that are damaged on disk.
    """

    completed: frozenset[UUID] = frozenset()
    logged: frozenset[UUID] = frozenset()
    refused: tuple[str, ...] = ()


class TransferSpool:
    """Sealed transfers, in a folder within that of the ``logs``."""

    def __init__(self, logs: Spool) -> None:
        self.folder = logs.folder / FOLDER
        self._logs = logs

    def seal(self, transfer_id: UUID, records: Sequence[WireRecord], ticks: Sequence[SpooledHeartbeat]) -> None:
        """Keep an ended transfer; on disk when this returns.

        Raises
        ------
        SpoolFailed
        """
        try:
            make_private(self.folder)
            lines = [tick.model_dump_json(exclude_none=True).encode() for tick in ticks]
            content = b"\n".join([_RECORDS.dump_json(tuple(records), exclude_none=True), *lines]) + b"\n"
            replace_durably(self.folder / f"{transfer_id}{ENDING}", content)
            with contextlib.suppress(FileNotFoundError):  # another program has just sent one
                self._bound()
        except OSError as failure:
            raise SpoolFailed(f"logs cannot be spooled to {self.folder}: {explain_os_error(failure)}") from None

    def list_waiting(self) -> tuple[Path, ...]:
        """List sealed transfers, the oldest first; what is not named like one is left alone."""
        found = []
        for path in self.folder.glob(f"*{ENDING}"):
            with contextlib.suppress(FileNotFoundError, ValueError):
                UUID(path.stem)
                found.append((path.stat().st_mtime_ns, path))
        return tuple(path for _, path in sorted(found))

    def drain(self, service: CompletionService, *, keep_going: Callable[[], bool] = lambda: True) -> DeliveryResult:
        """Complete sealed transfers, those of killed programs included, until none is left or ``keep_going`` says no.

        Raises
        ------
        ServiceUnreachable, KeyRefused, ScopeMissing, ServiceFailed : what is not acknowledged stays.
        SpoolFailed : the folder cannot be read or written.
        """
        completed: set[UUID] = set()
        logged: set[UUID] = set()
        refused: list[str] = []
        try:
            with self._hold_lock() as alone:
                if not alone:
                    return DeliveryResult()
                self._seal_left_behind()
                for path in self.list_waiting():
                    if not keep_going():
                        break
                    transfer_id = UUID(path.stem)
                    sealed = _read(path)
                    done = self._deliver(path, transfer_id, sealed, service)
                    if done is not None:
                        (logged if done.as_logs else completed).add(transfer_id)
                        refused += self._describe_refusals(transfer_id, done)
                    if sealed.is_damaged:
                        refused.append(f"{sealed.describe_damage()}; kept in {path.with_suffix(DAMAGED_ENDING)}")
        except OSError as failure:
            raise SpoolFailed(f"the spool {self.folder} cannot be used: {explain_os_error(failure)}") from None
        return DeliveryResult(frozenset(completed), frozenset(logged), tuple(refused))

    def _seal_left_behind(self) -> None:
        """Seal transfers of killed programs; of one that was sealed before it was killed, that is the end."""
        for path, record, ticks in find_abandoned_transfers(self.folder):
            if record.transfer_id is not None and not (self.folder / f"{record.transfer_id}{ENDING}").exists():
                self.seal(record.transfer_id, (record,), ticks)
            path.unlink(missing_ok=True)

    def list_refused(self) -> tuple[Path, ...]:
        """List files of ticks that the service did not take, the oldest first."""
        found = [(path.stat().st_mtime_ns, path) for path in self.folder.glob(f"*{REFUSED_ENDING}")]
        return tuple(path for _, path in sorted(found))

    def _deliver(
        self, path: Path, transfer_id: UUID, sealed: "_Sealed", service: CompletionService
    ) -> CompletionResult | None:
        """Send what can be read of a transfer and return what the service took of it; ``None`` without any record.

        A damaged file is set aside.
        """
        done = None
        if sealed.records:
            done = complete(service, transfer_id, sealed.records, sealed.ticks)
            if done.refused:
                self._set_aside(transfer_id, done.refused)
            if done.as_logs:
                self._logs.append(sealed.records)
        if sealed.is_damaged:
            path.replace(path.with_suffix(DAMAGED_ENDING))
        else:
            path.unlink(missing_ok=True)  # one that a power cut brings back is sent again, and stored once
        return done

    def _set_aside(self, transfer_id: UUID, refused: Sequence[RefusedTick]) -> None:
        rows = (
            {"reason": each.reason, "tick": each.tick.model_dump(mode="json", exclude_none=True)} for each in refused
        )
        content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        replace_durably(self._build_refused_path(transfer_id), content)
        held = self.list_refused()
        surplus = sum(path.stat().st_size for path in held) - MOST_REFUSED_BYTES
        for path in held[:-1]:
            if surplus <= 0:
                return
            surplus -= path.stat().st_size
            path.unlink(missing_ok=True)

    def _build_refused_path(self, transfer_id: UUID) -> Path:
        return self.folder / f"{transfer_id}{REFUSED_ENDING}"

    def _describe_refusals(self, transfer_id: UUID, done: CompletionResult) -> Iterator[str]:
        if done.refused:
            samples, first = format_count(len(done.refused), "sample"), done.refused[0].reason
            yield f"the service refused {samples}, first: {first}; kept in {self._build_refused_path(transfer_id)}"
        if done.quarantined:
            records = format_count(done.quarantined, "record")
            yield f"the service refused {records}, in quarantine there with the reason, such as a wrong clock here"

    def _bound(self) -> None:
        waiting = self.list_waiting()
        surplus = sum(path.stat().st_size for path in waiting) - MOST_BYTES
        given_up = 0
        for path in waiting:
            if surplus <= 0:
                break
            records, _, ticks = path.read_bytes().partition(b"\n")
            if ticks:
                replace_durably(path, records + b"\n")
                surplus -= len(ticks)
                given_up += ticks.count(b"\n")
        if given_up:
            samples = format_count(given_up, "sample")
            self._logs.warn(
                f"{samples} of ended transfers given up: more than {format_bytes(MOST_BYTES)} wait for the service"
            )

    @contextlib.contextmanager
    def _hold_lock(self) -> Iterator[bool]:
        """Yield whether no other program is sending; the kernel releases the lock however the program ends."""
        if not self.folder.is_dir():
            yield False
            return
        descriptor = os.open(self.folder / "upload.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Sealed:
    """What can be read of a sealed transfer. ``unreadable`` : ticks that cannot be."""

    records: tuple[WireRecord, ...]
    ticks: tuple[SpooledHeartbeat, ...]
    unreadable: int

    @property
    def is_damaged(self) -> bool:
        return not self.records or self.unreadable > 0

    def describe_damage(self) -> str:
        if not self.records:
            return "an ended transfer cannot be read"
        return f"{format_count(self.unreadable, 'sample')} of an ended transfer cannot be read"


def _read(path: Path) -> _Sealed:
    first, *lines = path.read_bytes().splitlines() or [b""]
    try:
        records = _RECORDS.validate_json(first)
    except ValidationError:
        return _Sealed((), (), len(lines))
    ticks = tuple(tick for line in lines if (tick := _parse_tick(line)) is not None)
    return _Sealed(records, ticks, len(lines) - len(ticks))


def _parse_tick(line: bytes) -> SpooledHeartbeat | None:
    try:
        return SpooledHeartbeat.model_validate_json(line)
    except ValidationError:
        return None
