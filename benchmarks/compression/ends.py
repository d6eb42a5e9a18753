"""Two machines on one: each end of a transfer has processors of its own, as the model of a transfer takes them to have.

The path between them runs wherever there is room.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager


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
