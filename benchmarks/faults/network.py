"""The network between agents and the service: the two ends of a cable, on which everything may be lost."""

import ctypes
import os
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.testbed.leftovers import record_namespaces
from benchmarks.testbed.namespaces import FOLDER
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

    def build_command(self, argv: Sequence[str]) -> list[str]:
        """Return the command that runs ``argv`` where the agents are; it becomes the program."""
        return list(argv) if self.namespace is None else ["nsenter", f"--net={FOLDER / self.namespace}", "--", *argv]

    def enter(self) -> None:
        """Open the sockets of this thread in the agents' network from now on."""
        if self.namespace is None:
            return
        descriptor = os.open(FOLDER / self.namespace, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
                raise CannotConnect(f"no thread may enter {self.namespace}: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(descriptor)

    def cut(self) -> None:
        """Lose what either end sends from now on, without an error: it goes to an address that no device has."""
        self._send_to(NOBODYS_MAC, NOBODYS_MAC)

    def restore(self) -> None:
        """Deliver what is sent again."""
        self._send_to(OUR_MAC, THEIR_MAC)

    def _send_to(self, own_address: str, peer_address: str) -> None:
        assert self.namespace is not None, "nothing can be cut"
        _run_ip("neigh", "replace", self.agents_address, "lladdr", peer_address, "dev", self.cable)
        _run_ip(
            "-n", self.namespace, "neigh", "replace", self.service_address, "lladdr", own_address, "dev", THEIR_DEVICE
        )


@contextmanager
def set_up_network() -> Iterator[Network]:
    """Yield a cable to a network namespace of the agents, for root; else all are on the loopback."""
    if os.geteuid() != 0 or not Path("/usr/bin/nsenter").exists():
        yield Network()
        return
    name = f"twf-{uuid.uuid4().hex[:8]}"
    subnet = int(name[4:6], 16)
    own_address, peer_address = f"10.213.{subnet}.1", f"10.213.{subnet}.2"
    with record_namespaces([name], purpose="faults"):
        _run_ip("netns", "add", name)
        peer = ("peer", "name", THEIR_DEVICE, "address", THEIR_MAC, "netns", name)
        _run_ip("link", "add", name, "address", OUR_MAC, "type", "veth", *peer)
        _run_ip("addr", "add", f"{own_address}/{PREFIX_BITS}", "dev", name)
        _run_ip("link", "set", name, "up")
        _run_ip("-n", name, "link", "set", "lo", "up")
        _run_ip("-n", name, "addr", "add", f"{peer_address}/{PREFIX_BITS}", "dev", THEIR_DEVICE)
        _run_ip("-n", name, "link", "set", THEIR_DEVICE, "up")
        made = Network(own_address, name, name, peer_address)
        made.restore()
        yield made


def _run_ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotConnect(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
