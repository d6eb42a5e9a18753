"""Which rows are the same row."""

from dataclasses import replace

import pytest

from tests.unit.importers.logs import ENDS, run
from tests.unit.importers.test_properties import SAMPLES

WITHOUT_ENDS = ("energy", "rclone", "aria2")
"""Logs whose ends are those that the user names."""


def ids(sample, context=ENDS):
    return [item.record.id for item in run(SAMPLES[sample], context)[0]]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_log_read_twice_gives_the_same_ids_and_each_row_its_own(sample):
    assert ids(sample) == ids(sample)
    assert len(set(ids(sample))) == len(ids(sample)) > 0


@pytest.mark.parametrize("sample", WITHOUT_ENDS)
@pytest.mark.parametrize("end", ["source", "destination"])
def test_a_log_read_again_with_a_corrected_end_is_another_log(sample, end):
    assert not set(ids(sample)) & set(ids(sample, replace(ENDS, **{end: "corrected"})))


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("label", ["network", "mover"])
def test_a_log_read_again_for_another_network_or_mover_is_another_log(sample, label):
    assert not set(ids(sample)) & set(ids(sample, replace(ENDS, **{label: "corrected"})))


@pytest.mark.parametrize("sample", SAMPLES)
def test_known_path_does_not_change_the_identity_of_rows(sample):
    assert ids(sample) == ids(sample, replace(ENDS, bandwidth_bps=40e9, rtt_s=0.04))


def test_names_that_run_into_one_another_are_distinguished():
    one = replace(ENDS, source="a", destination="ab")
    other = replace(ENDS, source="aa", destination="b")
    assert not set(ids("rclone", one)) & set(ids("rclone", other))
