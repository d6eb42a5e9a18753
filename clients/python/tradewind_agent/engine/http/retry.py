"""Retries: exponential back-off with jitter, a bounded number of tries, and the server's Retry-After."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

_RETRYABLE_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 509})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Bounds of retries; tries count only while nothing new arrives: progress resets the count.

    ``longest_wait_s`` also bounds what a server may ask for by Retry-After.
    """

    most_tries: int = 6
    first_wait_s: float = 0.25
    longest_wait_s: float = 30.0

    def wait_s(self, tries: int, rng: random.Random, retry_after_s: float | None = None) -> float:
        """Return the seconds to wait after the ``tries``-th fruitless try (1 for the first).

        Uniform between half of and the full exponential step, so that many clients do not come back at once.
        """
        if retry_after_s is not None:
            return min(retry_after_s, self.longest_wait_s)
        step: float = min(self.first_wait_s * 2 ** (tries - 1), self.longest_wait_s)
        return step * rng.uniform(0.5, 1.0)


def is_retryable_status(status: int) -> bool:
    """Return whether the same request may be answered otherwise later."""
    return status in _RETRYABLE_STATUS


def parse_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that ``Retry-After`` states (a number or a date, RFC 9110 §10.2.3).

    A date is read against the server's own ``Date`` where it sent one, else against ``now``.
    """
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    until, sent = parse_http_date(text), parse_http_date(headers.get("date", "")) or now
    return max(0.0, (until - sent).total_seconds()) if until is not None and sent is not None else None


@lru_cache(maxsize=4096)
def parse_http_date(text: str) -> datetime | None:
    """Return an HTTP date, in UTC; ``None`` where it is none.

    Dates come again and again: of one second in each answer, of files that were stored together.
    """
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
