"""Currencies that prices may be in, and their smallest units, as the Unicode CLDR has them."""

from functools import cache

from babel.core import get_global
from babel.numbers import get_currency_precision

from tradewind.errors import InvalidValue


@cache
def list_currencies() -> frozenset[str]:
    """Return the ISO 4217 codes of currencies that are legal tender somewhere today."""
    uses = (use for of_territory in get_global("territory_currencies").values() for use in of_territory)
    return frozenset(code for code, _, end, is_tender in uses if is_tender and end is None)


def check_currency(code: str) -> str:
    """Return the code, if it is a currency.

    Raises
    ------
    InvalidValue : no currency in use has this code.
    """
    if code not in list_currencies():
        raise InvalidValue("currency", f"{code[:12]!r} is no currency in use; write its ISO 4217 code, such as EUR")
    return code


def count_minor_digits(code: str) -> int:
    """Return the decimals of the currency's smallest unit: 2 for EUR, 0 for JPY."""
    return get_currency_precision(code)
