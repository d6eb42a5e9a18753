"""Database accounts that read a tenant's rows: for its dashboards, for the service's queries, and one for each user."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Connection, Engine, Select, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert

from services.application.warehouse.database_accounts import PersonalLogin
from services.application.warehouse.query import LoginKind, StoredLogin
from services.persistence.failures import translate_failures
from services.persistence.tables import personal_logins, warehouse_logins


class Reads:
    """Transactions of users' own tools, of all tenants, ended by a function of the owner."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def end_long(self, longest: timedelta) -> int:
        """End the sessions whose transaction lasts longer; return how many."""
        query = select(func.end_long_reads(longest, type_=BigInteger))
        with translate_failures(), self._engine.begin() as connection:
            return connection.execute(query).scalar_one()


class DatabaseAccounts:
    """The database accounts of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def find(self, kind: LoginKind) -> StoredLogin | None:
        return self._find_login(kind, select(warehouse_logins))

    def take_slot(self, kind: LoginKind) -> None:
        """Make others who would create the account wait until this transaction ends.

        A row that does not exist yet cannot be locked.
        """
        turn = func.hashtext(f"warehouse login {self._name(kind)}")
        self._connection.execute(select(func.pg_advisory_xact_lock(turn)))

    def hold(self, kind: LoginKind) -> StoredLogin | None:
        """Return the account, locked until the transaction ends."""
        return self._find_login(kind, select(warehouse_logins).with_for_update())

    def open(self, kind: LoginKind, password: str, *, at: datetime) -> StoredLogin:
        """Create the account, or give it another password; a rival who does the same waits for this transaction."""
        values = {"password": password, "created_at": at}
        self._connection.execute(
            insert(warehouse_logins)
            .values(tenant_id=self._tenant_id, kind=kind.value, **values)
            .on_conflict_do_update(index_elements=["tenant_id", "kind"], set_=values)
        )
        self._connection.execute(select(func.open_warehouse_login(kind.value, password)))
        return StoredLogin(self._name(kind), password, at)

    def close(self, kind: LoginKind) -> bool:
        """Remove the account and end its sessions; return whether there was one."""
        removed = self._connection.execute(delete(warehouse_logins).where(warehouse_logins.c.kind == kind.value))
        self._connection.execute(select(func.close_warehouse_login(kind.value)))
        return bool(removed.rowcount)

    def find_personal(self, user_id: UUID) -> PersonalLogin | None:
        """Return a user's own account, if there is one."""
        found = self._connection.execute(select(personal_logins).where(personal_logins.c.user_id == user_id)).first()
        return None if found is None else PersonalLogin(found.name, found.created_at, found.valid_until)

    def count_personal(self) -> int:
        """Return how many users have an account of their own."""
        return self._connection.execute(select(func.count()).select_from(personal_logins)).scalar_one()

    def open_personal(self, user_id: UUID, password: str, *, at: datetime, until: datetime | None) -> StoredLogin:
        """Create a user's own account; only the database stores its password, as a hash, so it cannot be shown
        again.
        """
        name = self._connection.execute(select(func.open_personal_login(user_id, password, until))).scalar_one()
        self._connection.execute(
            insert(personal_logins).values(
                user_id=user_id, tenant_id=self._tenant_id, name=name, created_at=at, valid_until=until
            )
        )
        return StoredLogin(name, password, at)

    def extend_personal(self, user_id: UUID, *, until: datetime) -> None:
        """Let a user's own account, if there is one, open sessions until another time."""
        changed = self._connection.execute(
            update(personal_logins).where(personal_logins.c.user_id == user_id).values(valid_until=until)
        )
        if changed.rowcount:
            self._connection.execute(select(func.extend_personal_login(user_id, until)))

    def close_personal(self, user_id: UUID) -> bool:
        """Remove a user's own account and end its sessions; return whether there was one."""
        removed = self._connection.execute(delete(personal_logins).where(personal_logins.c.user_id == user_id))
        if removed.rowcount:
            self._connection.execute(select(func.close_personal_login(user_id)))
        return bool(removed.rowcount)

    def _find_login(self, kind: LoginKind, query: Select[Any]) -> StoredLogin | None:
        found = self._connection.execute(query.where(warehouse_logins.c.kind == kind)).first()
        return None if found is None else StoredLogin(self._name(kind), found.password, found.created_at)

    def _name(self, kind: LoginKind) -> str:
        return f"tradewind_{kind.value}_{self._tenant_id.hex}"
