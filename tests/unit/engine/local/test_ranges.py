from hypothesis import given
from hypothesis import strategies as st

from tradewind_agent.engine.local.ranges import ByteRange, RangeSet

SIZE = 60
SPANS = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)))


def members(ranges: RangeSet) -> set[int]:
    return {position for first, last in ranges for position in range(first, last + 1)}


@given(SPANS)
def test_a_set_holds_what_was_put_in_sorted_and_merged(spans: list[tuple[int, int]]):
    ranges = RangeSet(spans)
    assert members(ranges) == {position for first, last in spans for position in range(first, last + 1)}
    gaps = [later.first - earlier.last for earlier, later in zip(list(ranges), list(ranges)[1:], strict=False)]
    assert all(gap > 1 for gap in gaps)
    assert ranges.total_bytes == len(members(ranges))


@given(SPANS)
def test_received_and_missing_make_the_file(spans: list[tuple[int, int]]):
    received = RangeSet(spans)
    missing = received.find_missing(SIZE)
    assert members(missing) == set(range(SIZE)) - members(received)
    assert received.covers(SIZE) == (not missing)


@given(SPANS, st.integers(1, SIZE))
def test_taking_empties_the_set_in_order(spans: list[tuple[int, int]], most_bytes: int):
    ranges = RangeSet(spans)
    expected = sorted(members(ranges))
    taken: list[ByteRange] = []
    while ranges:
        taken.append(ranges.take(most_bytes))
    assert [position for first, last in taken for position in range(first, last + 1)] == expected
    assert all(each.length <= most_bytes for each in taken)


def test_an_empty_file_is_covered_by_nothing():
    assert RangeSet().covers(0)
    assert not RangeSet().covers(1)
