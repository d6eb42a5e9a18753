"""Queries that analysts save under a name: all users of the tenant see them, only their author changes them."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from services.application.access.authenticate import Scope
from services.application.access.sign_in import Visitor
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict, NameTaken, NotFound, NotPermitted
from tradewind.names import check_name, require_free_name

MAX_SAVED = 500
LONGEST_NAME = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedQuery:
    """A saved query. ``author`` : the author's login."""

    id: UUID
    name: str
    sql: str
    author_id: UUID
    author: str
    saved_at: datetime


class SaveResult(NamedTuple):
    """The id of a saved query; ``replaced`` : it replaced its author's query of that name."""

    id: UUID
    replaced: bool


def save_query(name: str, sql: str, *, author: Visitor, uow: UnitOfWork, clock: Clock) -> SaveResult:
    """Save a query; it replaces its author's own of the same name.

    Raises
    ------
    InvalidValue : nothing of the name is seen, or it has control characters.
    NameTaken : another user has a query of that name, or the user's own differs in upper or lower case.
    Conflict : there are too many.
    """
    name = check_name(name, longest=LONGEST_NAME)
    saved = uow.saved_queries.list_all()
    others = [query.name for query in saved if query.name != name]
    require_free_name(name, others, kind="a saved query that is called")
    is_there = any(query.name == name for query in saved)
    if not is_there and len(saved) >= MAX_SAVED:
        raise Conflict(f"{MAX_SAVED} queries are saved already; remove some")
    query_id = uow.saved_queries.put(name, sql, author_id=author.user.id, at=clock.now())
    if query_id is None:
        raise NameTaken("name", f"is taken: somebody else has saved a query as {name!r}")
    uow.audit.note("saved_query.saved", name)
    uow.commit()
    return SaveResult(query_id, replaced=is_there)


def remove_query(query_id: UUID, *, by: Visitor, uow: UnitOfWork) -> str:
    """Remove a query, the visitor's own or any as an operator; return its name.

    Raises
    ------
    NotFound : there is none of this id.
    NotPermitted : it is somebody else's.
    """
    found = next((query for query in uow.saved_queries.list_all() if query.id == query_id), None)
    if found is None:
        raise NotFound("no such saved query")
    if found.author_id != by.user.id and not by.may(Scope.OPERATOR):
        raise NotPermitted(f"the query {found.name!r} is {found.author}'s")
    uow.saved_queries.remove(query_id)
    uow.audit.note("saved_query.removed", found.name)
    uow.commit()
    return found.name
