"""Waiting for what is to become true, within bounds."""

import time
from collections.abc import Callable
from typing import TypeVar

from tradewind.errors import TradewindError

T = TypeVar("T")

POLL_S = 0.05
PATIENCE_S = 120.0


class NeverCame(TradewindError):
    """What was waited for did not become true in time; the message says what it was."""


def until(condition: Callable[[], T], what: str, *, patience_s: float = PATIENCE_S) -> T:
    """The first true value of ``condition``.

    Raises
    ------
    NeverCame : it is still false after ``patience_s``.
    """
    deadline = time.monotonic() + patience_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise NeverCame(f"waited {patience_s:g} s in vain for {what}")
        time.sleep(POLL_S)
    return value
