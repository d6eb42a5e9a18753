"""The complete service on a client's host, with a release learned from logs of runs that are not compared."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.namespaces import Host
from benchmarks.testbed.testbed import Testbed
from tradewind.errors import TradewindError
from tradewind_agent.config import KEY_VARIABLE, URL_VARIABLE

_PYTHON = (sys.executable, "-P", "-m")
_READY = re.compile(r"API.*?(?P<url>http://\S+)\s+agent key: (?P<key>\S+)", re.DOTALL)
_START_PATIENCE_S, _RELEASE_PATIENCE_S, _STOP_PATIENCE_S = 120.0, 180.0, 30.0
_POLL_S = 0.5

ONE_RELEASE_S = 86_400.0
"""Least time between releases: later runs are not learned from, and no fit disturbs them."""


class NothingLearned(TradewindError):
    """The service made no release from the logs."""


@dataclass(frozen=True, slots=True)
class LearnedService:
    """A service with the release that it has made from the logs given to it.

    Attributes
    ----------
    variables : the environment in which the agent finds it.
    has_model : whether the release has any model; where there were no logs, or the gate refused all, closed-form
        rules answer, as they do for any user with such logs.
    """

    variables: Mapping[str, str]
    has_model: bool


@contextmanager
def run_learned_service(
    bed: Testbed, host: Host, logs: Sequence[Path], *, folder: Path, port: int
) -> Iterator[LearnedService]:
    """Serve on ``host`` until the end of the block.

    Parameters
    ----------
    logs : files of records, uploaded together before the first request; without any the service knows nothing.
    folder : for the service's data; made if it is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "service.log"
    environment = {
        **os.environ,
        "TRADEWIND_DATA": str(folder / "data"),
        "TRADEWIND_PORT": str(port),
        "TRADEWIND_REFRESH_INTERVAL_S": f"{ONE_RELEASE_S:g}",
        "PYTHONUNBUFFERED": "1",
    }
    service = bed.start(host, [*_PYTHON, "services.serve"], log=log, env=environment)
    try:
        ready = _wait_until_ready(service, log)
        found = {URL_VARIABLE: ready["url"], KEY_VARIABLE: ready["key"]}
        has_model = bool(logs) and _upload_and_wait(
            bed, host, _build_agent_command(folder, found), _join_logs(logs, folder / "logs.ndjson")
        )
        yield LearnedService(found, has_model)
    finally:
        service.send_signal(signal.SIGTERM)
        try:
            service.wait(_STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            service.kill()
            service.wait()


def _wait_until_ready(service: subprocess.Popen[bytes], log: Path) -> re.Match[str]:
    deadline = time.monotonic() + _START_PATIENCE_S
    while (ready := _READY.search(log.read_text(errors="replace"))) is None:
        if service.poll() is not None or time.monotonic() > deadline:
            output = log.read_text(errors="replace").strip().splitlines() or ["it printed nothing"]
            raise EmulationBroke(f"the service did not start: {output[-1]}")
        time.sleep(_POLL_S)
    return ready


def _build_agent_command(folder: Path, found: Mapping[str, str]) -> list[str]:
    """Return the agent's command, with the service's address and a folder of its own for its state."""
    private = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder)}
    variables = (f"{name}={value}" for name, value in (private | dict(found)).items())
    return ["env", *variables, *_PYTHON, "tradewind_agent"]


def _join_logs(logs: Sequence[Path], into: Path) -> Path:
    """Write all logs to one file, so that there is one release of all of them."""
    into.write_text("".join(log.read_text(encoding="utf-8") for log in logs), encoding="utf-8")
    return into


def _upload_and_wait(bed: Testbed, host: Host, agent: Sequence[str], log: Path) -> bool:
    """Upload a log, and wait for the release that is made of it; return whether it has a model.

    The service has had no request before, so that its first answer comes from this release.
    """

    def run_agent(*words: str) -> Any:
        return json.loads(bed.run(host, [*agent, *words, "--json"], timeout_s=_RELEASE_PATIENCE_S))

    run_agent("logs", "upload", str(log), "--format", "ndjson")
    deadline = time.monotonic() + _RELEASE_PATIENCE_S
    while not (current := [each for each in run_agent("releases", "list")["releases"] if each["current"]]):
        if time.monotonic() > deadline:
            raise NothingLearned(f"no release within {_RELEASE_PATIENCE_S:g} s of {log}")
        time.sleep(_POLL_S)
    return bool(current[0]["clusters"])
