"""Backups of the database, and the way back.

    python -m services.backup follow FOLDER             writes the log down, until stopped or without a server
    python -m services.backup make FOLDER [--keep N]    a full backup, verified; the N - 1 newest others stay
    python -m services.backup nightly FOLDER [--at 01:00] [--keep N]    one each day, the first at once, until stopped
    python -m services.backup health FOLDER [--copied-within HOURS]     0 if the log is followed now; or copies are made
    python -m services.backup list FOLDER
    python -m services.backup verify FOLDER [--name N]  every file by its checksum, and the log since without a gap
    python -m services.backup restore FOLDER --into DATA [--until TIME] [--name N] [--cluster]

Of the server that TRADEWIND_ADMIN_DATABASE_URL names, whose role may replicate; without it, of the embedded one in
TRADEWIND_DATA. What is restored goes to a folder of its own: nothing that runs is touched.
"""

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from pathlib import Path

from services.backup.errors import BackupFailed
from services.backup.folder import Backup, BackupFolder
from services.backup.health import format_age, require_copied, require_followed
from services.backup.nightly import copy_nightly
from services.backup.restore import restore_cluster, restore_service
from services.data_folder import ADMIN_PASSWORD, AGENT_KEY, POSTGRES
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.database_copies import record_copy
from services.settings import Settings
from tradewind.errors import InvalidValue, TradewindError


def main(arguments: Sequence[str]) -> int:
    """Run one command on backups; return 0, 1 if it failed, 2 for wrong usage or settings."""
    options = build_parser().parse_args(arguments)
    try:
        _COMMANDS[options.command](BackupFolder(options.folder), options)
    except InvalidValue as error:
        return _fail(error, 2)
    except TradewindError as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        return 130
    return 0


def _follow(folder: BackupFolder, _: argparse.Namespace) -> None:
    with _open_server() as (url, _attachments):
        pass  # the server is used, not kept up: the log is complete when it stops
    folder.follow(url)


def _make(folder: BackupFolder, options: argparse.Namespace) -> None:
    started_at = time.monotonic()
    with _open_server() as (url, attachments):
        made = folder.make(url, attachments=attachments)
        _record_copy(url, made)
    _say(f"{made.name}: {made.bytes / 1e6:.0f} MB in {time.monotonic() - started_at:.1f} s, verified")
    if options.keep is not None:
        try:
            for removed in folder.keep(options.keep):
                _say(f"{removed.name}: removed")
        except BackupFailed as error:
            raise BackupFailed(f"{made.name} is there, but older ones were not removed: {error}") from None
    _report_damage(folder)


def _copy_nightly(folder: BackupFolder, options: argparse.Namespace) -> None:
    copy_nightly(
        options.at,
        backups=folder.list_backups,
        make=lambda: _make(folder, options),
        failed=lambda error: _say(f"backup: {error}; it is tried again in an hour"),
    )


def _check_health(folder: BackupFolder, options: argparse.Namespace) -> None:
    if options.copied_within is not None:
        require_copied(folder.list_backups(), within=timedelta(hours=options.copied_within), now=datetime.now(UTC))
        return
    with _open_server() as (url, _attachments):
        require_followed(url, folder.log)


def _list(folder: BackupFolder, _: argparse.Namespace) -> None:
    _report_damage(folder)
    for each in folder.list_backups():
        _say(f"{each.name}  {each.bytes / 1e6:8.0f} MB  to any moment after {each.ended_at.isoformat()}")


def _record_copy(url: str, made: Backup) -> None:
    """Record a copy in the database; the copy is valid in any case."""
    try:
        record_copy(url, ended_at=made.ended_at, size_bytes=made.bytes)
    except TradewindError as error:
        sys.stderr.write(f"backup: {made.name} is there, but the database does not know of it: {error}\n")


def _report_damage(folder: BackupFolder) -> None:
    """Report damaged copies, which are skipped; they stay where they are, and so does the log."""
    for damage in folder.list_damaged():
        sys.stderr.write(f"backup: {damage}: passed over\n")


def _verify(folder: BackupFolder, options: argparse.Namespace) -> None:
    _report_damage(folder)
    backup = folder.find(options.name)
    _say(f"{backup.name}: whole, with {folder.verify(backup)} files of the log since")
    now, followed_at = datetime.now(UTC), folder.find_followed_at()
    log = (
        "there is no log" if followed_at is None else f"the log was last written to {format_age(now - followed_at)} ago"
    )
    _say(f"the newest copy is {format_age(now - folder.find(None).ended_at)} old; {log}")


def _restore(folder: BackupFolder, options: argparse.Namespace) -> None:
    started_at = time.monotonic()
    _report_damage(folder)
    backup = folder.find(options.name, until=options.until)
    restore = restore_cluster if options.cluster else restore_service
    restore(folder, backup, options.into.absolute(), until=options.until)
    then = "start PostgreSQL of its version on it" if options.cluster else f"TRADEWIND_DATA={options.into} ./run serve"
    _say(f"{backup.name} restored to {options.into} in {time.monotonic() - started_at:.1f} s; {then}")


_COMMANDS = {
    "follow": _follow,
    "make": _make,
    "nightly": _copy_nightly,
    "health": _check_health,
    "list": _list,
    "verify": _verify,
    "restore": _restore,
}

_PURPOSES = {
    "follow": "copy the log as it is written, until stopped or without a server",
    "make": "make a full backup and verify it",
    "nightly": "make one each day, the first at once, until stopped",
    "health": "end with 0 if the log is followed now, or if copies are made",
    "list": "list the backups",
    "verify": "check every file of a backup by its checksum, and that the log since has no gap",
    "restore": "restore a backup into a new folder; nothing that runs is touched",
}


@contextmanager
def _open_server() -> Iterator[tuple[str, Mapping[str, Path]]]:
    """Yield the URL of the server that is backed up, and files to store with it."""
    settings = Settings.from_environment(os.environ, data_folder=Path("var"))
    if settings.admin_database_url is not None:
        yield settings.admin_database_url, {}
        return
    if settings.database_url is not None:
        raise InvalidValue("TRADEWIND_ADMIN_DATABASE_URL", "must be set: DATABASE_URL's role may not replicate")
    if not (settings.data_folder / POSTGRES).exists():
        raise InvalidValue("TRADEWIND_DATA", f"no service has kept its data in {settings.data_folder}")
    with EmbeddedPostgres(settings.data_folder / POSTGRES, tcp=True) as server:
        found = {name: settings.data_folder / name for name in (AGENT_KEY, ADMIN_PASSWORD)}
        found[f"{POSTGRES}/password"] = server.folder / "password"
        yield server.url(), {name: path for name, path in found.items() if path.exists()}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m services.backup", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in _COMMANDS:
        command = commands.add_parser(name, help=_PURPOSES[name])
        command.add_argument("folder", type=Path, metavar="FOLDER", help="where backups are kept")
    for name in ("make", "nightly"):
        commands.choices[name].add_argument("--keep", type=_count, help="so many copies; older ones and their log go")
    nightly = commands.choices["nightly"]
    nightly.add_argument("--at", type=_time_of_day, default="01:00", metavar="HH:MM", help="by UTC; without, 01:00")
    within = "instead of the log: whether a copy is not older"
    commands.choices["health"].add_argument("--copied-within", type=_count, metavar="HOURS", help=within)
    for name in ("verify", "restore"):
        commands.choices[name].add_argument("--name", help="of one copy; without, the newest that fits")
    restore = commands.choices["restore"]
    restore.add_argument("--into", type=Path, required=True, help="a new folder")
    restore.add_argument(
        "--until", type=_parse_moment, help="as 2026-11-22T18:30:00Z; without, all that was written down"
    )
    restore.add_argument("--cluster", action="store_true", help="a cluster for a PostgreSQL of your own, not started")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("must be a number from 1")
    return int(text)


def _time_of_day(text: str) -> time_of_day:
    try:
        return datetime.strptime(text, "%H:%M").time()  # noqa: DTZ007 - of each day
    except ValueError:
        raise argparse.ArgumentTypeError("must be a time of day such as 01:00") from None


def _parse_moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a time such as 2026-11-22T18:30:00Z") from None
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError("must say its zone, such as Z for UTC")
    return moment


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _fail(error: TradewindError, code: int) -> int:
    sys.stderr.write(f"backup: {error}\n")
    return code


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # an interrupted copy leaves nothing
    sys.exit(main(sys.argv[1:]))
