"""Labels of links: groups, such as ``europe`` or ``research``, that price rules choose links by."""

import re
from collections.abc import Collection
from uuid import UUID

from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue, NotFound
from tradewind.wire.base import REGION_NAME

MOST_LABELS = 20
"""Labels of one link."""


def change_label(label: str, link_ids: Collection[UUID], *, is_added: bool, uow: UnitOfWork) -> None:
    """Add a label to links, or remove it from them.

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
        return
    if is_added and any(len(labels.get(link_id, ())) >= MOST_LABELS for link_id in changed):
        raise InvalidValue("label", f"is one too many: a link has {MOST_LABELS} labels at most")
    change = uow.links.add_label if is_added else uow.links.remove_label
    change(label, changed)
    uow.audit.note("link.labelled" if is_added else "link.unlabelled", label, links=len(changed))
    uow.commit()


def set_labels(link_id: UUID, labels: Collection[str], *, uow: UnitOfWork) -> None:
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
    uow.audit.note("link.labels_set", ", ".join(sorted(labels)) or "none", link=str(link_id))
    uow.commit()
