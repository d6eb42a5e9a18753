"""Price rules: one price for all tiers of an SLA kind, a band of rates and a group of links."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from tradewind.errors import InvalidValue
from tradewind.sla.kinds import SlaKind
from tradewind.sla.pricing import PRICE_PARTS, PriceModel
from tradewind.units import format_bps

MOST_RULES = 100
"""More rules of one book are a list of prices, which a CSV file holds better."""

PRICED_KINDS = tuple(kind for kind in SlaKind if kind is not SlaKind.DEADLINE)
"""Kinds that tiers are of. A deadline is served by a tier of a throughput."""

Identity = TypeVar("Identity")


class TierToPrice(NamedTuple):
    """What rules look at: the kind of a tier, its rate in bit/s, and the labels of its link.

    ``rate_bps`` : the lowest rate that the tier promises, where its kind promises a rate; else the expected throughput
    of its setting.
    """

    kind: SlaKind
    rate_bps: float
    labels: Collection[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRule:
    """A price for the tiers that match every condition; ``None`` : any.

    ``label`` : of the link. ``from_bps``, ``to_bps`` : the tier's rate, bit/s, is in [from, to).
    """

    price: PriceModel
    kind: SlaKind | None = None
    label: str | None = None
    from_bps: float | None = None
    to_bps: float | None = None

    def __post_init__(self) -> None:
        for name in ("from_bps", "to_bps"):
            bound = getattr(self, name)
            if bound is not None and not (math.isfinite(bound) and bound >= 0):
                raise InvalidValue(name, "must be a rate that is not negative")
        if self.to_bps is not None and self.to_bps <= (self.from_bps or 0.0):
            raise InvalidValue("to_bps", "must be above the lower end of the band")

    def matches(self, tier: TierToPrice) -> bool:
        """Return whether the tier meets every condition of the rule."""
        return (
            self.kind in (None, tier.kind)
            and (self.label is None or self.label in tier.labels)
            and (self.from_bps or 0.0) <= tier.rate_bps < (math.inf if self.to_bps is None else self.to_bps)
        )

    def covers(self, other: "PriceRule") -> bool:
        """Return whether every tier that the other rule matches is matched by this one too."""
        return (
            self.kind in (None, other.kind)
            and self.label in (None, other.label)
            and (self.from_bps or 0.0) <= (other.from_bps or 0.0)
            and (self.to_bps is None or (other.to_bps is not None and other.to_bps <= self.to_bps))
        )

    def format_conditions(self) -> str:
        """Return the conditions as text, such as ``throughput at least, links of europe, 1 Gbit/s to 5 Gbit/s``."""
        parts = [
            "all kinds" if self.kind is None else self.kind.replace("_", " "),
            "all links" if self.label is None else f"links of {self.label}",
        ]
        if self.from_bps and self.to_bps is not None:
            parts.append(f"{format_bps(self.from_bps)} to {format_bps(self.to_bps)}")
        elif self.to_bps is not None:
            parts.append(f"below {format_bps(self.to_bps)}")
        elif self.from_bps:
            parts.append(f"from {format_bps(self.from_bps)}")
        return ", ".join(parts)


def find_rule(rules: Iterable[PriceRule], tier: TierToPrice) -> int | None:
    """Return the place of the first rule that matches, which prices the tier; ``None`` where none does."""
    return next((place for place, rule in enumerate(rules) if rule.matches(tier)), None)


def price_by_rules(
    rules: Sequence[PriceRule], tiers: Mapping[Identity, TierToPrice]
) -> tuple[Mapping[Identity, PriceModel], Sequence[int]]:
    """Return the prices of the tiers that a rule matches, and how many tiers each rule prices."""
    prices: dict[Identity, PriceModel] = {}
    counts = [0] * len(rules)
    for identity, tier in tiers.items():
        place = find_rule(rules, tier)
        if place is not None:
            prices[identity] = rules[place].price
            counts[place] += 1
    return prices, counts


def check_rules(rules: Sequence[PriceRule]) -> None:
    """Refuse rules that cannot be what the provider means.

    Raises
    ------
    InvalidValue : there are too many, or one can never price a tier: its kind has none, or an earlier rule matches all
        that it matches.
    """
    if len(rules) > MOST_RULES:
        raise InvalidValue("rules", f"are {len(rules)}; a book has {MOST_RULES} at most")
    for place, rule in enumerate(rules):
        if rule.kind not in (None, *PRICED_KINDS):
            meant = SlaKind.THROUGHPUT_AT_LEAST.replace("_", " ")
            raise InvalidValue(f"rule {place + 1}", f"prices nothing: a {rule.kind} is served by a tier of {meant}")
        before = next((n for n, earlier in enumerate(rules[:place]) if earlier.covers(rule)), None)
        if before is not None:
            reason = f"never counts: rule {before + 1} matches all that it matches, and comes first"
            raise InvalidValue(f"rule {place + 1}", f"{reason}; remove one, or swap them")


def describe_rules(rules: Iterable[PriceRule]) -> Sequence[str]:
    """Return rules with their prices for an audit entry, a line each."""
    return [
        f"{rule.format_conditions()}: " + ", ".join(f"{part} {getattr(rule.price, part):f}" for part in PRICE_PARTS)
        for rule in rules
    ]
