"""Run agents under faults: each copies files again and again by ``tradewind copy``, and uploads known rows."""

import filecmp
import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from benchmarks.api.cases import DESTINATIONS, SOURCE
from benchmarks.faults.network import Network
from benchmarks.faults.uploader import read_batch_number
from benchmarks.support.report import ROOT
from services.serve import PYTHON
from tradewind.units import MIB
from tradewind_agent.session.abandoned_transfers import find_abandoned_transfers

RATE = "8Mbps"
"""Most of each copy, so that one takes a while and four leave processors to the service."""

FILES, FILE_BYTES = 20, 1 * MIB
UPLOADED = "uploaded"


@dataclass(frozen=True)
class CopyResult:
    """A finished copy: its exit code, its report, and whether all files are there."""

    code: int
    document: Mapping[str, Any]
    is_complete: bool
    error_text: str

    @property
    def is_good(self) -> bool:
        return self.code == 0 and self.is_complete


@dataclass
class CopyingAgent:
    """A host with an agent: a home of its own, so that it has a spool of its own.

    Attributes
    ----------
    copies : those that ended by themselves.
    cut_short : by transfer, how many of its ticks lay on disk when it was killed.
    variables : environment of the copies that start from now on.
    """

    number: int
    folder: Path
    files: Path
    origin: str
    address: str
    key: str
    network: Network
    copies: list[CopyResult] = field(default_factory=list)
    cut_short: dict[UUID, int] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _killing: threading.Lock = field(default_factory=threading.Lock)
    _copy: subprocess.Popen[str] | None = None
    _uploader: subprocess.Popen[bytes] | None = None
    _thread: threading.Thread | None = None

    @property
    def spool(self) -> Path:
        """The spool of its copies; uploads have another one."""
        return self.folder / "home" / ".local" / "state" / "tradewind" / "spool"

    def start(self) -> None:
        (self.folder / "home").mkdir(parents=True)
        self._start_uploader()
        self._thread = threading.Thread(target=self._copy_repeatedly, name=f"agent {self.number}")
        self._thread.start()

    def kill(self) -> None:
        """Stop its programs as ``kill -9`` does; note what they left on disk."""
        with self._killing:
            for process in (self._copy, self._uploader):
                if process is not None and process.poll() is None:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
            for _, record, ticks in find_abandoned_transfers(self.spool / "transfers"):
                assert record.transfer_id is not None
                self.cut_short[record.transfer_id] = ticks[-1].heartbeat.sequence

    def bring_back(self) -> None:
        """Start its uploads again; copies start again by themselves."""
        self._start_uploader()

    def finish(self) -> None:
        """Start no more copies."""
        self._stopping.set()

    def stop(self) -> bool:
        """Let the running copy finish, make one more, and wait for the uploads; return whether all was uploaded."""
        self.finish()
        assert self._thread is not None
        self._thread.join()
        self.variables = {}
        self._copy_once()
        assert self._uploader is not None
        self._uploader.send_signal(signal.SIGTERM)
        return self._uploader.wait() == 0

    def stop_now(self) -> None:
        """Stop everything at once."""
        self._stopping.set()
        for process in (self._copy, self._uploader):
            if process is not None and process.poll() is None:
                process.kill()
        if self._thread is not None:
            self._thread.join()

    @property
    def batches(self) -> int:
        """Number of spooled batches."""
        return read_batch_number(self.folder / "batches")

    @property
    def refused(self) -> int:
        """Segments that the service refused."""
        return sum(1 for spool in (self.folder / "spool", self.spool) for _ in spool.glob("refused/*"))

    def _copy_repeatedly(self) -> None:
        while not self._stopping.is_set():
            self._copy_once()

    def _copy_once(self) -> None:
        """Make one copy; a killed one continues with the parts that are there."""
        destination = self.folder / "received"
        with self._killing:
            self._copy = subprocess.Popen(
                self.network.build_command([*PYTHON, "tradewind_agent", *self._build_arguments(destination)]),
                env=self._build_environment(),
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        out, err = self._copy.communicate()
        if self._copy.returncode == -signal.SIGKILL:
            return
        self.copies.append(_make_result(self._copy.returncode, out, err, self.files, destination))
        shutil.rmtree(destination, ignore_errors=True)

    def _build_arguments(self, destination: Path) -> Sequence[str]:
        names = ("--source", SOURCE, "--destination", DESTINATIONS[self.number])
        return ("copy", self.origin, str(destination), *names, "--limit-rate", RATE, "--json")

    def _build_environment(self) -> dict[str, str]:
        service = {"TRADEWIND_URL": self.address, "TRADEWIND_KEY": self.key, "HOME": str(self.folder / "home")}
        return {**os.environ, **service, **self.variables}

    def _start_uploader(self) -> None:
        command = (*PYTHON, "benchmarks.faults.uploader", str(self.number), str(self.folder), self.address, self.key)
        with (self.folder / "uploads.log").open("ab") as log:
            self._uploader = subprocess.Popen(self.network.build_command(command), cwd=ROOT, stdout=log, stderr=log)


def _make_result(code: int, out: str, err: str, expected: Path, received: Path) -> CopyResult:
    try:
        document = json.loads(out)
    except ValueError:
        document = {}
    names = sorted(file.name for file in expected.iterdir())
    are_equal = received.is_dir() and filecmp.cmpfiles(expected, received, names, shallow=False)[0] == names
    return CopyResult(code, document, bool(are_equal), err.strip()[-500:])


def make_files(folder: Path) -> None:
    """Write files that cannot be packed, for all agents."""
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number:02d}").write_bytes(os.urandom(FILE_BYTES))
