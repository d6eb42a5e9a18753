"""The command line as a user runs it: another process, its exit code and what it says."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conditions import stretched
from tests.endings import Program

ROOT = Path(__file__).resolve().parents[4]
COMMAND = [sys.executable, "-m", "tradewind_agent"]
PATIENCE_S = 60.0


def environment(home: Path, **more: str) -> dict[str, str]:
    """A user of whom nothing is known: no service, no spool, no proxy."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "COVERAGE_PROCESS_START") if name in os.environ}
    paths = os.pathsep.join(str(ROOT / part) for part in ("core", "clients/python"))
    return kept | {"HOME": str(home), "PYTHONPATH": paths, "COLUMNS": "200"} | more


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What was printed, as one JSON document."""
        return json.loads(self.out)

    @property
    def error(self) -> str:
        """What was said on standard error, which must be one line."""
        assert self.err.count("\n") == 1, self.err
        return self.err.strip()


def run(*arguments: str, env: Mapping[str, str], stdin: bytes = b"", cwd: Path | None = None) -> Outcome:
    done = subprocess.run(
        [*COMMAND, *arguments],
        env=dict(env),
        input=stdin,
        capture_output=True,
        timeout=stretched(PATIENCE_S),
        cwd=cwd,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def start(*arguments: str, env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    return Program([*COMMAND, *arguments], env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
