"""The experiment on cores: balanced, within a tenth of the bytes, and only where no target can be missed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.sla.kinds import Sla, SlaKind
from tradewind_agent.resources.resource_trials import (
    EXPLORED_SHARE,
    MOST_LINKS,
    WITHOUT_TARGET,
    ResourceTrial,
    ResourceTrials,
    list_levels,
)

FASTEST = Sla(kind=SlaKind.MAX_THROUGHPUT)
LINK = "a → b"
MB = 10**6


@pytest.mark.parametrize(
    ("cpus", "levels"), [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (8, (1, 2, 4, 8)), (12, (1, 2, 4, 8, 12))]
)
def test_levels_are_powers_of_two_and_all_cpus(cpus, levels):
    assert list_levels(cpus) == levels


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 10**9), st.floats(0, 1)), max_size=40), st.integers(2, 16))
def test_no_more_than_a_tenth_of_the_bytes_is_explored(tmp_path_factory, copies, cpus):
    trials = ResourceTrials(tmp_path_factory.mktemp("trials"), cpus)
    moved, explored = 0, 0
    for total_bytes, share in copies:
        trial = trials.begin(LINK, total_bytes, FASTEST)
        done = int(share * total_bytes)
        moved += done
        if trial.is_experiment:
            explored += done
            assert trial.cores in list_levels(cpus)[:-1]
        else:
            assert trial.cores == cpus
        trials.finish(trial, done)
        assert explored <= EXPLORED_SHARE * (moved + total_bytes - done) + 1


def test_every_level_is_tried_about_as_often(tmp_path: Path):
    trials, tried = ResourceTrials(tmp_path, 8), []
    for _ in range(300):
        trial = trials.begin(LINK, MB, FASTEST)
        if trial.is_experiment:
            tried.append(trial.cores)
        trials.finish(trial, MB)
    assert 25 <= len(tried) <= 30
    counts = [tried.count(level) for level in (1, 2, 4)]
    assert max(counts) - min(counts) <= 1
    assert tried[0] == 4


@pytest.mark.parametrize("kind", sorted(set(SlaKind) - WITHOUT_TARGET))
def test_nothing_is_tried_under_an_sla_with_a_target(tmp_path: Path, kind):
    trials = ResourceTrials(tmp_path, 8)
    trials.finish(ResourceTrial(LINK, 8), 1000 * MB)
    assert not trials.begin(LINK, MB, Sla(kind=kind, target=1.0)).is_experiment


def test_copies_that_run_at_once_share_the_tenth(tmp_path: Path):
    trials = ResourceTrials(tmp_path, 4)
    trials.finish(ResourceTrial(LINK, 4), 100 * MB)
    trials = [ResourceTrials(tmp_path, 4).begin(LINK, 6 * MB, FASTEST) for _ in range(3)]
    assert [trial.is_experiment for trial in trials] == [True, False, False]


def test_recommended_cores_are_the_control_group(tmp_path: Path):
    trials = ResourceTrials(tmp_path, 8)
    assert trials.begin(LINK, MB, FASTEST, usual=2).cores == 2
    trials.finish(ResourceTrial(LINK, 2), 1000 * MB)
    levels = [trials.begin(LINK, MB, FASTEST, usual=2).cores for _ in range(6)]
    assert 2 not in levels
    assert set(levels) == {1, 4, 8}


def test_host_with_one_cpu_has_nothing_to_try(tmp_path: Path):
    trials = ResourceTrials(tmp_path, 1)
    trials.finish(ResourceTrial(LINK, 1), 1000 * MB)
    assert trials.begin(LINK, MB, FASTEST) == ResourceTrial(LINK, 1)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"a": 3}', b'{"a": {"bytes": "x"}}', b"\xff"])
def test_notes_that_cannot_be_read_begin_again(tmp_path: Path, content: bytes):
    (tmp_path / "resource-trials.json").write_bytes(content)
    trials = ResourceTrials(tmp_path, 4)
    assert not trials.begin(LINK, MB, FASTEST).is_experiment
    trials.finish(ResourceTrial(LINK, 4), 100 * MB)
    assert trials.begin(LINK, MB, FASTEST).is_experiment


def test_folder_that_cannot_be_written_stops_no_copy(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    trials = ResourceTrials(tmp_path / "file", 4)
    assert trials.begin(LINK, MB, FASTEST) == ResourceTrial(LINK, 4)
    trials.finish(ResourceTrial(LINK, 4), MB)


def test_links_that_were_not_used_for_long_are_forgotten(tmp_path: Path):
    trials = ResourceTrials(tmp_path, 4)
    for number in range(MOST_LINKS + 3):
        trials.finish(ResourceTrial(f"link {number}", 4), 100 * MB)
    assert not trials.begin("link 0", MB, FASTEST).is_experiment
    assert trials.begin(f"link {MOST_LINKS + 2}", MB, FASTEST).is_experiment


def test_frequencies_are_tried_with_every_number_of_cores(tmp_path: Path):
    trials, tried = ResourceTrials(tmp_path, 2), []
    for _ in range(300):
        trial = trials.begin(LINK, MB, FASTEST, frequencies_hz=(1e9, 2e9, 3e9))
        if trial.is_experiment:
            tried.append((trial.cores, trial.frequency_hz))
        else:
            assert (trial.cores, trial.frequency_hz) == (2, None)
        trials.finish(trial, MB)
    counts = [tried.count((cores, hz)) for cores in (1, 2) for hz in (1e9, 2e9, 3e9)]
    assert len(tried) == sum(counts) >= 25
    assert max(counts) - min(counts) <= 1
    assert tried[0] == (2, 3e9)


def test_host_with_one_cpu_tries_frequencies_alone(tmp_path: Path):
    trials = ResourceTrials(tmp_path, 1)
    trials.finish(ResourceTrial(LINK, 1), 1000 * MB)
    trial = trials.begin(LINK, MB, FASTEST, frequencies_hz=(1e9, 2e9))
    assert (trial.cores, trial.frequency_hz) == (1, 2e9)
    assert trial.describe() == "1 core at 2 GHz"
