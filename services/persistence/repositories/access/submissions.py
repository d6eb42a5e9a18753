"""Requests that are done once: claimed before they are worked out, stored with their sealed answer for a day."""

from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or_skip

from services.application.shared.submissions import Submission
from services.persistence.tables import submissions

LIFETIME = timedelta(days=1)

MOST_OF_TENANT = 5_000
"""Newest submissions that are stored of a tenant; what is sent twice comes within minutes."""


class Submissions:
    """Submissions of one tenant."""

    def __init__(self, connection: Connection, tenant_id: UUID) -> None:
        self._connection = connection
        self._tenant_id = tenant_id

    def claim(self, digest: bytes, content_sha256: bytes, at: datetime) -> Submission | None:
        """Claim a request; return ``None`` if the caller has to work it out, else what is known of the first one."""
        self._connection.execute(delete(submissions).where(submissions.c.at < at - LIFETIME))
        surplus = select(submissions.c.digest).order_by(submissions.c.at.desc()).offset(MOST_OF_TENANT - 1)
        self._connection.execute(delete(submissions).where(submissions.c.digest.in_(surplus)))
        claimed = self._connection.execute(
            insert_or_skip(submissions)
            .values(tenant_id=self._tenant_id, digest=digest, content_sha256=content_sha256, at=at)
            .on_conflict_do_nothing()
            .returning(submissions.c.digest)
        )
        return None if claimed.one_or_none() is not None else self.find(digest)

    def find(self, digest: bytes) -> Submission | None:
        """Return what is known of a request; ``None`` once its claim was given up."""
        row = self._connection.execute(select(submissions).where(submissions.c.digest == digest)).one_or_none()
        return None if row is None else Submission(row.content_sha256, row.at, row.answer)

    def store_response(self, digest: bytes, answer: str) -> None:
        """Store the sealed answer for clients that send the request again."""
        self._connection.execute(update(submissions).where(submissions.c.digest == digest).values(answer=answer))

    def release_claim(self, digest: bytes) -> None:
        """Let the request be worked out again, because it was refused."""
        self._connection.execute(delete(submissions).where(submissions.c.digest == digest))
