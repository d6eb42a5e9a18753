"""The life of an embedded server that several processes may use at once: started by the first, stopped after the last.

In the server's folder, `start.lock` is held while somebody decides (start, stop, or the keeper giving up),
`users.lock` is held shared by every user, and `keeper.lock` by the keeper for as long as it lives. The kernel releases
them all for a process that is killed.
"""

import abc
import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, Self

from services.embedded import keeper
from services.embedded.account import Account, find_server_account, make_reachable_folder, open_private
from services.embedded.errors import CannotStart

POLL_S = 0.02
LOG_LIMIT_BYTES = 1_000_000
LOG_TAIL_LINES = 8
LOOPBACK = "127.0.0.1"


class EmbeddedServer(abc.ABC):
    """A server as a child process; use it as a context manager, or call `start` and `stop`.

    Parameters
    ----------
    folder : where data and state live between runs. As root, one that the servers' account cannot
        reach is replaced.
    start_patience_s : how long a start may take; recovery after a crash is part of it.
    """

    name: ClassVar[str]
    instead: ClassVar[str]  # the environment variable that replaces the embedded server
    stop_steps: ClassVar[Sequence[tuple[str, float]]]  # signals, each with the seconds to wait for its effect
    passing_failures: ClassVar[Sequence[str]] = ()  # log lines of a failed start that is worth another try
    yielding_titles: ClassVar[Sequence[str]] = ()  # of the server's processes that leave the processors to others
    memory_bytes: int | None = None  # of each of the server's processes, shared memory apart; None: without limit

    def __init__(self, folder: Path, *, start_patience_s: float = 300.0) -> None:
        self._account = find_server_account(os.geteuid())
        self._folder = make_reachable_folder(folder, self._account)
        self._start_patience_s = start_patience_s
        self._users: IO[str] | None = None
        self._keeper_pid: int | None = None
        self._log_offset = 0
        self._temporary_folders: set[Path] = set()

    @classmethod
    def temporary(cls, **options: Any) -> Self:
        """Return a server, made with these options, on an empty folder that is removed when the context ends."""
        folder = Path(tempfile.mkdtemp(prefix="tradewind-")).resolve()
        server = cls(folder, **options)
        server._temporary_folders = {folder, server.folder}
        return server

    @property
    def folder(self) -> Path:
        """Where the server's files really are."""
        return self._folder

    @property
    def account(self) -> Account:
        """The account that the server runs as."""
        return self._account

    @abc.abstractmethod
    def _prepare(self) -> Sequence[str]:
        """Make what the server needs on disk; return its command."""

    @abc.abstractmethod
    def _is_ready(self) -> bool:
        """Return whether a server on this folder answers."""

    @abc.abstractmethod
    def _tidy_up(self) -> None:
        """Remove what a stopped server leaves outside its folder."""

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self._remove_temporary_folders()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._remove_temporary_folders()

    def start(self) -> Self:
        """Use the server that runs on this folder, or start it; return when it answers.

        Raises
        ------
        CannotStart : with the end of the server's log.
        """
        with self._hold_gate():
            users = open_private(self._folder / "users.lock", "a")
            fcntl.flock(users, fcntl.LOCK_SH)
            try:
                self._bring_up()
            except BaseException:
                users.close()  # the keeper, if there is one, then finds the server unused
                raise
            self._users = users
        return self

    def is_running(self) -> bool:
        """Return whether a server runs on this folder, or is being started or stopped."""
        return self._find_living_keeper() is not None

    def revive(self) -> bool:
        """Restart the server if it has ended under its users, such as for want of memory; return whether it had.

        Raises
        ------
        CannotStart : with the end of the server's log.
        """
        if self.is_running():
            return False
        with self._hold_gate():
            self._bring_up()
        return True

    def stop(self) -> None:
        """Leave the server; the last user stops it and returns when its processes are gone."""
        if self._users is None:
            return
        with self._hold_gate(), contextlib.closing(self._users):
            is_last = _try_lock(self._users)
            if is_last and (keeper_pid := self._find_living_keeper()) is not None:
                os.kill(keeper_pid, signal.SIGTERM)
                with open_private(self._folder / "keeper.lock", "a") as alive:
                    fcntl.flock(alive, fcntl.LOCK_SH)
        self._users = None
        if is_last:
            self._reap_keeper(0)
            self._tidy_up()

    def _remove_temporary_folders(self) -> None:
        for folder in self._temporary_folders:
            shutil.rmtree(folder)

    def _bring_up(self) -> None:
        deadline = time.monotonic() + self._start_patience_s
        started = False
        while not (self._find_living_keeper() is not None and self._is_ready()):
            if time.monotonic() > deadline:
                raise CannotStart(
                    f"{self.name} did not answer within {self._start_patience_s:.0f} s: {self._log_tail()}"
                )
            if self._is_keeper_gone():
                if started and not any(text in self._log_tail() for text in self.passing_failures):
                    raise CannotStart(
                        f"{self.name} does not start in {self._folder}: {self._log_tail()} "
                        f"(set {self.instead} to use a server of your own)"
                    )
                self._start_keeper()
                started = True
            time.sleep(POLL_S)

    def _is_keeper_gone(self) -> bool:
        """Return whether a keeper has to be started; one that was started a moment ago may not hold its lock yet."""
        if self._keeper_pid is not None:
            return self._reap_keeper(os.WNOHANG)
        return self._find_living_keeper() is None

    def _start_keeper(self) -> None:
        command = self._prepare()
        order = {
            "folder": str(self._folder),
            "command": command,
            "environment": build_environment(),
            "identity": self._account.build_identity(),
            "stop_steps": self.stop_steps,
            "memory_bytes": self.memory_bytes,
            "yielding_titles": self.yielding_titles,
        }
        log = self._folder / "log"
        if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
            log.replace(log.with_suffix(".1"))
        self._log_offset = log.stat().st_size if log.exists() else 0
        # posix_spawn, not Popen: the keeper may outlive this object when others still use the server.
        self._keeper_pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", str(keeper.__file__), json.dumps(order)],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )

    def _find_living_keeper(self) -> int | None:
        """Return the keeper's process id while it holds its lock, else None."""
        with open_private(self._folder / "keeper.lock", "a+") as alive:
            if _try_lock(alive):
                return None
            alive.seek(0)
            text = alive.read()
        return int(text) if text else None

    def _reap_keeper(self, options: int) -> bool:
        """Return whether the keeper that this object started, if any, has ended; `options` as of `os.waitpid`."""
        if self._keeper_pid is None:
            return True
        try:
            ended, _ = os.waitpid(self._keeper_pid, options)
        except ChildProcessError:  # the caller reaps all children of this process
            ended = self._keeper_pid
        if ended:
            self._keeper_pid = None
        return bool(ended)

    @contextlib.contextmanager
    def _hold_gate(self) -> Iterator[None]:
        with open_private(self._folder / "start.lock", "a") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            yield

    def _log_tail(self) -> str:
        with (self._folder / "log").open("rb") as log:
            log.seek(self._log_offset)
            lines = log.read().decode("utf-8", "replace").splitlines()
        return " / ".join(line.strip() for line in lines[-LOG_TAIL_LINES:])


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def build_environment() -> Mapping[str, str]:
    """Return the environment of a server: nothing of the caller's, whose PGPORT or LC_ALL would change it."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def find_free_port(preferred: int | None) -> int:
    """Return a port that is free on the loopback: the preferred one if it is, else any."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                if port is not None:
                    probe.bind((LOOPBACK, port))
                    return int(probe.getsockname()[1])
    raise CannotStart("no free port on the loopback")


def read_or_create_secret(path: Path) -> str:
    """Return the secret in a file that only its owner reads, created on first use."""
    if not path.exists():
        partial = path.with_suffix(".partial")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(secrets.token_urlsafe(24))
        partial.replace(path)
    return path.read_text(encoding="utf-8")
