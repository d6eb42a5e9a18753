import pytest

from tradewind_agent.engine.origin.range_refusals import MissingAnswer, RangeRefusals


def test_refusal_without_range_too_is_tested_no_more():
    refusals = RangeRefusals()
    assert refusals.may_test(404)
    refusals.note_refused_without(404)
    assert not refusals.may_test(404)
    assert refusals.may_test(403)
    assert not refusals.confirm(404, 2)


def test_file_without_range_ends_ranges_for_good():
    refusals = RangeRefusals()
    refusals.note_sent_without(406, 1, states_ranges=False)
    assert refusals.are_final
    assert refusals.confirm(404, 2)


@pytest.mark.parametrize(
    ("refusal", "states_ranges"),
    [(406, True), (500, False), (MissingAnswer.DROPPED, False), (MissingAnswer.SILENT, False)],
)
def test_doubtful_refusal_counts_the_second_time(refusal, states_ranges: bool):
    refusals = RangeRefusals()
    refusals.note_sent_without(refusal, 1, states_ranges=states_ranges)
    assert not refusals.are_final
    assert not refusals.confirm(404, 2)
    assert not refusals.confirm(refusal, 1)  # it was under way
    assert refusals.confirm(refusal, 2)
    assert refusals.are_final


def test_part_proves_ranges():
    refusals = RangeRefusals()
    refusals.note_sent_without(406, 1, states_ranges=False)
    assert refusals.note_part()
    assert not refusals.are_final
    assert not refusals.may_test(500)
    assert not refusals.confirm(406, 2)
    refusals.note_sent_without(500, 1, states_ranges=False)
    assert not refusals.are_final
