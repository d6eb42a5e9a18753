"""What an offer costs by the price book in force."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

from services.application.billing.price_list import PublishedBook
from services.application.recommend.chunk_choice import Solution, predict_together
from tradewind.dataset import Chunk, DataSet
from tradewind.prediction import Prediction, predict
from tradewind.sla.kinds import Sla
from tradewind.sla.pricing import Price, amount_of

NOT_PRICED = "; not priced: the price book in force has no price for this tier"
NO_TIER = "; not priced: its cluster has no tier for such an agreement, which could have a price"
NO_ENERGY = "; not priced: the price book charges energy, and that of this transfer is not known"


class PriceQuote(NamedTuple):
    """The price of an offer by a book, ``None`` where it has none: ``unpriced`` is what a rationale says of it then.

    ``energy_j`` : what the transfer is expected to take, on the book's basis; ``None`` where it is not known.
    """

    book: PublishedBook
    price: Price | None
    energy_j: float | None
    unpriced: str = ""


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
) -> PriceQuote:
    """The price of a transfer in a tier, ``None`` where it is in none."""
    if tier_id is None:
        return PriceQuote(book, None, None, NO_TIER)
    if book.energy_basis is not sla.energy_basis:
        predicted = _on_basis_of(book, chunks=chunks, solutions=solutions, dataset=dataset, sla=sla, room_bps=room_bps)
    energy_j = None if predicted.energy_j is None else predicted.energy_j.mean
    model = book.prices.get(tier_id)
    if model is None:
        return PriceQuote(book, None, energy_j, NOT_PRICED)
    amount = amount_of(model, moved_bytes=dataset.total_bytes, energy_j=energy_j)
    if amount is None:
        return PriceQuote(book, None, energy_j, NO_ENERGY)
    return PriceQuote(book, Price(amount, book.currency, book.energy_basis, book.id), energy_j)


def _on_basis_of(
    book: PublishedBook,
    *,
    chunks: Sequence[Chunk],
    solutions: Sequence[Solution],
    dataset: DataSet,
    sla: Sla,
    room_bps: float,
) -> Prediction:
    """The prediction of the same settings where the book counts energy otherwise than the agreement."""
    basis = book.energy_basis
    counted = [
        replace(each, per_byte=predict(each.setting, dataset_bytes=1.0, basis=basis, base_power_w=each.base_power_w))
        for each in solutions
    ]
    return predict_together(chunks, counted, dataset, replace(sla, energy_basis=basis), room_bps)
