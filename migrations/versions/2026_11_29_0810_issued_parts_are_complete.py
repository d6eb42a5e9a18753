"""Nothing is added to a statement that is issued: its sums, adjustments and transfers are stored with it."""

from alembic import op

revision = "2026_11_29_0810"
down_revision = "2026_11_29_0800"
branch_labels = None
depends_on = None
step = "expand"

PARTS = ("issued_sums", "issued_adjustments", "issued_transfers")

# What a transaction has stored itself has its number. A row that was stored under a savepoint has another one and is
# refused, too: statements are issued without.
REFUSE_LATER = """
    CREATE FUNCTION refuse_addition_to_issued() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
    BEGIN
        IF NOT EXISTS (
            SELECT FROM issued_statements WHERE id = NEW.statement_id AND xmin = pg_current_xact_id()::xid
        ) THEN
            RAISE EXCEPTION 'an issued statement never changes' USING ERRCODE = 'object_not_in_prerequisite_state';
        END IF;
        RETURN NEW;
    END
    $$
"""


def upgrade() -> None:
    op.execute(REFUSE_LATER)
    op.execute("REVOKE ALL ON FUNCTION refuse_addition_to_issued() FROM PUBLIC")
    for name in PARTS:
        op.execute(
            f"CREATE TRIGGER never_added_to BEFORE INSERT ON {name} "
            "FOR EACH ROW EXECUTE FUNCTION refuse_addition_to_issued()"
        )


def downgrade() -> None:
    for name in PARTS:
        op.execute(f"DROP TRIGGER never_added_to ON {name}")
    op.execute("DROP FUNCTION refuse_addition_to_issued()")
