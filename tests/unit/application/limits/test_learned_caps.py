"""Caps that agents learn bind their own key, and others only once another customer has met the same."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from services.application.limits.learned_caps import LearnedCap, LearnedCaps

AT = datetime(2026, 11, 1, tzinfo=UTC)
MINE, THEIRS, THIRD = uuid4(), uuid4(), uuid4()


def learn(streams: int, key_id: UUID, *, endpoint: str = "archive", of: str = "") -> LearnedCap:
    return LearnedCap(endpoint=endpoint, key_id=key_id, customer=of or key_id, streams=streams, refused_at=AT)


def test_a_report_binds_its_own_key_alone():
    caps = LearnedCaps([learn(4, MINE)])
    assert caps.find_streams(["archive", "lab"], MINE) == 4
    assert caps.find_streams(["archive", "lab"], THEIRS) is None
    assert caps.find_streams(["lab"], MINE) is None


def test_a_limit_that_two_customers_have_met_binds_everybody():
    caps = LearnedCaps([learn(2, MINE), learn(6, THEIRS)])
    assert caps.find_streams(["archive"], THIRD) == 6
    assert caps.find_streams(["archive"], MINE) == 2
    assert caps.find_streams(["archive"], None) == 6


def test_two_keys_of_one_customer_confirm_nothing():
    caps = LearnedCaps([learn(1, MINE, of="mover"), learn(1, THEIRS, of="mover")])
    assert caps.find_streams(["archive"], THIRD) is None


def test_a_customer_sees_what_binds_it_and_a_provider_all():
    caps = LearnedCaps([learn(4, MINE), learn(3, THEIRS, endpoint="lab")])
    assert [cap.endpoint for cap in caps.list_visible(MINE)] == ["archive"]
    assert [(cap.endpoint, cap.streams) for cap in caps.list_visible(None)] == [("archive", 4), ("lab", 3)]
