"""A tenant's logins share its connections, and queries of the service come in when readers have taken the rest."""

from alembic import op

from migrations.row_level_security import TOOLS

revision = "2026_11_27_2130"
down_revision = "2026_11_27_2120"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute(SHARE)
    op.execute(RESERVE)
    for signature in OWNERS_OWN:
        op.execute(f"REVOKE ALL ON FUNCTION {signature} FROM PUBLIC")
    for function in (OPEN_LOGIN, OPEN_PERSONAL, CLOSE_LOGIN, CLOSE_PERSONAL, END_LONG_READS):
        op.execute(function)
    op.execute(APPLY)


def downgrade() -> None:
    """Go back to functions that do not call those that are dropped; limits stay until a login is made again."""
    for function in (OPEN_LOGIN, OPEN_PERSONAL, CLOSE_LOGIN, CLOSE_PERSONAL):
        op.execute("\n".join(line for line in function.splitlines() if "PERFORM share_" not in line
                             and "PERFORM reserve_" not in line))  # fmt: skip
    op.execute(END_LONG_READS.replace(SURPLUS, ""))
    for signature in OWNERS_OWN:
        op.execute(f"DROP FUNCTION {signature}")


OWNERS_OWN = ("share_reader_connections(uuid)", "reserve_query_connections(text)")

# Twenty for a tenant, five for a login. A role's limit counts its own sessions alone, so each login gets its share.
# Callers hold the lock `reader connections` from before they change a role, or two of them would wait for one another.
SHARE = """
    CREATE FUNCTION share_reader_connections(tenant uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
        own constant text := '^tradewind_(reader|person)_' || replace(tenant::text, '-', '') || '(_|$)';
        share integer;
        login record;
    BEGIN
        SELECT greatest(1, least(5, 20 / greatest(1, count(*)))) INTO share
          FROM pg_roles WHERE rolname ~ own AND rolcanlogin;
        FOR login IN SELECT rolname FROM pg_roles WHERE rolname ~ own AND rolcanlogin AND rolconnlimit <> share LOOP
            EXECUTE format('ALTER ROLE %I CONNECTION LIMIT %s', login.rolname, share);
        END LOOP;
        PERFORM pg_terminate_backend(pid)
           FROM (SELECT pid, row_number() OVER (PARTITION BY usesysid ORDER BY backend_start, pid) AS nth
                   FROM pg_stat_activity WHERE usename ~ own AND leader_pid IS NULL) session
          WHERE nth > share;
    END
    $$
"""

# The service itself bounds how many of these there are. Without a superuser as administrator the owner may not do this.
RESERVE = """
    CREATE FUNCTION reserve_query_connections(login text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    BEGIN
        IF pg_has_role(current_user, 'pg_use_reserved_connections', 'MEMBER WITH ADMIN OPTION') THEN
            EXECUTE format('GRANT pg_use_reserved_connections TO %I WITH INHERIT TRUE, SET FALSE', login);
        END IF;
    END
    $$
"""

OPEN_LOGIN = """
    CREATE OR REPLACE FUNCTION open_warehouse_login(kind text, new_password text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
        login constant text := 'tradewind_' || kind || '_' || replace(tenant::text, '-', '');
    BEGIN
        IF tenant IS NULL OR kind NOT IN ('reader', 'query') THEN
            RAISE EXCEPTION 'no login % without a tenant', kind USING ERRCODE = 'invalid_parameter_value';
        END IF;
        PERFORM pg_advisory_xact_lock(hashtext('reader connections ' || tenant));
        PERFORM make_warehouse_reader(login, CASE kind WHEN 'reader' THEN 5 ELSE 20 END, new_password);
        IF kind = 'reader' THEN
            PERFORM share_reader_connections(tenant);
        ELSE
            PERFORM reserve_query_connections(login);
        END IF;
        RETURN login;
    END
    $$
"""

OPEN_PERSONAL = """
    CREATE OR REPLACE FUNCTION open_personal_login(person uuid, new_password text, until timestamptz) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
        login constant text := personal_login(tenant, person);
    BEGIN
        IF NOT EXISTS (SELECT FROM users WHERE id = person AND tenant_id = tenant) THEN
            RAISE EXCEPTION 'no login of nobody' USING ERRCODE = 'invalid_parameter_value';
        END IF;
        PERFORM pg_advisory_xact_lock(hashtext('reader connections ' || tenant));
        PERFORM make_warehouse_reader(login, 5, new_password);
        EXECUTE format('ALTER ROLE %I VALID UNTIL %L', login, coalesce(until, 'infinity'));
        PERFORM share_reader_connections(tenant);
        RETURN login;
    END
    $$
"""

CLOSE_LOGIN = """
    CREATE OR REPLACE FUNCTION close_warehouse_login(kind text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
    BEGIN
        IF tenant IS NOT NULL AND kind IN ('reader', 'query') THEN
            PERFORM pg_advisory_xact_lock(hashtext('reader connections ' || tenant));
            PERFORM drop_warehouse_reader('tradewind_' || kind || '_' || replace(tenant::text, '-', ''));
            PERFORM share_reader_connections(tenant);
        END IF;
    END
    $$
"""

CLOSE_PERSONAL = """
    CREATE OR REPLACE FUNCTION close_personal_login(person uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        tenant constant uuid := nullif(current_setting('tradewind.tenant', true), '')::uuid;
    BEGIN
        IF tenant IS NOT NULL THEN
            PERFORM pg_advisory_xact_lock(hashtext('reader connections ' || tenant));
            PERFORM drop_warehouse_reader(personal_login(tenant, person));
            PERFORM share_reader_connections(tenant);
        END IF;
    END
    $$
"""

# A session may be made while its login's share becomes smaller, and be one too many from then on.
SURPLUS = " OR nth > rolconnlimit"
END_LONG_READS = f"""
    CREATE OR REPLACE FUNCTION end_long_reads(longest interval) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))
          FROM (SELECT pid, xact_start, rolconnlimit,
                       row_number() OVER (PARTITION BY usesysid ORDER BY backend_start, pid) AS nth
                  FROM pg_stat_activity JOIN pg_roles r ON r.oid = usesysid
                 WHERE datname = current_database() AND leader_pid IS NULL
                   AND usesysid IN (SELECT member FROM pg_auth_members WHERE roleid = '{TOOLS}'::regrole)) session
         WHERE xact_start < clock_timestamp() - longest{SURPLUS}
    $$
"""  # noqa: S608 - names of roles

APPLY = """
    DO $$
    BEGIN
        PERFORM share_reader_connections(tenant::uuid)
           FROM (SELECT DISTINCT substring(rolname FROM '^tradewind_[a-z]+_([0-9a-f]{32})') AS tenant
                   FROM pg_roles WHERE rolname ~ '^tradewind_(reader|person)_[0-9a-f]{32}') t;
        PERFORM reserve_query_connections(rolname) FROM pg_roles WHERE rolname ~ '^tradewind_query_[0-9a-f]{32}$';
    END
    $$
"""
