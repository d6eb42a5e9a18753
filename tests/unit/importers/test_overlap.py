from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind_agent.history.importers.overlap import HELD_ROWS, OverlapWindow

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


def passed(spans):
    window = OverlapWindow()
    out = []
    for index, (start, length) in enumerate(spans):
        begin = EPOCH + timedelta(seconds=start)
        out += window.transfer(index, ("a", "b"), begin, begin + timedelta(seconds=length))
    return [*out, *window.release_rest()]


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 30)), max_size=25))
def test_concurrency_is_the_time_mean_of_the_transfers_under_way_in_any_order_of_lines(spans):
    out = passed(spans)
    assert [index for index, _ in out] == list(range(len(spans)))
    for index, concurrency in out:
        start, length = spans[index]
        busy = sum(max(0, min(start + length, s + n) - max(start, s)) for s, n in spans)
        assert concurrency == max(1, round(busy / length))


def test_rows_leave_in_order_and_few_are_held():
    window = OverlapWindow()
    out = []
    for index in range(HELD_ROWS + 10):
        if index % 2:
            out += window.pass_row(index)
        else:
            begin = EPOCH + timedelta(seconds=index)
            out += window.transfer(index, ("a", "b"), begin, begin + timedelta(seconds=3))
    assert [index for index, _ in out] == list(range(10))
    assert [concurrency for index, concurrency in out if index % 2] == [None] * 5
