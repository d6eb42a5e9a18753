"""Statements that were issued: numbered, complete and never changed; and the address of a customer."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_29_0730"
down_revision = "2026_11_29_0720"
branch_labels = None
depends_on = None
step = "expand"

TABLES = ("issued_statements", "issued_sums", "issued_adjustments", "issued_transfers")


def upgrade() -> None:
    op.execute("ALTER TABLE customers ADD COLUMN address text NOT NULL DEFAULT ''")
    for table in (STATEMENTS, SUMS, ADJUSTMENTS, TRANSFERS, REFUSE_CHANGE):
        op.execute(table)
    op.execute("REVOKE ALL ON FUNCTION refuse_change_of_issued() FROM PUBLIC")
    for name in TABLES:
        protect(name, grants="SELECT, INSERT")
        op.execute(
            f"CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE ON {name} "
            "FOR EACH ROW EXECUTE FUNCTION refuse_change_of_issued()"
        )


def downgrade() -> None:
    for name in reversed(TABLES):
        op.execute(f"DROP TABLE {name}")
    op.execute("DROP FUNCTION refuse_change_of_issued()")
    op.execute("ALTER TABLE customers DROP COLUMN address")


# Numbers of a tenant are consecutive. The content has the sums by key, by link and tier and by day, and names of tiers,
# as JSON with amounts as text. The customer is no reference: what was issued outlives it.
STATEMENTS = """
    CREATE TABLE issued_statements (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        number integer NOT NULL CHECK (number > 0),
        month date NOT NULL CHECK (extract(day FROM month) = 1),
        time_zone text NOT NULL,
        issued_at timestamptz NOT NULL,
        issued_by text NOT NULL,
        provider text NOT NULL,
        provider_address text[] NOT NULL,
        customer_id uuid NOT NULL,
        customer_number integer NOT NULL,
        customer text NOT NULL,
        customer_address text NOT NULL,
        contact_name text NOT NULL,
        contact_email text NOT NULL,
        has_transfers boolean NOT NULL,
        content text NOT NULL,
        UNIQUE (tenant_id, number),
        UNIQUE (tenant_id, customer_id, month)
    )
"""

# What is paid in one currency: amount - credit + adjustment, rounded once.
SUMS = """
    CREATE TABLE issued_sums (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        statement_id uuid NOT NULL REFERENCES issued_statements ON DELETE CASCADE,
        currency text NOT NULL,
        transfers bigint NOT NULL CHECK (transfers >= 0),
        amount numeric NOT NULL,
        credit numeric NOT NULL,
        adjustment numeric NOT NULL,
        payable numeric NOT NULL,
        PRIMARY KEY (statement_id, currency)
    )
"""

# Differences of months that were issued before, which this statement bills.
ADJUSTMENTS = """
    CREATE TABLE issued_adjustments (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        statement_id uuid NOT NULL REFERENCES issued_statements ON DELETE CASCADE,
        corrected_id uuid NOT NULL REFERENCES issued_statements ON DELETE CASCADE,
        currency text NOT NULL,
        transfers bigint NOT NULL,
        amount numeric NOT NULL,
        credit numeric NOT NULL,
        PRIMARY KEY (statement_id, corrected_id, currency)
    )
"""

# The billed transfers, numbered by their start.
TRANSFERS = """
    CREATE TABLE issued_transfers (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        statement_id uuid NOT NULL REFERENCES issued_statements ON DELETE CASCADE,
        started_at timestamptz NOT NULL,
        ordinal integer NOT NULL,
        ended_at timestamptz NOT NULL,
        key_id uuid,
        key text,
        transfer_id uuid,
        source text NOT NULL,
        destination text NOT NULL,
        mover text NOT NULL,
        tier_id uuid,
        sla text,
        status text NOT NULL,
        bytes_moved bigint NOT NULL,
        amount numeric NOT NULL,
        currency text NOT NULL,
        energy_basis text,
        book_id uuid,
        kept boolean,
        credit numeric,
        target double precision,
        probability double precision,
        PRIMARY KEY (statement_id, started_at, ordinal)
    )
"""

# For every role, the owner's too. What goes with its tenant is deleted by a trigger of that table, not by a command.
REFUSE_CHANGE = """
    CREATE FUNCTION refuse_change_of_issued() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
    BEGIN
        IF TG_OP = 'DELETE' AND pg_trigger_depth() > 1 THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'an issued statement never changes' USING ERRCODE = 'object_not_in_prerequisite_state';
    END
    $$
"""
