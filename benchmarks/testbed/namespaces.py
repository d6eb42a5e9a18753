"""Named network namespaces: make them, run programs in them, and remove them with all that runs in them."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.testbed.errors import CannotEmulate, EmulationBroke

FOLDER = Path("/run/netns")
"""The folder in which ``ip netns`` keeps them."""

CONGESTION_CONTROL = "cubic"
"""The figures are measured with it, whatever this machine's default is."""

MTU_BYTES = 1500
DEVICE_QUEUE_PACKETS = 10_000
"""Long enough that packets are dropped in the emulated queue, where they are counted, and nowhere else."""

DEVICE = "wan0"
_NET = Path("/proc/sys/net")
_ALLOWED = "ipv4/tcp_allowed_congestion_control"
_REPORTED = ("tcp_congestion_control", "tcp_rmem", "tcp_wmem", "tcp_no_metrics_save")
_GRACE_S = 2.0
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Host:
    """An end of the path: a namespace and its IPv4 address there."""

    namespace: str
    address: str

    @property
    def path(self) -> Path:
        return FOLDER / self.namespace

    def build_command(self, argv: Sequence[str | Path]) -> list[str]:
        """Return the command that runs ``argv`` there; it becomes the program, so that its process id is the same."""
        return ["nsenter", f"--net={self.path}", "--", *map(str, argv)]


def make_namespace(host: Host) -> None:
    """Make a namespace whose TCP has the settings that the figures are measured with.

    Raises
    ------
    CannotEmulate : namespaces or CUBIC are not permitted here.
    """
    made = _run_ip("netns", "add", host.namespace)
    if made.returncode:
        raise CannotEmulate(f"network namespaces are not permitted here: {made.stderr.strip()}")
    _run_ip("-n", host.namespace, "link", "set", "lo", "up")
    _write_setting(
        host, "ipv6/conf/all/disable_ipv6", "1"
    )  # the link carries IPv4; neighbour discovery would only add noise
    # Windows remembered from one run would make the next one of the same pair of addresses start higher.
    _write_setting(host, "ipv4/tcp_no_metrics_save", "1")
    if read_tcp_settings(host)["tcp_congestion_control"] != CONGESTION_CONTROL:
        _permit_congestion_control()
        _write_setting(host, "ipv4/tcp_congestion_control", CONGESTION_CONTROL)


def set_up_device(host: Host) -> None:
    """Give the link's device in a namespace its address and switch it on."""
    for arguments in (
        ("addr", "add", f"{host.address}/24", "dev", DEVICE),
        ("link", "set", DEVICE, "mtu", str(MTU_BYTES), "txqueuelen", str(DEVICE_QUEUE_PACKETS), "up"),
    ):
        done = _run_ip("-n", host.namespace, *arguments)
        if done.returncode:
            raise EmulationBroke(f"ip {' '.join(arguments)} in {host.namespace}: {done.stderr.strip()}")


def read_tcp_settings(host: Host) -> Mapping[str, str]:
    """Return the settings of TCP there that figures depend on, as the kernel prints them, with single spaces."""
    shown = subprocess.run(
        host.build_command(["cat", *(_NET / "ipv4" / name for name in _REPORTED)]),
        capture_output=True,
        text=True,
        check=True,
    )
    return {name: " ".join(line.split()) for name, line in zip(_REPORTED, shown.stdout.splitlines(), strict=True)}


def remove_namespace(name: str) -> None:
    """Stop what runs in a namespace, and remove it and the device that bears its name; do nothing where there is none.

    Such a device is the near end of a cable. It would stay for as long as the kernel retransmits what a killed
    program's connections still owe.
    """
    deadline = time.monotonic() + _GRACE_S
    number = signal.SIGTERM
    while inside := _list_processes(name):
        for process_id in inside:
            with suppress(ProcessLookupError):
                os.kill(process_id, number)
        time.sleep(_POLL_S)
        if time.monotonic() > deadline:
            number = signal.SIGKILL
        if time.monotonic() > deadline + _GRACE_S:
            break
    _run_ip("link", "del", name)
    _run_ip("netns", "del", name)


def _list_processes(name: str) -> list[int]:
    """Return the processes in a namespace, without those that have ended and wait to be collected by their parent."""
    listed = _run_ip("netns", "pids", name)
    return [int(text) for text in listed.stdout.split() if not _has_ended(int(text))]


def _has_ended(process_id: int) -> bool:
    try:
        status = Path(f"/proc/{process_id}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return True
    return status.rpartition(")")[2].split()[0] in ("Z", "X")


def _permit_congestion_control() -> None:
    """Let namespaces choose CUBIC: only what the machine allows everyone may be chosen inside.

    The permission is added to the others and stays: it changes nothing for programs that do not ask for CUBIC.
    """
    allowed = (_NET / _ALLOWED).read_text(encoding="ascii").split()
    if CONGESTION_CONTROL not in allowed:
        try:
            (_NET / _ALLOWED).write_text(" ".join([*allowed, CONGESTION_CONTROL]), encoding="ascii")
        except OSError as failure:
            raise CannotEmulate(
                f"CUBIC must be allowed: sysctl net.ipv4.tcp_allowed_congestion_control='{' '.join(allowed)} cubic' "
                f"({failure.strerror or failure})"
            ) from None


def _write_setting(host: Host, setting: str, value: str) -> None:
    """Write a setting from inside: /proc/sys/net shows the namespace of the process that looks."""
    script = f'[ ! -e "$1" ] || echo {value} > "$1"'
    done = subprocess.run(
        host.build_command(["sh", "-c", script, "sh", _NET / setting]), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotEmulate(f"{setting} = {value} is not permitted in a namespace: {done.stderr.strip()}")


def _run_ip(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
