"""Labels of links, price rules of books, which prices came from a rule, and the differences that were published."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_29_0100"
down_revision = "2026_11_28_2210"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute(LINK_LABELS)
    op.execute(PRICE_RULES)
    op.execute("CREATE INDEX link_labels_link_id_idx ON link_labels (link_id)")
    for table in ("link_labels", "price_rules"):
        protect(table)
    for command, clauses in (("INSERT", ("WITH CHECK",)), ("UPDATE", ("USING", "WITH CHECK")), ("DELETE", ("USING",))):
        held = " ".join(f"{clause} ({OF_A_DRAFT})" for clause in clauses)
        op.execute(f"CREATE POLICY drafts_{command.lower()} ON price_rules AS RESTRICTIVE FOR {command} {held}")
    op.execute("ALTER TABLE prices ADD COLUMN by_rule boolean NOT NULL DEFAULT false")
    op.execute("ALTER TABLE price_books ADD COLUMN published_changes jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE price_books DROP COLUMN published_changes")
    op.execute("ALTER TABLE prices DROP COLUMN by_rule")
    op.execute("DROP TABLE price_rules")
    op.execute("DROP TABLE link_labels")


LINK_LABELS = """
    CREATE TABLE link_labels (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        label text NOT NULL CHECK (label <> ''),
        link_id uuid NOT NULL REFERENCES links ON DELETE CASCADE,
        PRIMARY KEY (tenant_id, label, link_id)
    )
"""

# The first rule of a book that matches a tier prices it; rates are in bit/s.
PRICE_RULES = """
    CREATE TABLE price_rules (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        book_id uuid NOT NULL REFERENCES price_books ON DELETE CASCADE,
        ordinal smallint NOT NULL,
        kind text,
        label text,
        from_bps double precision CHECK (from_bps >= 0),
        to_bps double precision CHECK (to_bps > coalesce(from_bps, 0)),
        base numeric(16, 6) NOT NULL CHECK (base >= 0),
        per_gb numeric(16, 6) NOT NULL CHECK (per_gb >= 0),
        per_kwh numeric(16, 6) NOT NULL CHECK (per_kwh >= 0),
        margin numeric(16, 6) NOT NULL CHECK (margin >= 0),
        PRIMARY KEY (book_id, ordinal)
    )
"""

# The books seen here are the tenant's own.
OF_A_DRAFT = "EXISTS (SELECT FROM price_books WHERE price_books.id = book_id AND price_books.published_at IS NULL)"
