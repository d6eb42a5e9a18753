"""Lists in memory: filtered, searched, sorted and paged by their address."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.admin.lists import ROWS_A_PAGE, FiltersOf, ListColumn, ListFilters, ShownList, change_query, show_list

READ = FiltersOf(ListFilters)


class Place(NamedTuple):
    name: str
    rows: int | None = None


COLUMNS: dict[str, ListColumn[Place]] = {
    "name": ListColumn("Name", lambda place: place.name),
    "rows": ListColumn("Rows", lambda place: place.rows, is_number=True),
    "state": ListColumn("State"),
}


def show(places: Sequence[Place], query: str) -> ShownList[Place]:
    return show_list(places, COLUMNS, READ.read(query), text_of=lambda place: (place.name, None))


@given(st.lists(st.integers(0, 99), max_size=4 * ROWS_A_PAGE), st.sampled_from(["rows", "-rows", "name", ""]))
def test_pages_together_have_each_row_once(numbers: list[int], sort: str) -> None:
    places = [Place(f"place {n}", number) for n, number in enumerate(numbers)]
    found: list[Place] = []
    for page in range(1, show(places, "").pages + 1):
        shown = show(places, f"sort={sort}&page={page}")
        assert len(shown.rows) <= ROWS_A_PAGE
        assert shown.first == len(found) + 1
        found += shown.rows
    assert sorted(found) == sorted(places)
    if sort.endswith("rows"):
        assert [place.rows for place in found] == sorted(numbers, reverse=sort.startswith("-"))


def test_rows_without_a_value_come_last_in_both_directions() -> None:
    places = [Place("a"), Place("b", 2), Place("c", 1)]
    assert [place.name for place in show(places, "sort=rows").rows] == ["c", "b", "a"]
    assert [place.name for place in show(places, "sort=-rows").rows] == ["b", "c", "a"]


def test_text_is_sorted_and_searched_without_regard_to_case() -> None:
    places = [Place("Beta two"), Place("alpha"), Place("beta one")]
    assert [place.name for place in show(places, "sort=name").rows] == ["alpha", "beta one", "Beta two"]
    assert [place.name for place in show(places, "q=BETA+w").rows] == ["Beta two"]


def test_a_page_after_the_last_is_the_last() -> None:
    places = [Place(str(n)) for n in range(ROWS_A_PAGE + 1)]
    shown = show(places, "page=99")
    assert (shown.page, len(shown.rows)) == (2, 1)


def test_sorting_by_an_unknown_column_leaves_the_order() -> None:
    places = [Place("b"), Place("a")]
    for sort in ("planet", "state", "-"):
        assert list(show(places, f"sort={sort}").rows) == places


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("page=0", "Page must be at least 1."),
        ("page=x", "Page must be a whole number."),
        ("planet=3", "There is no filter planet in this list."),
        ("q=%00", "Q "),
        (f"q={'x' * 201}", "Q "),
    ],
)
def test_filters_that_cannot_be_read_give_no_rows_and_a_sentence(query: str, sentence: str) -> None:
    shown = show([Place("a")], query)
    assert (shown.rows, shown.total) == ([], 1)
    assert shown.filters.problem.startswith(sentence)


def test_addresses_keep_what_does_not_change() -> None:
    shown = show([Place("a")], "q=a&sort=-rows&page=1")
    assert shown.build_address(page=2) == "?q=a&sort=-rows&page=2"
    assert shown.build_sort_address("rows") == "?q=a&sort=rows"
    assert shown.build_sort_address("name") == "?q=a&sort=name"
    assert show([], "").build_sort_address("rows") == "?sort=-rows"
    assert change_query({"q": "a&b"}, before="c d") == "?q=a%26b&before=c+d"
