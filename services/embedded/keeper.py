"""A small process between an embedded server and its users: it stops the server when nobody uses it any more.

Started by path, with the standard library alone, so that it takes 20 ms and 10 MB. Users hold a shared lock on
`users.lock`, which the kernel releases even for a user that is killed outright; the keeper stops the server in the
orderly way once it can take that lock alone. A watching process rather than PR_SET_PDEATHSIG in the users' children:
that signal follows the thread that started the child, not its process, knows no second user, and exists on Linux only.
Should the keeper itself be killed, the kernel ends the server with it (Linux): the keeper has one thread.
"""

import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

POLL_S = 0.2
PR_SET_PDEATHSIG = 1
YIELDING_NICENESS = 10
LOOKS_AT_NEW = 5
"""Of so many looks at the sessions one is at all of them, the others at new ones: some 30 µs each."""
PARALLEL_WORKER = "postgres: parallel worker for PID "


def main() -> int:
    """Keep the server that the JSON in the first argument describes; return its exit code."""
    os.umask(0o077)  # whoever may open a lock may hold it, and so keep the server from its users
    order: dict[str, Any] = json.loads(sys.argv[1])
    folder = Path(order["folder"])
    alive = (folder / "keeper.lock").open("w", encoding="utf-8")
    fcntl.flock(alive, fcntl.LOCK_EX)
    alive.write(str(os.getpid()))
    alive.flush()
    wake = wake_on_signals()
    process = _start(order)
    with (folder / "start.lock").open("a") as gate, (folder / "users.lock").open("a") as users:
        yielding = YieldingSessions(process.pid, order["yielding_titles"])
        while process.poll() is None:
            yielding.look()
            if signal.SIGTERM in receive_signals(wake, POLL_S) or _is_unused(gate, users):
                _stop(process, order["stop_steps"])
    return process.returncode


def _start(order: dict[str, Any]) -> subprocess.Popen[bytes]:
    keeper = os.getpid()
    first_signal = signal.Signals[order["stop_steps"][0][0]]

    def prepare_server() -> None:
        end_with_parent(keeper, first_signal)
        limit_memory(order["memory_bytes"])

    return subprocess.Popen(
        order["command"],
        cwd="/",
        env=order["environment"],
        stdin=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C in a terminal is for the users to handle
        preexec_fn=prepare_server,  # noqa: PLW1509 - this process has one thread
        **order["identity"],
    )


class YieldingSessions:
    """Processes of a server that are to leave the processors to others, known by their titles (Linux).

    PostgreSQL has a process for each session, and names its login in the title. However many statements analysts run,
    whoever answers agents then gets the processors first.
    """

    def __init__(self, server: int, titles: Sequence[str]) -> None:
        self._children = Path(f"/proc/{server}/task/{server}/children")
        self._titles = tuple(titles)
        self._known: dict[str, bool] = {}
        self._looks = 0

    def look(self) -> None:
        """Give processes that have started since the last look their niceness, and their parallel workers too.

        All are looked at again now and then: a session has no title before its client has named itself, which it may
        put off, and another process may have got the number of one that ended.
        """
        if not self._titles:
            return
        try:
            children = self._children.read_text(encoding="ascii").split()
        except OSError:
            return
        self._known = {child: self._known[child] for child in children if child in self._known}
        self._looks += 1
        for child in children:
            if child not in self._known or self._looks % LOOKS_AT_NEW == 0:
                self._known[child] = self._is_yielding(child) and _yield_processors(int(child))

    def _is_yielding(self, child: str) -> bool:
        try:
            title = Path(f"/proc/{child}/cmdline").read_bytes().decode("utf-8", "replace")
        except OSError:
            return False
        if title.startswith(PARALLEL_WORKER):
            return self._known.get(title.removeprefix(PARALLEL_WORKER).split("\0", 1)[0].strip(), False)
        return title.startswith(self._titles)


def _yield_processors(process_id: int) -> bool:
    """Give a process its niceness; with sessions in groups of their own, it counts for the group."""
    try:
        os.setpriority(os.PRIO_PROCESS, process_id, YIELDING_NICENESS)
        Path(f"/proc/{process_id}/autogroup").write_text(str(YIELDING_NICENESS), encoding="ascii")
    except OSError:  # it has ended, or there are no such groups
        pass
    return True


def end_with_parent(parent: int, number: signal.Signals) -> None:
    """Let the kernel send a signal to this process when its parent has ended (Linux); called between fork and exec.

    Only for parents whose starting thread lives as long as they do: the signal comes when that thread ends.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number))
        if os.getppid() != parent:
            os._exit(1)


def limit_memory(memory_bytes: int | None) -> None:
    """Limit the memory of its own that this process, and each that it starts, may take (Linux).

    RLIMIT_DATA rather than RLIMIT_AS: shared memory and libraries do not count. A request beyond it fails, which
    PostgreSQL reports as an error of the statement. The kernel, once it is out of memory, would kill a process, and
    PostgreSQL then ends all sessions.
    """
    if memory_bytes is not None and sys.platform == "linux":
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        if most != resource.RLIM_INFINITY:
            memory_bytes = min(memory_bytes, most)
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, most))


def wake_on_signals() -> int:
    """Return a descriptor that becomes readable, with the number of the signal, when one arrives."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return readable


def receive_signals(wake: int, patience_s: float) -> bytes:
    """Return the numbers of the signals that arrived, waiting for one for a while."""
    readable, _, _ = select.select([wake], [], [], patience_s)
    return os.read(wake, 64) if readable else b""


def _is_unused(gate: TextIO, users: TextIO) -> bool:
    """Return whether nobody uses or starts the server; the locks then stay taken, so that nobody begins to."""
    try:
        fcntl.flock(gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        fcntl.flock(gate, fcntl.LOCK_UN)
        return False
    return True


def _stop(process: subprocess.Popen[bytes], steps: Sequence[tuple[str, float]]) -> None:
    """Stop the server, with stronger signals step by step."""
    for name, patience_s in steps:
        process.send_signal(signal.Signals[name])
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            continue
        return
    process.kill()
    process.wait()


if __name__ == "__main__":
    sys.exit(main())
