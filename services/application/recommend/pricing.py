"""Pricing of an answer: the tier of its target, and what it costs by the current price book."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from services.application.billing.price_list import CustomerPrices, PublishedBook, find_price
from services.application.recommend.chunks import Solution, predict_together
from services.application.recommend.served_model import ServedLeaf
from tradewind.dataset import Chunk, DataSet
from tradewind.prediction import Prediction, predict
from tradewind.sla.kinds import BOUNDED_ABOVE, Sla
from tradewind.sla.pricing import Price, compute_amount
from tradewind.tiers.partitions import PartitionKey, find_serving_partition

NOT_PRICED = "; not priced: the current price book has no price for this tier"
NO_TIER = "; not priced: its cluster has no tier for such an SLA"
NO_ENERGY = "; not priced: the price book charges energy, and the energy of this transfer is unknown"


def find_largest_chunk(chunks: Sequence[Chunk]) -> int:
    """Return the index of the chunk with the most bytes."""
    if len(chunks) == 1:
        return 0
    sizes = [chunk.dataset.total_bytes for chunk in chunks]
    return sizes.index(max(sizes))


def find_tier(sla: Sla, leaf: ServedLeaf, solutions: Sequence[Solution], dataset: DataSet) -> Solution | None:
    """Return the tier of the entire transfer's target, as the provider sees the cluster with most of its bytes.

    The tiers are those at the usual load and without the limits of a user or a cap: these change how a promise is met,
    not what is promised. A target beyond what can be promised then is in the outermost tier.

    Parameters
    ----------
    sla : of the entire transfer.
    leaf : of the cluster.
    solutions : of all chunks, which meet the SLA.

    Returns
    -------
    A solution that names the tier; ``None`` where the cluster has none for this kind, confidence and energy basis.
    """
    if leaf.usual is None and len(solutions) == 1 and solutions[0].tier_id is not None:
        return solutions[0]  # solved in advance for exactly this target
    tiers = (leaf.usual or leaf).find_partitions(PartitionKey.of(sla))
    if not tiers:
        return None
    found = find_serving_partition(tiers, sla, dataset_bytes=dataset.total_bytes)
    return found or tiers[0 if sla.kind in BOUNDED_ABOVE else -1]


class PriceQuote(NamedTuple):
    """The price of a recommendation by a book; ``None`` where it has none, with the reason in ``unpriced``.

    ``energy_j`` : expected energy of the transfer on the book's basis; ``None`` where it is unknown.
    ``negotiated`` : what was negotiated with the customer, if anything.
    """

    book: PublishedBook
    price: Price | None
    energy_j: float | None
    unpriced: str = ""
    negotiated: CustomerPrices | None = None


def quote_price(
    book: PublishedBook,
    tier_id: UUID | None,
    predicted: Prediction,
    *,
    chunks: Sequence[Chunk],
    solutions: Sequence[Solution],
    dataset: DataSet,
    sla: Sla,
    room_bps: float,
    negotiated: CustomerPrices | None = None,
) -> PriceQuote:
    """Return the quote of a transfer in a tier; its price is ``None`` where there is no tier, price or energy."""
    if tier_id is None:
        return PriceQuote(book, None, None, NO_TIER)
    if book.energy_basis is not sla.energy_basis:
        predicted = _predict_on_basis_of(
            book, chunks=chunks, solutions=solutions, dataset=dataset, sla=sla, room_bps=room_bps
        )
    energy_j = None if predicted.energy_j is None else predicted.energy_j.mean
    found = find_price(tier_id, book.prices, book.currency, negotiated)
    if found is None:
        return PriceQuote(book, None, energy_j, NOT_PRICED)
    model, adjustment = found
    amount = compute_amount(model, moved_bytes=dataset.total_bytes, energy_j=energy_j, adjustment=adjustment)
    if amount is None:
        return PriceQuote(book, None, energy_j, NO_ENERGY)
    price = Price(amount, book.currency, book.energy_basis, book.id, model.credit)
    return PriceQuote(book, price, energy_j, negotiated=negotiated)


def _predict_on_basis_of(
    book: PublishedBook,
    *,
    chunks: Sequence[Chunk],
    solutions: Sequence[Solution],
    dataset: DataSet,
    sla: Sla,
    room_bps: float,
) -> Prediction:
    """Return the prediction of the same settings where the book counts energy on another basis than the SLA."""
    basis = book.energy_basis
    counted = [
        replace(
            solution,
            per_byte=predict(solution.setting, dataset_bytes=1.0, basis=basis, base_power_w=solution.base_power_w),
        )
        for solution in solutions
    ]
    return predict_together(chunks, counted, dataset, replace(sla, energy_basis=basis), room_bps)
