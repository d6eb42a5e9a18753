"""Waiting for conditions instead of for time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.05


def eventually(condition: Callable[[], T], *, patience_s: float = 60.0) -> T:
    """The first true value of ``condition``; fails when it is still false after ``patience_s``."""
    deadline = time.monotonic() + patience_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"still not true after {patience_s:g} s"
        time.sleep(POLL_S)
    return value
