"""Give each end of a transfer processors of its own, as if they were two machines.

The path between them runs where there is room. Files of both are in memory if it holds them: the time of a disk is no
part of a path, and no probe of a path measures it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
"""The folder in which Linux keeps files in memory; containers may have little of it."""

SPARE = 2
"""Factor of the room over what the files take."""


def split_processors() -> tuple[set[int], set[int]]:
    """Return the processors of this benchmark and of the server: a half each; both have a single one."""
    usable = sorted(os.sched_getaffinity(0))
    half = (len(usable) + 1) // 2
    return set(usable[:half]), set(usable[half:] or usable)


@contextmanager
def run_on(processors: set[int]) -> Iterator[None]:
    """Run everything that the block starts, threads and processes, on these processors only."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def open_folder(needed_bytes: int, fallback: Path) -> Iterator[Path]:
    """Yield an empty folder in memory, or else ``fallback``; remove it in the end, and what an interrupted run has
    left.
    """
    memory_folder = MEMORY / f"tradewind-compression-{os.getuid()}"
    for folder in (memory_folder, fallback):
        shutil.rmtree(folder, ignore_errors=True)
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= SPARE * needed_bytes
    folder = memory_folder if in_memory else fallback
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
