"""Load one route with wrk, on one thread, so that the server has the other core to itself."""

import json
import math
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

{done}"""

_HEARTBEATS = """
local transfers = {{ {transfers} }}
local paths, first_sequence, sequence, turn = {{}}, 0, 0, 0

function init(arguments)
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Authorization"] = {authorization}
  for i, transfer in ipairs(transfers) do paths[i] = arguments[1] .. transfer.id .. arguments[2] end
  first_sequence = tonumber(arguments[3])
end

local function filled(mark)
  local name, value = mark:match('^(%l+) ?(%S*)$')
  if name == 'sequence' then return string.format('%d', sequence) end
  if name == 'rate' then return string.format('%.1f', (0.9 + 0.02 * (sequence * 7 % 11)) * value) end
  return value
end

function request()
  local which = turn % #transfers + 1
  sequence = first_sequence + math.floor(turn / #transfers)
  turn = turn + 1
  return wrk.format("POST", paths[which], nil, (transfers[which].body:gsub('"@([^"]*)@"', filled)))
end

{done}"""

_DONE = """
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format("measured %d %d %d %d", summary.requests, summary.duration, latency:percentile(99), failed))
end
"""


class LoadError(Exception):
    """The load could not be made, or was not answered; the message is for the user."""


@dataclass(frozen=True)
class LoadResult:
    """Requests per second and 99th percentile of the latency in one round."""

    rps: float
    p99_ms: float


@dataclass(frozen=True)
class LiveTransfer:
    """A running transfer: its heartbeat with marks such as ``"@sequence@"`` and ``"@rate 1e8@"`` to fill in."""

    id: str
    body: str


class Load:
    """Posts ``bodies`` in a cycle with a key, always in the same order; wrk's script goes to ``folder``."""

    def __init__(self, folder: Path, bodies: Sequence[bytes], secret: str) -> None:
        self._wrk = _Wrk(folder / "load.lua")
        quoted = ",\n".join(_quote_for_lua(body.decode()) for body in bodies)
        self._wrk.script.write_text(
            _SCRIPT.format(bodies=quoted, authorization=_quote_for_lua(f"Bearer {secret}"), done=_DONE)
        )

    def run(self, url: str, seconds: int) -> LoadResult:
        """Load one route; raise an error unless every answer is successful."""
        return self._wrk.run(url, seconds)[0]


class HeartbeatLoad:
    """Posts heartbeats of live transfers in a cycle, each with the next sequence number and a rate that varies a
    little.

    There are more transfers than connections, so that a transfer's next heartbeat comes after its last answer.
    """

    def __init__(self, folder: Path, transfers: Sequence[LiveTransfer], secret: str, *, first_sequence: int) -> None:
        assert len(transfers) > CONNECTIONS
        self._count = len(transfers)
        self._first_sequence = first_sequence
        self._next: dict[str, int] = {}
        self._wrk = _Wrk(folder / "heartbeats.lua")
        quoted = ",\n".join(
            f"{{ id = {_quote_for_lua(transfer.id)}, body = {_quote_for_lua(transfer.body)} }}"
            for transfer in transfers
        )
        script = _HEARTBEATS.format(transfers=quoted, authorization=_quote_for_lua(f"Bearer {secret}"), done=_DONE)
        self._wrk.script.write_text(script)

    def run(self, address: str, route: str, seconds: int) -> LoadResult:
        """Load the ``route``, which has a place for the transfer's id, from the sequence number where its last run
        stopped.
        """
        first = self._next.get(route, self._first_sequence)
        measured, answered = self._wrk.run(address, seconds, *route.split("{transfer_id}"), str(first))
        self._next[route] = first + math.ceil((answered + CONNECTIONS) / self._count) + 1
        return measured


class _Wrk:
    """The load generator with a script."""

    def __init__(self, script: Path) -> None:
        program = shutil.which("wrk")
        if program is None:
            raise LoadError("wrk is needed and not installed (Debian, Ubuntu: apt-get install wrk)")
        self._program = program
        self.script = script

    def run(self, url: str, seconds: int, *arguments: str) -> tuple[LoadResult, int]:
        """Return what was measured and the number of answered requests; raise an error unless every answer is
        successful.
        """
        command = [self._program, "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(self.script), url]
        command += ["--", *arguments]
        with tempfile.TemporaryFile("w+") as output:
            finished = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
            output.seek(0)
            printed = output.read()
        line = next((line for line in printed.splitlines() if line.startswith("measured ")), None)
        if finished.returncode or line is None:
            raise LoadError(f"wrk failed: {printed.strip()}")
        answered, duration_us, p99_us, failed = map(int, line.split()[1:])
        if failed:
            raise LoadError(f"{failed} of {answered} requests to {url} failed")
        return LoadResult(1e6 * answered / duration_us, p99_us / 1e3), answered


def _quote_for_lua(text: str) -> str:
    """Return a Lua string literal: Lua has JSON's escapes, except those of control characters, which bodies do not
    have.
    """
    return json.dumps(text)
