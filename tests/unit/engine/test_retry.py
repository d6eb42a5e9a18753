import random
from datetime import UTC, datetime

import pytest

from tradewind_agent.engine.http.retry import RetryPolicy, is_retryable_status, parse_http_date, parse_retry_after

POLICY = RetryPolicy(most_tries=9, first_wait_s=0.5, longest_wait_s=10)


def test_waits_double_up_to_the_longest_and_are_spread():
    rng = random.Random(1)
    for tries in range(1, 9):
        step = min(0.5 * 2 ** (tries - 1), 10)
        waits = [POLICY.wait_s(tries, rng) for _ in range(50)]
        assert all(step / 2 <= wait <= step for wait in waits)
        assert len(set(waits)) == 50


def test_retry_after_is_followed_within_bound():
    assert POLICY.wait_s(1, random.Random(1), 3.0) == 3.0
    assert POLICY.wait_s(1, random.Random(1), 3600.0) == 10.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-7"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
        ({"retry-after": "Sat, 21 Nov 2026 03:00:30 GMT", "date": "Sat, 21 Nov 2026 03:00:00 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 03:00:00 GMT", "date": "Sat, 21 Nov 2026 03:00:30 GMT"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 03:00:00 GMT"}, None),
    ],
)
def test_retry_after_as_number_and_as_date(headers: dict[str, str], expected: float | None):
    assert parse_retry_after(headers) == expected


def test_errors_that_pass_and_errors_that_stay():
    assert all(is_retryable_status(status) for status in (408, 429, 500, 502, 503, 504))
    assert not any(is_retryable_status(status) for status in (400, 401, 403, 404, 410, 416, 501, 507))


def test_http_dates():
    assert parse_http_date("Sat, 21 Nov 2026 03:58:33 GMT") == datetime(2026, 11, 21, 3, 58, 33, tzinfo=UTC)
    assert parse_http_date("yesterday") is None
