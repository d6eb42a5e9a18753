"""What keeps an analyst's plans, as EXPLAIN shows them, from describing the rows of other tenants.

Row-level security decides which rows a reader sees, not what the planner knows: it estimates from statistics of all
rows of a table, and a condition whose operator is leakproof is evaluated on rows of every tenant.

- A view of a small table reads it inside a function (``put_behind_function``). A plan ends at the function.
- The tables partitioned by month are read in the plan itself, or a query on a day would read all months. The planner
  has no statistics of their columns (``keep_no_statistics``), and their indexes begin with the tenant.
"""

from migrations.row_level_security import APP, READER

TABLES_IN_PLANS = ("transfer_logs", "transfer_samples", "quotes")
"""Tables that a reader's plan names: those beneath the views transfers, heartbeats and quotes."""

VIEWS_BEHIND_FUNCTIONS = (
    "links", "releases", "clusters", "surfaces", "partitions", "prices", "daily_rollups", "page_loads",
    "page_connections",
)  # fmt: skip


def keep_no_statistics(table: str) -> str:
    """Return SQL that removes the planner's statistics of all columns of ``table`` and its partitions for good.

    Nobody who reads or writes the table waits for it.
    """
    return _KEEP_NO_STATISTICS.replace("%TABLE%", table)


def put_behind_function(view: str) -> str:
    """Return SQL that makes a view of the warehouse read its rows by a function that the planner does not look into.

    The function has the setting ``search_path``, without which the planner would put its text in its place, and
    settings that keep its own plan out of a reader's messages. It is one statement that was parsed when it was made,
    so that it needs no USAGE on the schema ``public``, and runs with the rights of who calls it. To change the view,
    replace it with its text (`warehouse_views.replaced`) and then put that behind the function again.
    """
    return _PUT_BEHIND_FUNCTION.replace("%VIEW%", view)


def take_from_function(view: str) -> str:
    """Return SQL that gives a view the text of its function."""
    return _TAKE_FROM_FUNCTION.replace("%VIEW%", view)


def ensure_partitions(table: str, function: str) -> str:
    """Return SQL that replaces the function of `month_partitions` with one whose partitions keep no statistics."""
    return _ENSURE_PARTITIONS.replace("%TABLE%", table).replace("%FUNCTION%", function)


_KEEP_NO_STATISTICS = """
    DO $$
    DECLARE
        stored record;
    BEGIN
        EXECUTE (SELECT 'ALTER TABLE public.%TABLE% '
                        || string_agg(format('ALTER COLUMN %I SET STATISTICS 0', attname), ', ')
                   FROM pg_attribute
                  WHERE attrelid = 'public.%TABLE%'::regclass AND attnum > 0 AND NOT attisdropped);
        FOR stored IN SELECT c.relname, a.attname, inherited
                        FROM pg_partition_tree('public.%TABLE%') t JOIN pg_class c ON c.oid = t.relid
                        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                        CROSS JOIN (VALUES (true), (false)) AS of_kind(inherited) LOOP
            PERFORM pg_clear_attribute_stats('public', stored.relname, stored.attname, stored.inherited);
        END LOOP;
    END
    $$
"""

_PUT_BEHIND_FUNCTION = f"""
    DO $do$
    DECLARE
        view constant regclass := 'warehouse.%VIEW%';
        columns constant text := (
            SELECT string_agg(format('%I %s', attname, format_type(atttypid, NULL)), ', ' ORDER BY attnum)
              FROM pg_attribute WHERE attrelid = view AND attnum > 0 AND NOT attisdropped);
        selected constant text := (  -- a function's columns have no length or digits of their own
            SELECT string_agg(format(CASE atttypmod WHEN -1 THEN 'own.%1$I' ELSE 'own.%1$I::%2$s AS %1$I' END,
                                     attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
              FROM pg_attribute WHERE attrelid = view AND attnum > 0 AND NOT attisdropped);
        path constant text := current_setting('search_path');
    BEGIN
        PERFORM set_config('search_path', 'pg_catalog', true);  -- so that pg_get_viewdef names schemas
        DROP FUNCTION IF EXISTS warehouse.rows_of_%VIEW%();
        EXECUTE format('CREATE FUNCTION warehouse.rows_of_%VIEW%() RETURNS TABLE (%s) '
                       'LANGUAGE sql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp '
                       'SET debug_print_parse = off SET debug_print_rewritten = off SET debug_print_plan = off '
                       'BEGIN ATOMIC %s END', columns, pg_get_viewdef(view));
        REVOKE ALL ON FUNCTION warehouse.rows_of_%VIEW%() FROM PUBLIC;
        GRANT EXECUTE ON FUNCTION warehouse.rows_of_%VIEW%() TO {READER}, {APP};
        EXECUTE format('CREATE OR REPLACE VIEW warehouse.%VIEW% WITH (security_invoker = true) AS '
                       'SELECT %s FROM warehouse.rows_of_%VIEW%() AS own', selected);
        PERFORM set_config('search_path', path, true);
    END
    $do$
"""  # noqa: S608 - names of roles

_TAKE_FROM_FUNCTION = """
    DO $do$
    DECLARE
        path constant text := current_setting('search_path');
    BEGIN
        PERFORM set_config('search_path', 'pg_catalog', true);
        EXECUTE 'CREATE OR REPLACE VIEW warehouse.%VIEW% WITH (security_invoker = true) AS '
                || substring(pg_get_function_sqlbody('warehouse.rows_of_%VIEW%()'::regprocedure)
                             FROM '^BEGIN ATOMIC(.*);\\s*END$');
        DROP FUNCTION warehouse.rows_of_%VIEW%();
        PERFORM set_config('search_path', path, true);
    END
    $do$
"""

_ENSURE_PARTITIONS = """
    CREATE OR REPLACE FUNCTION %FUNCTION%(months date[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        own_rows constant text := 'tenant_id = nullif(current_setting(''tradewind.tenant'', true), '''')::uuid';
        month date;
        partition text;
    BEGIN
        FOREACH month IN ARRAY (SELECT array_agg(DISTINCT m ORDER BY m) FROM unnest(months) m) LOOP
            IF month <> date_trunc('month', month)::date
               OR month < '1990-01-01' OR month > now() + interval '1 month' THEN
                RAISE EXCEPTION 'no partition for month %', month USING ERRCODE = 'invalid_parameter_value';
            END IF;
            partition := '%TABLE%_' || to_char(month, 'YYYY_MM');
            CONTINUE WHEN to_regclass('public.' || partition) IS NOT NULL;
            LOCK TABLE public.%TABLE% IN SHARE UPDATE EXCLUSIVE MODE;
            CONTINUE WHEN to_regclass('public.' || partition) IS NOT NULL;
            EXECUTE format('CREATE TABLE public.%I (LIKE public.%TABLE% INCLUDING ALL)', partition);
            EXECUTE (SELECT format('ALTER TABLE public.%I ', partition)
                            || string_agg(format('ALTER COLUMN %I SET STATISTICS 0', attname), ', ')
                       FROM pg_attribute
                      WHERE attrelid = 'public.%TABLE%'::regclass AND attnum > 0 AND NOT attisdropped);
            EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', partition);
            EXECUTE format('ALTER TABLE public.%I FORCE ROW LEVEL SECURITY', partition);
            EXECUTE format('CREATE POLICY own_tenant ON public.%I USING (%s) WITH CHECK (%s)',
                           partition, own_rows, own_rows);
            EXECUTE format('ALTER TABLE public.%TABLE% ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
                           partition, month::timestamp AT TIME ZONE 'UTC',
                           (month + interval '1 month') AT TIME ZONE 'UTC');
        END LOOP;
    END
    $$
"""
