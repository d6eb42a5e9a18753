"""``/v1/customers``: customers, their keys, and the prices that were negotiated with them."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query, Response

from services.api.dependencies import Parts, ProviderKey
from services.api.routes.billing.price_rules import Version
from services.api.routing import OnceRoute, create_v1_router
from services.application.access.authenticate import Principal
from services.application.billing.customers import (
    Customer,
    CustomerDetails,
    add_customer,
    archive_customer,
    change_customer,
    restore_customer,
)
from services.application.billing.negotiate import (
    NegotiatedPrices,
    Negotiation,
    add_negotiated_prices,
    end_negotiated_prices,
)
from services.bootstrap import Container
from tradewind.wire.customers import (
    CustomerChange,
    CustomerKeys,
    NewCustomer,
    NewNegotiatedPrices,
    PriceEnd,
    SpendingLimit,
    WireCustomer,
    WireNegotiatedPrices,
)
from tradewind.wire.price_rules import WirePriceRule

router = create_v1_router("/customers", "customers", OnceRoute)
prices_router = create_v1_router("/negotiated-prices", "customers")

WithoutLimit = Annotated[bool, Query(description="Remove the spending limit of the customer.")]
IsArchived = Annotated[bool, Query(description="Archived customers instead of the others.")]


@router.get("")
def list_customers(parts: Parts, principal: ProviderKey, archived: IsArchived = False) -> Sequence[WireCustomer]:
    """List customers by name."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        found = uow.customers.list_all()
    return [to_wire_customer(each) for each in found if (each.archived_at is not None) == archived]


@router.post("", status_code=201)
def create_customer(new: NewCustomer, parts: Parts, principal: ProviderKey, response: Response) -> WireCustomer:
    """Create a customer. Its first keys also bring what they moved before."""
    details = CustomerDetails(**_to_details(new.model_dump(exclude={"key_ids"})))
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        customer = add_customer(details, new.key_ids, uow=uow, clock=parts.clock)
    return _tag(customer, parts, principal, response)


@router.get("/{customer_id}")
def read_customer(customer_id: UUID, parts: Parts, principal: ProviderKey, response: Response) -> WireCustomer:
    """Return one customer."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        customer = uow.customers.get(customer_id)
    response.headers["ETag"] = f'"{customer.version}"'
    return to_wire_customer(customer)


@router.patch("/{customer_id}")
def edit_customer(
    customer_id: UUID,
    change: CustomerChange,
    parts: Parts,
    principal: ProviderKey,
    *,
    version: Version,
    response: Response,
) -> WireCustomer:
    """Change what is stated of a customer."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        stated = _to_details(change.model_dump(exclude_unset=True))
        customer = change_customer(customer_id, stated, None, version=version, uow=uow, clock=parts.clock)
    return _tag(customer, parts, principal, response)


@router.put("/{customer_id}/keys")
def set_keys(
    customer_id: UUID,
    held: CustomerKeys,
    parts: Parts,
    principal: ProviderKey,
    *,
    version: Version,
    response: Response,
) -> WireCustomer:
    """Set all keys of a customer. What a key moved stays with the customer that it belonged to then."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        customer = change_customer(customer_id, {}, held.key_ids, version=version, uow=uow, clock=parts.clock)
    return _tag(customer, parts, principal, response)


@router.post("/{customer_id}/archive")
def archive(
    customer_id: UUID, parts: Parts, principal: ProviderKey, *, version: Version, response: Response
) -> WireCustomer:
    """Archive a customer: it holds no key and has no negotiated prices from now on; its statements stay."""
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        customer = archive_customer(customer_id, version=version, uow=uow, clock=parts.clock)
    return _tag(customer, parts, principal, response)


@router.post("/{customer_id}/restore")
def restore(
    customer_id: UUID,
    parts: Parts,
    principal: ProviderKey,
    response: Response,
    *,
    without_limit: WithoutLimit = False,
) -> WireCustomer:
    """Take a customer out of the archive; its keys have to be assigned again.

    It is refused while the spending limit is in another currency than the price book.
    """
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        customer = restore_customer(customer_id, without_limit=without_limit, uow=uow)
    return _tag(customer, parts, principal, response)


@router.get("/{customer_id}/negotiated-prices")
def list_negotiated_prices(customer_id: UUID, parts: Parts, principal: ProviderKey) -> Sequence[WireNegotiatedPrices]:
    """List all prices that were negotiated with a customer, the earliest first."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        uow.customers.get(customer_id)
        found = uow.negotiated_prices.list_of(customer_id)
    return [_to_wire_prices(each, parts) for each in found]


@router.post("/{customer_id}/negotiated-prices", status_code=201)
def negotiate(
    customer_id: UUID, new: NewNegotiatedPrices, parts: Parts, principal: ProviderKey
) -> WireNegotiatedPrices:
    """Negotiate prices from a time on; those before them end then. Quotes that were given keep their price."""
    negotiation = Negotiation(
        adjustment=new.adjustment, rules=tuple(rule.to_rule() for rule in new.rules), currency=new.currency
    )
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        prices = add_negotiated_prices(
            customer_id, negotiation, starts_at=new.starts_at, ends_at=new.ends_at, uow=uow, clock=parts.clock
        )
    parts.snapshots.forget(principal.tenant_id)
    return _to_wire_prices(prices, parts)


@prices_router.post("/{prices_id}/end", status_code=204)
def end_prices(prices_id: UUID, parts: Parts, principal: ProviderKey, end: PriceEnd | None = None) -> None:
    """End negotiated prices at a time, or now; prices that do not start before are removed."""
    ends_at = None if end is None else end.ends_at
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        end_negotiated_prices(prices_id, ends_at=ends_at, uow=uow, clock=parts.clock)
    parts.snapshots.forget(principal.tenant_id)


def _to_details(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields of the wire as those of the details."""
    if "spending_limit" in fields:
        limit = fields.pop("spending_limit") or {"amount": None, "currency": None}
        fields |= {"spending_limit": limit["amount"], "spending_currency": limit["currency"]}
    return fields


def _tag(customer: Customer, parts: Container, principal: Principal, response: Response) -> WireCustomer:
    """Return a changed customer; this process reads prices again."""
    parts.snapshots.forget(principal.tenant_id)
    response.headers["ETag"] = f'"{customer.version}"'
    return to_wire_customer(customer)


def to_wire_customer(customer: Customer) -> WireCustomer:
    """Return a customer for the wire."""
    details = customer.details
    limit = None
    if details.spending_limit is not None and details.spending_currency is not None:
        limit = SpendingLimit(amount=details.spending_limit, currency=details.spending_currency)
    return WireCustomer(
        id=customer.id,
        number=customer.number,
        name=details.name,
        contact_name=details.contact_name,
        contact_email=details.contact_email,
        address=details.address,
        note=details.note,
        spending_limit=limit,
        rate_factor=details.rate_factor,
        version=customer.version,
        created_at=customer.created_at,
        archived_at=customer.archived_at,
        key_ids=customer.key_ids,
    )


def _to_wire_prices(prices: NegotiatedPrices, parts: Container) -> WireNegotiatedPrices:
    negotiation = prices.negotiation
    return WireNegotiatedPrices(
        id=prices.id,
        adjustment=negotiation.adjustment,
        rules=tuple(map(WirePriceRule.of, negotiation.rules)),
        currency=negotiation.currency,
        starts_at=prices.starts_at,
        ends_at=prices.ends_at,
        effective_until=prices.effective_until,
        is_current=prices.is_current(parts.clock.now()),
    )
