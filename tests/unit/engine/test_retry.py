import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

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
    assert POLICY.wait_s(1, random.Random(1), 120.0) == 120.0
    assert POLICY.permits(120.0)
    assert POLICY.permits(None)
    assert not POLICY.permits(3600.0)


def test_a_server_that_wants_no_wait_gets_no_request_at_once():
    assert 0.25 <= POLICY.wait_s(1, random.Random(1), 0.0) <= 0.5


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "-7"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
        ({"retry-after": "Sat, 21 Nov 2026 03:00:30 GMT", "date": "Sat, 21 Nov 2026 03:00:00 GMT"}, 30.0),
        ({"retry-after": "Sat, 21 Nov 2026 03:00:00 GMT", "date": "Sat, 21 Nov 2026 03:00:30 GMT"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 03:00:10 GMT"}, 10.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "²"}, None),
        ({"retry-after": "1e3"}, None),
    ],
)
def test_retry_after_as_number_and_as_date(headers: dict[str, str], expected: float | None):
    assert parse_retry_after(headers, now=datetime(2026, 11, 21, 3, tzinfo=UTC)) == expected


def test_a_date_of_a_server_that_does_not_say_its_own_time_is_read_by_the_clock():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    asked_s = parse_retry_after({"retry-after": later})
    assert asked_s is not None
    assert 90 < asked_s <= 100


def test_errors_that_pass_and_errors_that_stay():
    assert all(is_retryable_status(status) for status in (408, 429, 500, 502, 503, 504))
    assert not any(is_retryable_status(status) for status in (400, 401, 403, 404, 410, 416, 501, 507))


def test_http_dates():
    assert parse_http_date("Sat, 21 Nov 2026 03:58:33 GMT") == datetime(2026, 11, 21, 3, 58, 33, tzinfo=UTC)
    assert parse_http_date("yesterday") is None
