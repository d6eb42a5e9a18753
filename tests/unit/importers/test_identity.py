"""Which rows are the same row."""

from dataclasses import replace
from uuid import UUID, uuid5

import pytest

from tests.unit.importers.logs import ENDS, run
from tests.unit.importers.test_properties import SAMPLES
from tradewind.transfer import LinkKey
from tradewind_agent.history.importers.identity import compute_record_id
from tradewind_agent.history.importers.log_text import Line

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


def test_ids_are_name_based_and_stay_those_of_earlier_versions():
    link, line = LinkKey("a", "b", None, "gridftp"), Line(7, "DATE=… HOST=dtn")
    name = f"a\nb\n\ngridftp\n7\n{line.text}"
    assert compute_record_id(link, line) == uuid5(UUID("3f0f1c57-6a8e-5d0a-9a53-5b1f9f2f8d11"), name)
