"""A testbed: one server and several clients behind one bottleneck, from set-up to removal."""

import os
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from benchmarks.testbed.emulator import Link
from benchmarks.testbed.leftovers import State, make_unique_name, remove_leftovers
from benchmarks.testbed.namespaces import Host, make_namespace, read_tcp_settings, set_up_device
from benchmarks.testbed.path_spec import PathCounters, PathSpec
from benchmarks.testbed.permissions import require_permission
from tradewind.errors import InvalidValue

MOST_CLIENTS = 16
"""The link's maximum."""


class Testbed:
    """A path with its hosts, for as long as the context lasts.

    Parameters
    ----------
    path : may be changed later, see `change`.
    clients : how many, all sharing the bottleneck.
    seed : of the random losses.
    purpose : why it is set up, for other processes to read.

    Attributes
    ----------
    server, clients : where programs run, see `start` and `run`.
    folder : for sockets, configurations and logs; removed at the end.
    """

    __test__ = False  # pytest must not collect it for its name

    def __init__(self, path: PathSpec, *, clients: int = 1, seed: int = 1, purpose: str = "run") -> None:
        if not 1 <= clients <= MOST_CLIENTS:
            raise InvalidValue("clients", f"must be within 1 and {MOST_CLIENTS}, got {clients}")
        name = make_unique_name()
        self.path = path
        self.seed = seed
        self.server = Host(f"{name}-server", "10.77.0.1")
        self.clients = [Host(f"{name}-client{i}", f"10.77.0.{2 + i}") for i in range(clients)]
        self._state = State.of_this_process(name, [host.namespace for host in self.hosts], purpose)
        self._resources = ExitStack()
        self.link: Link

    @property
    def hosts(self) -> list[Host]:
        return [self.server, *self.clients]

    @property
    def name(self) -> str:
        return self._state.name

    @property
    def folder(self) -> Path:
        return self._state.folder

    def __enter__(self) -> Self:
        """Set the testbed up; remove leftovers of killed testbeds on the way.

        Raises
        ------
        CannotEmulate : not permitted here; the message says what is needed.
        """
        require_permission()
        remove_leftovers()
        with ExitStack() as resources:
            self._state.write()  # before there is anything to clean up
            resources.callback(self._state.remove)
            for host in self.hosts:
                make_namespace(host)
            self.link = Link(self.server, self.clients, socket_path=self.folder / "link", seed=self.seed)
            resources.callback(self.link.close)
            self.link.control.apply(self.path)
            for host in self.hosts:
                set_up_device(host)
            self._resources = resources.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def change(self, path: PathSpec) -> None:
        """Change the path while it carries traffic."""
        self.link.control.apply(path)
        self.path = path

    def read_counters(self) -> PathCounters:
        """Return what the link has carried, dropped and lost since the set-up."""
        return self.link.control.read_counters()

    def start(
        self, host: Host, argv: Sequence[str | Path], *, log: Path | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start a program on a host, without input; its output goes to ``log``, or nowhere.

        It ends with the testbed at the latest. ``options`` are those of `subprocess.Popen`.
        """
        with (log if log is not None else Path(os.devnull)).open("wb") as output:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
            program: subprocess.Popen[bytes] = subprocess.Popen(host.build_command(argv), **(streams | options))
            return program

    def run(self, host: Host, argv: Sequence[str | Path], *, timeout_s: float | None = None) -> str:
        """Run a program on a host to its end; return its output.

        Raises
        ------
        subprocess.CalledProcessError, subprocess.TimeoutExpired : it failed or took longer than ``timeout_s``.
        """
        done = subprocess.run(
            host.build_command(argv), stdout=subprocess.PIPE, text=True, check=True, timeout=timeout_s
        )
        return done.stdout

    def read_tcp_settings(self) -> dict[str, str]:
        """Return the settings of TCP, the same on all hosts, which are stored with every figure."""
        return dict(read_tcp_settings(self.server))
