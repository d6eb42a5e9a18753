"""PostgreSQL's programs for backups, from the embedded server's wheel; each gets a URL without its password."""

import os
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from services.backup.errors import BackupFailed
from services.embedded.postgres import find_program
from services.persistence.repositories.stored_state import BACKUP_SLOT


def copy_cluster(url: str, into: Path) -> None:
    """Copy a running cluster, with the log that the copy needs to be complete."""
    _run(
        "pg_basebackup",
        *(f"--pgdata={into}", "--checkpoint=fast", "--wal-method=stream", "--manifest-checksums=SHA256"),
        url=url,
    )


def forget_log_before(segment: str, log: Path) -> None:
    """Remove segments of the log that no copy needs."""
    _run("pg_archivecleanup", str(log), segment)


def follow_log(url: str, into: Path) -> None:
    """Become the program that writes the server's log down as it comes, until it is stopped or loses the server.

    The supervisor restarts it, with the password of that time.

    Raises
    ------
    BackupFailed : the server does not allow it.
    """
    _run("pg_receivewal", f"--slot={BACKUP_SLOT}", "--create-slot", "--if-not-exists", url=url)
    program = find_program("pg_receivewal")
    options = [f"--directory={into}", f"--slot={BACKUP_SLOT}", "--synchronous", "--no-loop", *_place(url)]
    os.execve(program, [str(program), *options], _build_environment(url))  # noqa: S606 - signals then reach it directly


def read_control_data(cluster: Path) -> str:
    """Return the cluster's control data and settings, by lines ``label: value``."""
    return _run("pg_controldata", str(cluster))


def _run(name: str, *options: str, url: str | None = None) -> str:
    place = [] if url is None else _place(url)
    done = subprocess.run(
        [find_program(name), *options, *place],
        check=False,
        env={**os.environ, "LC_ALL": "C"} if url is None else _build_environment(url),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        reason = next((line for line in lines if "error:" in line or "FATAL" in line), "".join(lines[-1:]))
        raise BackupFailed(reason.removeprefix(f"{name}: ").removeprefix("error: ") or f"{name} failed")
    return done.stdout


def _place(url: str) -> list[str]:
    """Return options that name the server, without the password, which a list of processes would show."""
    parts = urlsplit(url)
    login, _, place = parts.netloc.rpartition("@")
    without = parts._replace(netloc=f"{login.partition(':')[0]}@{place}")
    return ["--no-password", f"--dbname={urlunsplit(without)}"]


def _build_environment(url: str) -> dict[str, str]:
    password = urlsplit(url).password
    return dict(os.environ) | ({} if password is None else {"PGPASSWORD": unquote(password)})
