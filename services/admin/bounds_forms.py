"""Bounds of tiers as people read and type them: in Mbit/s, J/GB or W, a pair of fields a tier."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple

from services.admin.form_numbers import exact_number
from tradewind.errors import InvalidValue
from tradewind.sla import SlaKind

DIGITS = 6


class Scale(NamedTuple):
    """What a bound is told in, and how much of the stored unit that is."""

    unit: str
    size: float


SCALES: Mapping[SlaKind, Scale] = MappingProxyType(
    {
        SlaKind.THROUGHPUT_AT_LEAST: Scale("Mbit/s", 1e6),
        SlaKind.ENERGY_AT_MOST: Scale("J/GB", 1e-9),
        SlaKind.POWER_AT_MOST: Scale("W", 1.0),
    }
)


def told(bound: float, scale: Scale) -> str:
    """A bound with six digits, without an exponent."""
    text = f"{Decimal(f'{bound / scale.size:.{DIGITS}g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def cuts_between(from_: Sequence[str], to: Sequence[str], *, known: Sequence[float], scale: Scale) -> list[float]:
    """The cuts that pairs of bounds make.

    Parameters
    ----------
    known : the bounds as they are, ascending; what is sent as they are shown stays exactly as it is.

    Raises
    ------
    InvalidValue : no number, a gap between two tiers, an overlap, or another range as a whole.
    """
    if not from_ or len(from_) != len(to):
        raise InvalidValue("bounds", "must be two for each tier")
    exact = {told(bound, scale): bound for bound in known}
    lower, upper = ([_bound(text, exact, scale) for text in texts] for texts in (from_, to))
    for n, (end, start) in enumerate(zip(upper, lower[1:], strict=False), start=1):
        if end != start:
            fault = "leave a gap" if end < start else "overlap"
            between = f"{told(end, scale)} and {told(start, scale)} {scale.unit}"
            raise InvalidValue(
                "bounds", f"{fault} between {between}, after tier {n}: each begins where the one before ends"
            )
    if (lower[0], upper[-1]) != (known[0], known[-1]):
        whole = f"{told(known[0], scale)} to {told(known[-1], scale)} {scale.unit}"
        raise InvalidValue("bounds", f"must cover what can be certified on this link, {whole}")
    return upper[:-1]


def _bound(text: str, exact: Mapping[str, float], scale: Scale) -> float:
    text = text.strip()
    if text in exact:
        return exact[text]
    number = exact_number("bounds", text, example="250")
    if not 0 < number < Decimal("1e15"):
        raise InvalidValue("bounds", f"{text} is out of range")
    return float(number) * scale.size
