from dataclasses import dataclass

from tradewind_agent.engine.origin.range_refusals import MissingAnswer, RangeRefusals


@dataclass
class File:
    is_over: bool = False


def test_refusal_without_range_too_is_tested_once():
    refusals = RangeRefusals()
    assert refusals.may_test(404)
    refusals.note_refused_without(404)
    assert not refusals.may_test(404)
    assert refusals.may_test(403)
    assert not refusals.confirm(404)


def test_file_without_range_ends_ranges_for_good():
    refusals = RangeRefusals()
    assert not refusals.note_sent_without(406, states_ranges=False)
    assert refusals.are_final
    assert refusals.confirm(404)


def test_ranges_that_are_stated_are_tried_once_more():
    refusals = RangeRefusals()
    assert refusals.note_sent_without(406, states_ranges=True)
    assert not refusals.are_final
    assert not refusals.confirm(404)
    assert refusals.confirm(406)
    assert refusals.are_final
    assert not refusals.note_stated_ranges()


def test_refusal_that_chance_makes_is_tested_twice():
    for refusal in (500, MissingAnswer.DROPPED):
        refusals = RangeRefusals()
        assert refusals.note_sent_without(refusal, states_ranges=False)
        assert refusals.confirm(refusal)


def test_ranges_stated_later_are_tried_once():
    refusals = RangeRefusals()
    refusals.note_sent_without(MissingAnswer.SILENT, states_ranges=False)
    assert refusals.note_stated_ranges()
    assert not refusals.are_final
    assert not refusals.note_sent_without(MissingAnswer.SILENT, states_ranges=True)
    assert refusals.are_final
    assert not refusals.note_stated_ranges()


def test_part_proves_ranges():
    refusals = RangeRefusals()
    refusals.note_sent_without(406, states_ranges=False)
    assert refusals.note_part()
    assert not (refusals.are_final or refusals.may_test(500) or refusals.confirm(406))
    assert not refusals.note_sent_without(500, states_ranges=False)
    assert not refusals.are_final


def test_test_of_a_file_that_is_over_is_over():
    refusals, file = RangeRefusals(), File()
    test = refusals.start_test(404, file)
    assert refusals.find_test(404) is test
    file.is_over = True
    assert refusals.find_test(404) is None
