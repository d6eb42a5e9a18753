"""Restore a copy and the log after it, up to a moment, as a cluster that PostgreSQL starts from."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

from services.backup.errors import BackupFailed
from services.backup.files import report_os_errors
from services.backup.folder import UNFINISHED, Backup, BackupFolder
from services.backup.tools import read_control_data
from services.data_folder import POSTGRES
from services.embedded.account import hand_over
from services.embedded.errors import CannotStart
from services.embedded.postgres import EmbeddedPostgres

STAGED = "log_to_replay"
"""Inside the cluster, where the server's account can read it, in any container."""

CLOSED_MEANWHILE = {"hot_standby": "off"}
"""Otherwise it would report ready as soon as it can be read from, before the log is replayed."""

REPLAYED_WITH = {
    "max_connections": "max_connections",
    "max_worker_processes": "max_worker_processes",
    "max_wal_senders": "max_wal_senders",
    "max_prepared_xacts": "max_prepared_transactions",
    "max_locks_per_xact": "max_locks_per_transaction",
}
"""Labels of ``pg_controldata``, and the settings' names."""

RECOVERY_PATIENCE_S = 24 * 3600.0
STOPPED = "recovery stopping"
NOT_REACHED = "recovery ended before configured recovery target was reached"


def restore_cluster(folder: BackupFolder, backup: Backup, into: Path, *, until: datetime | None) -> None:
    """Make a cluster that replays the log when PostgreSQL of the same version starts on it, and then accepts everybody.

    Parameters
    ----------
    into : a folder that is empty or does not exist.
    until : the moment to stop at; None: the end of the log.
    """
    with report_os_errors(into), backup.read_from():
        _make_cluster(folder, backup, into, until)


def _make_cluster(folder: BackupFolder, backup: Backup, into: Path, until: datetime | None) -> None:
    _require_empty(into)
    shutil.copytree(backup.data, into, symlinks=True, dirs_exist_ok=True)
    into.chmod(0o700)
    staged = into / STAGED
    staged.mkdir()
    for name, file in folder.log_since(backup).items():
        _copy_log(file, staged / name)
    target = "" if until is None else until.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f+00")
    settings = {
        "restore_command": f'cp {STAGED}/%f "%p"',
        "recovery_end_command": f"rm -rf {STAGED}",
        "recovery_target_time": target,
        "recovery_target_action": "promote",
        **_at_least(into),
    }
    with (into / "postgresql.auto.conf").open("a", encoding="utf-8") as written:
        written.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
    (into / "recovery.signal").touch()


def _copy_log(file: Path, to: Path) -> None:
    """Copy one file of the log; the newest gets another name when it is full, which may be just now."""
    try:
        shutil.copyfile(file, to)
    except FileNotFoundError:
        if file.suffix != UNFINISHED:
            raise
        shutil.copyfile(file.with_suffix(""), to)


def _at_least(cluster: Path) -> dict[str, str]:
    """Return settings below which PostgreSQL refuses to replay, as the cluster's server had them."""
    reason = dict(line.split(":", 1) for line in read_control_data(cluster).splitlines() if ":" in line)
    return {name: reason[f"{label} setting"].strip() for label, name in REPLAYED_WITH.items()}


def restore_service(folder: BackupFolder, backup: Backup, into: Path, *, until: datetime | None) -> None:
    """Make a data folder of the complete service on one machine, and replay the log in it.

    Raises
    ------
    BackupFailed : the log does not reach ``until``, or the database does not start.
    """
    with report_os_errors(into):
        server = _make_service(folder, backup, into, until)
    try:
        _replay(server, until)
    except BackupFailed:
        for half_made in (server.folder, into):
            shutil.rmtree(half_made, ignore_errors=True)
        raise


def _make_service(folder: BackupFolder, backup: Backup, into: Path, until: datetime | None) -> EmbeddedPostgres:
    _require_empty(into)
    server = EmbeddedPostgres(into / POSTGRES, start_patience_s=RECOVERY_PATIENCE_S, settings=CLOSED_MEANWHILE)
    partial = server.folder / "data.partial"
    partial.mkdir(mode=0o700)  # the caller's until it is complete: the server's account can swap nothing in it
    restore_cluster(folder, backup, partial, until=until)
    if not server.account.is_caller:
        hand_over(partial, os.geteuid(), server.account)
    for file in (each for each in backup.files.rglob("*") if each.is_file()):
        attachments = file.relative_to(backup.files)
        home = server.folder / attachments.name if attachments.parts[0] == POSTGRES else into / attachments
        shutil.copy2(file, home)
    partial.rename(server.folder / "data")
    return server


def _require_empty(into: Path) -> None:
    if into.exists() and any(into.iterdir()):
        raise BackupFailed(f"{into} is not empty: what it holds would be lost")


def _replay(server: EmbeddedPostgres, until: datetime | None) -> None:
    """Start and stop the server: it answers once the log is replayed."""
    reason = ""
    try:
        with server:
            pass
    except CannotStart as error:
        reason = str(error)
        if NOT_REACHED not in reason:
            raise BackupFailed(reason) from None
    # Where nothing was left to replay, PostgreSQL does not report that it reached no moment.
    if NOT_REACHED in reason or (until is not None and STOPPED not in (server.folder / "log").read_text("utf-8")):
        raise BackupFailed("the log ends before that moment: leave --until out to have all of it")
