"""Names that people give: something of each is seen, and none is that of two things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import InvalidValue, NameTaken
from tradewind.names import LONGEST_NAME, check_name, find_free_name, fold_name, require_free_name


@given(st.lists(st.text(max_size=LONGEST_NAME)), st.text(min_size=1, max_size=LONGEST_NAME))
def test_a_free_name_is_not_taken_and_not_too_long(taken: list[str], name: str) -> None:
    free = find_free_name(name, [*taken, name])
    assert fold_name(free) not in {fold_name(each) for each in [*taken, name]}
    assert len(free) <= LONGEST_NAME


@pytest.mark.parametrize("typed", ["Spring", "sPRING", "Spring  ", "Ｓpring", "Spr\u200ding"])
def test_names_that_read_the_same_are_taken(typed: str) -> None:
    with pytest.raises(NameTaken, match="name: is taken: there is a book that is called 'Spring'"):
        require_free_name(typed, ["Autumn", "Spring"], kind="a book that is called")


@pytest.mark.parametrize(
    "typed",
    ["", "  ", "\t", "\u00a0", "\u200b", "\u200b \u2060", "\u3164", "\u2800", "\u0301", "\u00ad", "\ufeff", "\n"],
)
def test_names_of_which_nothing_is_seen_are_refused(typed: str) -> None:
    with pytest.raises(InvalidValue, match="is blank"):
        check_name(typed)


@pytest.mark.parametrize(
    "typed",
    [
        "a\x00b",
        "a\x1fb",
        "a\x7fb",
        "a\x85b",
        "a\nb",
        "a\u2028b",
        "a\u202eb",
        "a\u2066b",
        "a\u200bb",
        "a\u3164",
        "a\u200d",
        "a\u200d b",
    ],
)
def test_names_with_controls_or_invisible_characters_are_refused(typed: str) -> None:
    with pytest.raises(InvalidValue, match="name: must have no"):
        check_name(typed)


def test_blanks_around_and_within_a_name_are_made_one() -> None:
    assert check_name("  a \u00a0 b ") == "a b"


@pytest.mark.parametrize(
    "name", ["Müller & Söhne", "山田商店", "مختبر", "a" * LONGEST_NAME, "e\u0301", "🌊", "می\u200cخواهم", "👩\u200d💻"]
)
def test_names_in_any_script_are_accepted(name: str) -> None:
    assert check_name(name) == name


def test_a_name_that_is_too_long_is_refused_with_its_length() -> None:
    with pytest.raises(InvalidValue, match="has 201 characters; there may be 200"):
        check_name("a" * 201)
