"""Logs of known transfers, as `./run bench fuzz` writes and reads them by the thousand."""

from dataclasses import replace
from random import Random

import pytest

from benchmarks.fuzz import log_round_trips
from benchmarks.fuzz.log_round_trips import FORMATS, run_round_trips


def test_written_logs_of_every_format_are_read_as_they_were_written():
    tally = run_round_trips(20 * len(FORMATS), seed=5)
    assert tally.wrong == []
    assert tally.examples == 20 * len(FORMATS)
    assert all(tally.read[name] >= 19 for name in FORMATS)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_wrong_number_is_found(name, monkeypatch):
    def write_other(random: Random):
        log = FORMATS[name](random)
        return replace(log, records=[replace(each, moved_bytes=2 * each.moved_bytes + 10) for each in log.records])

    monkeypatch.setattr(log_round_trips, "FORMATS", {name: write_other})
    tally = run_round_trips(20, seed=5)
    assert len(tally.wrong) > 10


def test_record_that_is_lost_is_found(monkeypatch):
    def write_less(random: Random):
        log = FORMATS["gridftp"](random)
        return replace(log, lines=log.lines[:-1])

    monkeypatch.setattr(log_round_trips, "FORMATS", {"gridftp": write_less})
    tally = run_round_trips(20, seed=5)
    assert len(tally.wrong) + tally.refused.total() == 20
    assert any("records of" in each for each in tally.wrong)
