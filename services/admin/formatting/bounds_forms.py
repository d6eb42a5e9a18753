"""Tier limits as users read and type them: in Mbit/s, J/GB or W, by the upper limit of each tier."""

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple

from services.admin.formatting.form_numbers import parse_number
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import SlaKind
from tradewind.tiers.custom import MIN_WIDTH

DIGITS = 6


class WrongBound(InvalidValue):
    """A limit that is not possible; ``tier`` : whose upper limit it is, from 1, or ``None`` for all of them."""

    def __init__(self, reason: str, *, tier: int | None = None) -> None:
        super().__init__("bounds", reason)
        self.tier = tier


class TypedTier(NamedTuple):
    """A tier as it was typed; ``wrong`` : what to correct in its upper limit."""

    lower: str
    upper: str
    wrong: str | None


class Scale(NamedTuple):
    """The unit that a limit is shown in, and its size in the stored unit."""

    unit: str
    size: float


SCALES: Mapping[SlaKind, Scale] = MappingProxyType(
    {
        SlaKind.THROUGHPUT_AT_LEAST: Scale("Mbit/s", 1e6),
        SlaKind.ENERGY_AT_MOST: Scale("J/GB", 1e-9),
        SlaKind.POWER_AT_MOST: Scale("W", 1.0),
    }
)


def format_bound(bound: float, scale: Scale) -> str:
    """Return a limit with six digits, without an exponent."""
    text = f"{Decimal(f'{bound / scale.size:.{DIGITS}g}'):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_boundaries(
    to: Sequence[str], *, known: Sequence[float], scale: Scale, from_: Sequence[str] = ()
) -> list[float]:
    """Return the boundaries that the upper limits of tiers make.

    Parameters
    ----------
    known : the present limits, ascending; a limit that is sent as it is shown keeps its exact value.
    from_ : the lower limits, where a form sends both: each must be the upper one of the tier before.

    Raises
    ------
    WrongBound : a text that is no number, a limit that does not rise, a gap, an overlap, or another total range.
    """
    if not to or (from_ and len(from_) != len(to)):
        raise WrongBound("must be two for each tier")
    exact = {format_bound(bound, scale): bound for bound in known}
    upper = [_bound(text, exact, scale, tier=n) for n, text in enumerate(to, start=1)]
    lower = [_bound(text, exact, scale, tier=max(n, 1)) for n, text in enumerate(from_)] or [known[0], *upper[:-1]]
    for n, (end, start) in enumerate(zip(upper, lower[1:], strict=False), start=1):
        if end != start:
            fault = "leave a gap" if end < start else "overlap"
            between = f"{format_bound(end, scale)} and {format_bound(start, scale)} {scale.unit}"
            raise WrongBound(f"{fault} between {between}: each tier begins where the one before ends", tier=n)
    if (lower[0], upper[-1]) != (known[0], known[-1]):
        span = f"{format_bound(known[0], scale)} to {format_bound(known[-1], scale)} {scale.unit}"
        raise WrongBound(f"must cover all that can be promised on this link, {span}")
    _check_rising([lower[0], *upper], scale)
    return upper[:-1]


def list_typed_tiers(
    to: Sequence[str], wrong: InvalidValue, *, known: Sequence[float], scale: Scale
) -> list[TypedTier]:
    """Return the tiers as they were typed, between the fixed ends, each with what is wrong in it."""
    edges = [format_bound(known[0], scale), *to[:-1], format_bound(known[-1], scale)]
    at = wrong.tier if isinstance(wrong, WrongBound) else None
    return [
        TypedTier(lower, upper, wrong.reason if n == at else None)
        for n, (lower, upper) in enumerate(itertools.pairwise(edges), start=1)
    ]


def _check_rising(edges: Sequence[float], scale: Scale) -> None:
    """Refuse a limit that is not clearly above the one before; the ends are fixed, so the fault is of one between
    them.
    """
    last = len(edges) - 2
    for n, (below, above) in enumerate(itertools.pairwise(edges), start=1):
        if last == 0 or above - below >= MIN_WIDTH * max(abs(above), abs(below)):
            continue
        tier, low_or_high, beyond = (n, "low", f"above {format_bound(below, scale)}")
        if n > last:
            tier, low_or_high, beyond = (last, "high", f"below {format_bound(above, scale)}")
        raise WrongBound(
            f"{format_bound(edges[tier], scale)} is too {low_or_high}: "
            f"it must be at least {MIN_WIDTH:.1%} {beyond} {scale.unit}",
            tier=tier,
        )


def _bound(text: str, exact: Mapping[str, float], scale: Scale, *, tier: int) -> float:
    text = text.strip()
    if text in exact:
        return exact[text]
    try:
        number = parse_number("bounds", text, example="250")
    except InvalidValue as wrong:
        raise WrongBound(wrong.reason, tier=tier) from None
    if not 0 < number < Decimal("1e15"):
        raise WrongBound(f"{text} is out of range", tier=tier)
    return float(number) * scale.size
