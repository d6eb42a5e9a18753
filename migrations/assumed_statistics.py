"""Statistics of the tables that a reader's plan names: the same whatever rows there are, and so of nobody's rows.

Without any, the planner expects one row of most conditions together, and joins by a loop over all pairs of rows.
"""

from migrations.reader_isolation import ensure_partitions

KEYS = {"transfer_logs": "started_at", "transfer_samples": "transfer_started_at", "quotes": "at"}
"""The column that each table is partitioned by."""

# A tenant has a twentieth of the rows, half of them meet a condition, times are spread over the month of the partition.
ASSUME = """
    CREATE FUNCTION assume_statistics(part regclass, key text, month date, inherited boolean) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DECLARE
        stored record;
    BEGIN
        FOR stored IN SELECT c.relname, a.attname, a.attlen FROM pg_class c
                        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                       WHERE c.oid = part LOOP
            PERFORM pg_restore_attribute_stats(
                'schemaname', 'public', 'relname', stored.relname::text, 'attname', stored.attname::text,
                'inherited', inherited, 'version', 180000, 'null_frac', 0::real,
                'avg_width', CASE WHEN stored.attlen > 0 THEN stored.attlen ELSE 16 END::integer,
                'n_distinct', CASE WHEN stored.attname = 'tenant_id' THEN 20
                                   WHEN stored.attname IN ('id', 'transfer_id', key) THEN -0.5 ELSE 2 END::real);
            IF stored.attname = key AND month IS NOT NULL THEN
                PERFORM pg_restore_attribute_stats(
                    'schemaname', 'public', 'relname', stored.relname::text, 'attname', stored.attname::text,
                    'inherited', inherited, 'version', 180000, 'histogram_bounds',
                    (SELECT array_agg(to_char(month + d * (month + interval '1 month' - month) / 10,
                                              'YYYY-MM-DD HH24:MI:SS+00') ORDER BY d)::text
                       FROM generate_series(0, 10) d));
            END IF;
        END LOOP;
    END
    $$
"""


def assume_for(table: str) -> str:
    """Return SQL that gives the statistics to ``table`` and the partitions that it has."""
    key = KEYS[table]
    return f"""
        SELECT assume_statistics(relid, '{key}', CASE WHEN isleaf AND level > 0
                                                      THEN to_date(right(relid::text, 7), 'YYYY_MM') END, level = 0)
          FROM pg_partition_tree('public.{table}')
    """  # noqa: S608 - names of tables


def ensure_assumed_partitions(table: str, function: str) -> str:
    """Return SQL that replaces a function of `month_partitions` with one whose partitions have the statistics."""
    made = "EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', partition);"
    assume = f"PERFORM public.assume_statistics(('public.' || partition)::regclass, '{KEYS[table]}', month, false);"
    return ensure_partitions(table, function).replace(made, f"{assume}\n            {made}")
