"""Install FLD_TCP in this kernel for as long as any benchmark of this machine uses it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tradewind_agent.transport import installation
from tradewind_agent.transport.parameters import Parameters

USERS = Path("/run/tradewind-transport-users.lock")
"""Lock held by all users of FLD_TCP; the file names the installation that they have to remove, if any.

A killed user leaves the removal to the next one; an installation made by hand since has another name.
"""


@contextmanager
def install_fld_tcp() -> Iterator[None]:
    """Install FLD_TCP with the paper's parameters; the last user leaves the kernel as the first found it."""
    with USERS.open("a+", encoding="ascii") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        if installation.install(Parameters()).steps:
            users.truncate(0)
            users.write(read_installation_id())
            users.flush()
        try:
            yield
        finally:
            _release(users)


def _release(users: IO[str]) -> None:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # others still use it
    users.seek(0)
    if users.read() == read_installation_id():
        installation.remove()
    users.truncate(0)


def read_installation_id() -> str:
    """Return the identity of the current installation, which no other one has."""
    try:
        status = installation.PIN_FOLDER.stat()
    except FileNotFoundError:
        return "none"
    return f"{status.st_ino} {status.st_ctime_ns}"
