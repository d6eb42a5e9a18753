"""Progress for whoever watches: bars on a terminal, nothing at all elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tradewind_agent.cli.terminal import Terminal

Show = Callable[[int, int, int, int], None]
"""Shows bytes moved and planned, files over and planned."""


@contextmanager
def counting(terminal: Terminal, doing: str, unit: str) -> Iterator[Callable[[int], None]]:
    """A spinner with a count, for work of unknown length; call it with how many more are done."""
    if not terminal.interactive:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(f"{doing} {{task.completed:,.0f}} {unit}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(doing, total=None)
        yield lambda more: progress.update(task, advance=more)


@contextmanager
def transferring(terminal: Terminal) -> Iterator[Show | None]:
    """A bar of bytes with rate and time left; ``None`` where nobody looks."""
    if not terminal.interactive:
        yield None
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
