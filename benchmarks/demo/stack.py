"""What the demo runs on: the whole service, an origin, and an emulated path between origin and agent."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.support.report import ROOT
from tradewind.errors import TradewindError

PYTHON = (sys.executable, "-P", "-m")
STOP_PATIENCE_S = 30.0
LOG_TAIL_LINES = 5


class DidNotStart(TradewindError):
    """A process of the demo ended before it said that it was ready."""


@dataclass(frozen=True)
class Started:
    """A process whose output is read line by line; what it says on the error stream is in ``log``."""

    process: subprocess.Popen[str]
    log: Path

    def line_matching(self, pattern: str) -> re.Match[str]:
        """The first line of its output from here on that matches.

        Raises
        ------
        DidNotStart : the output ended without one.
        """
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if (match := re.search(pattern, line)) is not None:
                return match
        tail = self.log.read_text().splitlines()[-LOG_TAIL_LINES:]
        raise DidNotStart(f"{self.log.stem} did not start: {' | '.join(tail) or 'it said nothing'}")


@contextmanager
def started(name: str, command: Sequence[str], *, logs: Path, environment: Mapping[str, str]) -> Iterator[Started]:
    """Run a process and stop it at the end."""
    log = logs / f"{name}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT, env={**os.environ, **environment}
        )
    try:
        yield Started(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@contextmanager
def service(folder: Path, logs: Path) -> Iterator[tuple[str, str]]:
    """``./run serve`` on a data folder of its own; its address and an agent key."""
    environment = {
        "TRADEWIND_DATA": str(folder),
        "TRADEWIND_PORT": str(free_port()),
        "TRADEWIND_REFRESH_INTERVAL_S": "0",
        "PYTHONUNBUFFERED": "1",
    }
    with started("service", (*PYTHON, "services.serve"), logs=logs, environment=environment) as process:
        address = process.line_matching(r"API.*?(http://\S+)")[1]
        yield address, process.line_matching(r"agent key: (\S+)")[1]


@contextmanager
def origin(folder: Path, logs: Path) -> Iterator[int]:
    """``tradewind serve-files`` on a folder; its port."""
    command = (*PYTHON, "tradewind_agent", "serve-files", str(folder), "--port", "0", "--json")
    with started("origin", command, logs=logs, environment={"PYTHONUNBUFFERED": "1"}) as process:
        yield int(process.line_matching(r'"port": ?(\d+)')[1])


@dataclass(frozen=True)
class PathOptions:
    """What an emulated path is like, as its program is told."""

    rate: str
    rtt: str
    loss: str

    def arguments(self, seed: int, then: "PathOptions | None" = None) -> tuple[str, ...]:
        """For the program; ``then`` is what the path becomes when it is told to change."""
        at_first = ("--rate", self.rate, "--rtt", self.rtt, "--loss", self.loss, "--seed", str(seed))
        if then is None:
            return at_first
        return (*at_first, "--then-rate", then.rate, "--then-rtt", then.rtt, "--then-loss", then.loss)

    def __str__(self) -> str:
        return f"{self.rate}, {self.rtt} round trip, {self.loss} loss"


@dataclass(frozen=True)
class EmulatedPath:
    """A running emulated path; it becomes what its ``--then-`` options say when it is told to ``change``."""

    port: int
    change: Callable[[], None]


@contextmanager
def emulated_path(
    upstream_port: int, options: Sequence[str], logs: Path, *, name: str = "path"
) -> Iterator[EmulatedPath]:
    """An emulated path in front of the origin; ``name`` is that of its log."""
    command = (*PYTHON, "benchmarks.emulation.path", "--upstream", f"127.0.0.1:{upstream_port}", *options)
    with started(name, command, logs=logs, environment={"PYTHONUNBUFFERED": "1"}) as process:
        port = int(json.loads(process.line_matching(r"\{.*\}")[0])["port"])
        yield EmulatedPath(port, partial(process.process.send_signal, signal.SIGUSR1))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
