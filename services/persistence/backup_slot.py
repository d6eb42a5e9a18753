"""How far the backup has received the database's log, as the server knows it."""

from dataclasses import dataclass

from sqlalchemy import text

from services.persistence.engine import create_unpooled_engine
from services.persistence.failures import translate_failures
from services.persistence.repositories.stored_state import BACKUP_SLOT

# The last byte that the receiver confirmed as written to disk lies in that file of the log.
_SLOT = text(
    "SELECT active AS followed, wal_status = 'lost' AS lost, pg_walfile_name(restart_lsn - 1) AS file"
    " FROM pg_replication_slots WHERE slot_name = :slot"
)


@dataclass(frozen=True, slots=True)
class BackupSlot:
    """The replication slot of the backup.

    Attributes
    ----------
    followed : a program receives the log now.
    lost : the server had to remove log that was not received.
    file : last file of the log that was received completely; ``None`` where some is lost.
    """

    followed: bool
    lost: bool
    file: str | None


def read_backup_slot(admin_url: str) -> BackupSlot | None:
    """Return the slot; ``None`` where nobody has started to follow the log.

    Raises
    ------
    Unavailable : the server does not answer.
    """
    with translate_failures(), create_unpooled_engine(admin_url).connect() as connection:
        row = connection.execute(_SLOT, {"slot": BACKUP_SLOT}).one_or_none()
    return None if row is None else BackupSlot(row.followed, row.lost, row.file)
