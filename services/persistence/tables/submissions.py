"""Forms and requests that carry a token of their own, each done once."""

from sqlalchemy import Column, Index, LargeBinary, Table

from services.persistence.tables.metadata import METADATA, build_instant, build_label, build_tenant_column

# Only the sender of the request can derive the key that seals the answer; absent while it is worked out.
submissions = Table(
    "submissions",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("digest", LargeBinary, primary_key=True),
    Column("content_sha256", LargeBinary, nullable=False),
    build_instant("at"),
    build_label("answer", nullable=True),
    Index(None, "tenant_id", "at"),
)
