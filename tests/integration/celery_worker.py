"""A Celery worker as it is deployed, in processes of its own that tests may kill."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from services.queue.dispatcher import create_job_publisher
from tests.conditions import eventually, stretched
from tests.endings import Program

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Worker:
    """A running worker; its output goes to ``log``."""

    process: subprocess.Popen[bytes]
    log: Path

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    def kill_children(self) -> None:
        """End the processes that do the tasks, as the kernel does when memory is short."""
        for child in self.children():
            child.kill()
            child.wait()

    def kill_all(self) -> None:
        """End everything at once, as when the machine is lost."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def outcomes(self, event: str) -> list[dict[str, Any]]:
        """Log lines of one event."""
        lines = (json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{"))
        return [line for line in lines if line["event"] == event]

    def finished(self, task: str) -> int:
        """How many tasks of that name were done."""
        return sum(line["task"] == task for line in self.outcomes("task.done"))

    def lose_broker(self) -> None:
        """Return when it has tried in vain to connect again; where it hangs instead, fail with its stacks."""
        try:
            eventually(lambda: self._says("Trying again"))
        except AssertionError:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGUSR1)  # Celery prints the stacks of all threads
                eventually(lambda: self._says("MainThread"))
            raise AssertionError(self.log.read_text()) from None

    def _says(self, text: str) -> bool:
        return self.process.poll() is not None or text in self.log.read_text()


@contextmanager
def worker(environment: dict[str, str], folder: Path, *options: str, waiting: bool = False) -> Iterator[Worker]:
    """A worker that takes jobs already, unless it has to wait for its database; nothing of it is left afterwards.

    Parameters
    ----------
    environment : DATABASE_URL, REDIS_URL and settings.
    options : of ``celery worker``.
    """
    log = folder / "worker.log"
    command = [sys.executable, "-P", "-m", "celery", "-A", "workers.app", "worker", *options]
    with log.open("ab") as output:
        process = Program(
            command,
            env=os.environ | environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        if not waiting:
            wait_until_ready(process, environment["REDIS_URL"], log)
        yield Worker(process, log)
        process.terminate()
        process.wait(stretched(PATIENCE_S))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until_ready(process: subprocess.Popen[bytes], redis_url: str, log: Path) -> None:
    """Return when the worker answers over the broker."""
    celery = create_job_publisher(redis_url)
    try:
        deadline = time.monotonic() + stretched(PATIENCE_S)
        # A connection of its own: one that is kept from before may be of a broker that was stopped since.
        with celery.connection_for_write() as connection:
            while not celery.control.ping(timeout=0.5, limit=1, connection=connection):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
    finally:
        celery.close()
