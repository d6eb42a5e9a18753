"""FLD_TCP in this kernel for as long as any benchmark of this machine uses it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tradewind_agent.transport import installation
from tradewind_agent.transport.parameters import Parameters

USERS = Path("/run/tradewind-transport-users.lock")
"""Held by all who use it; it names the one that they have to remove, if any: who was killed leaves it to the next, and
one that was installed by hand since is another."""


@contextmanager
def fld_tcp_installed() -> Iterator[None]:
    """FLD_TCP with the paper's parameters; the last who needs it leaves the kernel as the first found it."""
    with USERS.open("a+", encoding="ascii") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        if installation.install(Parameters()).steps:
            users.truncate(0)
            users.write(name())
            users.flush()
        try:
            yield
        finally:
            _leave(users)


def _leave(users: IO[str]) -> None:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return  # others use it yet
    users.seek(0)
    if users.read() == name():
        installation.remove()
    users.truncate(0)


def name() -> str:
    """Of the one that is installed, which no other has."""
    try:
        status = installation.PIN_FOLDER.stat()
    except FileNotFoundError:
        return "none"
    return f"{status.st_ino} {status.st_ctime_ns}"
