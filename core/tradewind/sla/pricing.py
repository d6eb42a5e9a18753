"""What a transfer costs: prices on bytes and energy, in exact decimals.

Prices, and the amount of one transfer, carry six decimals of the currency's main unit: a small transfer costs less than
a cent. What a customer pays is the sum of amounts, rounded once to the currency's smallest unit (`round_payable`).
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from types import MappingProxyType
from typing import Self
from uuid import UUID

from tradewind.errors import InvalidValue
from tradewind.sla.kinds import EnergyBasis
from tradewind.units import GB, JOULES_PER_KWH

DECIMALS = 6
"""Decimals of a price, a margin and the amount of one transfer."""

HIGHEST_PRICE = Decimal(10**9)
"""A higher price, in any currency, is a typing error."""

HIGHEST_MARGIN = Decimal(10)
"""Ten times the cost."""

HIGHEST_CREDIT = Decimal(1)
"""The entire amount."""

LOWEST_ADJUSTMENT, HIGHEST_ADJUSTMENT = Decimal(-1), Decimal(10)
"""Of the prices of a customer: free, and eleven times the price of the book."""

HIGHEST_SHARES = MappingProxyType({"margin": HIGHEST_MARGIN, "credit": HIGHEST_CREDIT})
"""Parts of a price that are shares, which people read in per cent."""

PRICE_PARTS = ("base", "per_gb", "per_kwh", "margin", "credit")
"""The fields of a price, as they are stored, sent and shown."""

_EXACT = Context(prec=80)
_STEP = Decimal(1).scaleb(-DECIMALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceModel:
    """Prices of a tier in the main unit of one currency: EUR, not cents.

    ``base`` a transfer, ``per_gb`` a gigabyte (10⁹ bytes) moved, ``per_kwh`` a kilowatt-hour; ``margin`` is a share of
    their sum on top, 0.2 for 20 %. ``credit`` is the share of the amount that is given back where the transfer misses
    its SLA.
    """

    base: Decimal = Decimal(0)
    per_gb: Decimal = Decimal(0)
    per_kwh: Decimal = Decimal(0)
    margin: Decimal = Decimal(0)
    credit: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        for name in PRICE_PARTS:
            _check(name, getattr(self, name), HIGHEST_SHARES.get(name, HIGHEST_PRICE))

    @property
    def needs_energy(self) -> bool:
        """Return whether a quote needs the energy."""
        return self.per_kwh > 0

    def add_margin(self, adjustment: Decimal = Decimal(0)) -> tuple[Decimal, Decimal, Decimal]:
        """Return ``base``, ``per_gb`` and ``per_kwh`` with the margin and a customer's adjustment, exact, with up to
        three times as many decimals.
        """
        factor = _EXACT.multiply(_EXACT.add(Decimal(1), self.margin), _EXACT.add(Decimal(1), adjustment))
        base, per_gb, per_kwh = (_EXACT.multiply(each, factor) for each in (self.base, self.per_gb, self.per_kwh))
        return base, per_gb, per_kwh


def _check(name: str, value: Decimal, highest: Decimal) -> None:
    """Reject a value that cannot be a price.

    Raises
    ------
    InvalidValue : not finite, negative, above ``highest``, or with more than `DECIMALS` decimals.
    """
    if not value.is_finite():
        raise InvalidValue(name, "is not a number")
    if value < 0:
        raise InvalidValue(name, f"is {value}; it must not be negative")
    if value > highest:
        raise InvalidValue(name, f"is above {highest:,f}")
    exponent = value.normalize(_EXACT).as_tuple().exponent
    if isinstance(exponent, int) and -exponent > DECIMALS:
        raise InvalidValue(name, f"has {-exponent} decimals; prices have {DECIMALS} at most")


def check_adjustment(adjustment: Decimal) -> Decimal:
    """Return the share by which a customer's prices differ from those of the book, after checking it.

    Raises
    ------
    InvalidValue : it is not finite, out of its bounds, or has more than `DECIMALS` decimals.
    """
    if not adjustment.is_finite() or not LOWEST_ADJUSTMENT <= adjustment <= HIGHEST_ADJUSTMENT:
        raise InvalidValue("adjustment", f"must be {LOWEST_ADJUSTMENT} (free) to {HIGHEST_ADJUSTMENT}")
    if round_amount(adjustment) != adjustment:
        raise InvalidValue("adjustment", f"has more than {DECIMALS} decimals")
    return adjustment


def check_energy_cost(per_kwh: Decimal) -> Decimal:
    """Return the provider's cost of a kilowatt-hour, in the main unit of a currency, after checking it.

    Raises
    ------
    InvalidValue : see `PriceModel`.
    """
    _check("energy_cost_per_kwh", per_kwh, HIGHEST_PRICE)
    return per_kwh


def compute_energy_amount(per_kwh: Decimal, energy_j: float) -> Decimal:
    """Return the amount for energy at a price per kilowatt-hour, not rounded.

    Energy above the base power may be negative by noise; it then costs nothing.
    """
    kwh = _EXACT.divide(Decimal(max(energy_j, 0.0)), Decimal(JOULES_PER_KWH))
    return _EXACT.multiply(per_kwh, kwh)


def compute_amount(
    model: PriceModel, *, moved_bytes: int, energy_j: float | None, adjustment: Decimal = Decimal(0)
) -> Decimal | None:
    """Return (base + per_gb · GB + per_kwh · kWh) · (1 + margin) · (1 + adjustment), rounded once to six decimals,
    half to even.

    Parameters
    ----------
    energy_j : on the basis of the model's book; ``None`` where it is not known.
    adjustment : of a customer's negotiated prices; -0.1 is 10 % off.

    Returns
    -------
    In the currency's main unit; ``None`` where the model prices energy and none is known: that is never taken for zero.
    """
    cost = _EXACT.add(model.base, _EXACT.multiply(model.per_gb, _EXACT.divide(Decimal(moved_bytes), Decimal(GB))))
    if model.needs_energy:
        if energy_j is None:
            return None
        cost = _EXACT.add(cost, compute_energy_amount(model.per_kwh, energy_j))
    amount = _EXACT.multiply(cost, _EXACT.add(Decimal(1), model.margin))
    return round_amount(_EXACT.multiply(amount, _EXACT.add(Decimal(1), adjustment)))


def round_amount(amount: Decimal) -> Decimal:
    """Return an amount rounded to six decimals, half to even."""
    return amount.quantize(_STEP, ROUND_HALF_EVEN, _EXACT)


def add_exactly(*amounts: Decimal) -> Decimal:
    """Return the sum of amounts of any length: ``+`` and ``sum`` round it to 28 digits at each step."""
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total


def subtract_exactly(amount: Decimal, other: Decimal) -> Decimal:
    """Return the difference of two amounts of any length."""
    return _EXACT.subtract(amount, other)


def round_payable(amount: Decimal, minor_digits: int) -> Decimal:
    """Return an amount rounded to the currency's smallest unit, half up, as invoices are.

    Parameters
    ----------
    minor_digits : decimals of the currency: 2 for EUR, 0 for JPY.
    """
    return amount.quantize(Decimal(1).scaleb(-minor_digits), ROUND_HALF_UP, _EXACT)


@dataclass(frozen=True, slots=True)
class Price:
    """The recommended price of a transfer: the amount, and the price book that it comes from.

    ``credit`` : the share of the amount that is given back where the SLA is missed. A log does not repeat it: the book,
    which never changes, has it.
    """

    amount: Decimal
    currency: str
    basis: EnergyBasis
    book_id: UUID
    credit: Decimal = Decimal(0)

    def __str__(self) -> str:
        """Return the form that a transfer's log holds, such as ``0.012300 EUR total 0199…``."""
        return f"{self.amount:f} {self.currency} {self.basis} {self.book_id}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the price that a log holds.

        Raises
        ------
        InvalidValue : it is none.
        """
        try:
            amount, currency, basis, book_id = text.split(" ")
            price = cls(Decimal(amount), currency, EnergyBasis(basis), UUID(book_id))
        except (ValueError, ArithmeticError):
            raise InvalidValue("quote", f"{text[:80]!r} is not 'AMOUNT CURRENCY BASIS BOOK' as it was quoted") from None
        if not price.amount.is_finite() or price.amount < 0 or str(price) != text:
            raise InvalidValue("quote", f"{text[:80]!r} is not as it was quoted")
        return price
