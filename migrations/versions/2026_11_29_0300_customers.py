"""Customers of a tenant: their keys over time, negotiated prices, and what a quote was agreed under."""

from alembic import op

from migrations.row_level_security import let_owner, protect, publish_function

revision = "2026_11_29_0300"
down_revision = "2026_11_29_0200"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for table in (CUSTOMERS, CUSTOMER_KEYS, NEGOTIATED_PRICES, NEGOTIATED_PRICE_RULES, SEALED_CUSTOMER_USAGE):
        op.execute(table)
    op.execute("CREATE INDEX customer_keys_customer_id_idx ON customer_keys (customer_id)")
    op.execute("CREATE INDEX sealed_customer_usage_tenant_id_month_idx ON sealed_customer_usage (tenant_id, month)")
    for name in ("customers", "customer_keys", "negotiated_prices", "negotiated_price_rules", "sealed_customer_usage"):
        protect(name)
    for name in ("customers", "customer_keys"):  # a key is looked up before its tenant is known
        let_owner(name, "SELECT")
    op.execute(FIND_KEY)
    publish_function("find_key(bytea)")
    op.execute("ALTER TABLE quotes ADD COLUMN negotiated_id uuid, ADD COLUMN credit numeric")


def downgrade() -> None:
    op.execute("ALTER TABLE quotes DROP COLUMN credit, DROP COLUMN negotiated_id")
    op.execute("DROP FUNCTION find_key(bytea)")
    for name in ("sealed_customer_usage", "negotiated_price_rules", "negotiated_prices", "customer_keys", "customers"):
        op.execute(f"DROP TABLE {name}")


# As find_api_key, which notes the use, with the customer that holds the key now.
FIND_KEY = """
    CREATE FUNCTION find_key(secret bytea)
    RETURNS TABLE (
        id uuid, tenant_id uuid, scopes text[], weight double precision, rate_factor double precision,
        secret_sha256 bytea, customer_id uuid, customer_rate_factor double precision
    )
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        SELECT k.id, k.tenant_id, k.scopes, k.weight, k.rate_factor, k.secret_sha256, c.id, c.rate_factor
          FROM find_api_key(secret) k
          LEFT JOIN LATERAL (
              SELECT held.customer_id FROM customer_keys held
               WHERE held.key_id = k.id AND held.from_at <= now() ORDER BY held.from_at DESC LIMIT 1
          ) held ON true
          LEFT JOIN customers c ON c.id = held.customer_id
    $$
"""

# A customer's number is part of the numbers of its statements and is never used again.
CUSTOMERS = """
    CREATE TABLE customers (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        number integer NOT NULL CHECK (number > 0),
        name text NOT NULL CHECK (btrim(name) <> ''),
        contact_name text NOT NULL,
        contact_email text NOT NULL,
        note text NOT NULL,
        spending_limit numeric(16, 6) CHECK (spending_limit > 0),
        spending_currency text,
        rate_factor double precision CHECK (rate_factor > 0),
        version integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL,
        archived_at timestamptz,
        UNIQUE (tenant_id, number),
        UNIQUE (tenant_id, name),
        CHECK ((spending_limit IS NULL) = (spending_currency IS NULL))
    )
"""

# A key belongs to a customer from one row of it until the next; a row without a customer ends it.
CUSTOMER_KEYS = """
    CREATE TABLE customer_keys (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        key_id uuid NOT NULL REFERENCES api_keys ON DELETE CASCADE,
        from_at timestamptz NOT NULL,
        customer_id uuid REFERENCES customers ON DELETE CASCADE,
        PRIMARY KEY (key_id, from_at)
    )
"""

# They hold from one time until another, or until the next of their customer begin. ``adjustment`` : -0.1 is 10 % off.
NEGOTIATED_PRICES = """
    CREATE TABLE negotiated_prices (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        customer_id uuid NOT NULL REFERENCES customers ON DELETE CASCADE,
        adjustment numeric(16, 6) NOT NULL CHECK (adjustment BETWEEN -1 AND 10),
        currency text,
        starts_at timestamptz NOT NULL,
        ends_at timestamptz CHECK (ends_at > starts_at),
        created_at timestamptz NOT NULL,
        UNIQUE (customer_id, starts_at)
    )
"""

# As price_rules of a book: the first rule that matches a tier prices it, in place of the book.
NEGOTIATED_PRICE_RULES = """
    CREATE TABLE negotiated_price_rules (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        negotiated_id uuid NOT NULL REFERENCES negotiated_prices ON DELETE CASCADE,
        ordinal smallint NOT NULL,
        kind text,
        label text,
        from_bps double precision CHECK (from_bps >= 0),
        to_bps double precision CHECK (to_bps > coalesce(from_bps, 0)),
        base numeric(16, 6) NOT NULL CHECK (base >= 0),
        per_gb numeric(16, 6) NOT NULL CHECK (per_gb >= 0),
        per_kwh numeric(16, 6) NOT NULL CHECK (per_kwh >= 0),
        margin numeric(16, 6) NOT NULL CHECK (margin >= 0),
        credit numeric(16, 6) NOT NULL CHECK (credit BETWEEN 0 AND 1),
        PRIMARY KEY (negotiated_id, ordinal)
    )
"""

# Lines of keys that belonged to a customer; sealed_usage has those of all others.
SEALED_CUSTOMER_USAGE = """
    CREATE TABLE sealed_customer_usage (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        month date NOT NULL,
        customer_id uuid NOT NULL,
        key_id uuid,
        key text,
        billing text NOT NULL,
        currency text,
        transfers bigint NOT NULL,
        bytes_moved numeric NOT NULL,
        amount numeric,
        credit numeric NOT NULL,
        kept bigint NOT NULL,
        missed bigint NOT NULL,
        from_log_alone bigint NOT NULL
    )
"""
