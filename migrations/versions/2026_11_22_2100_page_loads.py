"""Loads of web pages and their connections, from the logs of browsers."""

from alembic import op

from migrations.page_views import PAGE_CONNECTIONS as CONNECTIONS_VIEW
from migrations.page_views import PAGE_LOADS as LOADS_VIEW
from migrations.row_level_security import READER, let_readers, protect
from migrations.warehouse_views import statements

revision = "2026_11_22_2100"
down_revision = "2026_11_22_2000"
branch_labels = None
depends_on = None

TABLES = ("page_loads", "page_connections")


def upgrade() -> None:
    op.execute(PAGE_LOADS)
    op.execute("CREATE INDEX page_loads_tenant_id_id_idx ON page_loads (tenant_id, id)")
    op.execute(PAGE_CONNECTIONS)
    for table in TABLES:
        protect(table)
        let_readers(table)
    for view in (LOADS_VIEW, CONNECTIONS_VIEW):
        for statement in statements(view):
            op.execute(statement)


def downgrade() -> None:
    for view in (CONNECTIONS_VIEW, LOADS_VIEW):
        op.execute(f"DROP VIEW warehouse.{view.name}")
    for table in TABLES:
        op.execute(f"REVOKE SELECT ON {table} FROM {READER}")  # noqa: S608 - names
    op.execute("DROP TABLE page_connections")
    op.execute("DROP TABLE page_loads")


# The same log is recognised by its content: what of it is analysed, and nothing else.
PAGE_LOADS = """
    CREATE TABLE page_loads (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        content_sha256 bytea NOT NULL,
        ordinal integer NOT NULL,
        received_at timestamptz NOT NULL,
        started_at timestamptz NOT NULL,
        tool text NOT NULL,
        name text NOT NULL,
        load_s double precision NOT NULL,
        load_told boolean NOT NULL,
        idle_s double precision NOT NULL,
        effective_concurrency double precision,
        encryption text,
        rtt_s double precision,
        objects integer NOT NULL,
        wire_bytes bigint NOT NULL,
        untimed integer NOT NULL,
        unsized integer NOT NULL,
        caches jsonb NOT NULL,
        left_out jsonb NOT NULL,
        lengths jsonb NOT NULL,
        advice jsonb NOT NULL,
        UNIQUE (tenant_id, content_sha256, ordinal)
    )
"""

PAGE_CONNECTIONS = """
    CREATE TABLE page_connections (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        page_load_id uuid NOT NULL REFERENCES page_loads ON DELETE CASCADE,
        ordinal integer NOT NULL,
        origin text NOT NULL,
        encrypted boolean NOT NULL,
        http_version text NOT NULL,
        inferred boolean NOT NULL,
        objects integer NOT NULL,
        wire_bytes bigint NOT NULL,
        opened_s double precision NOT NULL,
        duration_s double precision,
        receiving_s double precision NOT NULL,
        rtt_s double precision,
        first_object_bytes bigint,
        first_object_rtts integer,
        PRIMARY KEY (page_load_id, ordinal)
    )
"""
