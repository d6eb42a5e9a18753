"""Labels of links: groups, such as ``europe`` or ``research``, that price rules choose links by.

A label changes no price of a book. Negotiated prices are looked up with each quote, so that these change at once.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from services.application.shared.jobs import PricesChanged
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue, NotFound
from tradewind.wire.base import REGION_NAME

MOST_LABELS = 20
"""Labels of one link."""


def list_customers_by_label(uow: UnitOfWork, now: datetime) -> Mapping[str, Sequence[str]]:
    """Return by label the names of the customers whose negotiated prices choose links by it, now or later."""
    names = {customer.id: customer.name for customer in uow.customers.list_all()}
    found: dict[str, set[str]] = defaultdict(set)
    for prices in uow.negotiated_prices.list_all():
        if prices.effective_until is None or prices.effective_until > now:
            for label in {rule.label for rule in prices.negotiation.rules if rule.label is not None}:
                found[label].add(names[prices.customer_id])
    return {label: sorted(customers) for label, customers in sorted(found.items())}


def change_label(
    label: str, link_ids: Collection[UUID], *, is_added: bool, uow: UnitOfWork, now: datetime
) -> Sequence[str]:
    """Add a label to links, or remove it from them; return the customers whose prices it may change.

    Raises
    ------
    InvalidValue : no link is chosen, the label is no name, or a link would have too many.
    NotFound : one of the links is not the tenant's.
    """
    if not re.fullmatch(REGION_NAME, label):
        raise InvalidValue("label", "must be letters, digits, dots, dashes and underscores, 63 at most")
    if not link_ids:
        raise InvalidValue("links", "are not chosen; choose at least one")
    if not set(link_ids) <= {link.id for link in uow.links.list_all()}:
        raise NotFound("no such link")
    labels = uow.links.list_labels()
    changed = [link_id for link_id in set(link_ids) if (label in labels.get(link_id, ())) != is_added]
    if not changed:
        return ()
    if is_added and any(len(labels.get(link_id, ())) >= MOST_LABELS for link_id in changed):
        raise InvalidValue("label", f"is one too many: a link has {MOST_LABELS} labels at most")
    change = uow.links.add_label if is_added else uow.links.remove_label
    change(label, changed)
    customers = _note_prices([label], uow, now)
    action = "link.labelled" if is_added else "link.unlabelled"
    uow.audit.note(action, label, links=len(changed), customers=customers)
    uow.commit()
    return customers


def _note_prices(labels: Collection[str], uow: UnitOfWork, now: datetime) -> Sequence[str]:
    """Let processes read prices again where negotiated ones choose links by these labels; return their customers."""
    by_label = list_customers_by_label(uow, now)
    customers = sorted({name for label in labels for name in by_label.get(label, ())})
    if customers:
        uow.publish(PricesChanged(uow.tenant_id))
    return customers


def set_labels(link_id: UUID, labels: Collection[str], *, uow: UnitOfWork, now: datetime) -> None:
    """Set the labels of one link in place of those before.

    Raises
    ------
    NotFound : the tenant has no such link.
    """
    uow.links.get(link_id)
    before = set(uow.links.list_labels().get(link_id, ()))
    if before == set(labels):
        return
    for label in before - set(labels):
        uow.links.remove_label(label, [link_id])
    for label in set(labels) - before:
        uow.links.add_label(label, [link_id])
    customers = _note_prices(before ^ set(labels), uow, now)
    uow.audit.note("link.labels_set", ", ".join(sorted(labels)) or "none", link=str(link_id), customers=customers)
    uow.commit()
