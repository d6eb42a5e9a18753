"""Prices as a key may see them."""

from decimal import Decimal
from typing import NamedTuple

from services.application.access.authenticate import Principal
from tradewind.sla.pricing import PriceModel


class VisiblePrice(NamedTuple):
    """Parts of a price; without a ``margin`` the other parts include it."""

    base: Decimal
    per_gb: Decimal
    per_kwh: Decimal
    margin: Decimal | None
    credit: Decimal


def to_visible_price(price: PriceModel, principal: Principal, adjustment: Decimal = Decimal(0)) -> VisiblePrice:
    """Return all parts, or for a customer those that an amount is computed from, which hide the provider's margin.

    Parameters
    ----------
    adjustment : of the customer's negotiated prices. An adjusted price is shown as it is paid, whoever sees it.
    """
    if principal.is_customer or adjustment:
        return VisiblePrice(*price.add_margin(adjustment), margin=None, credit=price.credit)
    return VisiblePrice(price.base, price.per_gb, price.per_kwh, price.margin, price.credit)
