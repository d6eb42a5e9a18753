"""Show progress: bars on a terminal, plain lines at intervals elsewhere, nothing for programs."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tradewind.units import compute_throughput_bps, format_bps, format_bytes, format_count, parse_seconds
from tradewind_agent.cli.options import read
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind_agent.copy.run import PreparedCopy
    from tradewind_agent.engine.progress import Snapshot

INTERVAL_VARIABLE = "TRADEWIND_PROGRESS"
DEFAULT_INTERVAL = "10s"

Show = Callable[[int, int, int, int], None]
"""Shows bytes moved and planned, files over and planned."""


@dataclass(slots=True)
class PlainLines:
    """A line at most every ``interval_s`` seconds, the first after as long.

    ``known`` : what was said last, or need not be said first; the same line is not said twice in a row.
    """

    say: Callable[[str], None]
    interval_s: float
    now_s: Callable[[], float]
    known: str = ""
    _started_s: float = field(init=False)
    _last_line_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._started_s = self._last_line_s = self.now_s()

    @property
    def elapsed_s(self) -> float:
        return self.now_s() - self._started_s

    def say_if_due(self, line: Callable[[], str]) -> None:
        """Say ``line()`` if the interval has passed and the line is new."""
        now_s = self.now_s()
        if now_s - self._last_line_s < self.interval_s:
            return
        self._last_line_s = now_s
        if (text := line()) != self.known:
            self.known = text
            self.say(text)


def compute_progress_interval_s() -> float:
    """Time between two plain lines of progress, s."""
    return read(INTERVAL_VARIABLE, parse_seconds, os.environ.get(INTERVAL_VARIABLE) or DEFAULT_INTERVAL)


def build_plain_lines(terminal: Terminal, *, known: str = "") -> PlainLines | None:
    """Return lines of progress for standard error; ``None`` where nobody wants them."""
    if not terminal.shows_progress:
        return None
    return PlainLines(terminal.note, compute_progress_interval_s(), time.monotonic, known)


@contextmanager
def show_count(terminal: Terminal, doing: str, unit: str) -> Iterator[Callable[[int], None]]:
    """Show a count, for work of unknown length; call what it yields with how many more are done."""
    if not terminal.interactive:
        yield count_plainly(terminal, doing, unit)
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(f"{doing} {{task.completed:,.0f}} {unit}s"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=None)
        yield lambda more: progress.update(task, advance=more)


def count_plainly(terminal: Terminal, doing: str, unit: str) -> Callable[[int], None]:
    """Return what is called with how many more are done, and says so in a plain line now and then."""
    lines = build_plain_lines(terminal)
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if lines is not None:
            lines.say_if_due(lambda: f"{doing}: {format_count(done, unit)} after {lines.elapsed_s:.0f} s")

    return count


@contextmanager
def show_transfer(terminal: Terminal) -> Iterator[Show | None]:
    """Show bytes with rate, files and time left; yield ``None`` where nobody wants them."""
    if not terminal.interactive:
        lines = build_plain_lines(terminal)
        yield None if lines is None else _show_plainly(lines)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.fields[files]}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("copy", total=None, files="")

        def show(done_bytes: int, total_bytes: int, done_files: int, total_files: int) -> None:
            progress.update(
                task, completed=done_bytes, total=total_bytes or None, files=f"{done_files:,}/{total_files:,} files"
            )

        yield show


def _show_plainly(lines: PlainLines) -> Show:
    def show(done_bytes: int, total_bytes: int, done_files: int, total_files: int) -> None:
        def format_line() -> str:
            share = f" ({100 * done_bytes / total_bytes:.0f} %)" if total_bytes else ""
            rate = format_bps(compute_throughput_bps(done_bytes, max(lines.elapsed_s, 1e-9)))
            moved = f"{format_bytes(done_bytes)} of {format_bytes(total_bytes)}{share}"
            return f"{moved}, {done_files} of {format_count(total_files, 'file')}, {rate}"

        lines.say_if_due(format_line)

    return show


def make_snapshot_callback(show: Show) -> "Callable[[Snapshot, PreparedCopy], None]":
    """Return what shows each snapshot of a copy."""

    def show_snapshot(snapshot: "Snapshot", prepared: "PreparedCopy") -> None:
        files = snapshot.files_done + snapshot.files_skipped + snapshot.files_failed
        total_bytes = snapshot.moved_bytes + snapshot.remaining_bytes
        show(snapshot.moved_bytes, total_bytes, files, len(prepared.listing.jobs))

    return show_snapshot
