"""Models that wait for a provider's decision, and prices that tiers inherit from the one that they were split from."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_27_2000"
down_revision = "2026_11_26_1100"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute(TIER_DECISIONS)
    op.execute("CREATE INDEX tier_decisions_link_model_id_idx ON tier_decisions (link_model_id)")
    protect("tier_decisions")
    op.execute("ALTER TABLE prices ADD COLUMN inherited_from uuid")
    op.execute(f"ALTER POLICY drafts_insert ON prices WITH CHECK ({OF_A_DRAFT} OR {INHERITED})")


def downgrade() -> None:
    op.execute(f"ALTER POLICY drafts_insert ON prices WITH CHECK ({OF_A_DRAFT})")
    op.execute("ALTER TABLE prices DROP COLUMN inherited_from")
    op.execute("DROP TABLE tier_decisions")


TIER_DECISIONS = """
    CREATE TABLE tier_decisions (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        link_id uuid NOT NULL REFERENCES links ON DELETE CASCADE,
        link_model_id uuid NOT NULL REFERENCES link_models ON DELETE CASCADE,
        release_id bigint NOT NULL,
        raised_at timestamptz NOT NULL,
        changes jsonb NOT NULL,
        UNIQUE (link_id)
    )
"""

OF_A_DRAFT = "EXISTS (SELECT FROM price_books WHERE price_books.id = book_id AND price_books.published_at IS NULL)"

# A published book takes the price of a further tier only where that is the price of another tier of the book.
INHERITED = """
    EXISTS (SELECT FROM prices AS origin
             WHERE origin.book_id = prices.book_id AND origin.tier_id = prices.inherited_from
               AND (origin.base, origin.per_gb, origin.per_kwh, origin.margin)
                   = (prices.base, prices.per_gb, prices.per_kwh, prices.margin))
"""
