"""Users who sign in, their sessions, and the audit log."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, UUID

from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
    build_reference,
    build_tenant_column,
    own_id,
)

users = Table(
    "users",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_label("login"),
    build_label("password_hash", nullable=True),
    Column("must_change_password", Boolean, nullable=False, server_default=text("false")),
    Column("roles", ARRAY(Text), nullable=False),
    Column("failed_sign_ins", Integer, nullable=False, server_default=text("0")),
    build_instant("locked_until", nullable=True),
    build_instant("created_at"),
    build_instant("last_sign_in_at", nullable=True),
    build_instant("disabled_at", nullable=True),
    Index(None, "tenant_id"),
)
Index("users_login_key", func.lower(users.c.login), unique=True)

user_sessions = Table(
    "user_sessions",
    METADATA,
    Column("secret_sha256", LargeBinary, primary_key=True),
    build_tenant_column(),
    build_reference("user_id", "users"),
    build_instant("created_at"),
    build_instant("last_seen_at"),
    build_instant("expires_at"),
    Index(None, "user_id"),
    Index(None, "expires_at"),
)

sign_in_networks = Table(
    "sign_in_networks",
    METADATA,
    build_reference("user_id", "users", primary_key=True),
    Column("network", Text, primary_key=True),
    build_tenant_column(),
    Column("failures", BigInteger, nullable=False, server_default=text("0")),
    build_instant("locked_until", nullable=True),
    build_instant("signed_in_at", nullable=True),
)

user_identities = Table(
    "user_identities",
    METADATA,
    build_reference("user_id", "users", primary_key=True),
    build_tenant_column(),
    build_label("issuer"),
    build_label("subject"),
    UniqueConstraint("issuer", "subject"),
)

audit_log = Table(
    "audit_log",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    build_tenant_column(),
    Column("at", build_instant("at").type, nullable=False, server_default=text("clock_timestamp()")),
    build_label("actor_kind"),
    Column("actor_id", UUID(as_uuid=True)),
    build_label("action"),
    build_label("subject"),
    Column("detail", JSONB, nullable=False),
    Index(None, "tenant_id", "id"),
)
