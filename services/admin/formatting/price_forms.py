"""Prices as users type them: fields that are all empty where a tier has no price, mark-up and credit in per cent."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import Context, Decimal
from uuid import UUID

from services.admin.formatting.form_numbers import LONGEST_NUMBER, InvalidInput, parse_number
from tradewind.errors import InvalidValue
from tradewind.sla.pricing import DECIMALS, HIGHEST_SHARES, PRICE_PARTS, PriceModel
from tradewind.wire.base import EARLIEST_INSTANT, END_OF_INSTANTS

PARTS = PRICE_PARTS
_EXACT = Context(prec=80)


def format_decimal(number: Decimal) -> str:
    """Return all significant digits, without an exponent."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_price(price: PriceModel | None, currency: str = "") -> str:
    """Format a price as people read it, such as ``0.01 + 0.03/GB + 0.25/kWh EUR, mark-up 30 %``."""
    if price is None:
        return "not priced"
    base, per_gb, per_kwh = (format_decimal(each) for each in (price.base, price.per_gb, price.per_kwh))
    amounts = f"{base} + {per_gb}/GB + {per_kwh}/kWh {currency}".rstrip()
    text = f"{amounts}, mark-up {format_decimal(100 * price.margin)} %"
    return f"{text}, credit {format_decimal(100 * price.credit)} %" if price.credit else text


def parse_price(sent: Mapping[str, str], whose: str, *, suffix: str = "") -> PriceModel | None:
    """Return the price in its fields; ``None`` if all of them are empty. An empty credit is none.

    Parameters
    ----------
    whose : the tier as a refusal names it.
    suffix : end of the names of its fields.

    Raises
    ------
    InvalidValue : a field is no price, or only some are empty.
    """
    texts = {part: sent.get(f"{part}{suffix}", "").strip() for part in PARTS}
    if not any(texts.values()):
        return None
    try:
        return PriceModel(**{part: _parse_decimal(part, text) for part, text in texts.items()})
    except InvalidValue as wrong:
        raise InvalidInput(f"{whose}, {wrong.field}", wrong.reason, f"{wrong.field}{suffix}") from None


def parse_percent(field: str, text: str) -> Decimal:
    """Return a percentage as a share, such as 0.1 for 10.

    Raises
    ------
    InvalidValue : it is no number, negative, or has too many decimals.
    """
    percent = parse_number(field, text, example="10, which is 10 %")
    if percent < 0:
        raise InvalidValue(field, f"is {percent:f} %; write it without a sign, and choose off or on")
    share = percent.scaleb(-2, _EXACT)
    if share != round(share, DECIMALS):
        raise InvalidValue(field, f"has too many decimals; in per cent it has {DECIMALS - 2} at most")
    return share


def _parse_decimal(part: str, text: str) -> Decimal:
    if not text and part == "credit":
        return Decimal(0)
    if not text:
        raise InvalidValue(part, "is empty; write 0 where nothing is charged")
    if part in HIGHEST_SHARES:
        return _share(part, parse_number(part, text, example="25, which is 25 %"))
    return parse_number(part, text, example="0.25")


def _share(part: str, percent: Decimal) -> Decimal:
    """Return a percentage as a share; a refusal uses per cent, as it was typed."""
    highest = 100 * HIGHEST_SHARES[part]
    if percent < 0:
        raise InvalidValue(part, f"is {percent} %; it must not be negative")
    if percent > highest:
        raise InvalidValue(part, f"is above {highest:,f} %")
    share = percent.scaleb(-2, _EXACT)
    if share != round(share, DECIMALS):
        raise InvalidValue(part, f"has too many decimals; in per cent it has {DECIMALS - 2} at most")
    return share


def list_priced_tiers(sent: Iterable[str]) -> set[UUID]:
    """Return the tiers that a table of prices was sent for."""
    found: set[UUID] = set()
    for name in sent:
        part, _, tier = name.partition(".")
        if part in PARTS and tier:
            try:
                found.add(UUID(tier))
            except ValueError:
                raise InvalidValue("tier", f"{tier[:LONGEST_NUMBER]!r} is none") from None
    return found


def parse_instant(text: str, field: str = "effective_from") -> datetime | None:
    """Return a date and time as browsers send it, in UTC; ``None`` if it is empty, which means now.

    Raises
    ------
    InvalidValue : it is no time, or none that the API takes.
    """
    if not text.strip():
        return None
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidValue(field, f"{text[:LONGEST_NUMBER]!r} is no date and time") from None
    aware = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant
    if not EARLIEST_INSTANT <= aware < END_OF_INSTANTS:
        raise InvalidValue(field, f"must be in the years {EARLIEST_INSTANT.year} to {END_OF_INSTANTS.year - 1}")
    return aware.astimezone(UTC)
