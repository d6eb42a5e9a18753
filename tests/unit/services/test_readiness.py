"""What a process does without, and what it waits for."""

import json
from io import StringIO

import pytest

from services.observability.telemetry import create_logger
from services.readiness import Readiness
from tradewind.errors import Unavailable, UnknownSchema


class Part:
    def __init__(self, name):
        self.name, self.there, self.wrong = name, True, None

    def check(self):
        if self.wrong is not None:
            raise self.wrong
        if not self.there:
            raise Unavailable(f"{self.name} does not answer")


@pytest.fixture
def parts():
    return Part("database"), Part("redis")


@pytest.fixture
def output():
    return StringIO()


@pytest.fixture
def readiness(parts, output):
    database, redis = parts
    return Readiness((database.check,), create_logger("api", output=output), spared=(redis.check,))


def events(output):
    return [json.loads(line)["event"] for line in output.getvalue().splitlines()]


def test_a_spared_part_is_needed_until_it_was_there_once(parts, readiness, output):
    parts[1].there = False
    with pytest.raises(Unavailable, match="redis"):
        readiness.require()
    parts[1].there = True
    assert readiness.require() is None
    parts[1].there = False
    assert [readiness.require() for _ in range(2)] == ["redis does not answer"] * 2
    parts[1].there = True
    assert readiness.require() is None
    assert events(output) == ["not_ready", "ready_again", "degraded", "ready_again"]


def test_the_other_parts_are_always_needed(parts, readiness, output):
    readiness.require()
    for part in parts:
        part.there = False
    with pytest.raises(Unavailable, match="database"):
        readiness.require()
    assert events(output) == ["not_ready"]


def test_a_process_serves_from_when_it_had_all_that_it_needs(parts, readiness):
    with pytest.raises(Unavailable, match="nothing has been looked at yet"):
        readiness.require_serving()
    for missing in parts[::-1]:
        missing.there = False
        with pytest.raises(Unavailable):
            readiness.require()
        with pytest.raises(Unavailable, match=missing.name):
            readiness.require_serving()
    for part in parts:
        part.there = True
    readiness.require()
    assert readiness.require_serving() is None


def test_a_process_that_loses_what_it_needs_serves_on(parts, readiness):
    readiness.require()
    for part in parts:
        part.there = False
    with pytest.raises(Unavailable):
        readiness.require()
    assert readiness.require_serving() == "database does not answer"


def test_a_process_does_not_serve_from_when_the_schema_is_another_until_it_fits_again(parts, readiness):
    database, redis = parts
    readiness.require()
    for wrong in (UnknownSchema("another schema"), Unavailable("away")):
        database.wrong = wrong
        with pytest.raises(Unavailable):
            readiness.require()
        with pytest.raises(Unavailable, match=str(wrong)):
            readiness.require_serving()
    database.wrong, redis.there = None, False
    readiness.require()
    assert readiness.require_serving() == "redis does not answer"
