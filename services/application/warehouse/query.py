"""SQL of analysts: what may be asked, under which limits, and by which logins."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from services.application.shared.audit import Actor
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.units import GIB, MIB

PASSWORD_BYTES = 24

LONGEST_TRANSACTION = timedelta(minutes=10)
"""Of people's tools: a session that goes on for longer in one is ended."""

Parameter = str | int | float | bool | None


class LoginKind(StrEnum):
    READER = "reader"
    """For a person's psql, notebook or dashboard."""
    QUERY = "query"
    """For the queries that the service runs on behalf of a key."""


class Format(StrEnum):
    ARROW = "arrow"
    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class StoredLogin:
    name: str
    password: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """What one query may take."""

    rows: int = 10_000_000
    seconds: float = 120.0
    taking_seconds: float = 10.0
    """After these, for a client to take what is on its way: the database measures no time while it waits to send."""
    row_bytes: int = 16 * MIB
    """Of one row as it is sent. Rows are whole in memory, some times over."""
    answer_bytes: int = 8 * GIB
    """Of all rows together."""
    at_once: int = 4
    """Queries of one tenant that one process runs at a time; others are told to come again."""
    in_all: int = 8
    """Queries of all tenants; half of the turns are for tenants that have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One statement with values for its ``$1``, ``$2``, …

    ``limit`` : after so many rows the answer ends. Without one, more than the service's limit is an error.
    """

    sql: str
    parameters: Sequence[Parameter] = ()
    format: Format = Format.JSON
    limit: int | None = None


class QueryRun(Protocol):
    """A query on its way. ``chunks`` is run by one thread, ``cancel`` may be called by another."""

    @property
    def tenant_id(self) -> UUID:
        """Whose query it is."""

    def chunks(self) -> Iterator[bytes]:
        """The answer, piece by piece, in flat memory.

        Raises
        ------
        QueryRefused, TooLarge, Unavailable : before the first piece or after any.
        """

    def cancel(self) -> None:
        """Stop it in the database too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaColumn:
    name: str
    type: str
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaView:
    name: str
    comment: str
    columns: Sequence[SchemaColumn]


UnitsOfWork = Callable[[UUID, Actor], AbstractContextManager[UnitOfWork]]


def login_for_queries(
    tenant_id: UUID, *, actor: Actor, units: UnitsOfWork, clock: Clock, anew: bool = False
) -> StoredLogin:
    """The login of the service's queries for the tenant, made when it is first asked for.

    Parameters
    ----------
    anew : make it again, as when the database does not know what is stored, since it was restored elsewhere.
    """
    with units(tenant_id, actor) as uow:
        found = uow.warehouse_logins.find(LoginKind.QUERY)
        if found is not None and not anew:
            return found
        uow.warehouse_logins.take_slot(LoginKind.QUERY)
        rivals = uow.warehouse_logins.find(LoginKind.QUERY)
        if rivals is not None and rivals != found:
            return rivals
        login = uow.warehouse_logins.open(LoginKind.QUERY, _new_password(), at=clock.now())
        uow.audit.note("warehouse_login.created", login.name)
        uow.commit()
    return login


def issue_login(tenant_id: UUID, *, actor: Actor, units: UnitsOfWork, clock: Clock) -> StoredLogin:
    """The tenant's login for people's tools, made when it is first asked for, else as it is stored.

    It is put right each time: whoever has it can change its password and settings in the database.
    """
    with units(tenant_id, actor) as uow:
        uow.warehouse_logins.take_slot(LoginKind.READER)
        found = uow.warehouse_logins.hold(LoginKind.READER)
        password, at = (_new_password(), clock.now()) if found is None else (found.password, found.created_at)
        login = uow.warehouse_logins.open(LoginKind.READER, password, at=at)
        uow.audit.note(f"warehouse_login.{'created' if found is None else 'handed_out'}", login.name)
        uow.commit()
    return login


def revoke_login(kind: LoginKind, tenant_id: UUID, *, actor: Actor, units: UnitsOfWork) -> bool:
    """Take the login away and end its sessions; whether there was one. The next to ask gets one with a new password."""
    with units(tenant_id, actor) as uow:
        if not uow.warehouse_logins.close(kind):
            return False
        uow.audit.note("warehouse_login.revoked", kind.value)
        uow.commit()
    return True


def _new_password() -> str:
    return secrets.token_urlsafe(PASSWORD_BYTES)
