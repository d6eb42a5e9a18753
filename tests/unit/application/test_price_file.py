"""Files of prices: what is read, and how a wrong row is named."""

from decimal import Decimal
from uuid import UUID

import pytest

from services.application.billing.price_file import read_prices
from tradewind.errors import InvalidValue
from tradewind.sla.pricing import PriceModel

ONE, TWO = UUID(int=1), UUID(int=2)
HEADER = "tier_id,base,per_gb,per_kwh,margin_percent\n"
PRICE = PriceModel(base=Decimal("0.1"), per_gb=Decimal("0.02"), per_kwh=Decimal("0.3"), margin=Decimal("0.2"))


@pytest.mark.parametrize(
    "text",
    [
        f"{HEADER}{ONE},0.1,0.02,0.3,20\n{TWO},,,,\n",
        f"\ufeff{HEADER}\n{ONE},0.1,0.02,0.3,20\r\n{TWO},,,,\r\n,,,,\n".replace(",", ";"),
        f"margin_percent;note;Tier_ID;per_kwh;base;per_gb\n20;x;{ONE};0,3;0,1;0,02\n;;{TWO};;;\n",
    ],
)
def test_file_of_a_spreadsheet_is_read(text):
    assert read_prices(text) == {ONE: PRICE, TWO: None}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "prices: are empty"),
        (HEADER, "prices: have a header and no rows"),
        ("tier_id,base\n", "row 1: must have each of the columns"),
        (f"{HEADER}{ONE},0.1,0.02,0.3,20\n{ONE},1,1,1,1\n", "row 3, tier_id: is in an earlier row too"),
        (f"{HEADER}\nx,0,0,0,0\n", "row 3, tier_id: 'x' is none"),
        (f"{HEADER}{ONE},-1,0,0,0\n", "row 2, base: is -1; it must not be negative"),
        (f"{HEADER}{ONE},0,1e30,0,0\n", "row 2, per_gb: is above"),
        (f"{HEADER}{ONE},0,0,NaN,0\n", "row 2, per_kwh: 'NaN' is not a number"),
        (f"{HEADER}{ONE},0,0,1_0,0\n", "row 2, per_kwh: '1_0' is not a number"),
        (f"{HEADER}{ONE},0,0,,0\n", "row 2, per_kwh: is empty; write 0"),
        (f"{HEADER}{ONE},0,0,0,1001\n", "row 2, margin_percent: is 1001; it must be 0 to 1000"),
        (f"{HEADER}{ONE},0,0,0,<script>\n", "row 2, margin_percent: '<script>' is not a number"),
        (f"{HEADER}{ONE},0,0,0,1e9999999\n", "row 2, margin_percent: '1e9999999' is out of range"),
        (f"{HEADER}{ONE},0,0,0,1e-9999999\n", "row 2, margin_percent: '1e-9999999' is out of range"),
        (f"{HEADER}{ONE},0e99999999,0,0,0\n", "row 2, base: '0e99999999' is out of range"),
        (f'{HEADER}{ONE},"0,0\n', "prices: are no CSV"),
    ],
)
def test_wrong_row_is_named_as_in_the_file(text, problem):
    with pytest.raises(InvalidValue) as refused:
        read_prices(text)
    assert f"{refused.value.field}: {refused.value.reason}".startswith(problem)


def test_refusal_lists_five_wrong_rows_and_counts_the_others():
    text = HEADER + "".join(f"{UUID(int=n)},x,0,0,0\n" for n in range(1, 9))
    with pytest.raises(InvalidValue, match="row 6, base: 'x' is not a number; 3 more rows with errors") as refused:
        read_prices(text)
    assert refused.value.field == "row 2, base"
