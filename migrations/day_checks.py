"""Months that state the days (UTC) of their rows, so that a condition on a view's ``day`` reads no other month.

The planner prunes partitions by conditions on the column that they are divided by. A view's ``day`` is an expression of
that column, which it does not reason about. But it leaves out a partition whose CHECK constraints contradict a
condition on the same expression (constraint exclusion). That takes a constant: a day that is computed while the query
runs, such as ``current_date - 7``, leaves out no month.
"""

from alembic import op
from sqlalchemy import text

from migrations.assumed_statistics import KEYS, ensure_assumed_partitions

CHECK = "days"

_MARK = "EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', partition);"


def format_day(key: str) -> str:
    """Return the day of a row, written as views write it: the planner compares the expressions."""
    return f"({key} AT TIME ZONE 'UTC')::date"


def ensure_checked_partitions(table: str, function: str) -> str:
    """Return SQL that replaces a function of `month_partitions` with one whose partitions state their days."""
    day = format_day(KEYS[table]).replace("'", "''")
    add = (
        f"EXECUTE format('ALTER TABLE public.%I ADD CONSTRAINT {CHECK}"
        f" CHECK ({day} >= %L::date AND {day} <= %L::date)',"
        " partition, month, (month + interval '1 month - 1 day')::date);"
    )
    return ensure_assumed_partitions(table, function).replace(_MARK, f"{add}\n            {_MARK}")


def add_day_checks(table: str) -> None:
    """Add the constraint to partitions that lack it, while they are in use; an interrupted run can start again."""
    day = format_day(KEYS[table])
    with op.get_context().autocommit_block():
        if op.get_context().as_sql:
            return  # a new database has no partitions
        for partition, first, last, is_stated in op.get_bind().execute(_MONTHS, {"table": table, "check": CHECK}).all():
            if not is_stated:
                condition = f"{day} >= '{first}'::date AND {day} <= '{last}'::date"
                op.execute(f"ALTER TABLE {partition} ADD CONSTRAINT {CHECK} CHECK ({condition}) NOT VALID")
            op.execute(f"ALTER TABLE {partition} VALIDATE CONSTRAINT {CHECK}")


def drop_day_checks(table: str) -> None:
    """Remove the constraint from the partitions that have it."""
    if op.get_context().as_sql:
        return
    for partition, _, _, is_stated in op.get_bind().execute(_MONTHS, {"table": table, "check": CHECK}).all():
        if is_stated:
            op.execute(f"ALTER TABLE {partition} DROP CONSTRAINT {CHECK}")


_MONTHS = text("""
    SELECT partition, first, (first + interval '1 month - 1 day')::date,
           EXISTS (SELECT FROM pg_constraint WHERE conrelid = relid AND conname = :check)
      FROM (SELECT relid, relid::text AS partition, to_date(right(relid::text, 7), 'YYYY_MM') AS first
              FROM pg_partition_tree(CAST(:table AS regclass)) WHERE isleaf AND level > 0) months
     ORDER BY first
""")
