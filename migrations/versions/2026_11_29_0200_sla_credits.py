"""A price has a credit: the share of an amount that is given back where the SLA of its transfer is missed."""

from alembic import op

revision = "2026_11_29_0200"
down_revision = "2026_11_29_0100"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for table in ("prices", "price_rules"):
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN credit numeric(16, 6) NOT NULL DEFAULT 0 CHECK (credit BETWEEN 0 AND 1)"
        )
    op.execute("ALTER TABLE sealed_usage ADD COLUMN credit numeric NOT NULL DEFAULT 0")
    op.execute(f"ALTER POLICY drafts_insert ON prices WITH CHECK ({OF_A_DRAFT} OR {INHERITED_WITH_CREDIT})")


def downgrade() -> None:
    op.execute(f"ALTER POLICY drafts_insert ON prices WITH CHECK ({OF_A_DRAFT} OR {INHERITED})")
    op.execute("ALTER TABLE sealed_usage DROP COLUMN credit")
    for table in ("price_rules", "prices"):
        op.execute(f"ALTER TABLE {table} DROP COLUMN credit")


OF_A_DRAFT = "EXISTS (SELECT FROM price_books WHERE price_books.id = book_id AND price_books.published_at IS NULL)"

# A published book takes the price of a further tier only where that is the price of another tier of the book.
INHERITED = """
    EXISTS (SELECT FROM prices AS origin
             WHERE origin.book_id = prices.book_id AND origin.tier_id = prices.inherited_from
               AND (origin.base, origin.per_gb, origin.per_kwh, origin.margin)
                   = (prices.base, prices.per_gb, prices.per_kwh, prices.margin))
"""
INHERITED_WITH_CREDIT = """
    EXISTS (SELECT FROM prices AS origin
             WHERE origin.book_id = prices.book_id AND origin.tier_id = prices.inherited_from
               AND (origin.base, origin.per_gb, origin.per_kwh, origin.margin, origin.credit)
                   = (prices.base, prices.per_gb, prices.per_kwh, prices.margin, prices.credit))
"""
