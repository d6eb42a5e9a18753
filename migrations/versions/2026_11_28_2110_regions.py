"""Electricity regions with hourly prices and carbon intensities, and the energy of network paths as a range."""

from alembic import op

from migrations.footprint_views import REGION_HOURS, REGION_MEANS, REGIONS_OF_LINKS, TRANSFER_FOOTPRINTS
from migrations.reader_isolation import put_behind_function
from migrations.row_level_security import APP, READER, let_readers, protect
from migrations.warehouse_views import statements

revision = "2026_11_28_2110"
down_revision = "2026_11_28_2030"
branch_labels = None
depends_on = None
step = "expand"

MEANS = "warehouse.region_means(text, timestamptz, timestamptz)"


def upgrade() -> None:
    for table in (REGIONS, HOURS):
        op.execute(table)
    for table in ("regions", "region_hours"):
        protect(table)
        let_readers(table)
    let_readers("endpoint_pairs")
    op.execute("ALTER TABLE endpoints ADD COLUMN region text")
    op.execute("ALTER TABLE endpoint_pairs ADD COLUMN network_low_j_per_gb double precision")
    op.execute("ALTER TABLE endpoint_pairs ADD COLUMN network_high_j_per_gb double precision")
    op.execute("ALTER TABLE endpoint_pairs ADD COLUMN network_energy_source text")
    for view in (REGIONS_OF_LINKS, REGION_HOURS):
        for statement in statements(view):
            op.execute(statement)
        op.execute(put_behind_function(view.name))
    op.execute(REGION_MEANS)
    op.execute(f"REVOKE ALL ON FUNCTION {MEANS} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {MEANS} TO {READER}, {APP}")
    for statement in statements(TRANSFER_FOOTPRINTS):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP VIEW warehouse.transfer_footprints")
    op.execute(f"DROP FUNCTION {MEANS}")
    for view in ("region_hours", "link_regions"):
        op.execute(f"DROP VIEW warehouse.{view}")
        op.execute(f"DROP FUNCTION warehouse.rows_of_{view}()")
    for column in ("network_energy_source", "network_high_j_per_gb", "network_low_j_per_gb"):
        op.execute(f"ALTER TABLE endpoint_pairs DROP COLUMN {column}")
    op.execute("ALTER TABLE endpoints DROP COLUMN region")
    op.execute("REVOKE SELECT ON endpoint_pairs FROM tradewind_reader")
    op.execute("DROP POLICY reader_tenant ON endpoint_pairs")
    op.execute("DROP TABLE region_hours")
    op.execute("DROP TABLE regions")


REGIONS = """
    CREATE TABLE regions (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        name text NOT NULL CHECK (name <> ''),
        currency text,
        PRIMARY KEY (tenant_id, name)
    )
"""

HOURS = """
    CREATE TABLE region_hours (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        region text NOT NULL,
        starts_at timestamptz NOT NULL,
        price_per_kwh double precision,
        carbon_g_per_kwh double precision CHECK (carbon_g_per_kwh >= 0),
        PRIMARY KEY (tenant_id, region, starts_at),
        FOREIGN KEY (tenant_id, region) REFERENCES regions ON DELETE CASCADE
    )
"""
