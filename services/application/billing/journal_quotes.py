"""What was asked for and quoted, from answers into the database: the demand of prices. Bills rest on logs.

An answer leaves its quote with a recorder and waits for nothing; what the recorder or the stream loses is missing from
the demand, and a transfer's log still carries what it was offered for.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, ClassVar, NamedTuple, Self
from uuid import UUID

import orjson
from pydantic import Field, FiniteFloat, TypeAdapter, ValidationError

from services.application.recommend.request import PricedRecommendation, TransferRequest
from services.application.shared.unit_of_work import UnitOfWork
from services.application.transfers.sessions import TransferKey
from services.application.transfers.stream_journal import Entry, StreamJournal
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.wire.base import Count, Instant, describe_validation_error

TENANT, QUOTES = "tenant", "quotes"
"""Fields of an entry in the stream: whose quotes, and several of them as JSON."""


class StoredQuote(NamedTuple):
    """An offer in a tier; ``amount`` is absent where the book in force has no price for it, or no book is in force.

    ``energy_j`` is what was expected on the book's basis, without a book on that of the agreement; absent where it was
    not known. (A tuple, because every answer makes one: a model takes ten times as long.)
    """

    transfer_id: UUID
    at: Instant
    key_id: UUID
    link_id: UUID
    tier_id: UUID
    book_id: UUID | None
    amount: Annotated[Decimal, Field(ge=0, allow_inf_nan=False)] | None
    currency: str | None
    energy_basis: EnergyBasis
    sla: SlaKind
    total_bytes: Count
    throughput_bps: FiniteFloat
    energy_j: FiniteFloat | None

    @classmethod
    def of(cls, offer: PricedRecommendation, enquiry: TransferRequest, *, key_id: UUID, at: datetime) -> Self | None:
        """What was offered; ``None`` where nothing is promised that a book could price."""
        made, quote = offer.recommendation, offer.quote
        if made.sla.tier_id is None or offer.link_id is None:
            return None
        energy = made.predicted.energy_j
        return cls(
            transfer_id=made.transfer_id,
            at=at,
            key_id=key_id,
            link_id=offer.link_id,
            tier_id=made.sla.tier_id,
            book_id=None if quote is None else quote.book.id,
            amount=None if quote is None or quote.price is None else quote.price.amount,
            currency=None if quote is None else quote.book.currency,
            energy_basis=enquiry.sla.energy_basis if quote is None else quote.book.energy_basis,
            sla=enquiry.sla.kind,
            total_bytes=enquiry.dataset.total_bytes,
            throughput_bps=made.predicted.throughput_bps.mean,
            energy_j=quote.energy_j if quote is not None else None if energy is None else energy.mean,
        )


_QUOTES = TypeAdapter(tuple[StoredQuote, ...])


def to_stream_fields(tenant_id: UUID, quotes: Sequence[StoredQuote]) -> dict[str, str | bytes]:
    """Quotes of a tenant as one entry of the stream."""
    return {TENANT: str(tenant_id), QUOTES: orjson.dumps([each._asdict() for each in quotes], default=str)}


@dataclass(frozen=True, slots=True)
class ParsedQuotes:
    """Quotes of one tenant that were put on the stream together."""

    entry: Entry
    tenant_id: UUID
    quotes: Sequence[StoredQuote]


@dataclass(frozen=True)
class QuoteJournal(StreamJournal[ParsedQuotes]):
    BATCH: ClassVar[int] = 50

    unit_of_work: Callable[[UUID], UnitOfWork]

    def read(self, entry: Entry) -> ParsedQuotes:
        try:
            tenant_id = UUID(entry.fields[TENANT].decode())
            return ParsedQuotes(entry, tenant_id, _QUOTES.validate_json(entry.fields[QUOTES]))
        except ValidationError as invalid:
            raise describe_validation_error(invalid.errors(include_url=False, include_context=False)[0]) from None
        except KeyError as missing:
            raise InvalidValue(str(missing.args[0]), "is missing") from None
        except ValueError as error:
            raise InvalidValue(TENANT, f"cannot be read: {error}") from None

    def store(self, tenant_id: UUID, told: Sequence[ParsedQuotes]) -> Mapping[TransferKey, int]:
        with self.unit_of_work(tenant_id) as work:
            work.quotes.add([quote for each in told for quote in each.quotes])
            work.commit()
        return {}
