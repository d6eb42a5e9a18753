"""Following a folder of growing logs: read on, spool, remember, upload; nothing lost and nothing twice.

The order of the steps is what makes a kill harmless: note which bytes are about to be spooled, spool them, remember the
new offset. The same bytes spooled again are the same segment. While the spool is half full the logs themselves are the
queue: reading pauses until the service has taken some of it.
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

from tradewind.errors import InvalidValue
from tradewind.transfer import TransferRecord
from tradewind_agent.errors import ServiceAway, ServiceBroken, WatchFailed
from tradewind_agent.log_tail import Part, Position, file_id, logs_in, next_part
from tradewind_agent.spool import Spool, Uploads
from tradewind_agent.watch_state import Followed, Pending, WatchState

LONGEST_BACKOFF_S = 300.0
_SPOOL_SHARE = 0.5


class Imports(NamedTuple):
    """Records of a part, how many rows were refused, the first reason, and the format that was read."""

    records: list[TransferRecord]
    refused: int
    first_reason: str
    format: str | None


class ImportPart(Protocol):
    """Reads a part of a log.

    Raises
    ------
    InvalidValue : of no known format, or lacking what only the user can tell.
    """

    def __call__(self, content: bytes, *, first_row: int, format_name: str | None) -> Imports: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """``interval_s`` between two looks at the folder; ``pattern`` of names to take up (a rotated log is followed)."""

    folder: Path
    pattern: str = "*"
    interval_s: float = 5.0


@dataclass(slots=True)
class Tally:
    """What a watch has done so far."""

    records: int = 0
    refused: int = 0
    accepted: int = 0
    failed_uploads: int = 0


@dataclass(slots=True)
class _Backoff:
    """Waits after failed uploads: doubled, jittered, bounded."""

    jitter: Random
    first_s: float
    failures: int = 0
    left_s: float = 0.0

    def failed(self, asked_s: float | None) -> None:
        self.failures += 1
        ceiling_s = min(self.first_s * 2.0**self.failures, LONGEST_BACKOFF_S)
        self.left_s = max(self.jitter.uniform(ceiling_s / 2, ceiling_s), asked_s or 0.0)

    def succeeded(self) -> None:
        self.failures, self.left_s = 0, 0.0


@dataclass(slots=True, kw_only=True)
class Watch:
    """One watched folder.

    Parameters
    ----------
    state_path : where offsets are kept; the caller holds the folder's lock.
    service : ``None`` where none is configured: logs are spooled.
    note : called with one line for what the user should know.
    stop : ends the watch between two parts or two uploads.
    """

    options: WatchOptions
    state_path: Path
    spool: Spool
    service: Uploads | None
    read_part: ImportPart
    note: Callable[[str], None]
    stop: threading.Event
    jitter: Random
    tally: Tally = field(default_factory=Tally)
    _state: WatchState = field(init=False)
    _backoff: _Backoff = field(init=False)
    _told: dict[str, str] = field(init=False, default_factory=dict)
    _looked_at: dict[str, tuple[int, int]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._state = WatchState.read(self.state_path)
        self._backoff = _Backoff(self.jitter, self.options.interval_s)

    def run(self, *, once: bool = False) -> Tally:
        """Follow the folder until told to stop, or once over everything that is there.

        Raises
        ------
        WatchFailed : the folder cannot be listed.
        SpoolFailed : logs cannot be spooled.
        KeyRefused, ScopeMissing : the service will take nothing from this user.
        """
        self._finish_pending()
        while not self.stop.is_set():
            all_read = self.read()
            self.upload()
            if not once:
                self.stop.wait(self.options.interval_s)
                self._backoff.left_s -= self.options.interval_s
            elif all_read or self.service is None or self._backoff.failures:
                break
        return self.tally

    def read(self) -> bool:
        """Spool what is new in every log, oldest log first; whether the end of all was reached."""
        listed = self._listed()
        for path, status in listed:
            name, look = file_id(status), (status.st_size, status.st_mtime_ns)
            if self._looked_at.get(name) == look:
                continue
            if not self._follow(path, name):
                return False
            self._looked_at[name] = look
        self._forget_all_but({file_id(status) for _, status in listed})
        return True

    def upload(self) -> None:
        """Send what is spooled, unless the service was away a moment ago."""
        if self.service is None or self._backoff.left_s > 0:
            return
        try:
            drained = self.spool.drain(self.service, keep_going=lambda: not self.stop.is_set())
        except (ServiceAway, ServiceBroken) as failure:
            self._backoff.failed(getattr(failure, "retry_after_s", None))
            self.tally.failed_uploads += 1
            if self._backoff.failures == 1:
                self.note(f"{failure}; logs are spooled until then")
            return
        self._backoff.succeeded()
        self.tally.accepted += drained.accepted
        for refused in drained.refused:
            self.note(refused)

    def _listed(self) -> list[tuple[Path, os.stat_result]]:
        """Logs by pattern, and those followed already under whatever name they have now."""
        try:
            everything = list(logs_in(self.options.folder, "*"))
            wanted = {path for path, _ in logs_in(self.options.folder, self.options.pattern)}
        except OSError as failure:
            raise WatchFailed(f"{self.options.folder} cannot be listed: {failure.strerror}") from None
        return [(path, status) for path, status in everything if path in wanted or file_id(status) in self._state.files]

    def _spool_is_half_full(self) -> bool:
        state = self.spool.state()
        return state.bytes > _SPOOL_SHARE * state.max_bytes

    def _follow(self, path: Path, name: str) -> bool:
        """Take every whole line that is there now; false where reading has to pause before the end."""
        while not self.stop.is_set() and not self._spool_is_half_full():
            known = self._state.files.get(name)
            try:
                part = next_part(path, known.position if known else None)
            except FileNotFoundError:
                return True  # rotated between the listing and now: found again under its new name
            except OSError as failure:
                self._tell_once(name, f"{path}: {failure.strerror}; its lines wait")
                return True
            if part is None or part.file_id != name or not self._keep(part, known):
                return True
        return False

    def _keep(self, part: Part, known: Followed | None) -> bool:
        """Spool one part and remember how far it goes; false where it cannot be read as a log."""
        imports = self._import(part, known)
        if imports is None:
            return False
        self._state.pending = Pending(file_id=part.file_id, until=part.end.offset)
        if known is None:
            self._state.files[part.file_id] = Followed(position=Position(name=part.path.name), format=imports.format)
        self._state.write(self.state_path)
        self.spool.append(imports.records)
        self._state.files[part.file_id] = Followed(position=part.end, format=imports.format)
        self._state.pending = None
        self._state.write(self.state_path)
        self.tally.records += len(imports.records)
        self.tally.refused += imports.refused
        if imports.refused:
            self._tell_once(part.file_id, f"{part.path.name}: {imports.refused} rows refused, {imports.first_reason}")
        return True

    def _import(self, part: Part, known: Followed | None) -> Imports | None:
        format_name = known.format if known else None
        if not part.content:
            return Imports([], 1 if part.end.skipping else 0, "a line is too long", format_name)
        content, first_row = part.content, part.first_row
        if format_name == "csv" and part.head and part.start:
            content, first_row = part.head + content, first_row - 1  # the header names the columns of every part
        try:
            return self.read_part(content, first_row=first_row, format_name=format_name)
        except InvalidValue as wrong:
            self._tell_once(part.file_id, f"{part.path.name} is left alone: {wrong}")
            return None

    def _finish_pending(self) -> None:
        """Spool again what a killed watch was about to spool."""
        pending = self._state.pending
        if pending is None:
            return
        known = self._state.files[pending.file_id]
        for path, status in self._listed():
            if file_id(status) == pending.file_id:
                part = next_part(path, known.position, until=pending.until)
                if part is not None and part.start == known.position.offset:
                    self._keep(part, known)
                break
        self._state = replace(self._state, pending=None)
        self._state.write(self.state_path)

    def _forget_all_but(self, present: set[str]) -> None:
        """Drop logs that are gone, so that the state stays as small as the folder."""
        gone = self._state.files.keys() - present
        for name in gone:
            del self._state.files[name]
            self._looked_at.pop(name, None)
            self._told.pop(name, None)
        if gone:
            self._state.write(self.state_path)

    def _tell_once(self, name: str, line: str) -> None:
        """Say a thing about a log once, not at every look."""
        if self._told.get(name) != line:
            self._told[name] = line
            self.note(line)
