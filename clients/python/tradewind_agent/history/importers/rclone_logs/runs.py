"""The runs of rclone in a log: which lines belong to which, and what they tell of it."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.history.importers.json_messages import find_object, find_text
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.ports import RefusedRow, refuse_row
from tradewind_agent.history.importers.rclone_logs.file_lines import FileLines
from tradewind_agent.history.importers.rclone_logs.messages import NOT_IN_ORDER, Message
from tradewind_agent.history.importers.rclone_logs.stats import (
    are_complete,
    can_become,
    is_same_work,
    parse_moment,
    read_count,
    read_seconds,
)
from tradewind_agent.movers.rate_option import parse_rates

_COPIED = re.compile(r"(Multi-thread )?Copied \((?!server)")
_INSIDE = re.compile(r"(?:Copied|Moved) \(server[ -]side")
_STARTED = re.compile(r'(?:rclone: )?Version "v?([^"]{1,60})" starting with parameters (\[.*\])')
_FLAG = re.compile(r'"--(transfers|multi-thread-streams)(?:=|" ")([0-9]{1,5})"')
_DRY_FLAG = re.compile(r'"(?:--dry-run(?:=true)?|-n)"')
_ATTEMPT = re.compile(r"(?:.*: )?Attempt (\d{1,6})/(\d{1,6}) (failed|succeeded)")
_DRY = re.compile(r"as --dry-run\b")
_SERVING = re.compile(r'\["[^"]*"(?: "-[^"]*")* "(?:mount2?|cmount|nfsmount|serve|rcd)"')
"""Commands that move files when others request them, and wait in between."""

_BWLIMIT = re.compile(r'"--bwlimit(?:=|" ")([^"]{1,500})"')
_LIMITED = re.compile(
    r"(Starting bandwidth limiter at|Scheduled bandwidth change\. (?:Bandwidth )?[Ll]imit set to) (.{1,60}?) ?Bytes?/s"
)
_ROUNDED = timedelta(seconds=2)
"""By which two starts of one run may differ where a log has times in full seconds."""

_SAME_START_S, _SAME_START_ROUNDED_S = 0.1, 1.1
"""By which the starts of one run differ that its stats lines say, with and without fractions of a second."""

_MOST_ASIDE = 8
"""Runs of one process that may still go on while a later one writes into the same file."""


@dataclass(slots=True)
class Run:
    """What is known of one run so far.

    ``files`` : what lines up to its last stats line tell; ``later_files`` : of the lines behind that one, which are of
    this run or of the next.
    ``rest`` : what follows with a later start, of another run if lines of this one come again.
    ``behind`` : a run that started with this one and is before it in the log, though its first stats, which can be
    later ones of this run, are newer: both are one run if the log is not in order. ``has_earlier_lines`` : it is not.
    ``is_mixed`` : another run wrote into the file meanwhile, so that lines of single files may be of either.
    """

    first: Line
    last_stats: Line | None = None
    ended_at: datetime | None = None
    stats: Mapping[str, object] = field(default_factory=dict)
    elapsed_s: float = 0.0
    first_stats: Mapping[str, object] = field(default_factory=dict)
    first_elapsed_s: float = 0.0
    files: FileLines = field(default_factory=FileLines)
    later_files: FileLines = field(default_factory=FileLines)
    waiting_in_flight: int = 0
    version: str | None = None
    flags: Mapping[str, int] = field(default_factory=dict)
    limit_bps: float | None = None
    is_dry: bool = False
    is_serving: bool = False
    is_mixed: bool = False
    has_ended: bool = False
    rest: "Run | None" = None
    behind: "Run | None" = None
    has_earlier_lines: bool = False

    def note(self, event: "Event") -> None:
        """Add the information of a line."""
        spoken = find_text(event.message, "msg")
        if event.started is not None:
            self.version, words = event.started[1], event.started[2]
            self.flags = {flag: int(value) for flag, value in _FLAG.findall(words)}
            self.is_dry = _DRY_FLAG.search(words) is not None
            self.is_serving = _SERVING.search(words) is not None
            self._note_limit(rate for value in _BWLIMIT.findall(words) for rate in parse_rates(value))
        elif event.limited is not None:
            self._note_limit(parse_rates(event.limited[2], BITS_PER_BYTE))
        elif event.stats:
            self._note_stats(event)
        elif (copied := _COPIED.match(spoken)) is not None:
            self.later_files.note_copy(event.message, is_multi_thread=copied[1] is not None)
        elif _INSIDE.match(spoken) is not None:
            self.later_files.inside += 1
        elif "Failed to copy" in spoken:
            self.later_files.failed += 1
        elif (attempt := _ATTEMPT.match(spoken)) is not None:
            self._note_attempt(attempt)
        elif _DRY.search(spoken) is not None:
            self.later_files.is_dry = True
        elif spoken.startswith(("There was nothing to transfer", "Failed to ")) and "object" not in event.message:
            self.has_ended = True  # a message about a single file ends no run

    @property
    def is_complete(self) -> bool:
        """Whether its last stats say that all is moved."""
        return are_complete(self.stats)

    @property
    def is_over(self) -> bool:
        """Whether nothing shows that more lines of it are to come; its last attempt may have failed."""
        if self.last_stats is None:
            return self.version is None or self.has_ended
        return self.is_complete or self.has_ended

    def has_earlier_line(self, event: "Event") -> bool:
        """Return whether stats behind others of this run may be earlier ones of it: the log may not be in order."""
        if self.ended_at is None or event.at is None or not 0 < event.elapsed_s < self.first_elapsed_s:
            return False
        return event.at < self.ended_at and self._started_as(event) and can_become(event.stats, self.first_stats)

    @property
    def is_out_of_order(self) -> bool:
        """Whether this is the beginning of the run before it, in a log that a search sorted by the newest.

        A run that came further is its own, as where logs of hosts are put together. So is one that moved all of its
        files, unless the other run is known to be out of order.
        """
        later = self.behind
        if later is None or self.elapsed_s >= later.first_elapsed_s or not can_become(self.stats, later.first_stats):
            return False
        if not self.is_complete:
            return True
        is_one_line = self.elapsed_s == self.first_elapsed_s
        return is_one_line and (later.has_earlier_lines or is_same_work(self.stats, later.first_stats))

    def _started_as(self, event: "Event") -> bool:
        """Return whether stats are of a run that started when this one did."""
        if self.ended_at is None or event.at is None:
            return False
        has_fractions = event.at.microsecond or self.ended_at.microsecond
        starts_apart = (event.at - self.ended_at).total_seconds() - (event.elapsed_s - self.elapsed_s)
        return abs(starts_apart) <= (_SAME_START_S if has_fractions else _SAME_START_ROUNDED_S)

    def goes_on_in(self, event: "Event") -> bool:
        """Return whether stats behind those of a later run are of this one: it started when they say."""
        if self.ended_at is None or event.at is None or event.elapsed_s <= self.elapsed_s:
            return False
        return self._started_as(event) and not self.is_complete

    def continue_run(self, earlier: "Run") -> None:
        """Add what lines before a jump of the clock tell of this run."""
        self.version, self.flags = self.version or earlier.version, self.flags or earlier.flags
        self.limit_bps = self.limit_bps or earlier.limit_bps
        self.waiting_in_flight = max(self.waiting_in_flight, earlier.waiting_in_flight)
        self.is_dry = self.is_dry or earlier.is_dry
        self.is_serving = self.is_serving or earlier.is_serving
        earlier.close()
        self.files.add(earlier.files)

    def close(self) -> None:
        """Take the lines behind the last stats line as this run's own."""
        self.files.add(self.later_files)
        self.later_files = FileLines()

    def _note_attempt(self, attempt: re.Match[str]) -> None:
        """Forget failures of an attempt that another follows: the last one decides."""
        self.has_ended = attempt[3] == "succeeded" or attempt[1] == attempt[2]
        if attempt[3] == "succeeded" or int(attempt[1]) < int(attempt[2]):
            self.files.failed = self.later_files.failed = 0
        if attempt[3] == "succeeded":  # statistics before it count the errors of the attempt that it repeated
            self.stats = {**self.stats, "errors": 0}

    def _note_limit(self, rates_bps: Iterator[float]) -> None:
        """Keep the lowest rate that the user limited the run to."""
        self.limit_bps = min((*rates_bps, *([] if self.limit_bps is None else [self.limit_bps])), default=None)

    def _note_stats(self, event: "Event") -> None:
        self.close()
        stats = event.stats
        if not self.first_elapsed_s:
            self.first_elapsed_s, self.first_stats = event.elapsed_s, stats
        self.last_stats, self.stats, self.elapsed_s, self.ended_at = event.line, stats, event.elapsed_s, event.at
        in_flight = stats.get("transferring")
        if isinstance(in_flight, list):
            unfinished = read_count(stats, "totalTransfers") - read_count(stats, "transfers")
            if unfinished > len(in_flight):
                self.waiting_in_flight = max(self.waiting_in_flight, len(in_flight))


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log; ``elapsed_s`` is 0 and ``at`` is ``None`` where it has no stats."""

    line: Line
    message: Mapping[str, object]
    stats: Mapping[str, object]
    elapsed_s: float
    at: datetime | None
    started: re.Match[str] | None
    limited: re.Match[str] | None

    @classmethod
    def parse(cls, line: Line, message: Mapping[str, object]) -> Self:
        """Read the message of a line.

        Raises
        ------
        InvalidValue : it holds an impossible number or time.
        """
        stats = find_object(message, "stats")
        spoken = find_text(message, "msg")
        return cls(
            line,
            message,
            stats,
            read_seconds(stats, "elapsedTime"),
            parse_moment(find_text(message, "time")) if stats else None,
            _STARTED.match(spoken),
            _LIMITED.match(spoken),
        )

    def starts_after(self, run: Run) -> bool:
        """Return whether this line is the first of a run behind ``run``."""
        is_limiter = self.limited is not None and self.limited[1].startswith("Starting")
        return self.started is not None or (is_limiter and run.last_stats is not None)

    def is_of_later_run(self, run: Run) -> bool:
        """Return whether these stats are of a run behind ``run``: its clock was set back, or it began after them."""
        if not self.stats or run.last_stats is None:
            return False
        if self.elapsed_s < run.elapsed_s:
            return True
        if self.at is None or run.ended_at is None or self.elapsed_s == 0:
            return False
        if self.elapsed_s == run.elapsed_s and abs(self.at - run.ended_at) > _ROUNDED:
            return True
        started_at = self.at - timedelta(seconds=self.elapsed_s)
        if started_at > run.ended_at:
            return True
        moved, moved_before = self.stats.get("bytes"), run.stats.get("bytes")
        has_fewer_bytes = isinstance(moved, int) and isinstance(moved_before, int) and moved < moved_before
        run_started_at = run.ended_at - timedelta(seconds=run.elapsed_s)
        is_older = self.at < run.ended_at and run_started_at - started_at > _ROUNDED
        return (has_fewer_bytes or is_older or started_at - run_started_at > _ROUNDED) and run.is_complete

    def may_be_of_another_run(self, run: Run) -> bool:
        """Return whether these stats started at another time than those of a run that goes on; versions since 1.53
        only.
        """
        if self.at is None or run.ended_at is None or "transferTime" not in self.stats or not run.elapsed_s:
            return False
        starts_apart_s = (self.at - run.ended_at).total_seconds() - (self.elapsed_s - run.elapsed_s)
        return abs(starts_apart_s) > _ROUNDED.total_seconds()


def split_runs(messages: Iterable[tuple[Line, Message] | RefusedRow]) -> Iterator[Run | RefusedRow]:
    """Yield the runs of a log, each some runs after the next of the same process started, and the lines that cannot be
    read.
    """
    writers: dict[str, _Writer] = {}
    for found in messages:
        if isinstance(found, RefusedRow):
            yield found
            continue
        line, message = found
        try:
            yield from writers.setdefault(line.origin, _Writer()).note(Event.parse(line, message))
        except InvalidValue as invalid:
            yield refuse_row(line.number, invalid, line.text)
    for writer in writers.values():
        yield from writer.close()


@dataclass(slots=True)
class _Writer:
    """The runs of one process or container, or of all that write into one file.

    ``aside`` : runs before the present one, which may go on if both write at once.
    """

    run: Run | None = None
    aside: deque[Run] = field(default_factory=deque)

    def note(self, event: Event) -> Iterator[Run | RefusedRow]:
        """Add a line to its run; yield a run that is over."""
        run = self.run
        if event.stats and (earlier := next((each for each in self.aside if each.goes_on_in(event)), None)):
            earlier.note(event)
            earlier.is_mixed = True
            if run is not None:
                run.is_mixed = True
            return
        if run is not None and event.starts_after(run):
            run.close()
            self.aside.append(run)
            run = None
        elif run is not None and (later := self._find_later_lines(event)) is not None:
            self.aside.append(run)
            run = Run(event.line, behind=later)
        elif run is not None and event.is_of_later_run(run):
            self.aside.append(run)
            run = Run(event.line, later_files=run.later_files)
        elif run is not None and event.may_be_of_another_run(run):
            self.aside.append(run)
            run.rest = run = Run(event.line)
        self.run = run or Run(event.line)
        self.run.note(event)
        while len(self.aside) > _MOST_ASIDE:
            yield from self._finish(self.aside.popleft())

    def _find_later_lines(self, event: Event) -> Run | None:
        """Return the run that stats may begin though they are behind it and older, as where the newest is first."""
        if event.at is None or self.run is None or self.run.ended_at is None or event.at >= self.run.ended_at:
            return None
        found = next((each for each in (*self.aside, self.run) if each.has_earlier_line(event)), None)
        return None if found is None else found.behind or found

    def close(self) -> Iterator[Run | RefusedRow]:
        """Yield the runs that the end of the log ends."""
        while self.aside:
            yield from self._finish(self.aside.popleft())
        if self.run is not None:
            self.run.close()
            yield from self._finish(self.run)

    def _finish(self, run: Run) -> Iterator[Run | RefusedRow]:
        """Yield a run, or why it is none of its own; nothing if its rest is the same run, whose clock was set."""
        behind_it = (each for each in (*self.aside, self.run) if each is not None and each.behind is run)
        if any(each.is_out_of_order for each in behind_it):
            run.is_mixed = run.has_earlier_lines = True
        if run.is_out_of_order and run.last_stats is not None:
            yield refuse_row(run.last_stats.number, InvalidValue("row", NOT_IN_ORDER), run.last_stats.text)
        elif run.rest is None or run.is_mixed:
            yield run
        else:
            run.rest.continue_run(run)
