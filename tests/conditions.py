"""Wait for conditions instead of for time."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.05
PATIENCE_S = 60.0
"""Enough for what takes a moment on an idle machine."""


def stretched(patience_s: float) -> float:
    """Return a patience for this machine as it is now: longer by how many processes wait for each processor.

    It is for whatever only has to happen at last. A bound that is the point of a test stays as it is.
    """
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return patience_s * max(1.0, os.getloadavg()[0] / processors)


def eventually(condition: Callable[[], T], *, patience_s: float | None = None) -> T:
    """Return the first true value of ``condition``; fail when it is still false after ``patience_s``.

    By default there is a minute, and more on a busy machine.
    """
    started_s = time.monotonic()
    while not (value := condition()):
        waited_s, most_s = time.monotonic() - started_s, stretched(PATIENCE_S) if patience_s is None else patience_s
        assert waited_s < most_s, f"still not true after {most_s:g} s"
        time.sleep(POLL_S)
    return value
