"""What is billed of each transfer is stored and marked when it changes; imported records are counted as they come."""

from alembic import op

from migrations.large_tables import add_index
from migrations.row_level_security import OWNER, let_owner, protect, publish_function
from migrations.usage_marks import FUNCTIONS, TRIGGERS

revision = "2026_11_29_0740"
down_revision = "2026_11_29_0731"
branch_labels = None
depends_on = None
step = "expand"

TABLES = {
    "usage_transfers": """
    CREATE TABLE usage_transfers (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        unit uuid NOT NULL,
        month date NOT NULL,
        key_id uuid,
        customer_id uuid,
        transfer_id uuid,
        link_id uuid NOT NULL,
        started_at timestamptz NOT NULL,
        ended_at timestamptz NOT NULL,
        status text NOT NULL,
        bytes_moved bigint NOT NULL,
        tier_id uuid,
        sla text,
        book_id uuid,
        amount numeric,
        currency text,
        energy_basis text,
        credit numeric,
        billing text NOT NULL,
        from_log_alone boolean NOT NULL,
        kept boolean,
        target double precision,
        probability double precision,
        UNIQUE NULLS NOT DISTINCT (tenant_id, unit, month, key_id)
    )
    """,
    "usage_marks": """
    CREATE TABLE usage_marks (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id uuid NOT NULL,
        unit uuid,
        key_id uuid,
        book_id uuid,
        billing text
    )
    """,
    "usage_imports": """
    CREATE TABLE usage_imports (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        day date NOT NULL,
        batch_id uuid NOT NULL,
        transfers bigint NOT NULL,
        bytes_moved numeric NOT NULL
    )
    """,
}
INDEXES = (
    "CREATE INDEX usage_transfers_tenant_id_month_key_id_idx ON usage_transfers (tenant_id, month, key_id)",
    "CREATE INDEX usage_marks_tenant_id_unit_idx ON usage_marks (tenant_id, unit)",
    "CREATE INDEX usage_imports_tenant_id_day_idx ON usage_imports (tenant_id, day)",
)
TENANTS_WITH_MARKS = """
    CREATE FUNCTION tenants_with_usage_marks() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT id FROM tenants WHERE EXISTS (SELECT FROM usage_marks WHERE tenant_id = tenants.id)
    $$
"""


def upgrade() -> None:
    add_index("transfer_logs_transfers_idx", "transfer_logs", "(tenant_id, transfer_id) WHERE transfer_id IS NOT NULL")
    for table, definition in TABLES.items():
        op.execute(definition)
        protect(table, grants="SELECT, INSERT, DELETE")
    for index in INDEXES:
        op.execute(index)
    let_owner("usage_marks", "SELECT")
    op.execute(f"CREATE POLICY owner_insert ON usage_marks FOR INSERT TO {OWNER} WITH CHECK (true)")
    op.execute(TENANTS_WITH_MARKS)
    publish_function("tenants_with_usage_marks()")
    for name, definition in FUNCTIONS.items():
        op.execute(definition)
        op.execute(f"REVOKE ALL ON FUNCTION {name}() FROM PUBLIC")
    for trigger in TRIGGERS.values():
        op.execute(trigger)


def downgrade() -> None:
    for name, table in TRIGGERS:
        op.execute(f"DROP TRIGGER {name} ON {table}")
    for name in FUNCTIONS:
        op.execute(f"DROP FUNCTION {name}()")
    op.execute("DROP FUNCTION tenants_with_usage_marks()")
    for table in TABLES:
        op.execute(f"DROP TABLE {table}")
    op.execute("DROP INDEX transfer_logs_transfers_idx")
