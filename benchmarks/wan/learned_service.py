"""The whole service on a client's host, with a release learned from logs of runs that are not compared."""

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
"""Least time between releases: what is compared meanwhile is not learned from, and no fit disturbs it."""


class NothingLearned(TradewindError):
    """The service made no release of the logs."""


@dataclass(frozen=True, slots=True)
class LearnedService:
    """A service, with the release that it has made of the logs given to it.

    Attributes
    ----------
    variables : the environment in which the agent finds it.
    has_model : whether the release has any; where there were no logs, or the gate refused all, closed-form rules
        answer, as they do to any user with such logs.
    """

    variables: Mapping[str, str]
    has_model: bool


@contextmanager
def learned_service(
    bed: Testbed, host: Host, logs: Sequence[Path], *, folder: Path, port: int
) -> Iterator[LearnedService]:
    """Serve on ``host`` until the end of the block.

    Parameters
    ----------
    logs : files of records, uploaded together before anybody asks; without any the service knows nothing.
    folder : for the service's data; made if need be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    told = folder / "service.log"
    environment = {
        **os.environ,
        "TRADEWIND_DATA": str(folder / "data"),
        "TRADEWIND_PORT": str(port),
        "TRADEWIND_REFRESH_INTERVAL_S": f"{ONE_RELEASE_S:g}",
        "PYTHONUNBUFFERED": "1",
    }
    service = bed.start(host, [*_PYTHON, "services.serve"], log=told, env=environment)
    try:
        ready = _ready(service, told)
        found = {URL_VARIABLE: ready["url"], KEY_VARIABLE: ready["key"]}
        has_model = bool(logs) and _teach(bed, host, _agent_of(folder, found), _together(logs, folder / "logs.ndjson"))
        yield LearnedService(found, has_model)
    finally:
        service.send_signal(signal.SIGTERM)
        try:
            service.wait(_STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            service.kill()
            service.wait()


def _ready(service: subprocess.Popen[bytes], told: Path) -> re.Match[str]:
    deadline = time.monotonic() + _START_PATIENCE_S
    while (ready := _READY.search(told.read_text(errors="replace"))) is None:
        if service.poll() is not None or time.monotonic() > deadline:
            said = told.read_text(errors="replace").strip().splitlines() or ["nothing said"]
            raise EmulationBroke(f"the service did not start: {said[-1]}")
        time.sleep(_POLL_S)
    return ready


def _agent_of(folder: Path, found: Mapping[str, str]) -> list[str]:
    """The agent's command, with the service that it is to ask and a place of its own for what it keeps."""
    private = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder)}
    variables = (f"{name}={value}" for name, value in (private | dict(found)).items())
    return ["env", *variables, *_PYTHON, "tradewind_agent"]


def _together(logs: Sequence[Path], into: Path) -> Path:
    """One file of all logs: there is to be one release, of all of them."""
    into.write_text("".join(log.read_text(encoding="utf-8") for log in logs), encoding="utf-8")
    return into


def _teach(bed: Testbed, host: Host, agent: Sequence[str], log: Path) -> bool:
    """Upload a log, and wait for the release that is made of it; whether it has a model.

    The service has been asked for nothing before, so that its first answer comes from this release.
    """

    def asked(*words: str) -> Any:
        return json.loads(bed.run(host, [*agent, *words, "--json"], timeout_s=_RELEASE_PATIENCE_S))

    asked("logs", "upload", str(log), "--format", "ndjson")
    deadline = time.monotonic() + _RELEASE_PATIENCE_S
    while not (in_force := [each for each in asked("releases", "list")["releases"] if each["current"]]):
        if time.monotonic() > deadline:
            raise NothingLearned(f"no release within {_RELEASE_PATIENCE_S:g} s of {log}")
        time.sleep(_POLL_S)
    return bool(in_force[0]["clusters"])
