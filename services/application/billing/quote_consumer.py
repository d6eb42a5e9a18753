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
from services.application.transfers.stream_consumer import StreamConsumer, StreamEntry
from tradewind.errors import InvalidValue
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.wire.base import Count, Instant, describe_validation_error

TENANT, QUOTES = "tenant", "quotes"
"""Fields of an entry in the stream: the tenant, and several quotes as JSON."""


class StoredQuote(NamedTuple):
    """A recommendation in a tier; ``amount`` is ``None`` without a current price book or a price in it.

    ``energy_j`` : expected energy on the book's basis, without a book on the SLA's; ``None`` where it is unknown.
    ``negotiated_id`` : of the prices that were negotiated with the customer, with their ``credit``; ``None`` where
    the book alone counts.
    (A tuple, because every answer makes one: a pydantic model takes ten times as long.)
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
    negotiated_id: UUID | None = None
    credit: Annotated[Decimal, Field(ge=0, le=1, allow_inf_nan=False)] | None = None

    @classmethod
    def of(cls, priced: PricedRecommendation, request: TransferRequest, *, key_id: UUID, at: datetime) -> Self | None:
        """Return the quote of a recommendation; ``None`` where it promises nothing that a book could price."""
        recommendation, quote = priced.recommendation, priced.quote
        if recommendation.sla.tier_id is None or priced.link_id is None:
            return None
        energy = recommendation.predicted.energy_j
        negotiated = None if quote is None or quote.price is None else quote.negotiated
        return cls(
            transfer_id=recommendation.transfer_id,
            at=at,
            key_id=key_id,
            link_id=priced.link_id,
            tier_id=recommendation.sla.tier_id,
            book_id=None if quote is None else quote.book.id,
            amount=None if quote is None or quote.price is None else quote.price.amount,
            currency=None if quote is None else quote.book.currency,
            energy_basis=recommendation.sla.sla.energy_basis if quote is None else quote.book.energy_basis,
            sla=request.sla.kind,
            total_bytes=request.dataset.total_bytes,
            throughput_bps=recommendation.predicted.throughput_bps.mean,
            energy_j=quote.energy_j if quote is not None else None if energy is None else energy.mean,
            negotiated_id=None if negotiated is None else negotiated.id,
            credit=None if negotiated is None or quote is None or quote.price is None else quote.price.credit,
        )


_NEGOTIATED_FIELDS = ("negotiated_id", "credit")
_QUOTES = TypeAdapter(tuple[StoredQuote, ...])


def to_stream_fields(tenant_id: UUID, quotes: Sequence[StoredQuote]) -> dict[str, str | bytes]:
    """Return quotes of a tenant as the fields of one entry of the stream."""
    return {TENANT: str(tenant_id), QUOTES: orjson.dumps([_to_entry(quote) for quote in quotes], default=str)}


def _to_entry(quote: StoredQuote) -> Mapping[str, object]:
    """Return the fields of a quote; a worker of the version before knows none of negotiated prices."""
    return {
        name: value for name, value in quote._asdict().items() if value is not None or name not in _NEGOTIATED_FIELDS
    }


@dataclass(frozen=True, slots=True)
class ParsedQuotes:
    """Quotes of one tenant from one entry of the stream."""

    entry: StreamEntry
    tenant_id: UUID
    quotes: Sequence[StoredQuote]


@dataclass(frozen=True)
class QuoteConsumer(StreamConsumer[ParsedQuotes]):
    BATCH: ClassVar[int] = 50

    unit_of_work: Callable[[UUID], UnitOfWork]

    def read(self, entry: StreamEntry) -> ParsedQuotes:
        try:
            tenant_id = UUID(entry.fields[TENANT].decode())
            return ParsedQuotes(entry, tenant_id, _QUOTES.validate_json(entry.fields[QUOTES]))
        except ValidationError as invalid:
            raise describe_validation_error(invalid.errors(include_url=False, include_context=False)[0]) from None
        except KeyError as missing:
            raise InvalidValue(str(missing.args[0]), "is missing") from None
        except ValueError as error:
            raise InvalidValue(TENANT, f"cannot be read: {error}") from None

    def store(self, tenant_id: UUID, entries: Sequence[ParsedQuotes]) -> Mapping[TransferKey, int]:
        with self.unit_of_work(tenant_id) as work:
            work.quotes.add([quote for entry in entries for quote in entry.quotes])
            work.commit()
        return {}
