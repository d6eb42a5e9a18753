from tradewind_agent.engine.local.ranges import compute_range_length
from tradewind_agent.engine.origin.traits import OriginTraits

MIB = 1 << 20


def test_new_server_gets_full_window():
    assert OriginTraits().compute_window(8, answered=0) == 8
    assert OriginTraits().compute_window(0, answered=0) == 1


def test_the_window_shrinks_towards_the_learned_limit():
    traits = OriginTraits()
    traits.note_answer(10, keep_alive=False)
    assert [traits.compute_window(4, answered) for answered in (0, 5, 6, 8, 9, 10)] == [4, 4, 4, 2, 1, 1]


def test_a_limit_that_proves_wrong_is_forgotten():
    traits = OriginTraits()
    traits.note_answer(1, keep_alive=False)
    assert traits.compute_window(8, answered=0) == 1
    traits.note_answer(1, keep_alive=True)
    assert traits.compute_window(8, answered=1) == 8


def test_connections_closed_twice_after_as_many_answers_show_a_limit():
    traits = OriginTraits()
    traits.note_close(3)
    traits.note_close(1)
    assert not traits.should_close(3)
    traits.note_close(1)
    assert [traits.should_close(answers) for answers in (0, 1, 3)] == [False, True, True]
    assert traits.compute_window(8, answered=0) == 1


def test_closing_without_notice_that_was_a_restart_is_forgotten():
    traits = OriginTraits()
    traits.note_answer(1, keep_alive=True)
    traits.note_close(1)
    traits.note_close(1)
    assert not all(traits.should_close(1) for _ in range(100))
    traits.note_answer(2, keep_alive=True)
    assert not traits.should_close(1)
    traits.note_close(1)
    traits.note_close(1)
    assert not traits.should_close(1)


def test_a_server_without_pipelining_gets_one_request_at_a_time():
    assert OriginTraits(pipelining=False).compute_window(8, answered=0) == 1


def test_middling_files_are_cut_evenly_and_large_ones_in_shrinking_ranges():
    assert compute_range_length(8 * MIB, 2 * MIB, streams=4, most_bytes=4 * MIB) == 2 * MIB
    assert compute_range_length(100 * MIB, 25 * MIB, streams=4, most_bytes=4 * MIB) == 4 * MIB
    assert compute_range_length(8 * MIB, 25 * MIB, streams=4, most_bytes=4 * MIB) == 2 * MIB
    assert compute_range_length(100, 100, streams=4, most_bytes=4 * MIB) == 256 * 1024
