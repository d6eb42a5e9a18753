"""Running a tool as ``wrap`` does, under a given recommendation, and looking at its process while it runs."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from tests.conditions import eventually
from tests.endings import Program
from tests.integration.engine.servers.web_servers import program
from tests.unit.agent.service.fake_service import Service, answering
from tests.unit.agent.session.test_planning import ANSWER
from tradewind.recommendation import ChunkPlan
from tradewind.wire.records import WireRecord, parse_row
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.history.spool import Spool
from tradewind_agent.movers.port import ToolRun
from tradewind_agent.movers.wrap.prepare import PreparedWrap, WrapOptions, prepare_wrap
from tradewind_agent.movers.wrap.report import WrapReport
from tradewind_agent.movers.wrap.run import run_wrap
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.metering import HostMeter

WAN = CopyOptions(source="alpha", destination="beta", network="wan", bandwidth_bps=1e9, rtt_s=0.05, tune=False)


def recommending(
    concurrency: int, parallelism: int = 1, pipelining: int = 1, mean_bps: float = 9e8, **more: int
) -> Service:
    """A service that always recommends this, and ``more`` parameters by name."""
    setting = {"concurrency": concurrency, "parallelism": parallelism, "pipelining": pipelining} | more
    predicted = {"throughput_bps": {"mean": mean_bps, "low": 0.9 * mean_bps, "high": 1.1 * mean_bps}}
    chunks = [{"chunk": "whole", "parameters": setting}]
    return answering(httpx.Response(200, json=ANSWER | {"chunks": chunks, "predicted": predicted}))


@dataclass
class Seen:
    """What looks at the running process have shown."""

    arguments: list[str] = field(default_factory=list)
    connections: list[int] = field(default_factory=list)


def tool_process() -> psutil.Process | None:
    """The tool that this process has started, if it runs."""
    names = {"rclone", "aria2c", "curl", "globus-url-copy", "rsync", "scp"}
    for child in psutil.Process().children():
        try:
            if child.name() in names and child.status() != psutil.STATUS_ZOMBIE:
                return child
        except psutil.Error:
            continue
    return None


def arguments_of(process: psutil.Process) -> list[str]:
    """Its command line; nothing of one that has ended since it was found."""
    try:
        return Path(f"/proc/{process.pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def connections_of(process: psutil.Process) -> list[int]:
    """Ports of the other ends of its established connections; none of one that has ended since it was found."""
    try:
        return [each.raddr.port for each in process.net_connections("tcp") if each.status == psutil.CONN_ESTABLISHED]
    except psutil.Error:
        return []


def connections_to(process: psutil.Process, port: int) -> int:
    """Established connections to a server's port."""
    return connections_of(process).count(port)


class Driver:
    """Prepares and runs command lines."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool

    def prepare(self, *words: object, service: Service | None = None, **options: object) -> PreparedWrap:
        wanted = WrapOptions(**({"copy": WAN} | options))
        client = service.client() if service is not None else None
        try:
            return prepare_wrap([str(word) for word in words], options=wanted, environment=os.environ, client=client)
        finally:
            if client is not None:
                client.close()

    def run(self, prepared: PreparedWrap, on_tick: Callable[[ToolRun], object] | None = None) -> WrapReport:
        meter = HostMeter.of_this_host(base_power_s=0)
        return run_wrap(prepared, logbook=Logbook(spool=self.spool), meter=meter, on_tick=on_tick)

    def watched(self, prepared: PreparedWrap, port: int) -> tuple[WrapReport, Seen]:
        """Run it, and look at its arguments and connections all the while."""
        seen = Seen()

        def look(_: ToolRun) -> None:
            if (process := tool_process()) is not None:
                seen.connections.append(connections_to(process, port))
                seen.arguments = arguments_of(process) or seen.arguments

        report = self.run(prepared, look)
        return report, seen

    def spooled(self) -> list[WireRecord]:
        return [parse_row(line) for each in self.spool.list_segments() for line in each.path.read_bytes().splitlines()]


class Retuner:
    """Retunes once ``ready`` says so; remembers the answer, and what was seen before and after."""

    def __init__(self, chunks: list[ChunkPlan], count: Callable[[], int], until: int) -> None:
        self._chunks, self._count, self._until = chunks, count, until
        self.before: int | None = None
        self.after: list[int] = []
        self.changed: bool | None = None

    def __call__(self, run: ToolRun) -> None:
        count = self._count()
        if self.changed:
            self.after.append(count)
        elif count >= self._until:
            self.before = count
            self.changed = run.retune(self._chunks)


@dataclass(frozen=True)
class GridFtp:
    port: int
    log: Path

    def url(self, path: Path) -> str:
        return f"ftp://127.0.0.1:{self.port}{path}"

    def transfers(self) -> list[str]:
        """Lines of the server's own log about files that it sent or took."""
        if not self.log.exists():
            return []
        return [line for line in self.log.read_text().splitlines() if "TYPE=RETR" in line or "TYPE=STOR" in line]


@contextmanager
def gridftp(work: Path) -> Iterator[GridFtp]:
    """globus-gridftp-server on the loopback, without authentication."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = work / "transfers.log"
    user = psutil.Process().username()
    command = [program("globus-gridftp-server"), "-aa", "-anonymous-user", user, "-p", str(port), "-log-transfer", log]
    command += ["-control-interface", "127.0.0.1", "-data-interface", "127.0.0.1", "-threads", "1"]
    command += ["-allow-root"] if os.geteuid() == 0 else []
    with (work / "output").open("wb") as output, Program(command, stdout=output, stderr=output) as process:
        try:
            eventually(lambda: _listens(port) or process.poll() is not None)
            assert process.poll() is None, (work / "output").read_text()
            yield GridFtp(port, log)
        finally:
            for each in [*psutil.Process(process.pid).children(recursive=True), process]:
                each.terminate()
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
