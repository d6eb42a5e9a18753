"""The warehouse: views for analysts, and the logins that read them."""

from alembic import op

from migrations.row_level_security import APP, OWNER, READER, TOOLS, let_readers, protect, publish_function
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
    op.execute(PERSONAL_LOGINS)
    protect("personal_logins")
    for function in FUNCTIONS:
        op.execute(function)
    for signature in OWNERS_OWN:
        op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
    for signature in PUBLISHED:
        publish_function(signature)


def downgrade() -> None:
    for signature in (*PUBLISHED, *OWNERS_OWN):
        op.execute(f"DROP FUNCTION {signature}")
    for table in ("personal_logins", "warehouse_logins"):
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP SCHEMA warehouse CASCADE")
    for table in READ_TABLES:
        op.execute(f"DROP POLICY reader_tenant ON {table}")
        op.execute(f"REVOKE SELECT ON {table} FROM {READER}")  # noqa: S608 - names


OWNERS_OWN = ("personal_login(uuid, uuid)", "make_warehouse_reader(text, integer, text)", "drop_warehouse_reader(text)")
PUBLISHED = (
    "open_warehouse_login(text, text)",
    "close_warehouse_login(text)",
    "open_personal_login(uuid, text, timestamptz)",
    "extend_personal_login(uuid, timestamptz)",
    "close_personal_login(uuid)",
    "end_long_reads(interval)",
)

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

PERSONAL_LOGINS = """
    CREATE TABLE personal_logins (
        user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        name text NOT NULL,
        created_at timestamptz NOT NULL,
        valid_until timestamptz
    )
"""

# A login's tenant is in its name, see let_readers. It may be there already, in a database that was copied.
MAKE_READER = f"""
    CREATE FUNCTION make_warehouse_reader(login text, connections integer, new_password text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
            EXECUTE format('CREATE ROLE %I', login);
        END IF;
        EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT TRUE, SET FALSE', login);  -- to end its sessions
        EXECUTE format('ALTER ROLE %I RESET ALL', login);  -- whoever had it could set what they liked
        EXECUTE format('ALTER ROLE %I IN DATABASE %I RESET ALL', login, current_database());
        EXECUTE format('ALTER ROLE %I LOGIN CONNECTION LIMIT %s PASSWORD %L', login, connections, new_password);
        EXECUTE format('GRANT {READER} TO %I WITH INHERIT TRUE, SET FALSE', login);
        IF login !~ '^tradewind_query_' THEN
            EXECUTE format('GRANT {TOOLS} TO %I WITH INHERIT TRUE, SET FALSE', login);
        END IF;
        EXECUTE format('ALTER ROLE %I SET default_transaction_read_only = on', login);
        EXECUTE format('ALTER ROLE %I SET statement_timeout = %L', login, '5min');
        EXECUTE format('ALTER ROLE %I SET idle_in_transaction_session_timeout = %L', login, '10min');
        EXECUTE format('ALTER ROLE %I SET search_path = warehouse', login);
        EXECUTE format('ALTER ROLE %I SET timezone = %L', login, 'UTC');
    END
    $$
"""

# A login can leave traces that DROP ROLE refuses to go over, such as default privileges: it is shut out all the same.
DROP_READER = f"""
    CREATE FUNCTION drop_warehouse_reader(login text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
            RETURN;
        END IF;
        EXECUTE format('ALTER ROLE %I NOLOGIN', login);
        PERFORM pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = login;
        EXECUTE format('REVOKE {READER}, {TOOLS} FROM %I', login);  -- whoever came in meanwhile reads nothing
        BEGIN
            EXECUTE format('DROP OWNED BY %I', login);
            EXECUTE format('DROP ROLE %I', login);
        EXCEPTION WHEN dependent_objects_still_exist THEN  -- in another database; the name alone is left
            EXECUTE format('ALTER ROLE %I PASSWORD NULL', login);
        END;
    END
    $$
"""  # noqa: S608 - names of roles

# The service asks by a login for four queries of a tenant at a time in each process: five processes have enough.
OPEN_LOGIN = """
    CREATE FUNCTION open_warehouse_login(kind text, new_password text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
        login constant text := 'tradewind_' || kind || '_' || replace(tenant::text, '-', '');
    BEGIN
        IF tenant IS NULL OR kind NOT IN ('reader', 'query') THEN
            RAISE EXCEPTION 'no login % without a tenant', kind USING ERRCODE = 'invalid_parameter_value';
        END IF;
        PERFORM make_warehouse_reader(login, CASE kind WHEN 'reader' THEN 5 ELSE 20 END, new_password);
        RETURN login;
    END
    $$
"""

CLOSE_LOGIN = """
    CREATE FUNCTION close_warehouse_login(kind text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
    BEGIN
        IF tenant IS NOT NULL AND kind IN ('reader', 'query') THEN
            PERFORM drop_warehouse_reader('tradewind_' || kind || '_' || replace(tenant::text, '-', ''));
        END IF;
    END
    $$
"""

# A name has 63 characters, too few for two ids: of the person's there is the end, which tells no time.
PERSONAL_LOGIN = """
    CREATE FUNCTION personal_login(tenant uuid, person uuid) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
        SELECT 'tradewind_person_' || replace(tenant::text, '-', '') || '_' || right(person::text, 12)
    $$
"""

OPEN_PERSONAL = """
    CREATE FUNCTION open_personal_login(person uuid, new_password text, until timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
        login constant text := personal_login(tenant, person);
    BEGIN
        IF NOT EXISTS (SELECT FROM users WHERE id = person AND tenant_id = tenant) THEN
            RAISE EXCEPTION 'no login of nobody' USING ERRCODE = 'invalid_parameter_value';
        END IF;
        PERFORM make_warehouse_reader(login, 5, new_password);
        EXECUTE format('ALTER ROLE %I VALID UNTIL %L', login, coalesce(until, 'infinity'));
        RETURN login;
    END
    $$
"""

EXTEND_PERSONAL = """
    CREATE FUNCTION extend_personal_login(person uuid, until timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
        login constant text := personal_login(tenant, person);
    BEGIN
        IF EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
            EXECUTE format('ALTER ROLE %I VALID UNTIL %L', login, until);
        END IF;
    END
    $$
"""

CLOSE_PERSONAL = """
    CREATE FUNCTION close_personal_login(person uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
    BEGIN
        IF tenant IS NOT NULL THEN
            PERFORM drop_warehouse_reader(personal_login(tenant, person));
        END IF;
    END
    $$
"""

# A session may lift its own limits; what it read is locked for as long, and no row that it may see is cleared away.
# Whose transaction it is shows in pg_stat_activity to who has the login's rights, as the owner has of those it made.
END_LONG_READS = f"""
    CREATE FUNCTION end_long_reads(longest interval) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = current_database() AND xact_start < clock_timestamp() - longest
           AND usesysid IN (SELECT member FROM pg_auth_members WHERE roleid = '{TOOLS}'::regrole)
    $$
"""  # noqa: S608 - names of roles

FUNCTIONS = (
    *(MAKE_READER, DROP_READER, OPEN_LOGIN, CLOSE_LOGIN),
    *(PERSONAL_LOGIN, OPEN_PERSONAL, EXTEND_PERSONAL, CLOSE_PERSONAL, END_LONG_READS),
)
