"""Retries: what an error status means, exponential back-off with jitter, bounded tries, the server's Retry-After."""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache

from tradewind.units import format_measured_seconds
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.errors import RefusedByServer

_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")  # with a fraction as some servers write it

_LONGEST_S = 1e9

_ADVICE = {
    # Every file server allows GET, so a method that is not allowed is the PUT of an upload.
    405: "; it takes no uploads: start serve-files with --writable",
    501: "; it takes no uploads",
    507: "; there is no room at the server",
    409: "; the folder that it is to be stored in may be missing there",
}

_RETRYABLE_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504, 509})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Bounds of retries; tries count only while nothing new arrives: progress resets the count.

    ``longest_wait_s`` : that the agent chooses by itself.
    ``longest_requested_wait_s`` : that a server may ask for by Retry-After; one that asks for more is not tried again.
    """

    most_tries: int = 6
    first_wait_s: float = 0.25
    longest_wait_s: float = 30.0
    longest_requested_wait_s: float = 600.0

    def wait_s(self, tries: int, rng: random.Random, retry_after_s: float | None = None) -> float:
        """Return the seconds to wait after the ``tries``-th fruitless try (1 for the first).

        Uniform between half of and the full exponential step, so that many clients do not come back at once; at least
        what the server asks for.
        """
        step: float = min(self.first_wait_s * 2 ** (tries - 1), self.longest_wait_s)
        return max(step * rng.uniform(0.5, 1.0), min(retry_after_s or 0.0, self.longest_requested_wait_s))

    def permits(self, requested_wait_s: float | None) -> bool:
        """Return whether the wait that a server asks for, if any, is waited for."""
        return requested_wait_s is None or requested_wait_s <= self.longest_requested_wait_s


def is_retryable_status(status: int) -> bool:
    """Return whether the same request may be answered otherwise later."""
    return status in _RETRYABLE_STATUS


def make_refusal(
    head: ResponseHead, policy: RetryPolicy, *, reason: str | None = None, advice: str = ""
) -> RefusedByServer:
    """Return the fault for an error status; it is final where the server asks for a longer wait than ``policy`` has.

    Parameters
    ----------
    reason : that the server states in its own way, with what to do.
    advice : what to do, as the end of a sentence, where this answer says more than its status.
    """
    wait_s = parse_retry_after(head.headers)
    advice = (advice or _ADVICE.get(head.status, "")) if reason is None else ""
    if wait_s is not None and not policy.permits(wait_s):
        advice = f"; it asks to be left alone for {format_measured_seconds(wait_s)}: run the same command after that"
    return RefusedByServer(
        f"{reason or f'the server answered {head.status_line}'}{advice}",
        retryable=is_retryable_status(head.status) and policy.permits(wait_s),
        retry_after_s=wait_s,
        status=head.status,
    )


def parse_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that ``Retry-After`` states (a number or a date, RFC 9110 §10.2.3).

    A date is read against the server's own ``Date`` where it sent one, else against ``now``, by default this host's.
    """
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST_S)
    until = parse_http_date(text)
    if until is None:
        return None
    sent = parse_http_date(headers.get("date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - sent).total_seconds())


@lru_cache(maxsize=4096)
def parse_http_date(text: str) -> datetime | None:
    """Return an HTTP date, in UTC; ``None`` where it is none.

    Dates come again and again: of one second in each answer, of files that were stored together.
    """
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)
