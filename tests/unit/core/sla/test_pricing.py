from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.application.billing.currencies import check_currency, count_minor_digits
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.pricing import HIGHEST_PRICE, Price, PriceModel, compute_amount, round_payable

MODEL = PriceModel(base=Decimal("0.10"), per_gb=Decimal("0.02"), per_kwh=Decimal("0.30"), margin=Decimal("0.2"))
BOOK = UUID("0199a0f0-0000-7000-8000-000000000001")
PRICES = st.decimals(0, HIGHEST_PRICE, places=6)


def test_an_amount_is_base_bytes_and_energy_with_the_margin_on_top():
    # (0.10 + 0.02 · 5 + 0.30 · 2) · 1.2
    assert compute_amount(MODEL, moved_bytes=5 * 10**9, energy_j=7.2e6) == Decimal("0.960000")


def test_energy_that_is_charged_and_not_known_gives_no_amount():
    assert compute_amount(MODEL, moved_bytes=1, energy_j=None) is None


def test_energy_that_is_not_charged_need_not_be_known():
    model = PriceModel(base=Decimal("0.5"))
    assert compute_amount(model, moved_bytes=10**12, energy_j=None) == Decimal("0.500000")


def test_noise_below_the_base_power_earns_nobody_money():
    assert compute_amount(PriceModel(per_kwh=Decimal(1)), moved_bytes=0, energy_j=-3.6e6) == 0


@pytest.mark.parametrize("name", ["base", "per_gb", "per_kwh", "margin"])
@pytest.mark.parametrize("value", ["-0.01", "1e30", "NaN", "Infinity", "0.1234567", "-Infinity", "1e-7"])
def test_invalid_price_is_refused_with_its_field(name, value):
    with pytest.raises(InvalidValue) as refused:
        PriceModel(**{name: Decimal(value)})
    assert refused.value.field == name


@given(st.builds(PriceModel, base=PRICES, per_gb=PRICES, per_kwh=PRICES), st.integers(0, 2**63 - 1))
def test_an_amount_is_exact_to_half_of_its_last_decimal(model, moved_bytes):
    amount = compute_amount(model, moved_bytes=moved_bytes, energy_j=0.0)
    exact_millionths = (model.base * 10**6) * 10**9 + int(model.per_gb * 10**6) * moved_bytes
    assert abs(2 * (int(amount.scaleb(6)) * 10**9 - int(exact_millionths))) <= 10**9


@given(PRICES, PRICES)
def test_more_bytes_never_cost_less(per_gb, base):
    model = PriceModel(base=base, per_gb=per_gb)
    amounts = [compute_amount(model, moved_bytes=size, energy_j=None) for size in (0, 1, 10**6, 10**9, 10**15)]
    assert amounts == sorted(amounts)


@pytest.mark.parametrize(
    ("amount", "currency", "paid"),
    [("0.005", "EUR", "0.01"), ("0.004999", "EUR", "0.00"), ("12.5", "JPY", "13"), ("1.0005", "KWD", "1.001")],
)
def test_payable_amount_is_rounded_half_up_to_the_smallest_unit(amount, currency, paid):
    assert str(round_payable(Decimal(amount), count_minor_digits(currency))) == paid


@pytest.mark.parametrize("code", ["", "EURO", "eur", "XXX", "DEM", "€", "XAU"])
def test_unused_currency_is_refused(code):
    with pytest.raises(InvalidValue):
        check_currency(code)


def test_a_price_is_read_from_a_log_as_it_was_offered():
    price = Price(Decimal("0.012300"), "EUR", EnergyBasis.TOTAL, BOOK)
    assert Price.parse(str(price)) == price


@pytest.mark.parametrize(
    "text",
    [
        "",
        "free",
        f"-1 EUR total {BOOK}",
        f"NaN EUR total {BOOK}",
        f"1e2 EUR total {BOOK}",
        "1 EUR total x",
        "1 EUR both",
    ],
)
def test_invalid_quote_is_no_price(text):
    with pytest.raises(InvalidValue):
        Price.parse(text)
