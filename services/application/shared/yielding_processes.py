"""Processes next to an answering one, which compute what would hold up its answers.

A thread shares the interpreter with the event loop: one call that reads a document of 20 MB keeps it for tenths of a
second, and a thread of low priority keeps it for as long as it waits for a processor. Another process does neither.

They are started by name, and not forked: a fork of a process with threads inherits what these have locked. A process
of `multiprocessing` would run the main module of whoever starts it once more.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import nullcontext, suppress
from multiprocessing.connection import Connection, Pipe
from multiprocessing.reduction import recv_handle, send_handle
from typing import IO, Any, TypeVar, cast

from tradewind.errors import Unavailable

Result = TypeVar("Result")

NICENESS = 5
"""Whoever answers gets the processors first; workers, which fit for minutes at 10, do not hold up a sign-in."""


class YieldingProcesses:
    """Run functions in processes of their own, which start when they are first needed and end with this one.

    Functions are found by their import path, and imported without the rest of the service: their modules should need
    little. Arguments, results and errors are pickled.

    Parameters
    ----------
    at_once : functions that run at a time; others wait.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._free = threading.Semaphore(at_once)
        self._idle: list[_Process] = []
        self._is_closed = False

    def run(self, function: Callable[..., Result], *arguments: object, file: IO[bytes] | None = None) -> Result:
        """Wait for what the function returns, or raise its error.

        Parameters
        ----------
        file : is passed open as the first argument, at its present position, which both processes share.

        Raises
        ------
        Unavailable : the process was killed, or has no memory left; the next call starts another.
        """
        with self._free:
            process = self._take_idle() or _Process()
            try:
                result, error = process.call(function, arguments, file)
            except (EOFError, OSError):
                process.end()
                raise Unavailable("the process that was computing this has ended; send it again") from None
            except BaseException:  # what cannot be sent, or an interrupt: the process may wait for the rest
                process.end()
                raise
            self._idle.append(process)
            if self._is_closed:
                self.close()
        if error is not None:
            raise error
        return cast("Result", result)

    def _take_idle(self) -> "_Process | None":
        """Return an idle process that still runs."""
        while True:
            try:
                process = self._idle.pop()
            except IndexError:
                return None
            if process.is_running:
                return process
            process.end()

    async def compute(self, function: Callable[..., Result], *arguments: object) -> Result:
        """Await what `run` returns."""
        return await asyncio.to_thread(self.run, function, *arguments)

    def close(self) -> None:
        """End the processes that compute nothing, and each other one when it has finished."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().end()

    def __del__(self) -> None:
        self.close()


class _Process:
    def __init__(self) -> None:
        self._connection, other = Pipe()
        command = [sys.executable, "-P", "-m", __name__, str(other.fileno())]
        with other:
            self._started = subprocess.Popen(command, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL)

    def call(
        self, function: Callable[..., object], arguments: tuple[object, ...], file: IO[bytes] | None
    ) -> tuple[object, Exception | None]:
        self._connection.send((function, arguments, file is not None))
        if file is not None:
            file.flush()
            send_handle(self._connection, file.fileno(), self._started.pid)
        answer: tuple[object, Exception | None] = self._connection.recv()
        return answer

    @property
    def is_running(self) -> bool:
        return self._started.poll() is None

    def end(self) -> None:
        self._connection.close()
        self._started.kill()
        self._started.wait()


def _serve(connection: Connection) -> None:
    """Compute what is sent, until the other end is closed, be it because its process was killed."""
    while True:
        try:
            function, arguments, has_file = connection.recv()
        except EOFError:
            return
        answer: tuple[Any, Exception | None]
        try:
            with _receive_file(connection) if has_file else nullcontext() as file:
                answer = function(*(() if file is None else (file,)), *arguments), None
        except Exception as error:  # noqa: BLE001 -- the caller raises it
            error.add_note(traceback.format_exc())
            answer = None, error
        connection.send(answer)


def _receive_file(connection: Connection) -> IO[bytes]:
    return os.fdopen(recv_handle(connection), "rb")


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):  # which may reach all processes of a terminal, or of a unit
        signal.signal(each, signal.SIG_IGN)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(os.getpriority(os.PRIO_PROCESS, 0), NICENESS))
    with suppress(BrokenPipeError, ConnectionResetError):
        _serve(Connection(int(sys.argv[1])))
