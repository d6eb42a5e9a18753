"""Endpoints with aliases and known pairs, and the links between them."""

from alembic import op

from migrations.row_level_security import let_owner, protect, publish_function

revision = "2026_11_21_0910"
down_revision = "2026_11_21_0900"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE endpoints (
            id uuid PRIMARY KEY DEFAULT uuidv7(),
            tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
            name text NOT NULL CHECK (name <> ''),
            power_profile jsonb,
            UNIQUE (tenant_id, name)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE endpoint_aliases (
            tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
            alias text NOT NULL CHECK (alias <> ''),
            endpoint_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
            PRIMARY KEY (tenant_id, alias)
        )
        """
    )
    op.execute("CREATE INDEX endpoint_aliases_endpoint_id_idx ON endpoint_aliases (endpoint_id)")
    op.execute(
        """
        CREATE TABLE endpoint_pairs (
            tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
            source_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
            destination_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
            bandwidth_bps double precision CHECK (bandwidth_bps > 0),
            rtt_s double precision CHECK (rtt_s > 0),
            buffer_bytes double precision CHECK (buffer_bytes > 0),
            PRIMARY KEY (source_id, destination_id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE links (
            id uuid PRIMARY KEY DEFAULT uuidv7(),
            tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
            source_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
            destination_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
            network text,
            mover text NOT NULL,
            rows bigint NOT NULL DEFAULT 0,
            last_log_at timestamptz,
            logs_version bigint NOT NULL DEFAULT 0,
            fitted_version bigint NOT NULL DEFAULT 0,
            refit_rows bigint,
            refit_at timestamptz,
            UNIQUE NULLS NOT DISTINCT (tenant_id, source_id, destination_id, network, mover)
        )
        """
    )
    for table in ("endpoints", "endpoint_aliases", "endpoint_pairs", "links"):
        protect(table)
    let_owner("links", "SELECT")
    # What the workers' sweep asks, before it takes up one tenant after the other.
    op.execute(
        """
        CREATE FUNCTION tenants_with_new_logs() RETURNS SETOF uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
        AS $$
            SELECT DISTINCT tenant_id FROM links
             WHERE logs_version > fitted_version AND (refit_rows IS NULL OR rows >= refit_rows OR refit_at <= now())
        $$
        """
    )
    publish_function("tenants_with_new_logs()")


def downgrade() -> None:
    op.execute("DROP FUNCTION tenants_with_new_logs()")
    for table in ("links", "endpoint_pairs", "endpoint_aliases", "endpoints"):
        op.execute(f"DROP TABLE {table}")
