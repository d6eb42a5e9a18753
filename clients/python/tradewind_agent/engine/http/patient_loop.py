"""An event loop that lets arrivals pile up, so that one iteration serves many packets.

On long paths packets come one by one, thousands a second, and to wake for each takes more processor time than what is
done with its bytes; network cards moderate their interrupts for the same reason. The loop waits a small part of the
path's round trip between two looks at its sockets. That delays an answer by half of it on average, and changes nothing
for streams that are kept full. On a path without a round trip worth the name it does not wait.
"""

import asyncio
import math
import selectors
import time
from collections.abc import Callable
from typing import Any

PATIENCE_SHARE = 0.05
"""Share of the path's round trip."""

MAX_PATIENCE_S = 0.01


class PatientSelector(selectors.DefaultSelector):
    """A selector that polls its sockets no sooner than ``patience_s`` after the last poll, unless there is work.

    Attributes
    ----------
    patience_s : 0 at first.
    is_hurried : more bytes had arrived than one iteration could read: the next one does not wait.
    """

    def __init__(
        self, *, monotonic_s: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        super().__init__()
        self.patience_s = 0.0
        self.is_hurried = False
        self._monotonic_s, self._sleep = monotonic_s, sleep
        self._looked_at_s = -math.inf

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        is_idle = timeout is None or timeout > 0
        if is_idle and not self.is_hurried:
            left_s = self._looked_at_s + self.patience_s - self._monotonic_s()
            if left_s > 0:
                self._sleep(left_s if timeout is None else min(left_s, timeout))
        found = super().select(timeout)
        if is_idle:
            self.is_hurried = False
        self._looked_at_s = self._monotonic_s()
        return found


class PatientLoop(asyncio.SelectorEventLoop):
    """An event loop on a `PatientSelector`."""

    def __init__(self) -> None:
        self._patient_selector = PatientSelector()
        super().__init__(self._patient_selector)

    @property
    def patience_s(self) -> float:
        return self._patient_selector.patience_s

    def adapt_to(self, rtt_s: float | None) -> None:
        """Set the patience that the round trip of the path permits."""
        self._patient_selector.patience_s = 0.0 if rtt_s is None else min(PATIENCE_SHARE * rtt_s, MAX_PATIENCE_S)

    def hurry(self) -> None:
        """Note that more bytes had arrived than one iteration could read."""
        self._patient_selector.is_hurried = True


def find_patient_loop() -> PatientLoop | None:
    """Return the running loop, if it is one of these."""
    loop: Any = asyncio.get_running_loop()
    return loop if isinstance(loop, PatientLoop) else None
