"""The path as a wrapped tool's connections see it, looked at from outside: round trips, bytes, losses."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from tradewind.transfer import Direction
from tradewind_agent.engine.http.receiver_loss import ReceiverLoss
from tradewind_agent.engine.http.tcp_info import TcpInfo
from tradewind_agent.engine.path_sample import PathSample, PathSampler
from tradewind_agent.movers.port import ToolTask
from tradewind_agent.movers.wrap.socket_diagnosis import EstablishedConnection, list_established_connections
from tradewind_agent.resources.processes import list_tree
from tradewind_agent.system_errors import explain_os_error

POLL_COST_SHARE = 0.02
"""Largest share of a processor that polling may cost; on a host with very many connections polls become rarer."""

_SOCKET = "socket:["
_PROXY_OPTIONS = ("proxy", "all-proxy", "http-proxy", "https-proxy", "socks5", "socks5-hostname", "preproxy")


@dataclass(slots=True)
class _KnownConnection:
    info: TcpInfo
    loss: ReceiverLoss


class ToolConnections:
    """Connections of a tool's process tree, over all its starts.

    ``poll`` is called by one thread, ``sample`` by any.

    Parameters
    ----------
    receiving : whether the payload comes to this host.
    cpu_s : the processor time that the calling thread has taken so far.
    """

    def __init__(
        self,
        *,
        receiving: bool,
        connections: Callable[[], Sequence[EstablishedConnection]] = list_established_connections,
        clock_s: Callable[[], float] = time.monotonic,
        cpu_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._receiving, self._connections, self._clock_s, self._cpu_s = receiving, connections, clock_s, cpu_s
        self._sampler = PathSampler()
        self._known: dict[int, _KnownConnection] = {}
        self._lock = Lock()
        self._pid: int | None = None
        self._own_port: int | None = None
        self._polled_s = self._due_s = clock_s()

    def note_started(self, pid: int, own_port: int | None) -> None:
        """Start observing the tool, which runs as ``pid`` and takes orders from this program on ``own_port``."""
        self._pid, self._own_port = pid, own_port
        self._polled_s = self._due_s = self._clock_s()

    def poll(self) -> None:
        """See how its connections are by now."""
        started_s = self._clock_s()
        if self._pid is None or started_s < self._due_s:
            return
        started_cpu_s = self._cpu_s()
        with suppress(OSError):  # this poll finds nothing
            inodes = frozenset(inode for pid in list_tree(self._pid) for inode in _list_sockets(pid))
            seen = [each for each in self._connections() if each.inode in inodes and each.local_port != self._own_port]
            with self._lock:
                self._note(seen, started_s)
        self._polled_s = started_s
        self._due_s = started_s + (self._cpu_s() - started_cpu_s) / POLL_COST_SHARE

    def sample(self) -> tuple[PathSample, int]:
        """Return the path sample of the last poll, and the number of connections open then."""
        with self._lock:
            infos = [each.info for each in self._known.values()]
            return self._sampler.sample(infos, (), receiving=self._receiving), len(infos)

    def _note(self, seen: Sequence[EstablishedConnection], at_s: float) -> None:
        open_ = {each.cookie for each in seen}
        for cookie in self._known.keys() - open_:
            self._sampler.add_closed(self._known.pop(cookie).info)
        for each in seen:
            # A connection not seen before was opened since the last poll.
            known = self._known.setdefault(each.cookie, _KnownConnection(each.info, ReceiverLoss(self._polled_s)))
            known.loss.count_losses(each.info, at_s)
            known.info = replace(each.info, lost_bytes=known.loss.compute_lost_bytes(each.info))
        self._sampler.note_rtt([each.info for each in seen], receiving=self._receiving)


def watch_connections(task: ToolTask, say: Callable[[str], None]) -> ToolConnections | None:
    """Return a watch on a task's connections; ``None``, with a message, where the kernel does not list them.

    Connections to a proxy, or to order two others about, say nothing of the path.
    """
    direction = task.ends.direction
    if direction is Direction.THIRD_PARTY or _uses_proxy(task):
        return None
    try:
        list_established_connections()
    except OSError as refusal:
        reason = explain_os_error(refusal).what if refusal.errno is not None else str(refusal)
        say(f"the tool's connections cannot be watched, its throughput alone is: {reason}")
        return None
    return ToolConnections(receiving=direction is Direction.DOWNLOAD)


def _uses_proxy(task: ToolTask) -> bool:
    variables = (name for name, value in task.line.environment.items() if value)
    return any(name.lower().endswith("_proxy") and name.lower() != "no_proxy" for name in variables) or any(
        name in _PROXY_OPTIONS for name in task.own_options
    )


def _list_sockets(pid: int) -> Iterator[int]:
    """Yield the inodes of a process's sockets; none of one that has ended, or may not be looked at."""
    folder = Path(f"/proc/{pid}/fd")
    try:
        names = os.listdir(folder)  # noqa: PTH208 -- names alone, and there may be many
    except OSError:
        return
    for name in names:
        with suppress(OSError):  # closed since it was listed
            target = os.readlink(folder / name)  # noqa: PTH115 -- what it names is no path
            if target.startswith(_SOCKET):
                yield int(target[len(_SOCKET) : -1])
