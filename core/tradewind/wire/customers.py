"""Customers of a provider, the prices that were negotiated with them, and their statements."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Self
from uuid import UUID

from pydantic import Field, model_validator

from tradewind.sla.price_rules import MOST_RULES
from tradewind.sla.pricing import DECIMALS, HIGHEST_ADJUSTMENT, HIGHEST_PRICE, LOWEST_ADJUSTMENT
from tradewind.wire.base import MAX_NAME_LENGTH, PLAIN_NUMBER, ExactDecimal, Instant, NewName, Open, Strict, Text
from tradewind.wire.billing import BilledUsage, MonthText, StatementAdjustment, StatementDue, UnbilledUsage
from tradewind.wire.inventory import RateFactor
from tradewind.wire.price_rules import WirePriceRule
from tradewind.wire.pricing import CurrencyCode

MOST_KEYS = 500
"""Of one customer."""

LONGEST_EMAIL = 254
ContactName = Annotated[str, Field(max_length=MAX_NAME_LENGTH)]
Contact = Annotated[str, Field(max_length=LONGEST_EMAIL)]
Address = Annotated[str, Field(max_length=800, description="Lines of text, eight at most.")]
Limit = Annotated[Decimal, Field(gt=0, le=HIGHEST_PRICE, decimal_places=DECIMALS, allow_inf_nan=False), PLAIN_NUMBER]
Adjustment = Annotated[
    Decimal,
    Field(ge=LOWEST_ADJUSTMENT, le=HIGHEST_ADJUSTMENT, decimal_places=DECIMALS, allow_inf_nan=False),
    PLAIN_NUMBER,
]
KeyIds = Annotated[tuple[UUID, ...], Field(max_length=MOST_KEYS)]


class SpendingLimit(Strict):
    """The most that a customer's transfers of a calendar month (UTC) may cost."""

    amount: Limit
    currency: CurrencyCode


class NewCustomer(Strict):
    """A customer to be made. ``rate_factor`` : calls of all its keys together, as a multiple of the usual of one key.

    ``key_ids`` : keys of the tenant that belong to no other customer.
    """

    name: NewName
    contact_name: ContactName = ""
    contact_email: Contact = ""
    address: Address = ""
    note: Text = ""
    spending_limit: SpendingLimit | None = None
    rate_factor: RateFactor | None = None
    key_ids: KeyIds = ()


class CustomerChange(Strict):
    """Fields that are absent stay as they are; a ``spending_limit`` or ``rate_factor`` of null is removed."""

    name: NewName | None = None
    contact_name: ContactName | None = None
    contact_email: Contact | None = None
    address: Address | None = None
    note: Text | None = None
    spending_limit: SpendingLimit | None = None
    rate_factor: RateFactor | None = None

    @model_validator(mode="after")
    def _check_texts(self) -> Self:
        for name in ("name", "contact_name", "contact_email", "address", "note"):
            if name in self.model_fields_set and getattr(self, name) is None:
                raise ValueError(f"{name} must be a text; empty it by an empty one")
        return self


class CustomerKeys(Strict):
    """All keys of a customer. A key that is left out belongs to no customer from now on."""

    key_ids: KeyIds


class WireCustomer(Open):
    """A customer. ``number`` : part of the numbers of its statements. ``key_ids`` : that belong to it now.

    ``archived_at`` : it holds no keys any more; its statements stay.
    """

    id: UUID
    number: int
    name: str
    contact_name: str
    contact_email: str
    address: str = ""
    note: str
    spending_limit: SpendingLimit | None = None
    rate_factor: float | None = None
    version: int
    created_at: datetime
    archived_at: datetime | None = None
    key_ids: tuple[UUID, ...]


class NewNegotiatedPrices(Strict):
    """Prices of a customer: all of the book by ``adjustment`` (-0.1 is 10 % off), and ``rules`` that go before it.

    They hold from ``starts_at`` (now if absent) until ``ends_at`` or the next of the customer. ``currency`` : of rules.
    """

    adjustment: Adjustment = Decimal(0)
    rules: tuple[WirePriceRule, ...] = Field(default=(), max_length=MOST_RULES)
    currency: CurrencyCode | None = None
    starts_at: Instant | None = None
    ends_at: Instant | None = None


class PriceEnd(Strict):
    """When negotiated prices end; now if absent."""

    ends_at: Instant | None = None


class WireNegotiatedPrices(Open):
    """Negotiated prices. ``effective_until`` : their end, or the start of the next of the customer."""

    id: UUID
    adjustment: ExactDecimal
    rules: tuple[WirePriceRule, ...]
    currency: str | None = None
    starts_at: datetime
    ends_at: datetime | None = None
    effective_until: datetime | None = None
    is_current: bool


class StatementKey(Open):
    """A key on a statement, with what it used."""

    key_id: UUID | None
    key: str | None
    billed: tuple[BilledUsage, ...]


class StatementTotal(Open):
    """Transfers of one link and tier in one currency.

    ``tier`` : its name, with its data sets where others of the statement have the same; absent for one that no release
    has any more.
    """

    source: str
    destination: str
    tier_id: UUID | None
    tier: str | None
    sla: str | None
    currency: str
    transfers: int
    bytes_moved: int
    amount: ExactDecimal
    credit: ExactDecimal
    agreements_kept: int
    agreements_missed: int


class StatementChange(Open):
    """What has changed in an issued month since, and is not billed yet: late transfers, corrected rows.

    ``adjusted_amount``, ``adjusted_credit`` : of the differences that later statements have billed.
    """

    currency: str
    transfers: int
    amount: ExactDecimal
    credit: ExactDecimal
    adjusted_amount: ExactDecimal
    adjusted_credit: ExactDecimal


class StatementToIssue(Strict):
    """The statement of a customer for a month that is over."""

    customer_id: UUID
    month: MonthText


class IssuedStatementHead(Open):
    """An issued statement. It never changes.

    ``number`` : of the provider's statements, consecutive from 1. ``reference`` : month and customer.
    ``issued_by`` : a login, the name of a key, or ``service``. Names and addresses are as of then.
    ``to_pay`` : a line a currency. ``adjustments`` : of earlier issued months, in ``to_pay``.
    """

    id: UUID
    number: int
    reference: str
    month: str
    begins_at: datetime
    ends_at: datetime
    time_zone: str
    issued_at: datetime
    issued_by: str
    provider: str
    provider_address: tuple[str, ...]
    customer_id: UUID
    customer: str
    customer_address: str
    contact_name: str
    contact_email: str
    to_pay: tuple[StatementDue, ...]
    adjustments: tuple[StatementAdjustment, ...]


class StatementIssuer(Strict):
    """The provider as its statements name it. ``address`` : lines under its name, eight at most."""

    name: NewName
    address: tuple[Annotated[str, Field(max_length=100)], ...] = Field(default=(), max_length=8)


class WireStatementIssuer(Open):
    """The provider as its statements name it; the tenant's own name until a provider sets one."""

    name: str
    address: tuple[str, ...]


class CustomerStatement(Open):
    """What a customer pays for a month in UTC, by the begin of its transfers: as issued, or what is logged so far.

    ``issued`` : number, time and issuer of the issued statement; absent for a preliminary one.
    ``to_pay`` : a line a currency, with ``adjustments`` of earlier issued months.
    ``changes`` : since it was issued, not billed yet. The next statement that is issued for a later month bills them.

    ``provider``, ``provider_address`` : who issues it, with the lines of its address.
    ``billed`` : a line a currency over all keys; its ``payable`` is absent where adjustments change what is paid.
    ``totals`` : absent where the rows are dropped.
    ``final`` : it is issued, or its month is closed. Until then it is preliminary: transfers that are logged late
    change it.
    ``fingerprint`` : of its content; another content under the same number has another one.
    """

    number: str
    final: bool = False
    as_of: datetime | None = None
    fingerprint: str = ""
    issued: IssuedStatementHead | None = None
    provider: str
    provider_address: tuple[str, ...] = ()
    month: str
    begins_at: datetime
    ends_at: datetime
    customer: WireCustomer
    to_pay: tuple[StatementDue, ...] = ()
    adjustments: tuple[StatementAdjustment, ...] = ()
    changes: tuple[StatementChange, ...] = ()
    billed: tuple[BilledUsage, ...]
    unbilled: tuple[UnbilledUsage, ...]
    keys: tuple[StatementKey, ...]
    totals: tuple[StatementTotal, ...]
