"""The warehouse: views for analysts, and the logins that read them."""

from alembic import op

from migrations.row_level_security import APP, OWNER, READER, let_readers, protect, publish_function
from migrations.warehouse_views import READ_TABLES, VIEWS, statements

revision = "2026_11_22_1300"
down_revision = "2026_11_22_1200"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(CLOSE_OLD_POLICIES)
    op.execute("CREATE SCHEMA warehouse")
    op.execute(f"GRANT USAGE ON SCHEMA warehouse TO {READER}, {APP}")
    for table in READ_TABLES:
        let_readers(table)
    for view in VIEWS:
        for statement in statements(view):
            op.execute(statement)
    op.execute(ROW_TOO_LARGE)
    op.execute(WAREHOUSE_LOGINS)
    protect("warehouse_logins")
    op.execute(OPEN_LOGIN)
    publish_function("open_warehouse_login(text, text)")
    op.execute(CLOSE_LOGIN)
    publish_function("close_warehouse_login(text)")


def downgrade() -> None:
    op.execute("DROP FUNCTION close_warehouse_login(text)")
    op.execute("DROP FUNCTION open_warehouse_login(text, text)")
    op.execute("DROP TABLE warehouse_logins")
    op.execute("DROP SCHEMA warehouse CASCADE")
    for table in READ_TABLES:
        op.execute(f"DROP POLICY reader_tenant ON {table}")
        op.execute(f"REVOKE SELECT ON {table} FROM {READER}")  # noqa: S608 - names


# Where the schema is older than the readers: a policy for everybody would let a reader name another tenant.
CLOSE_OLD_POLICIES = f"""
    DO $$
    DECLARE
        old record;
    BEGIN
        FOR old IN SELECT tablename FROM pg_policies
                    WHERE schemaname = 'public' AND policyname = 'own_tenant' AND roles = '{{public}}' LOOP
            EXECUTE format('ALTER POLICY own_tenant ON public.%I TO {APP}, {OWNER}', old.tablename);
        END LOOP;
    END
    $$
"""  # noqa: S608 - names of roles

# The type is that of the value in whose place it is called.
ROW_TOO_LARGE = """
    CREATE FUNCTION warehouse.row_too_large(bytes bigint, most bigint, of_type anyelement) RETURNS anyelement
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        RAISE EXCEPTION 'a row has % bytes, more than the % that are sent; ask for less of it, such as left(…, 1000)',
            bytes, most USING ERRCODE = 'program_limit_exceeded';
    END
    $$
"""

WAREHOUSE_LOGINS = """
    CREATE TABLE warehouse_logins (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        kind text NOT NULL CHECK (kind IN ('reader', 'query')),
        password text NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, kind)
    )
"""

# A login's tenant is in its name, see let_readers. It may be there already, in a database that was copied.
OPEN_LOGIN = f"""
    CREATE FUNCTION open_warehouse_login(kind text, new_password text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
        login constant text := 'tradewind_' || kind || '_' || replace(tenant::text, '-', '');
    BEGIN
        IF tenant IS NULL OR kind NOT IN ('reader', 'query') THEN
            RAISE EXCEPTION 'no login % without a tenant', kind USING ERRCODE = 'invalid_parameter_value';
        END IF;
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
            EXECUTE format('CREATE ROLE %I', login);
        END IF;
        EXECUTE format('ALTER ROLE %I LOGIN CONNECTION LIMIT %s PASSWORD %L',
                       login, CASE kind WHEN 'reader' THEN 5 ELSE 20 END, new_password);
        EXECUTE format('GRANT {READER} TO %I WITH INHERIT TRUE, SET FALSE', login);
        EXECUTE format('ALTER ROLE %I SET default_transaction_read_only = on', login);
        EXECUTE format('ALTER ROLE %I SET statement_timeout = %L', login, '5min');
        EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = %L', login, '10min');
        EXECUTE format('ALTER ROLE %I SET search_path = warehouse', login);
        EXECUTE format('ALTER ROLE %I SET timezone = %L', login, 'UTC');
        RETURN login;
    END
    $$
"""

CLOSE_LOGIN = """
    CREATE FUNCTION close_warehouse_login(kind text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
        login constant text := 'tradewind_' || kind || '_' || replace(tenant::text, '-', '');
    BEGIN
        IF tenant IS NULL OR kind NOT IN ('reader', 'query')
           OR NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
            RETURN;
        END IF;
        EXECUTE format('ALTER ROLE %I NOLOGIN', login);
        EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT TRUE, SET FALSE', login);  -- to end its sessions
        PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = login;
        EXECUTE format('DROP ROLE %I', login);
    END
    $$
"""
