"""Daily rollups of logs and of transfers' ends, kept true by marks that every change of their rows leaves."""

from alembic import op

from migrations.row_level_security import OWNER, let_owner, let_readers, protect, publish_function
from migrations.warehouse_views import DAILY_ROLLUPS as VIEW
from migrations.warehouse_views import statements

revision = "2026_11_22_1600"
down_revision = "2026_11_22_1500"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(f"ALTER TABLE transfers ADD COLUMN link_id uuid NOT NULL DEFAULT {NO_LINK}")
    op.execute(
        "CREATE INDEX transfers_ended_idx ON transfers (tenant_id, link_id, started_at) WHERE ended_at IS NOT NULL"
    )
    # What is live is asked for in the order of begin: without this index among all that ended.
    op.execute(
        "CREATE INDEX transfers_open_by_start_idx ON transfers (tenant_id, started_at, id) WHERE ended_at IS NULL"
    )
    op.execute(DAILY_ROLLUPS)
    op.execute("CREATE INDEX daily_rollups_link_id_day_idx ON daily_rollups (link_id, day)")
    protect("daily_rollups")
    let_readers("daily_rollups")
    op.execute(ROLLUP_MARKS)
    op.execute("CREATE INDEX rollup_marks_tenant_id_day_link_id_idx ON rollup_marks (tenant_id, day, link_id)")
    protect("rollup_marks", grants="SELECT, INSERT, DELETE")
    for table in ("rollup_marks", "transfer_logs", "transfers"):
        let_owner(table, "SELECT")
    op.execute(MARK_LOGS)
    op.execute(MARK_TRANSFER)
    for trigger in TRIGGERS:
        op.execute(trigger)
    op.execute(f"CREATE POLICY owner_insert ON rollup_marks FOR INSERT TO {OWNER} WITH CHECK (true)")
    op.execute(MARK_ALL)
    op.execute("SELECT mark_all_days()")
    op.execute(TENANTS_WITH_MARKS)
    publish_function("tenants_with_rollup_marks()")
    op.execute("REVOKE ALL ON FUNCTION mark_all_days(), mark_changed_logs(), mark_changed_transfer() FROM PUBLIC")
    for statement in statements(VIEW):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP VIEW warehouse.daily_rollups")
    op.execute("DROP FUNCTION tenants_with_rollup_marks()")
    op.execute("DROP FUNCTION mark_all_days()")
    for table in ("transfer_logs", "transfers"):
        op.execute(f"DROP POLICY owner_select ON {table}")
        for event in ("added", "changed", "removed"):
            op.execute(f"DROP TRIGGER mark_{event} ON {table}")
    op.execute("DROP FUNCTION mark_changed_logs()")
    op.execute("DROP FUNCTION mark_changed_transfer()")
    op.execute("DROP TABLE rollup_marks")
    op.execute("DROP TABLE daily_rollups")
    op.execute("DROP INDEX transfers_open_by_start_idx")
    op.execute("DROP INDEX transfers_ended_idx")
    op.execute("ALTER TABLE transfers DROP COLUMN link_id")


NO_LINK = "'00000000-0000-0000-0000-000000000000'"
"""Of transfers that logged nothing: they are counted by day alone."""

DAILY_ROLLUPS = """
    CREATE TABLE daily_rollups (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        day date NOT NULL,
        link_id uuid NOT NULL,
        transfers bigint NOT NULL,
        succeeded bigint NOT NULL,
        bytes_moved bigint NOT NULL,
        duration_s double precision NOT NULL,
        measured_energy_j double precision NOT NULL,
        modelled_energy_j double precision NOT NULL,
        metered_bytes bigint NOT NULL,
        ended bigint NOT NULL,
        kept bigint NOT NULL,
        missed bigint NOT NULL,
        unpromised bigint NOT NULL,
        tuned_transfers bigint NOT NULL,
        tuned_bytes bigint NOT NULL,
        tuned_s double precision NOT NULL,
        tuned_energy_j double precision NOT NULL,
        tuned_metered_bytes bigint NOT NULL,
        metered_source bigint NOT NULL,
        metered_destination bigint NOT NULL,
        metered_both bigint NOT NULL,
        tuned_source_j double precision NOT NULL,
        tuned_source_bytes bigint NOT NULL,
        tuned_destination_j double precision NOT NULL,
        tuned_destination_bytes bigint NOT NULL,
        tuned_both_j double precision NOT NULL,
        tuned_both_bytes bigint NOT NULL,
        rolled_up_at timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, day, link_id)
    )
"""

# One row or many for a day of a link: a mark is only ever added by who changes rows, so that nobody waits for another,
# and taken by who makes the day anew. A unique mark would be that of an earlier change, and be gone with it.
ROLLUP_MARKS = """
    CREATE TABLE rollup_marks (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id uuid NOT NULL,
        day date NOT NULL,
        link_id uuid NOT NULL
    )
"""

MARK_LOGS = """
    CREATE FUNCTION mark_changed_logs() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
    BEGIN
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO rollup_marks (tenant_id, day, link_id)
            SELECT DISTINCT tenant_id, (started_at AT TIME ZONE 'UTC')::date, link_id FROM new_rows;
        END IF;
        IF TG_OP <> 'INSERT' THEN
            INSERT INTO rollup_marks (tenant_id, day, link_id)
            SELECT DISTINCT tenant_id, (started_at AT TIME ZONE 'UTC')::date, link_id FROM old_rows;
        END IF;
        RETURN NULL;
    END
    $$
"""

MARK_TRANSFER = """
    CREATE FUNCTION mark_changed_transfer() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
    BEGIN
        IF TG_OP <> 'DELETE' THEN
            INSERT INTO rollup_marks (tenant_id, day, link_id)
            VALUES (NEW.tenant_id, (NEW.started_at AT TIME ZONE 'UTC')::date, NEW.link_id);
        END IF;
        IF TG_OP <> 'INSERT' THEN
            INSERT INTO rollup_marks (tenant_id, day, link_id)
            VALUES (OLD.tenant_id, (OLD.started_at AT TIME ZONE 'UTC')::date, OLD.link_id);
        END IF;
        RETURN NULL;
    END
    $$
"""

_COUNTED = (
    "link_id, started_at, ended_at, status, bytes_moved, throughput_bps, energy_j, energy, agreement_kept, expected"
)


def _of(row: str) -> str:
    return ", ".join(f"{row}.{column}" for column in _COUNTED.split(", "))


TRIGGERS = (
    (
        "CREATE TRIGGER mark_added AFTER INSERT ON transfer_logs REFERENCING NEW TABLE AS new_rows "
        "FOR EACH STATEMENT EXECUTE FUNCTION mark_changed_logs()"
    ),
    (
        "CREATE TRIGGER mark_changed AFTER UPDATE ON transfer_logs "
        "REFERENCING NEW TABLE AS new_rows OLD TABLE AS old_rows "
        "FOR EACH STATEMENT EXECUTE FUNCTION mark_changed_logs()"
    ),
    (
        "CREATE TRIGGER mark_removed AFTER DELETE ON transfer_logs REFERENCING OLD TABLE AS old_rows "
        "FOR EACH STATEMENT EXECUTE FUNCTION mark_changed_logs()"
    ),
    (
        "CREATE TRIGGER mark_added AFTER INSERT ON transfers "
        "FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL) EXECUTE FUNCTION mark_changed_transfer()"
    ),
    # Heartbeats change transfers that go on: those are not counted yet.
    (
        f"CREATE TRIGGER mark_changed AFTER UPDATE OF {_COUNTED} ON transfers "
        "FOR EACH ROW WHEN ((NEW.ended_at IS NOT NULL OR OLD.ended_at IS NOT NULL) "
        f"AND ({_of('NEW')}) IS DISTINCT FROM ({_of('OLD')})) EXECUTE FUNCTION mark_changed_transfer()"
    ),
    (
        "CREATE TRIGGER mark_removed AFTER DELETE ON transfers "
        "FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION mark_changed_transfer()"
    ),
)

# What was stored before there were rollups; also how an administrator has all of them made anew.
MARK_ALL = """
    CREATE FUNCTION mark_all_days() RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        INSERT INTO rollup_marks (tenant_id, day, link_id)
        SELECT tenant_id, (started_at AT TIME ZONE 'UTC')::date, link_id FROM transfer_logs
         UNION
        SELECT tenant_id, (started_at AT TIME ZONE 'UTC')::date, link_id FROM transfers WHERE ended_at IS NOT NULL
    $$
"""

# What the workers ask, before they take up one tenant after the other.
TENANTS_WITH_MARKS = """
    CREATE FUNCTION tenants_with_rollup_marks() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT id FROM tenants WHERE EXISTS (SELECT FROM rollup_marks WHERE tenant_id = tenants.id)
    $$
"""
