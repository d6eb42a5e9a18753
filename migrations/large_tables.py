"""What a migration does to a table that others read and write meanwhile: indexes and values, without stopping them.

Both run outside the migration's transaction and do nothing the second time, so that an interrupted run can start again.
"""

from alembic import op
from sqlalchemy import text

_PARTITIONS = text(
    "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = CAST(:table AS regclass) ORDER BY inhrelid"
)
_IS_PARTITIONED = text("SELECT relkind = 'p' FROM pg_class WHERE oid = CAST(:table AS regclass)")
_IS_BROKEN = text(
    "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(CAST(:index AS text)) AND NOT indisvalid)"
)


def add_index(index: str, table: str, definition: str, *, unique: bool = False) -> None:
    """Make an index while the table is in use; of a partitioned table on each partition, one after the other.

    Parameters
    ----------
    definition : what follows the table's name, such as ``(link_id) INCLUDE (tenant_id)``.
    unique : a partitioned table's must have the column that it is partitioned by.
    """
    kind = "UNIQUE INDEX" if unique else "INDEX"
    with op.get_context().autocommit_block():
        if op.get_context().as_sql or not op.get_bind().scalar(_IS_PARTITIONED, {"table": table}):
            _add_to_one(kind, index, table, definition)
            return
        op.execute(f"CREATE {kind} IF NOT EXISTS {index} ON ONLY {table} {definition}")
        for partition in op.get_bind().scalars(_PARTITIONS, {"table": table}).all():
            of_partition = f"{partition}_{index.removeprefix(f'{table}_')}"
            _add_to_one(kind, of_partition, partition, definition)
            op.execute(f"ALTER INDEX {index} ATTACH PARTITION {of_partition}")


def _add_to_one(kind: str, index: str, table: str, definition: str) -> None:
    if not op.get_context().as_sql and op.get_bind().scalar(_IS_BROKEN, {"index": index}):
        op.execute(f"DROP INDEX CONCURRENTLY {index}")  # an attempt that was broken off leaves one that nothing uses
    op.execute(f"CREATE {kind} CONCURRENTLY IF NOT EXISTS {index} ON {table} {definition}")


def fill(update: str) -> None:
    """Repeat a statement, each time in a transaction of its own, until it changes no row.

    Parameters
    ----------
    update : changes some thousand rows of those that are left, such as ``UPDATE t SET x = 1 WHERE id IN (SELECT id FROM
        t WHERE x IS NULL LIMIT 5000)``: what it locks it locks for a moment.
    """
    with op.get_context().autocommit_block():
        if op.get_context().as_sql:
            op.execute(update)
            return
        while op.get_bind().execute(text(update)).rowcount:
            pass
