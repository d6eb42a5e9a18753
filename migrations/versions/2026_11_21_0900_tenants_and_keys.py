"""Tenants and their API keys, found by the hash of the secret."""

from alembic import op

from migrations.row_level_security import let_owner, protect, publish_function

revision = "2026_11_21_0900"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE tenants (
            id uuid PRIMARY KEY DEFAULT uuidv7(),
            name text NOT NULL UNIQUE CHECK (name <> ''),
            created_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    protect("tenants", tenant="id", grants="SELECT, INSERT")
    let_owner("tenants", "SELECT")
    op.execute(
        """
        CREATE TABLE api_keys (
            id uuid PRIMARY KEY DEFAULT uuidv7(),
            tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
            name text NOT NULL,
            prefix text NOT NULL,
            secret_sha256 bytea NOT NULL UNIQUE CHECK (length(secret_sha256) = 32),
            scopes text[] NOT NULL CHECK (scopes <@ ARRAY['agent', 'provider', 'analyst', 'operator']),
            weight double precision NOT NULL CHECK (weight > 0),
            rate_factor double precision NOT NULL CHECK (rate_factor > 0),
            created_at timestamptz NOT NULL,
            last_used_at timestamptz,
            revoked_at timestamptz
        )
        """
    )
    op.execute("CREATE INDEX api_keys_tenant_id_idx ON api_keys (tenant_id)")
    protect("api_keys", grants="SELECT, INSERT, UPDATE")
    let_owner("api_keys", "SELECT")
    let_owner("api_keys", "UPDATE")
    # The tenant is not known before the key is. Use is noted once a minute at most, so that reading stays reading.
    op.execute(
        """
        CREATE FUNCTION find_api_key(secret bytea)
        RETURNS TABLE (
            id uuid, tenant_id uuid, scopes text[], weight double precision, rate_factor double precision,
            secret_sha256 bytea
        )
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
        BEGIN
            UPDATE api_keys k SET last_used_at = now()
             WHERE k.secret_sha256 = secret AND k.revoked_at IS NULL
               AND (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute');
            RETURN QUERY SELECT k.id, k.tenant_id, k.scopes, k.weight, k.rate_factor, k.secret_sha256
                           FROM api_keys k WHERE k.secret_sha256 = secret AND k.revoked_at IS NULL;
        END
        $$
        """
    )
    publish_function("find_api_key(bytea)")
    op.execute(
        """
        CREATE FUNCTION find_tenant(tenant_name text) RETURNS uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
        AS $$ SELECT id FROM tenants WHERE name = tenant_name $$
        """
    )
    publish_function("find_tenant(text)")


def downgrade() -> None:
    op.execute("DROP FUNCTION find_tenant(text)")
    op.execute("DROP FUNCTION find_api_key(bytea)")
    op.execute("DROP TABLE api_keys")
    op.execute("DROP TABLE tenants")
