"""Whether backups are being made: asked of the server, and of the folder."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from services.backup.errors import BackupFailed
from services.backup.folder import UNFINISHED, Backup
from services.persistence.backup_slot import read_backup_slot


def require_followed(url: str, log: Path) -> None:
    """Require that a program receives the server's log now, and writes it to this folder.

    Raises
    ------
    BackupFailed : nobody follows, some of the log is lost, or it goes elsewhere.
    Unavailable : the server does not answer.
    """
    slot = read_backup_slot(url)
    if slot is None:
        raise BackupFailed("nobody has started to follow the log")
    if slot.lost:
        raise BackupFailed("the server could not keep all of its log: start again, with another copy")
    if not slot.followed:
        raise BackupFailed("nobody follows the log now")
    if not any((log / name).exists() for name in (f"{slot.file}", f"{slot.file}{UNFINISHED}")):
        raise BackupFailed(f"the log is followed, but not to {log}, which has no {slot.file}")


def require_copied(backups: Sequence[Backup], *, within: timedelta, now: datetime) -> None:
    """Require a copy that is not older than ``within``; one from after ``now`` may be of any age.

    Raises
    ------
    BackupFailed : how old the newest one is.
    """
    ages = [now - each.ended_at for each in backups if each.ended_at <= now]
    if not ages:
        raise BackupFailed("there is no copy yet")
    if (age := min(ages)) > within:
        raise BackupFailed(f"the newest copy is {format_age(age)} old")


def format_age(age: timedelta) -> str:
    """Return an age such as 40 s, 12 min, 5 h or 3 days."""
    for unit, seconds in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if age.total_seconds() >= 2 * seconds:
            return f"{age.total_seconds() / seconds:.0f} {unit}"
    return f"{age.total_seconds():.0f} s"
