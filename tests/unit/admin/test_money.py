"""Money on pages: parts add up to the sum that is shown, and none is further off than rounding makes it."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.admin.formatting.money import choose_decimals, round_amount, round_parts

AMOUNTS = st.lists(st.decimals(min_value=-1000, max_value=100_000, places=9), max_size=40)


@given(AMOUNTS, st.integers(min_value=0, max_value=6))
def test_parts_add_up_to_the_rounded_sum(amounts: list[Decimal], decimals: int) -> None:
    parts = round_parts(amounts, decimals)
    assert sum(parts, Decimal(0)) == round_amount(sum(amounts, Decimal(0)), decimals)
    step = Decimal(1).scaleb(-decimals)
    assert all(abs(part - amount) < step for part, amount in zip(parts, amounts, strict=True))


def test_thirds_of_a_euro_make_a_euro() -> None:
    assert sum(round_parts([Decimal(1) / 3] * 3, 2)) == 1


@pytest.mark.parametrize(
    ("largest", "decimals"), [("0", 2), ("12345.6", 2), ("51.2", 2), ("5.1", 3), ("0.0123", 5), ("0.0000001", 6)]
)
def test_small_sums_have_more_decimals(largest: str, decimals: int) -> None:
    assert choose_decimals(Decimal(largest), 2) == decimals
