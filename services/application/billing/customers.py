"""Customers of a provider: who they are, which keys they hold, and what they may spend.

A key belongs to one customer at a time. What it moved stays with the customer that it belonged to then; its first
customer also gets what it moved before.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

from services.application.billing.currencies import check_currency
from services.application.shared.jobs import KeyChanged, PricesChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, InvalidValue, NameTaken
from tradewind.names import (
    LONGEST_NAME,
    NO_CONTROL_CHARACTERS,
    NO_FORMAT_CHARACTERS,
    check_name,
    fold_name,
    has_format_characters,
)
from tradewind.sla.pricing import DECIMALS, HIGHEST_PRICE, round_amount
from tradewind.wire.customers import LONGEST_EMAIL, MOST_KEYS
from tradewind.wire.inventory import LEAST_RATE_FACTOR, MOST_RATE_FACTOR

LONGEST_NOTE = 2000
LONGEST_ADDRESS = 800
MOST_ADDRESS_LINES = 8
_LONGEST = MappingProxyType(
    {
        "contact_name": LONGEST_NAME,
        "contact_email": LONGEST_EMAIL,
        "address": LONGEST_ADDRESS,
        "note": LONGEST_NOTE,
    }
)
_OF_LINES = frozenset({"address", "note"})

_ADDRESS = re.compile(r"[^@\s\x00-\x1f<>()\[\]\\,;:\"]+@[^@\s\x00-\x1f<>()\[\]\\,;:\"]+")
_CONTROL = re.compile(r"[\x00-\x1f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomerDetails:
    """What a provider states of a customer.

    ``address`` : lines of text, as statements have them under its name.
    ``spending_limit`` : most that its transfers of a month may cost, in ``spending_currency``; ``None`` : no limit.
    ``rate_factor`` : calls of all its keys together, as a multiple of those of one key; ``None`` : not limited.
    """

    name: str
    contact_name: str = ""
    contact_email: str = ""
    address: str = ""
    note: str = ""
    spending_limit: Decimal | None = None
    spending_currency: str | None = None
    rate_factor: float | None = None


def check_details(details: CustomerDetails) -> CustomerDetails:
    """Return what is stated of a customer without blanks around it, after checking it.

    Raises
    ------
    InvalidValue : names the field.
    """
    texts = {name: getattr(details, name).strip() for name in _LONGEST}
    for name, longest in _LONGEST.items():
        if len(texts[name]) > longest:
            raise InvalidValue(name, f"has {len(texts[name])} characters; there may be {longest}")
        if _CONTROL.search(re.sub(r"\r?\n", " ", texts[name]) if name in _OF_LINES else texts[name]):
            raise InvalidValue(name, NO_CONTROL_CHARACTERS)
        if has_format_characters(texts[name]):
            raise InvalidValue(name, NO_FORMAT_CHARACTERS)
    texts["address"] = "\n".join(line.strip() for line in texts["address"].splitlines() if line.strip())
    if texts["address"].count("\n") >= MOST_ADDRESS_LINES:
        raise InvalidValue("address", f"has more than {MOST_ADDRESS_LINES} lines")
    if texts["contact_email"] and not _ADDRESS.fullmatch(texts["contact_email"]):
        raise InvalidValue("contact_email", "is no e-mail address; write it like ann@example.org")
    _check_spending_limit(details.spending_limit, details.spending_currency)
    factor = details.rate_factor
    if factor is not None and not LEAST_RATE_FACTOR <= factor <= MOST_RATE_FACTOR:
        raise InvalidValue("rate_factor", f"must be {LEAST_RATE_FACTOR:g} to {MOST_RATE_FACTOR:g}")
    return replace(details, name=check_name(details.name), **texts)


def _check_spending_limit(limit: Decimal | None, currency: str | None) -> None:
    if (limit is None) != (currency is None):
        missing = "spending_limit" if limit is None else "spending_currency"
        raise InvalidValue(missing, "is missing; a limit is an amount and its currency")
    if limit is None or currency is None:
        return
    if not limit.is_finite() or not 0 < limit <= HIGHEST_PRICE:
        raise InvalidValue("spending_limit", f"must be above 0 and at most {HIGHEST_PRICE:,f}")
    if round_amount(limit) != limit:
        raise InvalidValue("spending_limit", f"has more than {DECIMALS} decimals")
    try:
        check_currency(currency)
    except InvalidValue as wrong:
        raise InvalidValue("spending_currency", wrong.reason) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer:
    """A customer with the keys that belong to it now. ``number`` : of the tenant's customers, never used again.

    ``version`` : rises with each change.
    """

    id: UUID
    number: int
    details: CustomerDetails
    version: int
    created_at: datetime
    archived_at: datetime | None
    key_ids: tuple[UUID, ...]

    @property
    def name(self) -> str:
        return self.details.name


def add_customer(details: CustomerDetails, key_ids: Sequence[UUID], *, uow: UnitOfWork, clock: Clock) -> Customer:
    """Create a customer that holds these keys.

    Raises
    ------
    NameTaken : another customer has the name.
    InvalidValue : a field cannot be so, a key is not the tenant's or another customer's, or the spending limit is not
        in the currency of the price books.
    """
    details = check_details(details)
    uow.customers.lock()
    _check_name_is_free(details.name, None, uow)
    _check_limit_counts(details, uow)
    _check_keys(key_ids, None, uow)
    customer_id = uow.customers.add(details, clock.now())
    uow.audit.note("customer.created", details.name, id=str(customer_id), **_describe(details))
    customer = uow.customers.get(customer_id)
    if key_ids:
        _assign_keys(customer, key_ids, uow, clock)
    return _finish(customer_id, uow)


def change_customer(
    customer_id: UUID,
    stated: Mapping[str, Any],
    key_ids: Sequence[UUID] | None,
    *,
    version: int | None,
    uow: UnitOfWork,
    clock: Clock,
) -> Customer:
    """Change what is stated of a customer, and which keys it holds; ``None`` : the same keys.

    Parameters
    ----------
    stated : fields of `CustomerDetails` by name. The others stay as they are once no other transaction can change
        them any more, so that two editors of different fields do not undo each other's change.
    version : that the change is based on; ``None`` accepts any.

    Raises
    ------
    NotFound : the tenant has no such customer.
    NameTaken : another customer has the name.
    InvalidValue : a field cannot be so, a key is not the tenant's or another customer's, or the spending limit is not
        in the currency of the price books.
    Conflict : the customer is archived, or it was changed meanwhile.
    """
    uow.customers.lock()
    customer = claim_customer(customer_id, version, uow)
    details = check_details(replace(customer.details, **stated))
    if details != customer.details:
        _check_name_is_free(details.name, customer_id, uow)
        if _get_limit(details) != _get_limit(customer.details):
            _check_limit_counts(details, uow)
        uow.customers.change(customer_id, details)
        uow.audit.note("customer.changed", details.name, id=str(customer_id), **_describe(details, customer.details))
        if details.rate_factor != customer.details.rate_factor:
            for key_id in customer.key_ids:
                uow.publish(KeyChanged(uow.tenant_id, key_id))
    if key_ids is not None and set(key_ids) != set(customer.key_ids):
        _check_keys(key_ids, customer_id, uow)
        _assign_keys(customer, key_ids, uow, clock)
    return _finish(customer_id, uow)


def archive_customer(customer_id: UUID, *, version: int | None, uow: UnitOfWork, clock: Clock) -> Customer:
    """Archive a customer: it holds no key and has no negotiated prices from now on; its statements stay.

    Raises
    ------
    NotFound : the tenant has no such customer.
    Conflict : it is archived already, or it was changed meanwhile.
    """
    uow.customers.lock()
    customer = claim_customer(customer_id, version, uow)
    now = clock.now()
    if customer.key_ids:
        _assign_keys(customer, (), uow, clock)
    uow.negotiated_prices.end_all(customer_id, now)
    uow.customers.set_archived(customer_id, now)
    uow.audit.note("customer.archived", customer.name, id=str(customer_id))
    return _finish(customer_id, uow)


def restore_customer(customer_id: UUID, *, without_limit: bool = False, uow: UnitOfWork) -> Customer:
    """Take a customer out of the archive; its keys have to be assigned again.

    Parameters
    ----------
    without_limit : whether its spending limit is removed.

    Raises
    ------
    NotFound : the tenant has no such customer.
    Conflict : its spending limit is not in the currency of the price books, and would stay.
    """
    uow.customers.lock()
    customer = uow.customers.get(customer_id)
    if customer.archived_at is not None:
        details = customer.details
        if without_limit and details.spending_limit is not None:
            details = replace(details, spending_limit=None, spending_currency=None)
            uow.customers.change(customer_id, details)
        try:
            _check_limit_counts(details, uow)
        except InvalidValue as wrong:
            raise Conflict(f"its spending limit {wrong.reason}; restore it without its limit") from None
        uow.customers.set_archived(customer_id, None)
        uow.audit.note("customer.restored", customer.name, id=str(customer_id), **_describe(details, customer.details))
    return _finish(customer_id, uow)


def claim_customer(customer_id: UUID, version: int | None, uow: UnitOfWork) -> Customer:
    """Return a customer that may be changed, while customers are locked.

    Raises
    ------
    NotFound : the tenant has no such customer.
    Conflict : it is archived, or has another version by now.
    """
    customer = uow.customers.get(customer_id)
    if customer.archived_at is not None:
        raise Conflict("the customer is archived; restore it first")
    if version is not None and version != customer.version:
        raise Conflict(
            f"somebody changed the customer meanwhile: it is at version {customer.version}, not {version}; load it "
            "again, and copy what you typed before"
        )
    return customer


def _finish(customer_id: UUID, uow: UnitOfWork) -> Customer:
    after = uow.customers.get(customer_id)
    uow.publish(PricesChanged(uow.tenant_id))
    uow.commit()
    return after


def _get_limit(details: CustomerDetails) -> tuple[Decimal | None, str | None]:
    return details.spending_limit, details.spending_currency


def _check_limit_counts(details: CustomerDetails, uow: UnitOfWork) -> None:
    """Refuse a limit in another currency than that of the price books, which would never limit anything."""
    if details.spending_currency is not None:
        check_currency_of_books("spending_currency", details.spending_currency, uow)


def check_currency_of_books(field: str, currency: str, uow: UnitOfWork) -> None:
    """Refuse a currency that is not that of each book that is current or waits for its date.

    Customers are locked: publishing takes the same lock.

    Raises
    ------
    InvalidValue : names the field.
    """
    others = sorted({book.currency for book in uow.price_books.load_price_list().books} - {currency})
    if others:
        raise InvalidValue(field, f"is {currency}, but the price book is in {others[0]}")


def _check_name_is_free(name: str, customer_id: UUID | None, uow: UnitOfWork) -> None:
    for other in uow.customers.list_all():
        if other.id != customer_id and fold_name(other.name) == fold_name(name):
            is_archived = other.archived_at is not None
            raise NameTaken(
                "name",
                "is that of an archived customer; restore that one" if is_archived else "is that of another customer",
            )


def _check_keys(key_ids: Sequence[UUID], customer_id: UUID | None, uow: UnitOfWork) -> None:
    if len(key_ids) > MOST_KEYS:
        raise InvalidValue("key_ids", f"are {len(key_ids)}; a customer has {MOST_KEYS} at most")
    names = {key.id: key.name for key in uow.keys.list_all()}
    holders = uow.customers.list_holders()
    for key_id in key_ids:
        if key_id not in names:
            raise InvalidValue("key_ids", f"{key_id} is no key of yours; GET /v1/keys lists them")
        holder = holders.get(key_id)
        if holder is not None and holder != customer_id:
            other = uow.customers.get(holder).name
            raise InvalidValue("key_ids", f"{names[key_id]} belongs to {other}; take it from that customer first")


def _assign_keys(customer: Customer, key_ids: Sequence[UUID], uow: UnitOfWork, clock: Clock) -> None:
    names = {key.id: key.name for key in uow.keys.list_all()}
    added, removed = set(key_ids) - set(customer.key_ids), set(customer.key_ids) - set(key_ids)
    uow.customers.assign(added, customer.id, clock.now())
    uow.customers.assign(removed, None, clock.now())
    uow.customers.raise_version(customer.id)
    for key_id in added | removed:
        uow.publish(KeyChanged(uow.tenant_id, key_id))
    uow.audit.note(
        "customer.keys_set",
        customer.name,
        id=str(customer.id),
        added=sorted(names[key_id] for key_id in added),
        removed=sorted(names[key_id] for key_id in removed),
    )


def _describe(details: CustomerDetails, before: CustomerDetails | None = None) -> Mapping[str, str]:
    """Return what is stated, or what of it has changed, for an audit entry."""
    stated = asdict(details)
    changed = {
        each.name
        for each in fields(CustomerDetails)
        if before is None or getattr(before, each.name) != getattr(details, each.name)
    }
    return {
        name: "none" if value is None else f"{value:f}" if isinstance(value, Decimal) else f"{value}"
        for name, value in stated.items()
        if name in changed and (before is not None or value not in (None, ""))
    }
