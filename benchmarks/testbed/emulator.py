"""Run the program of `link/`: compile it once for its sources, start it, change it and read its counters."""

import hashlib
import os
import select
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from benchmarks.support.report import ROOT
from benchmarks.testbed.errors import CannotEmulate, EmulationBroke
from benchmarks.testbed.namespaces import DEVICE, Host
from benchmarks.testbed.path_spec import PathCounters, PathSpec

SOURCES = Path(__file__).parent / "link"
FLAGS = ("-O2", "-std=c11", "-Wall", "-Wextra")
ANSWER_BYTES = 16_384
PATIENCE_S = 10.0


def compile_link(folder: Path = ROOT / "var" / "testbed") -> Path:
    """Return the program; take it from ``folder`` if these sources were compiled before.

    Raises
    ------
    CannotEmulate : the system's C compiler refuses them.
    """
    sources = sorted(SOURCES.glob("*.[ch]"))
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    program = folder / f"link-{digest}"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        fresh = Path(scratch) / "link"
        units = [str(source) for source in sources if source.suffix == ".c"]
        done = subprocess.run(["cc", *FLAGS, *units, "-o", str(fresh)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotEmulate(
                f"the emulator does not compile: {(done.stderr.strip() or 'cc failed').splitlines()[0]}"
            )
        fresh.replace(program)  # two checkouts or processes may do this at once: the last one wins, both are complete
    return program


class LinkControl:
    """Commands to a running link, from any process that may open its socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PATIENCE_S)
        try:
            self._socket.connect(str(path))
        except OSError as failure:
            self._socket.close()
            raise EmulationBroke(f"no link answers at {path}: {failure.strerror or failure}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def apply(self, path: PathSpec) -> None:
        """Set both directions, from the next packet on."""
        for direction in ("down", "up"):
            self._send_command(f"set {direction} {path.format_settings()}")

    def read_counters(self) -> PathCounters:
        return PathCounters.parse(self._send_command("counters"))

    def _send_command(self, command: str) -> str:
        try:
            self._socket.send(command.encode())
            answer = self._socket.recv(ANSWER_BYTES).decode()
        except OSError as failure:
            raise EmulationBroke(f"the link does not answer: {failure.strerror or failure}") from None
        if not answer or answer.startswith("error"):
            raise EmulationBroke(f"the link refuses {command!r}: {answer or 'it has ended'}")
        return answer


def _give_real_time_priority(process_id: int) -> bool:
    """Give a process real-time priority, where this account and its control group may."""
    try:
        os.sched_setscheduler(process_id, os.SCHED_RR, os.sched_param(os.sched_get_priority_min(os.SCHED_RR)))
    except OSError:
        return False
    return True


class Link:
    """A running link between a server and its clients.

    It ends with `close`, and with this process however that ends: its standard input closes then.

    Attributes
    ----------
    is_real_time : whether the machine runs it before all ordinary processes: a late link is another path.
    """

    def __init__(self, server: Host, clients: Sequence[Host], *, socket_path: Path, seed: int) -> None:
        command = [compile_link(), socket_path, seed, DEVICE, server.path]
        command += [f"{client.path}={client.address}" for client in clients]
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            self.is_real_time = _give_real_time_priority(self.process.pid)
            self._wait_until_ready()
            self.control = LinkControl(socket_path)
        except BaseException:
            self._stop()
            raise

    def read_cpu_s(self) -> float:
        """Return the processor time so far, s: of the emulation, and of the receiving kernel, which counts on its
        account.
        """
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.control.close()
        self._stop()

    def _wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        if not ready or self.process.stdout.readline() != b"ready\n":
            raise EmulationBroke(self._stop().strip() or "the link did not start")

    def _stop(self) -> str:
        """Stop the link; return what it wrote to its standard error."""
        self.process.terminate()
        try:
            _, output = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            _, output = self.process.communicate()
        return output.decode(errors="replace")
