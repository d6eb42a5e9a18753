"""What a provider says of its tiers: their names, and where they are cut."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_22_1900"
down_revision = "2026_11_22_1800"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(TIER_NAMES)
    op.execute(OWN_CUTS)
    op.execute("CREATE INDEX own_cuts_link_id_idx ON own_cuts (link_id)")
    for table in ("tier_names", "own_cuts"):
        protect(table)


def downgrade() -> None:
    op.execute("DROP TABLE own_cuts")
    op.execute("DROP TABLE tier_names")


TIER_NAMES = """
    CREATE TABLE tier_names (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        tier_id uuid NOT NULL,
        name text NOT NULL CHECK (name <> ''),
        PRIMARY KEY (tenant_id, tier_id)
    )
"""

# Tier n lies between the cuts n - 1 and n. Bounds are in bit/s, joules a byte or watts by kind.
OWN_CUTS = """
    CREATE TABLE own_cuts (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        link_id uuid NOT NULL REFERENCES links ON DELETE CASCADE,
        kind text NOT NULL,
        confidence double precision NOT NULL,
        energy_basis text NOT NULL,
        cuts double precision[] NOT NULL,
        tier_ids uuid[] NOT NULL,
        CHECK (cardinality(tier_ids) = cardinality(cuts) + 1)
    )
"""
