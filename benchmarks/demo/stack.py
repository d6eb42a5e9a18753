"""The processes that the demo uses: the complete service, an origin, and an emulated path between origin and agent."""

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
    """A process of the demo ended before it was ready."""


@dataclass(frozen=True)
class StackProcess:
    """A process whose output is read line by line; its error stream goes to ``log``."""

    process: subprocess.Popen[str]
    log: Path

    def wait_for_line(self, pattern: str) -> re.Match[str]:
        """Return the first of the next lines of its output that matches.

        Raises
        ------
        DidNotStart : the output ended without one.
        """
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if (match := re.search(pattern, line)) is not None:
                return match
        tail = self.log.read_text().splitlines()[-LOG_TAIL_LINES:]
        raise DidNotStart(f"{self.log.stem} did not start: {' | '.join(tail) or 'it printed nothing'}")


@contextmanager
def run_process(
    name: str, command: Sequence[str], *, logs: Path, environment: Mapping[str, str]
) -> Iterator[StackProcess]:
    """Run a process and stop it at the end."""
    log = logs / f"{name}.log"
    with log.open("w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT, env={**os.environ, **environment}
        )
    try:
        yield StackProcess(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@contextmanager
def run_service(folder: Path, logs: Path) -> Iterator[tuple[str, str]]:
    """Run ``./run serve`` on a data folder of its own; yield its address and an agent key."""
    environment = {
        "TRADEWIND_DATA": str(folder),
        "TRADEWIND_PORT": str(find_free_port()),
        "TRADEWIND_REFRESH_INTERVAL_S": "0",
        "PYTHONUNBUFFERED": "1",
    }
    with run_process("service", (*PYTHON, "services.serve"), logs=logs, environment=environment) as process:
        address = process.wait_for_line(r"API.*?(http://\S+)")[1]
        yield address, process.wait_for_line(r"agent key: (\S+)")[1]


@contextmanager
def run_origin(folder: Path, logs: Path) -> Iterator[int]:
    """Run ``tradewind serve-files`` on a folder; yield its port."""
    command = (*PYTHON, "tradewind_agent", "serve-files", str(folder), "--port", "0", "--json")
    with run_process("origin", command, logs=logs, environment={"PYTHONUNBUFFERED": "1"}) as process:
        yield int(process.wait_for_line(r'"port": ?(\d+)')[1])


@dataclass(frozen=True)
class PathOptions:
    """The options of an emulated path, as its program takes them."""

    rate: str
    rtt: str
    loss: str

    def build_arguments(self, seed: int, then: "PathOptions | None" = None) -> tuple[str, ...]:
        """Return the program's arguments; ``then`` is what the path becomes on a signal."""
        at_first = ("--rate", self.rate, "--rtt", self.rtt, "--loss", self.loss, "--seed", str(seed))
        if then is None:
            return at_first
        return (*at_first, "--then-rate", then.rate, "--then-rtt", then.rtt, "--then-loss", then.loss)

    def __str__(self) -> str:
        return f"{self.rate}, {self.rtt} round trip, {self.loss} loss"


@dataclass(frozen=True)
class EmulatedPath:
    """A running emulated path; ``change`` makes it the path of its ``--then-`` options."""

    port: int
    change: Callable[[], None]


@contextmanager
def run_emulated_path(
    upstream_port: int, options: Sequence[str], logs: Path, *, name: str = "path"
) -> Iterator[EmulatedPath]:
    """Run an emulated path in front of the origin; ``name`` is that of its log."""
    command = (*PYTHON, "benchmarks.emulation.path", "--upstream", f"127.0.0.1:{upstream_port}", *options)
    with run_process(name, command, logs=logs, environment={"PYTHONUNBUFFERED": "1"}) as process:
        port = int(json.loads(process.wait_for_line(r"\{.*\}")[0])["port"])
        yield EmulatedPath(port, partial(process.process.send_signal, signal.SIGUSR1))


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
