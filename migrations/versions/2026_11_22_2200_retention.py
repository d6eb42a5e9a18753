"""Months of logs that take no more rows, what is kept of them, and how they are dropped."""

from alembic import op

from migrations.row_level_security import APP, OWNER, let_owner, protect, publish_function

revision = "2026_11_22_2200"
down_revision = "2026_11_22_2100"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in (CLOSED_MONTHS, SEALED_MONTHS, SEALED_USAGE, SEALED_TRANSFERS):
        op.execute(table)
    op.execute(f"GRANT SELECT ON closed_months TO {APP}")
    for table in TENANTS_TABLES:
        protect(table)
    let_owner("sealed_months", "SELECT")
    op.execute(f"CREATE POLICY owner_insert ON audit_log FOR INSERT TO {OWNER} WITH CHECK (true)")
    for name, definition in FUNCTIONS.items():
        op.execute(definition)
        publish_function(name)


def downgrade() -> None:
    for name in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {name}")
    op.execute("DROP POLICY owner_insert ON audit_log")
    for table in (*TENANTS_TABLES, "closed_months"):
        op.execute(f"DROP TABLE {table}")


# Of the whole service, as partitions are. No row is taken that began before the end of the newest closed month.
CLOSED_MONTHS = """
    CREATE TABLE closed_months (
        month date PRIMARY KEY CHECK (month = date_trunc('month', month)::date),
        closed_at timestamptz NOT NULL,
        dropped_at timestamptz
    )
"""

# ``versions`` : the sum of those of its days when it was sealed; another sum means that rows have changed since.
SEALED_MONTHS = """
    CREATE TABLE sealed_months (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        month date NOT NULL,
        versions numeric NOT NULL,
        rows bigint NOT NULL,
        bytes bigint NOT NULL,
        sealed_at timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, month)
    )
"""

# Names of keys as they were: a statement outlives its key.
SEALED_USAGE = """
    CREATE TABLE sealed_usage (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        month date NOT NULL,
        key_id uuid,
        key text,
        billing text NOT NULL,
        currency text,
        transfers bigint NOT NULL,
        bytes_moved numeric NOT NULL,
        amount numeric,
        kept bigint NOT NULL,
        missed bigint NOT NULL,
        from_log_alone bigint NOT NULL,
        UNIQUE NULLS NOT DISTINCT (tenant_id, month, key_id, billing, currency)
    )
"""

# Transfers that are on a sealed statement, so that a record of a later month does not bill them again.
SEALED_TRANSFERS = """
    CREATE TABLE sealed_transfers (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        month date NOT NULL,
        transfer_id uuid NOT NULL,
        PRIMARY KEY (tenant_id, month, transfer_id)
    )
"""

TENANTS_TABLES = ("sealed_transfers", "sealed_usage", "sealed_months")

MONTHS_OF_LOGS = """
    CREATE FUNCTION months_of_logs() RETURNS TABLE (month date, rows bigint, bytes bigint, closed boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT stored.month, stored.rows, stored.bytes,
               coalesce(stored.month <= (SELECT max(c.month) FROM closed_months c), false)
          FROM (
              SELECT to_date(right(p.relname, 7), 'YYYY_MM') AS month, greatest(p.reltuples, 0)::bigint AS rows,
                     pg_total_relation_size(p.oid) AS bytes
                FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid
               WHERE i.inhparent = 'public.transfer_logs'::regclass
          ) stored
         ORDER BY 1
    $$
"""

OLDEST_LIVE_TRANSFER = """
    CREATE FUNCTION oldest_live_transfer() RETURNS timestamptz
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT min(started_at) FROM transfers WHERE ended_at IS NULL AND silent_at > now()
    $$
"""

TENANTS_OF_MONTH = """
    CREATE FUNCTION tenants_of_month(asked date) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT tenant_id FROM log_days WHERE day >= asked AND day < asked + interval '1 month'
         UNION
        SELECT tenant_id FROM rollup_marks WHERE day >= asked AND day < asked + interval '1 month'
    $$
"""

# Who stores rows holds the lock shared from before it reads what is closed until its end: none is stored afterwards.
# Uploads that meet what waits for a lock wait as well: it gives up soon, and is tried again.
CLOSE_MONTHS = """
    CREATE FUNCTION close_months_of_logs(before date) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET lock_timeout = '2s' AS $$
    BEGIN
        IF before <> date_trunc('month', before)::date OR before > now() AT TIME ZONE 'UTC' THEN
            RAISE EXCEPTION 'months before % cannot be closed', before USING ERRCODE = 'invalid_parameter_value';
        END IF;
        PERFORM pg_advisory_xact_lock(hashtext('closed months of logs'));
        INSERT INTO closed_months (month, closed_at)
        SELECT month, now() FROM (
            SELECT month FROM months_of_logs() WHERE month < before
             UNION SELECT (before - interval '1 month')::date
        ) due ON CONFLICT DO NOTHING;
    END
    $$
"""

# Everything is looked at again here, in the transaction that drops the rows and under a lock that keeps writers out.
DROP_MONTH = """
    CREATE FUNCTION drop_month_of_logs(asked date) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET lock_timeout = '2s' AS $$
    DECLARE
        partition constant text := 'transfer_logs_' || to_char(asked, 'YYYY_MM');
        after constant date := (asked + interval '1 month')::date;
        undone constant text := 'object_not_in_prerequisite_state';
    BEGIN
        PERFORM FROM closed_months WHERE month = asked AND dropped_at IS NULL FOR UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the month is not closed, or was dropped before' USING ERRCODE = undone;
        END IF;
        EXECUTE format('LOCK TABLE public.%I IN SHARE ROW EXCLUSIVE MODE', partition);
        IF EXISTS (SELECT FROM rollup_marks WHERE day >= asked AND day < after) THEN
            RAISE EXCEPTION 'days of it are to be added up again' USING ERRCODE = undone;
        END IF;
        IF EXISTS (SELECT FROM log_days WHERE day >= asked AND day < after AND exported_version <> version) THEN
            RAISE EXCEPTION 'days of it are not exported' USING ERRCODE = undone;
        END IF;
        IF EXISTS (
            SELECT FROM (
                SELECT tenant_id, count(*) AS rows FROM transfer_logs
                 WHERE started_at >= asked::timestamp AT TIME ZONE 'UTC'
                   AND started_at < after::timestamp AT TIME ZONE 'UTC'
                 GROUP BY tenant_id
            ) stored FULL JOIN (
                SELECT tenant_id, sum(rows) AS rows, sum(version) AS versions FROM log_days
                 WHERE day >= asked AND day < after GROUP BY tenant_id
            ) exported USING (tenant_id) LEFT JOIN (
                SELECT tenant_id, versions FROM sealed_months WHERE month = asked
            ) sealed USING (tenant_id)
             WHERE coalesce(stored.rows, 0) <> coalesce(exported.rows, 0)
                OR sealed.versions IS DISTINCT FROM exported.versions
        ) THEN
            RAISE EXCEPTION 'what is exported or sealed of it is not what is stored' USING ERRCODE = undone;
        END IF;
        EXECUTE format('ALTER TABLE public.transfer_logs DETACH PARTITION public.%I', partition);
        EXECUTE format('DROP TABLE public.%I', partition);
        UPDATE closed_months SET dropped_at = now() WHERE month = asked;
        INSERT INTO audit_log (tenant_id, actor_kind, action, subject, detail)
        SELECT tenant_id, 'service', 'logs.dropped', to_char(asked, 'YYYY-MM'),
               jsonb_build_object('rows', rows, 'exported_bytes', bytes)
          FROM sealed_months WHERE month = asked;
    END
    $$
"""

FUNCTIONS = {
    "months_of_logs()": MONTHS_OF_LOGS,
    "oldest_live_transfer()": OLDEST_LIVE_TRANSFER,
    "tenants_of_month(date)": TENANTS_OF_MONTH,
    "close_months_of_logs(date)": CLOSE_MONTHS,
    "drop_month_of_logs(date)": DROP_MONTH,
}
