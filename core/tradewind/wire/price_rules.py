"""Price rules of a book, labels of links, and the review of a draft. Rates are in bit/s."""

from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field

from tradewind.sla.kinds import SlaKind
from tradewind.sla.price_rules import MOST_RULES, PriceRule
from tradewind.wire.base import Open, Strict
from tradewind.wire.pricing import BookEarnings, WirePriceModel
from tradewind.wire.regions import RegionName

Rate = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Label = RegionName


class WirePriceRule(Strict):
    """A price for the tiers that match every condition; an absent one matches all.

    ``label`` : of the link. ``from_bps``, ``to_bps`` : the band [from, to) of the lowest rate that the tier promises,
    or, for kinds that promise none, of its expected throughput.
    """

    kind: SlaKind | None = None
    label: Label | None = None
    from_bps: Rate | None = None
    to_bps: Rate | None = None
    price: WirePriceModel

    def to_rule(self) -> PriceRule:
        return PriceRule(
            price=self.price.to_model(), kind=self.kind, label=self.label, from_bps=self.from_bps, to_bps=self.to_bps
        )

    @classmethod
    def of(cls, rule: PriceRule) -> Self:
        price = WirePriceModel.of(rule.price)
        return cls(kind=rule.kind, label=rule.label, from_bps=rule.from_bps, to_bps=rule.to_bps, price=price)


class NewPriceRules(Strict):
    """All rules of a draft, in the order in which they are tried: the first that matches a tier prices it."""

    rules: tuple[WirePriceRule, ...] = Field(max_length=MOST_RULES)


class PriceRulesOfBook(Open):
    """The rules of a book. ``tiers`` : how many tiers of the current release each rule prices, in the same order.

    ``overridden`` : tiers with a price of their own. ``unpriced`` : tiers without any price.
    """

    book_id: UUID
    version: int
    rules: tuple[WirePriceRule, ...]
    tiers: tuple[int, ...]
    overridden: int
    unpriced: int


class ReviewedChange(Open):
    """A price that some tiers have in the current book and in the draft; absent where they have none."""

    tiers: tuple[str, ...]
    count: int
    before: WirePriceModel | None
    after: WirePriceModel | None


class BookReview(Open):
    """What a draft would change: prices against the current book, and what it would have earned.

    ``tiers``, ``unpriced_tiers`` : of the current release. ``requests``, ``unpriced_requests`` : since a time.
    """

    book_id: UUID
    version: int
    current_book_id: UUID | None
    changes: tuple[ReviewedChange, ...]
    tiers: int
    unpriced_tiers: int
    since: datetime
    requests: int
    unpriced_requests: int
    book: BookEarnings
    current: BookEarnings | None


class ImportedPrices(Open):
    """The book after a file was read. ``priced``, ``removed`` : tiers whose price the file set or removed."""

    book_id: UUID
    version: int
    priced: int
    removed: int


class LinkLabels(Strict):
    """All labels of a link; price rules choose links by them."""

    labels: tuple[Label, ...] = Field(max_length=20)


class LinkLabelsOf(Open):
    """The labels of a link, by name."""

    link_id: UUID
    labels: tuple[str, ...]
