"""Tables partitioned by month, whose partitions the application asks for when it first meets rows of a month."""

from alembic import op

from migrations.row_level_security import publish_function


def let_months_be_added(table: str, function: str) -> None:
    """Make ``function(date[])``, which makes the partitions of ``table`` that are missing for these months.

    ATTACH takes a lock that neither readers nor writers of the table notice; CREATE … PARTITION OF would stop them all.
    Rivals for a month wait for that lock too; taking it makes the second one notice what the first has made.
    """
    op.execute(_ENSURE_PARTITIONS.replace("%TABLE%", table).replace("%FUNCTION%", function))
    publish_function(f"{function}(date[])")


_ENSURE_PARTITIONS = """
    CREATE FUNCTION %FUNCTION%(months date[]) RETURNS void
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
