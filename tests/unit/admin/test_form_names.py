"""Names of new things: none is blank, and none is of two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.admin.formatting.form_names import LONGEST_NAME, find_free_name, read_new_name
from tradewind.errors import InvalidValue


@given(st.lists(st.text(max_size=LONGEST_NAME)), st.text(min_size=1, max_size=LONGEST_NAME))
def test_a_free_name_is_not_taken_and_not_too_long(taken: list[str], name: str) -> None:
    free = find_free_name(name, [*taken, name])
    assert free.casefold() not in {each.casefold() for each in [*taken, name]}
    assert len(free) <= LONGEST_NAME


@pytest.mark.parametrize("typed", ["", "  ", "\t", "Spring", " sPRING "])
def test_blank_and_taken_names_are_refused(typed: str) -> None:
    with pytest.raises(InvalidValue, match="name"):
        read_new_name(typed, ["Spring"], kind="a book that is called")


def test_blanks_around_and_within_a_name_are_made_one() -> None:
    assert read_new_name("  a   b ", [], kind="a book that is called") == "a b"
