"""What is typed into the forms of the pages, before anything is done with it."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from services.admin.formatting.field_labels import find_input_name
from services.admin.formatting.form_numbers import parse_number
from services.admin.formatting.price_forms import parse_instant, parse_price
from tradewind.errors import InvalidValue


@pytest.mark.parametrize(
    ("text", "number"), [("0.25", "0.25"), ("3", "3"), (".5", "0.5"), ("-1", "-1"), ("0.001", "0.001")]
)
def test_a_number_is_as_exact_as_it_is_written(text: str, number: str):
    assert parse_number("margin", text, example="0.25") == Decimal(number)


@pytest.mark.parametrize(
    "text", ["5" + 39 * " " + "abc", "1_000", "\uff11\uff12", "1,5", "NaN", "Infinity", "0x10", "", "9" * 41]
)
def test_a_number_and_something_else_is_none(text: str):
    with pytest.raises(InvalidValue, match="is not a number"):
        parse_number("margin", text, example="0.25")


@pytest.mark.parametrize("text", ["1e5", "1E-3", "-2.5e+07", "1e999"])
def test_an_exponent_is_refused_as_such(text: str):
    with pytest.raises(InvalidValue, match="has an exponent; write all digits"):
        parse_number("margin", text, example="0.25")


def test_a_price_names_the_tier_and_the_part_that_is_wrong():
    with pytest.raises(InvalidValue) as wrong:
        parse_price({"base": "0", "per_gb": "1_0", "per_kwh": "0", "margin": "0"}, "fast")
    assert wrong.value.field == "fast, per_gb"


def test_a_wrong_cell_of_a_table_is_found_by_the_name_of_its_input():
    sent = {"base.3": "0", "per_gb.3": "1e5", "per_kwh.3": "0", "margin.3": "0"}
    with pytest.raises(InvalidValue) as wrong:
        parse_price(sent, "rule 4", suffix=".3")
    assert find_input_name(wrong.value) == "per_gb.3"
    assert find_input_name(InvalidValue("name", "is blank")) == "name"


def test_a_date_is_in_utc_whatever_offset_it_was_written_with():
    assert parse_instant("2026-12-01T00:00") == datetime(2026, 12, 1, tzinfo=UTC)
    assert parse_instant("2026-12-01T00:00+05:00") == datetime(2026, 11, 30, 19, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00+10:00", "9999-12-31T23:00-10:00", "1990-01-01T00:00+00:01", "2100-01-01T00:00"]
)
def test_a_date_that_the_api_would_refuse_is_refused(text: str):
    with pytest.raises(InvalidValue, match="effective_from: must be in the years 1990 to 2099"):
        parse_instant(text)
