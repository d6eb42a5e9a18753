"""Two machines on one: each end of a transfer has processors of its own, as the model of a transfer takes them to have.

The path between them runs wherever there is room. Files of both are in memory where it holds them: that a disk keeps
what has come is no part of a path, and no probe of one tells it.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory; containers may have little of it."""

SPARE = 2
"""Room wanted over what files take."""


def processors_of_ends() -> tuple[set[int], set[int]]:
    """Of the end that this benchmark is, and of the server: a half each; of a single processor both have it."""
    usable = sorted(os.sched_getaffinity(0))
    half = (len(usable) + 1) // 2
    return set(usable[:half]), set(usable[half:] or usable)


@contextmanager
def running_on(processors: set[int]) -> Iterator[None]:
    """What is started within, threads and processes, runs on these alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def folder_for(needed_bytes: int, otherwise: Path) -> Iterator[Path]:
    """An empty folder in memory, or else ``otherwise``; removed in the end, as is what an interrupted run has left."""
    there = MEMORY / f"tradewind-compression-{os.getuid()}"
    for left in (there, otherwise):
        shutil.rmtree(left, ignore_errors=True)
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= SPARE * needed_bytes
    folder = there if in_memory else otherwise
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
