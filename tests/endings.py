"""Processes that end: by themselves, or killed as by a crash of their machine, or with the test that started them."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import AnyStr

import psutil

from tests.conditions import eventually


class Program(subprocess.Popen[AnyStr]):
    """A program that a test starts; a test that fails inside its ``with`` kills it, and does not wait for its end."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, error, trace)


def is_gone(process: psutil.Process) -> bool:
    """Return whether a process has ended with all its threads, collected by its parent or not.

    A main thread may be a zombie before the other threads of its process, which still hold its sockets.
    """
    try:
        return not process.is_running() or (process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1)
    except psutil.NoSuchProcess:
        return True


def kill_outright(processes: Sequence[psutil.Process]) -> None:
    """Kill all of them and wait; some may end before their turn."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    eventually(lambda: all(map(is_gone, processes)))
