"""Following a folder of growing logs: read on, spool, remember, upload; nothing lost and nothing twice.

The order of the steps is what makes a kill harmless: note which bytes are about to be spooled, spool them, remember the
new offset. The same bytes spooled again are the same segment. While the spool is half full the logs themselves are the
queue: reading pauses until the service has taken some of it.
"""

import io
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from random import Random

from tradewind.errors import InvalidValue
from tradewind.units import format_count
from tradewind_agent.errors import ServiceFailed, ServiceUnreachable, WatchFailed
from tradewind_agent.history.importers.log_text import count_rows
from tradewind_agent.history.log_parts import RUN_FORMATS, OpenRuns, end_before_open_row, explain_wait, read_part
from tradewind_agent.history.log_reader import ImportedPart, ImportingReader, UnknownLog
from tradewind_agent.history.log_tail import (
    MAX_PART_BYTES,
    LogFile,
    Part,
    Position,
    format_file_id,
    list_earlier_names,
    list_logs,
)
from tradewind_agent.history.packed_stream import PACKINGS
from tradewind_agent.history.spool import Spool, Uploads
from tradewind_agent.history.watch_notes import UnreadFile, WatchNotes
from tradewind_agent.history.watch_state import FollowedFile, PendingPart, WatchState
from tradewind_agent.service.retries import Backoff
from tradewind_agent.system_errors import explain_os_error

LONGEST_WAIT_S = 600.0
"""Lines of single files wait at most so long for those that overlap with them."""

_SPOOL_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOptions:
    """What to watch and how.

    ``pattern`` : names of logs to take up; a log once taken up is followed under any name.
    ``interval_s`` : between two looks at the folder.
    ``quiet_s`` : after so long without a new line a run is over, and a group of overlapping transfers complete.
    """

    folder: Path
    pattern: str = "*"
    interval_s: float = 5.0
    quiet_s: float = 60.0


@dataclass(slots=True)
class Tally:
    """What a watch has done so far, and which logs it has not read, or not to their end."""

    records: int = 0
    refused: int = 0
    accepted: int = 0
    not_read: Sequence[UnreadFile] = ()


class _Reading(Enum):
    UP_TO_DATE = "nothing more until the log changes"
    WAITING = "lines wait until the log is quiet"
    PAUSED = "the spool is half full, or the watch is to stop"


@dataclass(slots=True, kw_only=True)
class Watch:
    """One watched folder.

    Parameters
    ----------
    state_path : where offsets are kept; the caller holds the folder's lock.
    service : ``None`` where none is configured: logs are spooled.
    note : called with one line for what the user should know.
    stop : ends the watch between two parts or two uploads.
    now_s : the clock that file times are of.
    on_progress : called with what was done so far, after each part that was spooled and each upload.
    """

    options: WatchOptions
    state_path: Path
    spool: Spool
    service: Uploads | None
    reader: ImportingReader
    note: Callable[[str], None]
    stop: threading.Event
    jitter: Random
    now_s: Callable[[], float]
    on_progress: Callable[[Tally], None] = lambda _: None
    tally: Tally = field(default_factory=Tally)
    _state: WatchState = field(init=False)
    _backoff: Backoff = field(init=False)
    _notes: WatchNotes = field(init=False)
    _up_to_date: dict[str, tuple[int, int]] = field(init=False, default_factory=dict)
    _waiting_since_s: dict[str, float] = field(init=False, default_factory=dict)
    _open_runs: OpenRuns = field(init=False, default_factory=OpenRuns)

    def __post_init__(self) -> None:
        self._state = WatchState.read(self.state_path)
        self._notes = WatchNotes(self.note)
        self._backoff = Backoff(self.jitter, self.options.interval_s)

    def run(self, *, once: bool = False) -> Tally:
        """Follow the folder until it is stopped, or once over everything that is there.

        Raises
        ------
        WatchFailed : the folder cannot be listed.
        SpoolFailed : logs cannot be spooled.
        KeyRefused, ScopeMissing : the service will take nothing from this user.
        """
        self._finish_pending()
        while not self.stop.is_set():
            all_read = self.read()
            self.tally.not_read = tuple(self._notes.not_read.values())
            is_alone = self.upload()
            self.on_progress(self.tally)
            if once and (all_read or self.service is None or self._backoff.failures):
                break
            if not once or not is_alone:
                self.stop.wait(self.options.interval_s)
                self._backoff.left_s -= self.options.interval_s
        return self.tally

    def read(self) -> bool:
        """Spool what is new in every log, oldest log first; whether the end of all was reached."""
        listed = self._list_logs()
        for place, (path, status) in enumerate(listed):
            name, look = format_file_id(status), (status.st_size, status.st_mtime_ns)
            if self._up_to_date.get(name) == look:
                continue
            reading = self._follow(path, status)
            if reading is _Reading.PAUSED:
                self._note_paused(listed[place:])
                return False
            if reading is _Reading.UP_TO_DATE:
                self._up_to_date[name] = look
        self._forget_all_but({format_file_id(status) for _, status in listed})
        return True

    def upload(self) -> bool:
        """Send the spool unless the service was unreachable a moment ago; return whether no other process sends it."""
        if self.service is None or self._backoff.left_s > 0:
            return True
        try:
            drained = self.spool.drain(self.service, keep_going=lambda: not self.stop.is_set())
        except (ServiceUnreachable, ServiceFailed) as failure:
            self._backoff.note_failure(getattr(failure, "retry_after_s", None))
            if self._backoff.failures == 1:
                self.note(f"{failure}; logs are spooled until then")
            return True
        self._backoff.note_success()
        self.tally.accepted += drained.accepted
        for refused in drained.refused:
            self.note(refused)
        return not drained.busy

    def _list_logs(self) -> list[tuple[Path, os.stat_result]]:
        """List logs by pattern, and those followed already under whatever name they have now."""
        try:
            everything = list(list_logs(self.options.folder, "*"))
            matching = {path for path, _ in list_logs(self.options.folder, self.options.pattern)}
        except OSError as failure:
            raise WatchFailed(f"{self.options.folder} cannot be listed: {explain_os_error(failure)}") from None
        return [
            (path, status)
            for path, status in everything
            if path in matching or format_file_id(status) in self._state.files
        ]

    def _spool_is_half_full(self) -> bool:
        state = self.spool.read_state()
        return state.bytes > _SPOOL_SHARE * state.max_bytes

    def _follow(self, path: Path, status: os.stat_result) -> _Reading:
        """Take every whole line that is there now and need not wait."""
        name = format_file_id(status)
        self._notes.not_read.pop(name, None)
        while not self.stop.is_set() and not self._spool_is_half_full():
            known = self._state.files.get(name)
            try:
                with LogFile(path, known.position if known else None) as log:
                    if log.id != name:
                        return _Reading.UP_TO_DATE  # renamed meanwhile (and found again)
                    taken = self._take(log, known, status)
            except FileNotFoundError:
                return _Reading.UP_TO_DATE
            except OSError as failure:
                self._notes.note_once(name, f"{path} cannot be read: {explain_os_error(failure)}; its lines wait")
                self._notes.not_read[name] = UnreadFile(
                    path.name, f"cannot be read: {explain_os_error(failure)}", failed=True
                )
                return _Reading.WAITING
            except InvalidValue as wrong:
                self._notes.note_once(name, f"{path.name} is left alone: {wrong}")
                failed = known is not None or not isinstance(wrong, UnknownLog)
                self._notes.not_read[name] = UnreadFile(path.name, f"left alone: {wrong}", failed=failed)
                return _Reading.UP_TO_DATE
            if taken is not None:
                return taken
        return _Reading.PAUSED

    def _note_paused(self, logs: Sequence[tuple[Path, os.stat_result]]) -> None:
        """Note which logs have more to read."""
        why = "the watch was stopped" if self.stop.is_set() else "the spool is half full"
        for path, status in logs:
            if self._up_to_date.get(format_file_id(status)) == (status.st_size, status.st_mtime_ns):
                continue
            known = self._state.files.get(format_file_id(status))
            if status.st_size > (known.position.offset if known else 0):
                self._notes.not_read.setdefault(format_file_id(status), UnreadFile(path.name, why))

    def _note_compressed(self, log: LogFile) -> None:
        """Say that a compressed log is passed over, unless its lines were read before it was rotated and compressed."""
        followed = {each.position.name for each in self._state.files.values()}
        if log.id not in self._state.files and not followed & list_earlier_names(log.path.name):
            name = log.path.name
            self._notes.note_once(log.id, f"{name} is compressed and is not followed; `logs upload` takes {PACKINGS}")

    def _take(self, log: LogFile, known: FollowedFile | None, status: os.stat_result) -> _Reading | None:
        """Keep the next part of a log; ``None`` when there may be more."""
        if log.is_compressed:
            self._note_compressed(log)
            return _Reading.UP_TO_DATE
        format_name = known.format if known else None
        if format_name is None:
            first = log.read_next_part()
            if first is None:
                return self._note_end(log)
            format_name = None if first.is_empty else self.reader.format_of(first.lines)
        part = read_part(log, format_name)
        if part is None:
            return self._note_end(log)
        rows = end_before_open_row(log, part, is_last=self._is_quiet(status)) if format_name == "csv" else part
        if rows is None or self._is_to_wait(log, rows, format_name, status):
            self._note_held_back(log, part, format_name)
            return _Reading.WAITING
        self._spool_part(log, rows, known, format_name)
        return None

    def _note_end(self, log: LogFile) -> _Reading:
        """Note a last line whose line end is still to come; all before it was read."""
        if log.has_more(log.position):
            self._notes.not_read[log.id] = UnreadFile(log.path.name, "its last line waits for its line end")
        return _Reading.UP_TO_DATE

    def _is_quiet(self, status: os.stat_result) -> bool:
        return self.now_s() - status.st_mtime >= self.options.quiet_s

    def _is_to_wait(self, log: LogFile, part: Part, format_name: str | None, status: os.stat_result) -> bool:
        """Return whether the lines of a part belong together with lines that may still come."""
        if format_name in RUN_FORMATS:
            silent_s = self.now_s() - status.st_mtime
            return self._open_runs.is_to_wait(log.id, part, format_name, silent_s, quiet_s=self.options.quiet_s)
        if format_name is None or self._is_quiet(status):
            return False
        if not self.reader.has_overlap(format_name, log.read_head(part.after.offset)):
            return False
        since_s = self._waiting_since_s.setdefault(log.id, self.now_s())
        many = part.after.offset - part.start > MAX_PART_BYTES // 2
        return not many and self.now_s() - since_s < LONGEST_WAIT_S

    def _note_held_back(self, log: LogFile, part: Part, format_name: str | None) -> None:
        reason = explain_wait(format_name, self.options.quiet_s)
        self._notes.note_held_back(log.id, log.path.name, reason, part.count_lines)

    def _spool_part(self, log: LogFile, part: Part, known: FollowedFile | None, format_name: str | None) -> None:
        """Spool one part and remember how far it goes."""
        imports = self._import(log, part, known, format_name)
        head_bytes = known.head_bytes if known and part.start else None
        if head_bytes is None and imports.records:
            head_bytes = part.after.offset
        self._state.files[log.id] = known or FollowedFile(position=Position(name=log.path.name), format=format_name)
        self._state.pending = PendingPart(file_id=log.id, until=part.after.offset, format=format_name)
        self._state.write(self.state_path)
        self.spool.append(imports.records)
        self._state.files[log.id] = FollowedFile(position=part.after, format=format_name, head_bytes=head_bytes)
        self._state.pending = None
        self._state.write(self.state_path)
        self._waiting_since_s.pop(log.id, None)
        self._notes.note_taken(log.id)
        self.tally.records += len(imports.records)
        self.tally.refused += imports.refused
        self.on_progress(self.tally)
        for assumption in imports.assumptions:
            self._notes.note_assumption(log.id, log.path.name, assumption)
        if imports.refused:
            self._notes.note_once(
                log.id, f"{log.path.name}: {format_count(imports.refused, 'row')} refused, {imports.first_reason}"
            )

    def _import(self, log: LogFile, part: Part, known: FollowedFile | None, format_name: str | None) -> ImportedPart:
        if part.is_empty or format_name is None:
            return ImportedPart([], int(part.after.skipping), "a line is too long")
        lines, head_rows, head_bytes = part.lines, 0, known.head_bytes if known else None
        if format_name == "csv" and part.start:
            # Its beginning names the columns and, after the first row, their units: all parts are read the same way.
            head = log.read_head(head_bytes or part.start)
            lines, head_rows = io.BytesIO(head + part.lines.read()), count_rows(head)
        return self.reader.read(
            lines,
            first_row=part.first_row,
            head_rows=head_rows,
            is_head_conclusive=head_bytes is not None,
            format_name=format_name,
            written_at=log.written_at,
        )

    def _finish_pending(self) -> None:
        """Spool again what a killed watch was about to spool."""
        pending = self._state.pending
        if pending is None:
            return
        known = self._state.files[pending.file_id]
        for path, status in self._list_logs():
            if format_file_id(status) == pending.file_id and not self._spool_again(path, known, pending):
                return
        self._state.pending = None
        self._state.write(self.state_path)

    def _spool_again(self, path: Path, known: FollowedFile, pending: PendingPart) -> bool:
        """Spool a pending part again; return ``False`` where its log cannot be read now, while those of others can."""
        try:
            with LogFile(path, known.position) as log:
                part = log.read_next_part(until=pending.until)
                if log.position.offset == known.position.offset and part is not None:
                    self._spool_part(log, part, known, pending.format)
        except OSError as failure:
            self._notes.note_once(
                pending.file_id, f"{path} cannot be read: {explain_os_error(failure)}; its lines wait"
            )
            return False
        except InvalidValue as wrong:
            self._notes.note_once(pending.file_id, f"{path.name} is left alone: {wrong}")
            return False
        return True

    def _forget_all_but(self, present: set[str]) -> None:
        """Drop logs that are gone, so that the state stays as small as the folder."""
        self._notes.forget_all_but(present)
        self._open_runs.forget_all_but(present)
        for memory in (self._up_to_date, self._waiting_since_s):
            for name in memory.keys() - present:
                del memory[name]
        if gone := self._state.files.keys() - present:
            for name in gone:
                del self._state.files[name]
            self._state.write(self.state_path)
