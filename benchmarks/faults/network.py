"""The network between agents and the service: the two ends of a cable, on which all may get lost."""

import ctypes
import os
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.testbed.namespaces import FOLDER, remove_namespace
from tradewind.errors import TradewindError

LOOPBACK = "127.0.0.1"
PREFIX_BITS = 30
CLONE_NEWNET = 0x40000000

OUR_MAC, THEIR_MAC, NOBODYS_MAC = (f"02:00:00:00:00:{number:02x}" for number in (1, 2, 3))
THEIR_DEVICE = "service"


class CannotConnect(TradewindError):
    """No network of its own can be made here; the message says why."""


@dataclass(frozen=True)
class Network:
    """Where the service listens, and where its agents run.

    Attributes
    ----------
    service_address : of the service, as its agents reach it.
    namespace : of the agents; ``None`` where they share the service's, and nothing can be cut.
    cable : the service's end.
    agents_address : of the agents, as the service reaches them.
    """

    service_address: str = LOOPBACK
    namespace: str | None = None
    cable: str = ""
    agents_address: str = LOOPBACK

    def command(self, argv: Sequence[str]) -> list[str]:
        """The command that runs ``argv`` beside the agents; it becomes the program."""
        return list(argv) if self.namespace is None else ["nsenter", f"--net={FOLDER / self.namespace}", "--", *argv]

    def enter(self) -> None:
        """Let the sockets that this thread opens from now on be the agents'."""
        if self.namespace is None:
            return
        descriptor = os.open(FOLDER / self.namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
                raise CannotConnect(f"no thread may enter {self.namespace}: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(descriptor)

    def cut(self) -> None:
        """From now on what either end sends is lost, and nobody is told: it goes to an address that nobody has."""
        self._send_to(NOBODYS_MAC, NOBODYS_MAC)

    def mend(self) -> None:
        """What is sent arrives again."""
        self._send_to(OUR_MAC, THEIR_MAC)

    def _send_to(self, ours: str, theirs: str) -> None:
        assert self.namespace is not None, "nothing can be cut"
        _ip("neigh", "replace", self.agents_address, "lladdr", theirs, "dev", self.cable)
        _ip("-n", self.namespace, "neigh", "replace", self.service_address, "lladdr", ours, "dev", THEIR_DEVICE)


@contextmanager
def network() -> Iterator[Network]:
    """A cable to a network namespace of the agents, for root; else all are on the loopback."""
    if os.geteuid() != 0 or not Path("/usr/bin/nsenter").exists():
        yield Network()
        return
    name = f"twf-{uuid.uuid4().hex[:8]}"
    subnet = int(name[4:6], 16)
    ours, theirs = f"10.213.{subnet}.1", f"10.213.{subnet}.2"
    _ip("netns", "add", name)
    try:
        peer = ("peer", "name", THEIR_DEVICE, "address", THEIR_MAC, "netns", name)
        _ip("link", "add", name, "address", OUR_MAC, "type", "veth", *peer)
        _ip("addr", "add", f"{ours}/{PREFIX_BITS}", "dev", name)
        _ip("link", "set", name, "up")
        _ip("-n", name, "link", "set", "lo", "up")
        _ip("-n", name, "addr", "add", f"{theirs}/{PREFIX_BITS}", "dev", THEIR_DEVICE)
        _ip("-n", name, "link", "set", THEIR_DEVICE, "up")
        made = Network(ours, name, name, theirs)
        made.mend()
        yield made
    finally:
        remove_namespace(name)  # its end of the cable goes with it, and so does the other


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotConnect(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
