import json
from datetime import UTC, datetime

import pytest

from tradewind.errors import InvalidValue
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.omissions import ListingRules
from tradewind_agent.engine.remote.path_selection import PathSelection
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.queued.queue_file import read_queue

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
JOB = {"sources": ["http://host/a/"], "destination": "a"}


def read(tmp_path, *jobs):
    path = tmp_path / "queue"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in jobs))
    return read_queue(path, NOW)


def test_times_are_durations_from_now_or_moments_with_a_zone(tmp_path):
    first, second = read(
        tmp_path,
        JOB | {"not_before": "90s", "deadline": "2h", "rate": "20Mbps"},
        "",
        JOB | {"name": "b", "not_before": "2026-11-22T12:59:00+01:00", "deadline": "2026-11-22T14:00:00+01:00"},
    )
    assert (first.name, first.ready_s, first.deadline_s, first.throughput_bps) == ("a", 90, 7200, 20e6)
    assert (second.ready_s, second.deadline_s) == (0, 3600)  # what has passed is now


def test_a_long_destination_needs_a_name(tmp_path):
    (job,) = read(tmp_path, JOB | {"destination": "d" * 201, "name": "n" * 200})
    assert (job.name, job.destination) == ("n" * 200, "d" * 201)


def test_separators_of_lines_within_a_name_end_no_line(tmp_path):
    path = tmp_path / "queue"
    path.write_text(json.dumps(JOB | {"name": "a\u2028b\x85c"}, ensure_ascii=False) + "\r\n")
    assert [job.name for job in read_queue(path, NOW)] == ["a\u2028b\x85c"]


def test_queue_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "queue"
    path.write_bytes(b'{"sources": ["http://h/a"], "destination": "caf\xe9"}\n')
    with pytest.raises(InvalidValue, match="is no text in UTF-8"):
        read_queue(path, NOW)


@pytest.mark.parametrize(
    ("jobs", "told"),
    [
        ([], "holds no job"),
        (["{"], "line 1: job: is not JSON"),
        ([JOB | {"sources": ["http://host/\ud800"]}], "line 1: sources: has half a character"),
        ([JOB | {"sources": ["a\0b"]}], "line 1: sources: has a NUL"),
        (["[" * 100_000], "line 1: job: is nested too deeply"),
        (["[]"], "must be a JSON object"),
        ([JOB, JOB], "two jobs are named 'a'"),
        ([JOB | {"deadlin": "1h"}], "deadlin: is no field of a job"),
        ([JOB | {"sources": "http://host/a/"}], "must be a list"),
        ([JOB | {"skip": "all"}], "skip: is one of existing, newer, same"),
        ([JOB | {"include": "*.nc"}], "include: must be a list of globs"),
        ([JOB | {"exclude": ["../a"]}], "matches no path"),
        ([{"sources": []}], "destination: is missing"),
        ([JOB | {"deadline": "tomorrow"}], "neither a duration"),
        ([JOB | {"deadline": "2026-11-22T14:00:00"}], "has no zone"),
        ([JOB | {"not_before": "2060-01-01T00:00:00Z"}], "not_before: '2060-01-01T00:00:00Z' is too far off"),
        ([JOB | {"deadline": "31d"}], "deadline: '31d' is too far off"),
        ([JOB | {"rate": "20"}], "has no unit"),
        ([JOB | {"rate": "0.5bps"}], "rate: must be within 1 and 1e[+]16 bit/s"),
        ([JOB | {"destination": "d" * 201}], 'name: has 201 characters, 200 are the most; give the job a "name"'),
        ([JOB | {"name": "n" * 201}], "name: has 201 characters"),
        ([JOB | {"name": "two\nlines"}], "name: .* control characters"),
        ([JOB | {"destination": "half\ud800"}], "line 1: destination: has half a character"),
        ([JOB | {"name": str(number)} for number in range(41)], "at most 40"),
    ],
)
def test_a_mistake_names_the_line_and_what_to_write(tmp_path, jobs, told):
    with pytest.raises(InvalidValue, match=told):
        read(tmp_path, *jobs)


def test_a_job_has_rules_of_its_own_or_those_of_the_command(tmp_path):
    path = tmp_path / "queue"
    own = JOB | {"skip": "newer", "exclude": ["*.tmp"]}
    path.write_text("\n".join(json.dumps(job) for job in (own, JOB | {"destination": "b"})))
    selection = PathSelection.parse(["*.nc"], [])
    command = CopyOptions(listing=ListingRules(selection=selection), engine=EngineOptions(skip=SkipRule.EXISTING))
    first, second = (request.apply_to(command) for request in read_queue(path, NOW))
    assert first.engine.skip is SkipRule.NEWER
    assert [glob.text for glob in first.listing.selection.excludes] == ["*.tmp"]
    assert first.listing.selection.includes == ()
    assert (second.engine.skip, second.listing.selection) == (SkipRule.EXISTING, selection)
