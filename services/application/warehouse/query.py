"""Queries of analysts: their limits, and the database accounts that run them."""

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
"""Longest transaction of users' tools: a session with a longer one is ended."""

Parameter = str | int | float | bool | None


class LoginKind(StrEnum):
    READER = "reader"
    """For a user's psql, notebook or dashboard."""
    QUERY = "query"
    """For the queries that the service runs on behalf of a key."""


class Format(StrEnum):
    ARROW = "arrow"
    CSV = "csv"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class StoredLogin:
    """A database account with its password."""

    name: str
    password: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits:
    """Limits of one query."""

    rows: int = 10_000_000
    seconds: float = 120.0
    taking_seconds: float = 10.0
    """Additional time for a client to read what was sent: the database does not count time while it waits to send."""
    row_bytes: int = 16 * MIB
    """Size of one row as it is sent. Entire rows are in memory, several times."""
    answer_bytes: int = 8 * GIB
    """Size of all rows together."""
    at_once: int = 4
    """Queries of one tenant that one process runs at a time; the client has to retry further ones."""
    in_all: int = 8
    """Queries of all tenants; half of the slots are for tenants that have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One statement with values for its ``$1``, ``$2``, …

    ``limit`` : the answer ends after this many rows. Without it, more rows than the service's limit are an error.
    """

    sql: str
    parameters: Sequence[Parameter] = ()
    format: Format = Format.JSON
    limit: int | None = None


class QueryRun(Protocol):
    """A running query. One thread runs ``chunks``; another may call ``cancel``.

    A port with two implementations: queries in `services.persistence.warehouse`, and `UsageFile`.
    """

    @property
    def tenant_id(self) -> UUID:
        """The tenant of the query."""

    def read_chunks(self) -> Iterator[bytes]:
        """Yield the answer piece by piece, in constant memory.

        Raises
        ------
        QueryRefused, TooLarge, Unavailable : raised before the first piece or after any.
        """

    def cancel(self) -> None:
        """Stop the query, in the database too."""


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


def ensure_query_login(
    tenant_id: UUID, *, actor: Actor, units: UnitsOfWork, clock: Clock, rotate: bool = False
) -> StoredLogin:
    """Return the account of the service's queries for the tenant, created on first use.

    Parameters
    ----------
    rotate : create it again, as when the database lacks the stored account because it was restored elsewhere.
    """
    with units(tenant_id, actor) as uow:
        found = uow.warehouse_logins.find(LoginKind.QUERY)
        if found is not None and not rotate:
            return found
        uow.warehouse_logins.take_slot(LoginKind.QUERY)
        existing = uow.warehouse_logins.find(LoginKind.QUERY)
        if existing is not None and existing != found:
            return existing
        login = uow.warehouse_logins.open(LoginKind.QUERY, _make_password(), at=clock.now())
        uow.audit.note("warehouse_login.created", login.name)
        uow.commit()
    return login


def issue_login(tenant_id: UUID, *, actor: Actor, units: UnitsOfWork, clock: Clock) -> StoredLogin:
    """Return the tenant's account for users' tools, created on first use.

    It is reset to its stored state each time: its holder can change its password and settings in the database.
    """
    with units(tenant_id, actor) as uow:
        uow.warehouse_logins.take_slot(LoginKind.READER)
        found = uow.warehouse_logins.hold(LoginKind.READER)
        password, at = (_make_password(), clock.now()) if found is None else (found.password, found.created_at)
        login = uow.warehouse_logins.open(LoginKind.READER, password, at=at)
        uow.audit.note(f"warehouse_login.{'created' if found is None else 'handed_out'}", login.name)
        uow.commit()
    return login


def revoke_login(kind: LoginKind, tenant_id: UUID, *, actor: Actor, units: UnitsOfWork) -> bool:
    """Remove the account and end its sessions; return whether there was one. The next request creates a new one."""
    with units(tenant_id, actor) as uow:
        if not uow.warehouse_logins.close(kind):
            return False
        uow.audit.note("warehouse_login.revoked", kind.value)
        uow.commit()
    return True


def _make_password() -> str:
    return secrets.token_urlsafe(PASSWORD_BYTES)
