"""Days of logs: which have changed since they were exported, what was exported of them, and what kept it from it."""

from alembic import op

from migrations.row_level_security import let_owner, protect, publish_function

revision = "2026_11_22_1800"
down_revision = "2026_11_22_1700"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(LOG_DAYS)
    op.execute("CREATE INDEX log_days_to_export_idx ON log_days (tenant_id, day) WHERE exported_version < version")
    protect("log_days")
    let_owner("log_days", "SELECT")
    op.execute(EXPORT_FAILURES)
    protect("export_failures")
    op.execute("SELECT mark_all_days()")  # days that were rolled up before this table was there
    op.execute(TENANTS_TO_EXPORT)
    publish_function("tenants_with_days_to_export(date)")


def downgrade() -> None:
    op.execute("DROP FUNCTION tenants_with_days_to_export(date)")
    op.execute("DROP TABLE export_failures")
    op.execute("DROP TABLE log_days")


# The version grows with each rollup of the day; it is exported when the rows of that version are.
LOG_DAYS = """
    CREATE TABLE log_days (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        day date NOT NULL,
        version bigint NOT NULL,
        exported_version bigint NOT NULL DEFAULT 0,
        exported_at timestamptz,
        rows bigint,
        bytes bigint,
        sha256 text,
        PRIMARY KEY (tenant_id, day)
    )
"""

# The last one, until a file is written.
EXPORT_FAILURES = """
    CREATE TABLE export_failures (
        tenant_id uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
        failed_at timestamptz NOT NULL,
        reason text NOT NULL
    )
"""

TENANTS_TO_EXPORT = """
    CREATE FUNCTION tenants_with_days_to_export(before date) RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT DISTINCT tenant_id FROM log_days WHERE exported_version < version AND day < before
    $$
"""
