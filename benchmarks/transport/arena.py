"""A path with an origin behind several congestion controls, a client, and an eye on what leaves the origin."""

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
from benchmarks.transport.wire import Segment, parse

FIRST_PORT = 9101
_PYTHON = (sys.executable, "-P", "-m")
_BUFFERS = 'echo "$1" > /proc/sys/net/ipv4/tcp_rmem && echo "$2" > /proc/sys/net/ipv4/tcp_wmem'


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffers:
    """Least, first and largest size of TCP's buffers, bytes, of receiver and sender. Named with every figure."""

    receive: tuple[int, int, int]
    send: tuple[int, int, int]

    def __str__(self) -> str:
        return f"tcp_rmem {_spaced(self.receive)}, tcp_wmem {_spaced(self.send)}"


LINUX = Buffers(receive=(4096, 131_072, 33_554_432), send=(4096, 16_384, 4_194_304))
"""As the kernel sets them on a host with some memory."""

LTE_PHONE = Buffers(receive=(524_288, 1_048_576, 2_097_152), send=LINUX.send)
HSPA_PHONE = Buffers(receive=(122_334, 734_003, 2_202_010), send=LINUX.send)
"""A server as it comes, and a phone as Android sets it for the radio (DataConnection.java, TCP_BUFFER_SIZES_…)."""

AMPLE = Buffers(receive=(4096, 4_194_304, 16_777_216), send=(4096, 4_194_304, 16_777_216))
"""So that windows alone decide."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One request: seconds until its last byte, and what the sender's TCP thought before and after.

    ``handshake_s`` : of the connection, a round trip as it found the path.
    """

    seconds: float
    handshake_s: float
    before: Mapping[str, int]
    after: Mapping[str, int]


class Arena:
    """Made by `arena`. Requests go by the name of a congestion control."""

    def __init__(self, bed: Testbed, controls: Sequence[str], host: Host | None = None) -> None:
        self.bed, self._controls = bed, list(controls)
        ports = [f"{port}={control}" for port, control in enumerate(controls, start=FIRST_PORT)]
        self._origin = self._start(bed.server, "origin", bed.server.address, *ports)
        self._expect(self._origin, "listening")
        self._client = self._start(host or bed.clients[0], "client")

    def fetch(self, control: str, sizes: Sequence[int], pauses_s: Sequence[float] | None = None) -> list[Answer]:
        """Ask for so many bytes over one new connection, ``pauses_s`` before each request."""
        asked: dict[str, Any] = {"address": self.bed.server.address, "port": self._port(control), "bytes": list(sizes)}
        if pauses_s is not None:
            asked["pauses_s"] = list(pauses_s)
        _pipe(self._client.stdin).write(json.dumps(asked) + "\n")
        _pipe(self._client.stdin).flush()
        seen = json.loads(self._line(self._client))
        told = [json.loads(self._line(self._origin)) for _ in sizes]
        return [
            Answer(seconds, seen["handshake_s"], each["before"], each["after"])
            for seconds, each in zip(seen["seconds"], told, strict=True)
        ]

    @contextmanager
    def watched(self) -> Iterator["Watch"]:
        """Note what leaves the origin during the block."""
        program = self._start(self.bed.server, "wire", DEVICE)
        self._expect(program, "watching")
        watch, lines = Watch(), list[str]()
        # Read all the while: a program that waits for its reader misses what bulk flows send.
        reader = Thread(target=lambda: lines.extend(_pipe(program.stdout)))
        reader.start()
        try:
            yield watch
        finally:
            program.terminate()
            reader.join()
            program.communicate()  # which closes its streams
            watch.segments = parse(lines)

    def flows(self, watch: "Watch", control: str) -> list[list[Segment]]:
        """The segments of each connection of a congestion control, in order."""
        flows: dict[int, list[Segment]] = {}
        for segment in watch.segments:
            if segment.source_port == self._port(control):
                flows.setdefault(segment.destination_port, []).append(segment)
        return list(flows.values())

    def close(self) -> None:
        for program in (self._client, self._origin):
            program.terminate()
            program.communicate()  # which closes its streams

    def _port(self, control: str) -> int:
        return FIRST_PORT + self._controls.index(control)

    def _start(self, host: Host, module: str, *arguments: str) -> subprocess.Popen[str]:
        command: list[str | Path] = [*_PYTHON, f"benchmarks.transport.{module}", *arguments]
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": None, "text": True}
        program: subprocess.Popen[Any] = self.bed.start(host, command, **streams)
        return program

    def _expect(self, program: subprocess.Popen[str], word: str) -> None:
        if self._line(program).strip() != word:
            raise EmulationBroke(f"{program.args!r} did not start")

    def _line(self, program: subprocess.Popen[str]) -> str:
        line = _pipe(program.stdout).readline()
        if not line:
            raise EmulationBroke(f"{program.args!r} ended")
        return str(line)


class Watch:
    """What left the origin; complete after the block that watches."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []


@contextmanager
def buffered_bed(path: PathSpec, buffers: Buffers, *, clients: int = 1, seed: int = 1) -> Iterator[Testbed]:
    """A testbed whose hosts have these buffers."""
    with Testbed(path, clients=clients, seed=seed, purpose="transport") as bed:
        for host in bed.hosts:
            bed.run(host, ["sh", "-c", _BUFFERS, "sh", _spaced(buffers.receive), _spaced(buffers.send)])
        yield bed


@contextmanager
def arena(
    path: PathSpec, controls: Sequence[str], *, buffers: Buffers, clients: int = 1, seed: int = 1
) -> Iterator[Arena]:
    """A path whose origin sends by each of these congestion controls; the kernel must have them."""
    with buffered_bed(path, buffers, clients=clients, seed=seed) as bed:
        standing = Arena(bed, controls)
        try:
            yield standing
        finally:
            standing.close()


def _spaced(sizes: Sequence[int]) -> str:
    return " ".join(map(str, sizes))


def _pipe(stream: Any) -> Any:
    assert stream is not None
    return stream
