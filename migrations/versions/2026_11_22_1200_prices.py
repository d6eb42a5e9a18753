"""Price books and the prices of tiers in them; what has come into force can be changed by nobody."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_22_1200"
down_revision = "2026_11_22_1000"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(PRICE_BOOKS)
    op.execute("CREATE UNIQUE INDEX price_books_effective_key ON price_books (tenant_id, effective_from)")
    op.execute(PRICES)
    protect("price_books")
    protect("prices")
    op.execute(
        "CREATE POLICY drafts_change ON price_books AS RESTRICTIVE FOR UPDATE "
        "USING (published_at IS NULL OR effective_from > now()) WITH CHECK (true)"
    )
    op.execute("CREATE POLICY drafts_go ON price_books AS RESTRICTIVE FOR DELETE USING (published_at IS NULL)")
    for command, clauses in (("INSERT", ("WITH CHECK",)), ("UPDATE", ("USING", "WITH CHECK")), ("DELETE", ("USING",))):
        held = " ".join(f"{clause} ({OF_A_DRAFT})" for clause in clauses)
        op.execute(f"CREATE POLICY drafts_{command.lower()} ON prices AS RESTRICTIVE FOR {command} {held}")


def downgrade() -> None:
    op.execute("DROP TABLE prices")
    op.execute("DROP TABLE price_books")


PRICE_BOOKS = """
    CREATE TABLE price_books (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        name text NOT NULL CHECK (name <> ''),
        currency text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
        energy_basis text NOT NULL CHECK (energy_basis IN ('total', 'dynamic')),
        energy_cost_per_kwh numeric(16, 6) CHECK (energy_cost_per_kwh >= 0),
        version integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL,
        published_at timestamptz,
        effective_from timestamptz,
        CHECK ((published_at IS NULL) = (effective_from IS NULL)),
        CHECK (effective_from >= published_at)
    )
"""

PRICES = """
    CREATE TABLE prices (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        book_id uuid NOT NULL REFERENCES price_books ON DELETE CASCADE,
        tier_id uuid NOT NULL,
        base numeric(16, 6) NOT NULL CHECK (base >= 0),
        per_gb numeric(16, 6) NOT NULL CHECK (per_gb >= 0),
        per_kwh numeric(16, 6) NOT NULL CHECK (per_kwh >= 0),
        margin numeric(16, 6) NOT NULL CHECK (margin >= 0),
        PRIMARY KEY (book_id, tier_id)
    )
"""

# The books seen here are the tenant's own.
OF_A_DRAFT = "EXISTS (SELECT FROM price_books WHERE price_books.id = book_id AND price_books.published_at IS NULL)"
