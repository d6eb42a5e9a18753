"""What was quoted, from answers into the database: the demand that prices are tried on. Bills rest on logs.

An answer leaves its quote with a recorder and waits for nothing; what the recorder or the stream loses is missing from
the demand, and a transfer's log still carries what it was offered for.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, ClassVar, Protocol
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from services.application.enquiry import Enquiry, Offer
from services.application.ports import Transaction
from services.application.stream_journal import Entry, StreamJournal
from services.application.tuning_sessions import TransferKey
from tradewind.errors import InvalidValue
from tradewind.sla import EnergyBasis, SlaKind
from tradewind.wire.base import Count, Instant, reason_of

TENANT, QUOTES = "tenant", "quotes"
"""Fields of an entry in the stream: whose quotes, and several of them as JSON."""


class StoredQuote(BaseModel):
    """An offer made while a book was in force; ``amount`` is absent where the book has no price for it.

    ``energy_j`` is what was expected on the book's basis; absent where it was not known.
    """

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)

    transfer_id: UUID
    at: Instant
    key_id: UUID
    link_id: UUID
    tier_id: UUID
    book_id: UUID
    amount: Annotated[Decimal, Field(ge=0)] | None
    currency: str
    energy_basis: EnergyBasis
    sla: SlaKind
    total_bytes: Count
    throughput_bps: float
    energy_j: float | None

    @staticmethod
    def of(offer: Offer, enquiry: Enquiry, *, key_id: UUID, at: datetime) -> "StoredQuote | None":
        """What was offered; ``None`` where no book is in force, or nothing is promised that it could price."""
        made, quote = offer.recommendation, offer.quote
        if quote is None or made.sla.tier_id is None or offer.link_id is None:
            return None
        return StoredQuote.model_construct(  # made by ourselves; it is read strictly where it comes out of the stream
            transfer_id=made.transfer_id,
            at=at,
            key_id=key_id,
            link_id=offer.link_id,
            tier_id=made.sla.tier_id,
            book_id=quote.book.id,
            amount=None if quote.price is None else quote.price.amount,
            currency=quote.book.currency,
            energy_basis=quote.book.energy_basis,
            sla=enquiry.sla.kind,
            total_bytes=enquiry.dataset.total_bytes,
            throughput_bps=made.predicted.throughput_bps.mean,
            energy_j=quote.energy_j,
        )


_QUOTES = TypeAdapter(tuple[StoredQuote, ...])


def as_fields(tenant_id: UUID, quotes: Sequence[StoredQuote]) -> dict[str, str | bytes]:
    """Quotes of a tenant as one entry of the stream."""
    return {TENANT: str(tenant_id), QUOTES: _QUOTES.dump_json(tuple(quotes))}


class Quotes(Protocol):
    def add(self, quotes: Collection[StoredQuote]) -> None:
        """Store those that are not stored yet."""


class QuoteUnitOfWork(Transaction, Protocol):
    """A transaction of one tenant."""

    @property
    def quotes(self) -> Quotes: ...


@dataclass(frozen=True, slots=True)
class ToldQuotes:
    """Quotes of one tenant that were put on the stream together."""

    entry: Entry
    tenant_id: UUID
    quotes: Sequence[StoredQuote]


@dataclass(frozen=True)
class QuoteJournal(StreamJournal[ToldQuotes]):
    BATCH: ClassVar[int] = 50

    unit_of_work: Callable[[UUID], QuoteUnitOfWork]

    def read(self, entry: Entry) -> ToldQuotes:
        try:
            tenant_id = UUID(entry.fields[TENANT].decode())
            return ToldQuotes(entry, tenant_id, _QUOTES.validate_json(entry.fields[QUOTES]))
        except ValidationError as invalid:
            raise reason_of(invalid.errors(include_url=False, include_context=False)[0]) from None
        except KeyError as missing:
            raise InvalidValue(str(missing.args[0]), "is missing") from None
        except ValueError as error:
            raise InvalidValue(TENANT, f"cannot be read: {error}") from None

    def store(self, tenant_id: UUID, told: Sequence[ToldQuotes]) -> Mapping[TransferKey, int]:
        with self.unit_of_work(tenant_id) as work:
            work.quotes.add([quote for each in told for quote in each.quotes])
            work.commit()
        return {}
