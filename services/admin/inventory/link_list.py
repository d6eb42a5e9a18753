"""The list of links: what is known of each, and which of them an address chooses."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Annotated

from services.admin.lists import Empty, Filters, Line, ListColumn, ListFilters, ShownList, find_rows, show_list
from services.application.models.listed_links import ListedLink


class LinkChoice(StrEnum):
    """Links that have something in common."""

    REVIEW = "review"
    """Limits of a tier have moved."""
    UNPRICED = "unpriced"
    """A tier has no price in the current book."""
    LEARNED = "learned"
    WITHOUT_MODEL = "no_model"


class LinkFilters(ListFilters):
    """The filters of the list of links."""

    label: Annotated[Line | None, Empty] = None
    show: Annotated[LinkChoice | None, Empty] = None


CHOICES: Mapping[LinkChoice, str] = MappingProxyType(
    {
        LinkChoice.REVIEW: "with tiers to review",
        LinkChoice.UNPRICED: "with tiers without a price",
        LinkChoice.LEARNED: "with a model",
        LinkChoice.WITHOUT_MODEL: "without a model",
    }
)
"""Choices as the form names them."""

_CHOSEN: Mapping[LinkChoice, Callable[[ListedLink], bool]] = MappingProxyType(
    {
        LinkChoice.REVIEW: lambda row: row.tiers is not None and row.tiers.to_review > 0,
        LinkChoice.UNPRICED: lambda row: row.tiers is not None and row.tiers.unpriced > 0,
        LinkChoice.LEARNED: lambda row: row.model is not None,
        LinkChoice.WITHOUT_MODEL: lambda row: row.model is None,
    }
)

COLUMNS: Mapping[str, ListColumn[ListedLink]] = MappingProxyType(
    {
        "from": ListColumn("From", lambda row: row.link.key.source),
        "to": ListColumn("To", lambda row: row.link.key.destination),
        "with": ListColumn("With", lambda row: row.link.key.mover),
        "logs": ListColumn("Logs", lambda row: row.link.rows, is_number=True),
        "last": ListColumn("Last log", lambda row: row.link.last_log_at, is_number=True),
        "clusters": ListColumn("Clusters", lambda row: row.model and row.model.clusters, is_number=True),
        "rate": ListColumn("Path", lambda row: row.model and row.model.path.bandwidth_bps, is_number=True),
        "accuracy": ListColumn("Accuracy", lambda row: row.accuracy, is_number=True),
        "tiers": ListColumn("Tiers", lambda row: row.tiers and row.tiers.tiers, is_number=True),
        "state": ListColumn("State"),
    }
)


def show_links(rows: Sequence[ListedLink], filters: Filters[LinkFilters]) -> ShownList[ListedLink]:
    """Return the page of links that an address chooses."""
    return show_list(rows, COLUMNS, filters, text_of=_list_texts, matches=partial(_matches, filters.values))


def find_links(rows: Sequence[ListedLink], filters: Filters[LinkFilters]) -> Sequence[ListedLink]:
    """Return all links that an address chooses, on every page."""
    return find_rows(rows, filters, text_of=_list_texts, matches=partial(_matches, filters.values))


def _list_texts(row: ListedLink) -> tuple[str | None, ...]:
    return row.link.key.source, row.link.key.destination, row.link.key.network, row.link.key.mover


def _matches(filters: LinkFilters, row: ListedLink) -> bool:
    has_label = filters.label is None or filters.label in row.labels
    return has_label and (filters.show is None or _CHOSEN[filters.show](row))
