"""Deadlines as users write them, on days whose clocks change too."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tradewind.errors import InvalidValue
from tradewind_agent.grid.deadline import parse_deadline

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 28, 20, 0, tzinfo=UTC)  # 21:00 in Berlin


def test_durations_clock_times_and_instants_are_read() -> None:
    assert parse_deadline("6h", NOW, BERLIN) == NOW + timedelta(hours=6)
    assert parse_deadline("22:30", NOW, BERLIN) == datetime(2026, 11, 28, 21, 30, tzinfo=UTC)
    assert parse_deadline("07:00", NOW, BERLIN) == datetime(2026, 11, 29, 6, tzinfo=UTC)
    assert parse_deadline("2026-11-29T07:00+05:30", NOW, BERLIN) == datetime(2026, 11, 29, 1, 30, tzinfo=UTC)
    assert parse_deadline("2026-11-29 07:00", NOW, BERLIN) == datetime(2026, 11, 29, 6, tzinfo=UTC)


def test_day_with_25_hours_is_counted_to_its_end() -> None:
    noon = datetime(2026, 10, 24, 10, 0, tzinfo=UTC)  # 12:00 in summer time
    assert parse_deadline("12:00", noon, BERLIN) - noon == timedelta(hours=25)


@pytest.mark.parametrize(
    ("text", "now", "reason"),
    [
        ("2026-10-25T02:30", datetime(2026, 10, 24, tzinfo=UTC), "comes twice"),
        ("02:30", datetime(2026, 10, 24, 22, tzinfo=UTC), "comes twice"),
        ("2026-03-29T02:30", datetime(2026, 3, 28, tzinfo=UTC), "is skipped"),
        ("2026-11-28T20:00", NOW, "has passed"),
        ("0h", NOW, "has passed"),
        ("tomorrow", NOW, "is no time"),
        ("40d", NOW, "within 7 days"),
        ("9999-12-31T23:59-11:00", NOW, "within 7 days"),
        ("0001-01-01T00:00+05:00", NOW, "within 7 days"),
        ("2026-11-29", NOW, "no time of day"),
        ("07:00+01:00", NOW, "offset and no date"),
    ],
)
def test_text_that_names_no_single_later_instant_is_refused(text: str, now: datetime, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        parse_deadline(text, now, BERLIN)


def test_repeated_local_time_with_its_offset_is_one_instant() -> None:
    before = datetime(2026, 10, 24, tzinfo=UTC)
    assert parse_deadline("2026-10-25T02:30+01:00", before, BERLIN) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)
