"""People who sign in to the pages, their sessions, and the log of every change."""

from alembic import op

from migrations.row_level_security import let_owner, protect, publish_function

revision = "2026_11_22_1000"
down_revision = "2026_11_21_0950"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(USERS)
    op.execute("CREATE UNIQUE INDEX users_login_key ON users (lower(login))")
    op.execute("CREATE INDEX users_tenant_id_idx ON users (tenant_id)")
    op.execute(USER_SESSIONS)
    op.execute("CREATE INDEX user_sessions_user_id_idx ON user_sessions (user_id)")
    op.execute("CREATE INDEX user_sessions_expires_at_idx ON user_sessions (expires_at)")
    op.execute(AUDIT_LOG)
    op.execute("CREATE INDEX audit_log_tenant_id_id_idx ON audit_log (tenant_id, id)")
    protect("users", grants="SELECT, INSERT, UPDATE")
    protect("user_sessions")
    protect("audit_log", grants="SELECT, INSERT")  # what was written stays as it is
    let_owner("users", "SELECT")
    let_owner("user_sessions", "SELECT")
    op.execute(FIND_USER)
    publish_function("find_user(text)")
    op.execute(FIND_USER_SESSION)
    publish_function("find_user_session(bytea)")


def downgrade() -> None:
    op.execute("DROP FUNCTION find_user_session(bytea)")
    op.execute("DROP FUNCTION find_user(text)")
    for table in ("audit_log", "user_sessions", "users"):
        op.execute(f"DROP TABLE {table}")


USERS = """
    CREATE TABLE users (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        login text NOT NULL CHECK (login <> ''),
        password_hash text,
        must_change_password boolean NOT NULL DEFAULT false,
        roles text[] NOT NULL CHECK (roles <@ ARRAY['provider', 'analyst', 'operator']),
        failed_sign_ins integer NOT NULL DEFAULT 0,
        locked_until timestamptz,
        created_at timestamptz NOT NULL,
        last_sign_in_at timestamptz,
        disabled_at timestamptz
    )
"""

USER_SESSIONS = """
    CREATE TABLE user_sessions (
        secret_sha256 bytea PRIMARY KEY CHECK (length(secret_sha256) = 32),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
        created_at timestamptz NOT NULL,
        last_seen_at timestamptz NOT NULL,
        expires_at timestamptz NOT NULL
    )
"""

AUDIT_LOG = """
    CREATE TABLE audit_log (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        actor_kind text NOT NULL CHECK (actor_kind IN ('user', 'key', 'service')),
        actor_id uuid,
        action text NOT NULL CHECK (action <> ''),
        subject text NOT NULL,
        detail jsonb NOT NULL
    )
"""

# Whose tenant it is is not known before the login or the session is.
FIND_USER = """
    CREATE FUNCTION find_user(asked text) RETURNS TABLE (id uuid, tenant_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT id, tenant_id FROM users WHERE lower(login) = lower(asked) $$
"""

FIND_USER_SESSION = """
    CREATE FUNCTION find_user_session(secret bytea) RETURNS uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp
    AS $$ SELECT tenant_id FROM user_sessions WHERE secret_sha256 = secret $$
"""
