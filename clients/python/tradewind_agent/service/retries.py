"""When to repeat a call to the service, and how long to wait before."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from random import Random

from tradewind_agent.errors import ServiceUnreachable

UNAVAILABLE_STATUSES = frozenset({502, 503, 504})
"""Statuses that say nothing about the request itself: it may be sent again as it is."""

TOO_MANY_REQUESTS = 429


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Bounds of retries.

    ``attempts`` : requests sent at most, the first included.
    ``first_wait_s``, ``longest_wait_s`` : upper ends of the jittered waits, doubled from the first to the longest.
    ``budget_s`` : waits end here together, s; a ``Retry-After`` beyond it is not waited for.
    """

    attempts: int = 5
    first_wait_s: float = 0.2
    longest_wait_s: float = 10.0
    budget_s: float = 60.0

    def waits_s(self, jitter: Random) -> Iterator[float]:
        """Wait before each further attempt: uniform between 0 and a doubling ceiling ("full jitter")."""
        for doublings in range(self.attempts - 1):
            yield jitter.uniform(0.0, min(self.first_wait_s * 2.0**doublings, self.longest_wait_s))


LONGEST_BACKOFF_S = 300.0

NO_RETRIES = RetryPolicy(attempts=1)
BRIEF_RETRIES = RetryPolicy(attempts=2, budget_s=2.0)
"""For calls that a transfer waits for: it is better to start by the heuristics than to wait."""


@dataclass(slots=True)
class Backoff:
    """The waits of a caller that retries for ever: doubled, jittered, bounded by `LONGEST_BACKOFF_S`."""

    jitter: Random
    first_s: float
    failures: int = 0
    left_s: float = 0.0

    def note_failure(self, requested_wait_s: float | None) -> None:
        self.failures += 1
        ceiling_s = min(self.first_s * 2.0**self.failures, LONGEST_BACKOFF_S)
        self.left_s = max(self.jitter.uniform(ceiling_s / 2, ceiling_s), requested_wait_s or 0.0)

    def note_success(self) -> None:
        self.failures, self.left_s = 0, 0.0


class RequestedPause:
    """For calls that are not repeated: leaves the service alone for as long as it has requested.

    Parameters
    ----------
    monotonic_s : seconds of a clock that never goes back.
    """

    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self._monotonic_s = monotonic_s
        self._until_s = -math.inf

    def begin(self, away: ServiceUnreachable) -> None:
        """Start a pause if the service has requested one."""
        if away.retry_after_s:
            self._until_s = self._monotonic_s() + away.retry_after_s

    def require_over(self) -> None:
        """Raises
        ------
        ServiceUnreachable : the pause goes on.
        """
        left_s = self._until_s - self._monotonic_s()
        if left_s > 0:
            raise ServiceUnreachable(
                f"the service asked to be left alone for another {left_s:.0f} s", retry_after_s=left_s
            )


def retry_after_s(header: str | None, now: datetime) -> float | None:
    """Return the seconds of a ``Retry-After`` header (RFC 9110 §10.2.3: seconds or a date); ``None`` without one."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header.strip())
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(math.ceil((at - now).total_seconds()), 0.0)
