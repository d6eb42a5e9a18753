"""Who people are at an OpenID provider."""

from alembic import op

from migrations.row_level_security import let_owner, protect, publish_function

revision = "2026_11_22_2400"
down_revision = "2026_11_22_2300"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(USER_IDENTITIES)
    protect("user_identities")
    let_owner("user_identities", "SELECT")
    op.execute(FIND_IDENTITY)
    publish_function("find_user_identity(text, text)")


def downgrade() -> None:
    op.execute("DROP FUNCTION find_user_identity(text, text)")
    op.execute("DROP TABLE user_identities")


USER_IDENTITIES = """
    CREATE TABLE user_identities (
        user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        issuer text NOT NULL,
        subject text NOT NULL,
        UNIQUE (issuer, subject)
    )
"""

# Whose tenant it is is not known before the identity is.
FIND_IDENTITY = """
    CREATE FUNCTION find_user_identity(asked_issuer text, asked_subject text)
    RETURNS TABLE (id uuid, tenant_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$
        SELECT user_id, tenant_id FROM user_identities WHERE issuer = asked_issuer AND subject = asked_subject
    $$
"""
