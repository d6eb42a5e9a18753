"""A path with an origin behind several congestion controls, a client, and a capture of what leaves the origin."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.namespaces import DEVICE, Host
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.testbed import Testbed
from benchmarks.transport.wire import Segment, parse_segments

FIRST_PORT = 9101
_PYTHON = (sys.executable, "-P", "-m")
_BUFFERS = 'echo "$1" > /proc/sys/net/ipv4/tcp_rmem && echo "$2" > /proc/sys/net/ipv4/tcp_wmem'


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffers:
    """Smallest, initial and largest size of TCP's buffers, bytes, of receiver and sender; stored with every figure."""

    receive: tuple[int, int, int]
    send: tuple[int, int, int]

    def __str__(self) -> str:
        return f"tcp_rmem {_join_sizes(self.receive)}, tcp_wmem {_join_sizes(self.send)}"


LINUX = Buffers(receive=(4096, 131_072, 33_554_432), send=(4096, 16_384, 4_194_304))
"""The kernel's settings on a host with some memory."""

LTE_PHONE = Buffers(receive=(524_288, 1_048_576, 2_097_152), send=LINUX.send)
HSPA_PHONE = Buffers(receive=(122_334, 734_003, 2_202_010), send=LINUX.send)
"""A server with default settings, and a phone as Android sets it for the radio (DataConnection.java,
TCP_BUFFER_SIZES_…).
"""

AMPLE = Buffers(receive=(4096, 4_194_304, 16_777_216), send=(4096, 4_194_304, 16_777_216))
"""Large enough that windows alone decide."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One request: seconds until its last byte, and the sender's TCP state before and after.

    ``handshake_s`` : duration of the handshake, one round trip of the path as it was then.
    """

    seconds: float
    handshake_s: float
    before: Mapping[str, int]
    after: Mapping[str, int]


class Arena:
    """A path with origin and client, made by `set_up_arena`; requests name a congestion control."""

    def __init__(self, bed: Testbed, controls: Sequence[str], host: Host | None = None) -> None:
        self.bed, self._controls = bed, list(controls)
        ports = [f"{port}={control}" for port, control in enumerate(controls, start=FIRST_PORT)]
        self._origin = self._start(bed.server, "origin", bed.server.address, *ports)
        self._expect(self._origin, "listening")
        self._client = self._start(host or bed.clients[0], "client")

    def fetch(self, control: str, sizes: Sequence[int], pauses_s: Sequence[float] | None = None) -> list[Answer]:
        """Request so many bytes over one new connection, with ``pauses_s`` before each request."""
        request: dict[str, Any] = {
            "address": self.bed.server.address,
            "port": self._find_port(control),
            "bytes": list(sizes),
        }
        if pauses_s is not None:
            request["pauses_s"] = list(pauses_s)
        _require_pipe(self._client.stdin).write(json.dumps(request) + "\n")
        _require_pipe(self._client.stdin).flush()
        answer = json.loads(self._read_line(self._client))
        states = [json.loads(self._read_line(self._origin)) for _ in sizes]
        return [
            Answer(seconds, answer["handshake_s"], state["before"], state["after"])
            for seconds, state in zip(answer["seconds"], states, strict=True)
        ]

    @contextmanager
    def capture(self) -> Iterator["Capture"]:
        """Capture what leaves the origin during the block."""
        program = self._start(self.bed.server, "wire", DEVICE)
        self._expect(program, "watching")
        watch, lines = Capture(), list[str]()
        # Read all the time: a program that waits for its reader misses what bulk flows send.
        reader = Thread(target=lambda: lines.extend(_require_pipe(program.stdout)))
        reader.start()
        try:
            yield watch
        finally:
            program.terminate()
            reader.join()
            program.communicate()  # which closes its streams
            watch.segments = parse_segments(lines)

    def list_flows(self, watch: "Capture", control: str) -> list[list[Segment]]:
        """Return the segments of each connection of a congestion control, in order."""
        flows: dict[int, list[Segment]] = {}
        for segment in watch.segments:
            if segment.source_port == self._find_port(control):
                flows.setdefault(segment.destination_port, []).append(segment)
        return list(flows.values())

    def close(self) -> None:
        for program in (self._client, self._origin):
            program.terminate()
            program.communicate()  # which closes its streams

    def _find_port(self, control: str) -> int:
        return FIRST_PORT + self._controls.index(control)

    def _start(self, host: Host, module: str, *arguments: str) -> subprocess.Popen[str]:
        command: list[str | Path] = [*_PYTHON, f"benchmarks.transport.{module}", *arguments]
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": None, "text": True}
        program: subprocess.Popen[Any] = self.bed.start(host, command, **streams)
        return program

    def _expect(self, program: subprocess.Popen[str], word: str) -> None:
        if self._read_line(program).strip() != word:
            raise EmulationBroke(f"{program.args!r} did not start")

    def _read_line(self, program: subprocess.Popen[str]) -> str:
        line = _require_pipe(program.stdout).readline()
        if not line:
            raise EmulationBroke(f"{program.args!r} ended")
        return str(line)


class Capture:
    """The segments that left the origin; complete after the block of `Arena.capture`."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []


@contextmanager
def set_up_bed(path: PathSpec, buffers: Buffers, *, clients: int = 1, seed: int = 1) -> Iterator[Testbed]:
    """Set up a testbed whose hosts have these buffers."""
    with Testbed(path, clients=clients, seed=seed, purpose="transport") as bed:
        for host in bed.hosts:
            bed.run(host, ["sh", "-c", _BUFFERS, "sh", _join_sizes(buffers.receive), _join_sizes(buffers.send)])
        yield bed


@contextmanager
def set_up_arena(
    path: PathSpec, controls: Sequence[str], *, buffers: Buffers, clients: int = 1, seed: int = 1
) -> Iterator[Arena]:
    """Set up a path whose origin sends by each of these congestion controls; the kernel must have them."""
    with set_up_bed(path, buffers, clients=clients, seed=seed) as bed:
        arena = Arena(bed, controls)
        try:
            yield arena
        finally:
            arena.close()


def _join_sizes(sizes: Sequence[int]) -> str:
    return " ".join(map(str, sizes))


def _require_pipe(stream: Any) -> Any:
    assert stream is not None
    return stream
