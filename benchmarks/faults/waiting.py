"""Wait for a condition, within bounds."""

import time
from collections.abc import Callable
from typing import TypeVar

from tradewind.errors import TradewindError

T = TypeVar("T")

POLL_S = 0.05
PATIENCE_S = 120.0


class NotInTime(TradewindError):
    """A condition did not become true in time; the message says which."""


def wait_until(condition: Callable[[], T], description: str, *, patience_s: float = PATIENCE_S) -> T:
    """Return the first true value of ``condition``.

    Raises
    ------
    NotInTime : it is still false after ``patience_s``.
    """
    deadline = time.monotonic() + patience_s
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise NotInTime(f"waited {patience_s:g} s in vain for {description}")
        time.sleep(POLL_S)
    return value
