"""Tenants' tables: each row is seen and written by its own tenant alone.

The tenant is the setting ``tradewind.tenant`` of the transaction. The policy is forced on the tables' owner too; where
a function of the owner must see across tenants (a key is looked up before its tenant is known), a policy says so.

That setting is anybody's to change, so it counts for the application and the owner alone. Analysts' logins read by a
policy of their own, in which the tenant is part of the name under which they logged in.
"""

from alembic import op

OWNER = "tradewind_owner"
APP = "tradewind_app"
READER = "tradewind_reader"
TOOLS = "tradewind_tools"
CURRENT_TENANT = "nullif(current_setting('tradewind.tenant', true), '')::uuid"
TENANT_OF_LOGIN = "substring(session_user::text from '^tradewind_[a-z]+_([0-9a-f]{32})(_[0-9a-f]{12})?$')::uuid"
"""``session_user`` is who logged in, whatever role or setting was put on since; a part of a person's id may follow."""


def protect(table: str, *, tenant: str = "tenant_id", grants: str = "SELECT, INSERT, UPDATE, DELETE") -> None:
    """Let the application use ``table``, each tenant its own rows."""
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY own_tenant ON {table} TO {APP}, {OWNER} USING ({tenant} = {CURRENT_TENANT}) "
        f"WITH CHECK ({tenant} = {CURRENT_TENANT})"
    )
    op.execute(f"GRANT {grants} ON {table} TO {APP}")


def let_readers(table: str, *, tenant: str = "tenant_id") -> None:
    """Let each analysts' login read its tenant's rows of ``table``: through views, since it cannot name the table."""
    # In a subquery, which is evaluated once rather than for each row.
    op.execute(
        f"CREATE POLICY reader_tenant ON {table} FOR SELECT TO {READER} USING ({tenant} = (SELECT {TENANT_OF_LOGIN}))"
    )
    op.execute(f"GRANT SELECT ON {table} TO {READER}")


def let_owner(table: str, command: str) -> None:
    """Let the owner's own functions ``command`` (SELECT, UPDATE) any tenant's rows of ``table``."""
    check = " WITH CHECK (true)" if command == "UPDATE" else ""
    op.execute(f"CREATE POLICY owner_{command.lower()} ON {table} FOR {command} TO {OWNER} USING (true){check}")


def publish_function(signature: str) -> None:
    """Let the application, and nobody else, call a function that runs as the owner."""
    op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {signature} TO {APP}")
