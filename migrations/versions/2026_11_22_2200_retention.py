"""Months of logs that are closed, sealed and dropped; days of heartbeats and quotes, exported as those of logs are."""

from alembic import op

from migrations.row_level_security import APP, OWNER, READER, let_owner, let_readers, protect, publish_function
from migrations.warehouse_views import QUOTES as VIEW_OF_QUOTES
from migrations.warehouse_views import statements

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
    _mark_heartbeats_and_quotes()
    op.execute(DROP_PARTITION)
    op.execute("REVOKE ALL ON FUNCTION drop_partition_of_logs(text, text, text, date) FROM PUBLIC")
    for name, definition in FUNCTIONS.items():
        op.execute(definition)
        publish_function(name)
    let_readers("quotes")
    for statement in statements(VIEW_OF_QUOTES):
        op.execute(statement)


def _mark_heartbeats_and_quotes() -> None:
    op.execute("ALTER TABLE log_days ADD COLUMN view text NOT NULL DEFAULT 'transfers', DROP CONSTRAINT log_days_pkey")
    op.execute("ALTER TABLE log_days ADD PRIMARY KEY (tenant_id, view, day)")
    op.execute(EXPORT_MARKS)
    op.execute("CREATE INDEX export_marks_tenant_id_day_idx ON export_marks (tenant_id, day)")
    protect("export_marks", grants="SELECT, INSERT, DELETE")
    let_owner("export_marks", "SELECT")
    op.execute(f"CREATE POLICY owner_insert ON export_marks FOR INSERT TO {OWNER} WITH CHECK (true)")
    for table, view, began in MARKED:
        let_owner(table, "SELECT")
        op.execute(MARK_CHANGED.format(view=view, began=began))
        op.execute(f"REVOKE ALL ON FUNCTION mark_changed_{view}() FROM PUBLIC")
        for trigger, event in TRIGGERS.items():
            event_of_table = event.format(table=table)
            op.execute(
                f"CREATE TRIGGER {trigger} {event_of_table} FOR EACH STATEMENT EXECUTE FUNCTION mark_changed_{view}()"
            )
        op.execute(MARK_ALL.format(view=view, began=began, table=table))


def downgrade() -> None:
    op.execute("DROP VIEW warehouse.quotes")
    op.execute("DROP POLICY reader_tenant ON quotes")
    op.execute(f"REVOKE SELECT ON quotes FROM {READER}")  # noqa: S608 - a name
    for name in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {name}")
    op.execute("DROP FUNCTION drop_partition_of_logs(text, text, text, date)")
    for table, view, _ in MARKED:
        for trigger in TRIGGERS:
            op.execute(f"DROP TRIGGER {trigger} ON {table}")
        op.execute(f"DROP FUNCTION mark_changed_{view}()")
        op.execute(f"DROP POLICY owner_select ON {table}")
    op.execute("DROP TABLE export_marks")
    op.execute("ALTER TABLE log_days DROP CONSTRAINT log_days_pkey")
    op.execute("DELETE FROM log_days WHERE view <> 'transfers'")
    op.execute("ALTER TABLE log_days DROP COLUMN view, ADD PRIMARY KEY (tenant_id, day)")
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
              SELECT to_date(right(p.relname, 7), 'YYYY_MM') AS month,
                     sum(CASE WHEN p.relname LIKE 'transfer_logs%' THEN greatest(p.reltuples, 0) ELSE 0 END)::bigint
                         AS rows,
                     sum(pg_total_relation_size(p.oid))::bigint AS bytes
                FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid
               WHERE i.inhparent IN ('public.transfer_logs'::regclass, 'public.transfer_samples'::regclass)
               GROUP BY 1
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
         UNION
        SELECT tenant_id FROM export_marks WHERE day >= asked AND day < asked + interval '1 month'
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

# Rows of a month go if as many are in files, of each tenant.
DROP_PARTITION = """
    CREATE FUNCTION drop_partition_of_logs(parent text, began text, exported_view text, asked date) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        partition constant text := parent || '_' || to_char(asked, 'YYYY_MM');
        after constant date := (asked + interval '1 month')::date;
        differs boolean;
    BEGIN
        IF to_regclass('public.' || partition) IS NULL THEN
            RETURN;
        END IF;
        EXECUTE format('LOCK TABLE public.%I IN SHARE ROW EXCLUSIVE MODE', partition);
        EXECUTE format(
            'SELECT EXISTS (SELECT FROM ('
            ' SELECT tenant_id, count(*) AS rows FROM public.%I WHERE %I >= $1 AND %I < $2 GROUP BY 1) stored'
            ' FULL JOIN ('
            ' SELECT tenant_id, sum(rows) AS rows FROM log_days'
            ' WHERE view = $3 AND day >= $4 AND day < $5 AND exported_version = version GROUP BY 1) exported'
            ' USING (tenant_id) WHERE coalesce(stored.rows, 0) <> coalesce(exported.rows, 0))', parent, began, began
        ) INTO differs USING asked::timestamp AT TIME ZONE 'UTC', after::timestamp AT TIME ZONE 'UTC',
                             exported_view, asked, after;
        IF differs THEN
            RAISE EXCEPTION 'what is exported of the % of % is not what is stored', exported_view,
                  to_char(asked, 'YYYY-MM') USING ERRCODE = 'object_not_in_prerequisite_state';
        END IF;
        EXECUTE format('ALTER TABLE public.%I DETACH PARTITION public.%I', parent, partition);
        EXECUTE format('DROP TABLE public.%I', partition);
    END
    $$
"""

# Everything is looked at again here, in the transaction that drops the rows and under locks that keep writers out.
# Quotes stay until the statements of the two months after theirs are sealed, which may be about transfers they began.
DROP_MONTH = """
    CREATE FUNCTION drop_month_of_logs(asked date) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    SET lock_timeout = '2s' AS $$
    DECLARE
        after constant date := (asked + interval '1 month')::date;
        undone constant text := 'object_not_in_prerequisite_state';
        of_quotes date;
        partition text;
    BEGIN
        PERFORM FROM closed_months WHERE month = asked AND dropped_at IS NULL FOR UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the month is not closed, or was dropped before' USING ERRCODE = undone;
        END IF;
        FOREACH partition IN ARRAY ARRAY['transfer_logs_', 'transfer_samples_'] LOOP
            partition := partition || to_char(asked, 'YYYY_MM');
            CONTINUE WHEN to_regclass('public.' || partition) IS NULL;
            EXECUTE format('LOCK TABLE public.%I IN SHARE ROW EXCLUSIVE MODE', partition);
        END LOOP;
        IF EXISTS (SELECT FROM rollup_marks WHERE day >= asked AND day < after)
           OR EXISTS (SELECT FROM export_marks WHERE day >= asked AND day < after) THEN
            RAISE EXCEPTION 'days of it are to be added up again' USING ERRCODE = undone;
        END IF;
        IF EXISTS (SELECT FROM log_days WHERE day >= asked AND day < after AND exported_version <> version) THEN
            RAISE EXCEPTION 'days of it are not exported' USING ERRCODE = undone;
        END IF;
        IF EXISTS (
            SELECT FROM (
                SELECT tenant_id, sum(version) AS versions FROM log_days
                 WHERE day >= asked AND day < after GROUP BY tenant_id
            ) exported LEFT JOIN (
                SELECT tenant_id, versions FROM sealed_months WHERE month = asked
            ) sealed USING (tenant_id)
             WHERE sealed.versions IS DISTINCT FROM exported.versions
        ) THEN
            RAISE EXCEPTION 'it has changed since it was sealed, or is not' USING ERRCODE = undone;
        END IF;
        PERFORM drop_partition_of_logs('transfer_logs', 'started_at', 'transfers', asked);
        PERFORM drop_partition_of_logs('transfer_samples', 'transfer_started_at', 'heartbeats', asked);
        FOR of_quotes IN
            SELECT month FROM (
                SELECT to_date(right(p.relname, 7), 'YYYY_MM') AS month
                  FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhrelid
                 WHERE i.inhparent = 'public.quotes'::regclass
            ) offered
             WHERE month <= asked - interval '2 months' AND NOT EXISTS (
                 SELECT FROM months_of_logs() stored WHERE stored.month <= offered.month + interval '2 months'
             )
        LOOP
            PERFORM drop_partition_of_logs('quotes', 'at', 'quotes', of_quotes);
        END LOOP;
        UPDATE closed_months SET dropped_at = now() WHERE month = asked;
        INSERT INTO audit_log (tenant_id, actor_kind, action, subject, detail)
        SELECT tenant_id, 'service', 'logs.dropped', to_char(asked, 'YYYY-MM'),
               jsonb_build_object('rows', rows, 'exported_bytes', bytes)
          FROM sealed_months WHERE month = asked;
    END
    $$
"""

# Every change of heartbeats and quotes leaves a mark of the day whose file they are in, as changes of logs do.
EXPORT_MARKS = """
    CREATE TABLE export_marks (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id uuid NOT NULL,
        view text NOT NULL,
        day date NOT NULL
    )
"""

MARKED = (("transfer_samples", "heartbeats", "transfer_started_at"), ("quotes", "quotes", "at"))
"""Tables, the view each is exported as, and the time whose day it is filed under."""

MARK_CHANGED = """
    CREATE FUNCTION mark_changed_{view}() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
    BEGIN
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO export_marks (tenant_id, view, day)
            SELECT DISTINCT tenant_id, '{view}', ({began} AT TIME ZONE 'UTC')::date FROM new_rows;
        END IF;
        IF TG_OP <> 'INSERT' THEN
            INSERT INTO export_marks (tenant_id, view, day)
            SELECT DISTINCT tenant_id, '{view}', ({began} AT TIME ZONE 'UTC')::date FROM old_rows;
        END IF;
        RETURN NULL;
    END
    $$
"""

TRIGGERS = {
    "mark_added": "AFTER INSERT ON {table} REFERENCING NEW TABLE AS new_rows",
    "mark_changed": "AFTER UPDATE ON {table} REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows",
    "mark_removed": "AFTER DELETE ON {table} REFERENCING OLD TABLE AS old_rows",
}

# What was stored before there were marks of it.
MARK_ALL = """
    INSERT INTO export_marks (tenant_id, view, day)
    SELECT DISTINCT tenant_id, '{view}', ({began} AT TIME ZONE 'UTC')::date FROM {table}
"""

TENANTS_WITH_MARKS = """
    CREATE FUNCTION tenants_with_export_marks() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT DISTINCT tenant_id FROM export_marks
    $$
"""

FUNCTIONS = {
    "months_of_logs()": MONTHS_OF_LOGS,
    "oldest_live_transfer()": OLDEST_LIVE_TRANSFER,
    "tenants_of_month(date)": TENANTS_OF_MONTH,
    "close_months_of_logs(date)": CLOSE_MONTHS,
    "drop_month_of_logs(date)": DROP_MONTH,
    "tenants_with_export_marks()": TENANTS_WITH_MARKS,
}
