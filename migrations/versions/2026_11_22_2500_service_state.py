"""What an operator watches of all tenants together."""

from alembic import op

from migrations.row_level_security import let_owner, publish_function

revision = "2026_11_22_2500"
down_revision = "2026_11_22_2400"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX batches_tenant_id_received_at_idx ON batches (tenant_id, received_at)")
    for table in ("batches", "current_releases"):
        let_owner(table, "SELECT")
    op.execute(SERVICE_STATE)
    publish_function("service_state()")


def downgrade() -> None:
    op.execute("DROP FUNCTION service_state()")
    for table in ("current_releases", "batches"):
        op.execute(f"DROP POLICY owner_select ON {table}")
    op.execute("DROP INDEX batches_tenant_id_received_at_idx")


# A release knows what had come when its list of links was made. A batch that was being stored meanwhile leaves its
# links due without being found here; its rows have waited since about then.
SERVICE_STATE = """
    CREATE FUNCTION service_state() RETURNS TABLE (
        unlearned_since timestamptz, oldest_release_at timestamptz, live_transfers bigint, days_to_export bigint
    )
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT (
            SELECT min(coalesce(
                       (SELECT min(b.received_at) FROM batches b
                         WHERE b.tenant_id = waiting.tenant_id AND b.accepted > 0
                           AND b.received_at > coalesce(r.created_at, '-infinity')),
                       r.created_at))
              FROM tenants_with_new_logs() AS waiting (tenant_id)
              LEFT JOIN current_releases c ON c.tenant_id = waiting.tenant_id
              LEFT JOIN releases r ON r.id = c.release_id
        ), (
            SELECT min(r.published_at) FROM current_releases c JOIN releases r ON r.id = c.release_id
        ), (
            SELECT count(*) FROM transfers WHERE ended_at IS NULL AND silent_at > now()
        ), (
            SELECT count(*) FROM log_days
             WHERE exported_version < version AND day < (now() AT TIME ZONE 'UTC')::date
        )
    $$
"""
