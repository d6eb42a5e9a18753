"""Processes that end: seen, or made to as a crash of their machine would."""

from collections.abc import Sequence
from contextlib import suppress

import psutil

from tests.conditions import eventually


def is_gone(process: psutil.Process) -> bool:
    """Whether it has ended with all its threads, its parent having looked or not.

    A main thread may be a zombie before the others of its process, which still hold its sockets.
    """
    try:
        return not process.is_running() or (process.status() == psutil.STATUS_ZOMBIE and process.num_threads() <= 1)
    except psutil.NoSuchProcess:
        return True


def kill_outright(processes: Sequence[psutil.Process]) -> None:
    """Kill all of them and wait; some may follow another into death before their turn."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    eventually(lambda: all(map(is_gone, processes)))
