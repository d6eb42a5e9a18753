"""Load on one route by wrk: one thread, so that the server has the other core to itself."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 16

_SCRIPT = """
local bodies = {{ {bodies} }}
local requests, turn = {{}}, 0

function init(arguments)
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = {authorization}
  for i, body in ipairs(bodies) do requests[i] = wrk.format("POST", nil, nil, body) end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format("measured %d %d %d %d", summary.requests, summary.duration, latency:percentile(99), failed))
end
"""


class LoadError(Exception):
    """The load could not be made, or was not answered; the message is for the user."""


@dataclass(frozen=True)
class Measured:
    """One round."""

    rps: float
    p99_ms: float


class Load:
    """Posts ``bodies`` in turn with a key, always the same ones in the same order; a folder for wrk's script."""

    def __init__(self, folder: Path, bodies: Sequence[bytes], secret: str) -> None:
        program = shutil.which("wrk")
        if program is None:
            raise LoadError("wrk is needed and not installed (Debian, Ubuntu: apt-get install wrk)")
        self._program = program
        self._script = folder / "load.lua"
        quoted = ",\n".join(_lua(body.decode()) for body in bodies)
        self._script.write_text(_SCRIPT.format(bodies=quoted, authorization=_lua(f"Bearer {secret}")))

    def run(self, url: str, seconds: int) -> Measured:
        """Load one route; every answer must be a good one."""
        command = [self._program, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(self._script), url]
        with tempfile.TemporaryFile("w+") as output:
            ended = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
            output.seek(0)
            told = output.read()
        line = next((line for line in told.splitlines() if line.startswith("measured ")), None)
        if ended.returncode or line is None:
            raise LoadError(f"wrk failed: {told.strip()}")
        answered, duration_us, p99_us, failed = map(int, line.split()[1:])
        if failed:
            raise LoadError(f"{failed} of {answered} requests to {url} failed")
        return Measured(1e6 * answered / duration_us, p99_us / 1e3)


def _lua(text: str) -> str:
    """A Lua string literal: JSON's escapes are Lua's, but for those of control characters, which bodies do not have."""
    return json.dumps(text)
