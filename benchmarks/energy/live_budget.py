"""The energy budget of real copies, tick by tick, against what both ends really took.

A `tradewind copy` and a `tradewind serve-files` run as programs of their own, each with the power model of its end: on
the testbed where it is permitted, else over the loopback at a limited rate. The truth is the same model over the
processor time of each program, sampled by this benchmark. It passes through nothing that is measured: neither the
meters' sessions, nor the server's reports, nor the ticks.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.support.processes import measure_cpu_s
from benchmarks.testbed.errors import CannotEmulate
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.permissions import require_permission
from benchmarks.testbed.testbed import Testbed
from tradewind.units import BITS_PER_BYTE

PYTHON = [sys.executable, "-P", "-m", "tradewind_agent"]
SAMPLE_S = 0.1
STARTUP_S = 60.0
BASE_POWER = "0s"
"""The models know their idle power; no base has to be measured."""

FEASIBLE_MARGINS = (1.1, 1.5, 3.0)
"""Targets of energy, in multiples of what the same copy took without a target just before.

A target counts as feasible if the same copy without a target stays within it before and afterwards: other work on the
machine slows copies down.
"""

FILES = 8
SMOKE_S = 8.0
"""One tick with a decision, and the end."""


@dataclass(frozen=True, slots=True)
class EndModel:
    """Power of one end by processor time, W: idle, and with all processors busy."""

    idle_w: float
    full_w: float

    @property
    def option(self) -> str:
        return f"{self.idle_w:g}W,{self.full_w:g}W"

    def compute_energy_j(self, duration_s: float, cpu_s: float) -> float:
        return self.idle_w * duration_s + (self.full_w - self.idle_w) * cpu_s / (psutil.cpu_count() or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Both ends of a path, and about how long a copy over it takes."""

    name: str
    server: EndModel
    client: EndModel
    rate_bps: float = 1e8
    rtt_s: float = 0.04
    duration_s: float = 21.0
    is_server_metered: bool = True


EQUAL = EndModel(20.0, 60.0)
BUSY = EndModel(4.0, 200.0)
"""An end whose energy is mostly that of its processors."""

SETUPS = (
    Setup(name="equal ends", server=EQUAL, client=EQUAL),
    Setup(name="unequal ends", server=EndModel(60.0, 240.0), client=EndModel(5.0, 30.0), rtt_s=0.1),
    Setup(name="little idle power", server=BUSY, client=BUSY, duration_s=26.0),
)
UNMETERED = Setup(name="server not metered", server=EQUAL, client=EQUAL, duration_s=16.0, is_server_metered=False)


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """Where the programs of both ends run: ``wrap_server`` and ``wrap_client`` make the commands that start them."""

    name: str
    address: str
    wrap_server: Callable[[Sequence[str]], list[str]]
    wrap_client: Callable[[Sequence[str]], list[str]]
    limit: tuple[str, ...] = ()


@contextmanager
def open_place(setup: Setup, seed: int) -> Iterator[CopyPlace]:
    """Yield the emulated path of a setup; the loopback at its rate where no path can be emulated."""
    try:
        require_permission()
    except CannotEmulate:
        yield CopyPlace("loopback", "127.0.0.1", list, list, ("--limit-rate", f"{setup.rate_bps:g}bps"))
        return
    path = PathSpec(rate_bps=setup.rate_bps, rtt_s=setup.rtt_s)
    with Testbed(path, seed=seed, purpose="energy") as bed:
        yield CopyPlace("testbed", bed.server.address, bed.server.build_command, bed.clients[0].build_command)


@dataclass(slots=True)
class CpuLog:
    """Processor time of the programs at both ends, sampled until it is closed."""

    server: psutil.Process
    client: psutil.Process
    at_s: list[float] = field(default_factory=list)
    cpu_s: list[tuple[float, float]] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self._is_over.wait(SAMPLE_S):
            try:
                taken = measure_cpu_s(self.server), measure_cpu_s(self.client)
            except psutil.NoSuchProcess:
                return
            self.at_s.append(time.time())
            self.cpu_s.append(taken)

    def close(self) -> None:
        self._is_over.set()

    def compute_energy_j(self, setup: Setup, begin_s: float, at_s: float) -> float:
        """Return the energy of both ends from ``begin_s`` to ``at_s``, POSIX seconds."""
        server, client = np.array(self.cpu_s).T
        spent = [np.interp(at_s, self.at_s, cpu_s) - np.interp(begin_s, self.at_s, cpu_s) for cpu_s in (server, client)]
        ends = (setup.server, setup.client)
        return sum(end.compute_energy_j(at_s - begin_s, float(cpu_s)) for end, cpu_s in zip(ends, spent, strict=True))


@dataclass(frozen=True, slots=True)
class Copy:
    """One copy: its report, and the truth about it."""

    report: dict[str, Any]
    log: CpuLog

    @property
    def is_met(self) -> bool | None:
        met: bool | None = self.report["agreement_kept"]
        return met

    def compute_energy_j(self, setup: Setup) -> float:
        """Return the energy that both ends really took."""
        first, *_, last = self.report["timeline"]
        return self.log.compute_energy_j(setup, _parse_instant(first), _parse_instant(last))

    def list_budget_errors(self, setup: Setup, target_j: float) -> list[float]:
        """Return the error of the remaining budget at each tick but the first, as a share of the entire budget."""
        begin_s = _parse_instant(self.report["timeline"][0])
        total_bytes = self.report["timeline"][0]["sample"]["remaining_bytes"]
        errors = []
        for tick in self.report["timeline"][1:]:
            bank_j = tick["decision"]["sla_bank"]
            if bank_j is None:  # the transfer has ended: nothing is decided any more
                continue
            done = 1 - tick["sample"]["remaining_bytes"] / total_bytes
            believed_j = target_j * done - bank_j
            errors.append(abs(believed_j - self.log.compute_energy_j(setup, begin_s, _parse_instant(tick))) / target_j)
        return errors

    @property
    def says_what_is_scaled(self) -> bool:
        """Whether every decision on a tick says that one end is not metered."""
        reasons = [tick["decision"]["reason"] for tick in self.report["timeline"][1:-1]]
        return bool(reasons) and all("alone" in reason for reason in reasons)


def _parse_instant(tick: dict[str, Any]) -> float:
    return datetime.fromisoformat(tick["sample"]["at"]).timestamp()


def measure_live_budgets(folder: Path, *, quick: bool, smoke: bool, seed: int) -> list[dict[str, Any]]:
    """Return a row for each copy under a target of energy.

    Parameters
    ----------
    folder : for the files, empty.
    """
    setups: Sequence[Setup] = (replace(SETUPS[0], duration_s=SMOKE_S),) if smoke else SETUPS[1:2] if quick else SETUPS
    rows: list[dict[str, Any]] = []
    for setup in setups:
        rows += _measure_setup(setup, folder, margins=FEASIBLE_MARGINS[:1] if quick else FEASIBLE_MARGINS, seed=seed)
    if not smoke:
        (row,) = _measure_setup(UNMETERED, folder, margins=FEASIBLE_MARGINS[1:2], seed=seed)
        rows.append(row)
    return rows


def _measure_setup(setup: Setup, folder: Path, *, margins: Sequence[float], seed: int) -> Iterator[dict[str, Any]]:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    draw = np.random.default_rng(seed)
    size = int(setup.rate_bps * setup.duration_s / BITS_PER_BYTE / FILES)
    for number in range(FILES):
        (source / f"file{number}").write_bytes(draw.bytes(size))
    with open_place(setup, seed) as place, _serve(setup, place, source, folder) as served:
        copy_under = partial(_copy, setup, place, served, folder)
        usual_j = copy_under("max_throughput").compute_energy_j(setup)
        for margin in margins:
            target_j, before_j = margin * usual_j, usual_j
            copy = copy_under(f"energy_at_most={target_j!r}J")
            usual_j = copy_under("max_throughput").compute_energy_j(setup)
            yield {
                "case": f"live: {setup.name}, {margin:g} times the energy",
                "place": place.name,
                "target_j": target_j,
                "ticks": len(copy.report["timeline"]),
                "metered_ends": 2 if setup.is_server_metered else 1,
                "budget_error": max(copy.list_budget_errors(setup, target_j)),
                "is_scaling_said": None if setup.is_server_metered else copy.says_what_is_scaled,
                "is_feasible": max(before_j, usual_j) <= target_j,
                "sla_met": copy.is_met,
            }


@contextmanager
def _serve(setup: Setup, place: CopyPlace, source: Path, folder: Path) -> Iterator[tuple[psutil.Process, str]]:
    command = [*PYTHON, "serve-files", str(source), "--host", place.address, "--port", "0", "--json"]
    command += ["--power-profile", setup.server.option, "--base-power", BASE_POWER]
    command += ["--meter" if setup.is_server_metered else "--no-meter"]
    with subprocess.Popen(place.wrap_server(command), env=build_environment(folder), stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield psutil.Process(process.pid), json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


def _copy(setup: Setup, place: CopyPlace, served: tuple[psutil.Process, str], folder: Path, sla: str) -> Copy:
    server, url = served
    command = [*PYTHON, "copy", url, str(folder / "received"), "--sla", sla, "--energy-basis", "total", "--no-resume"]
    command += [*place.limit, "--power-profile", setup.client.option, "--base-power", BASE_POWER]
    command += ["--bandwidth", f"{setup.rate_bps:g}bps", "--rtt", f"{setup.rtt_s:g}s", "--json", "--quiet"]
    with subprocess.Popen(
        place.wrap_client(command), env=build_environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        log = CpuLog(server, psutil.Process(process.pid))
        watcher = threading.Thread(target=log.run)
        watcher.start()
        try:
            out, errors = process.communicate(timeout=STARTUP_S + 10 * setup.duration_s)
        finally:
            log.close()
            watcher.join()
            process.kill()
    if process.returncode != 0:
        raise RuntimeError(f"the copy failed: {errors.decode(errors='replace').strip()[-300:]}")
    for file in (folder / "received").iterdir():
        file.unlink()
    return Copy(json.loads(out), log)


def build_environment(folder: Path) -> dict[str, str]:
    """Return the environment of somebody of whom nothing is known: no service, no spool, no calibrated meter."""
    known = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH", "VIRTUAL_ENV") if name in os.environ}
    return known | {"HOME": str(folder), "PYTHONUNBUFFERED": "1"}


def summarise_live_budgets(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of all copies; the error is of those whose ends are both metered."""
    both = [row for row in rows if row["metered_ends"] == 2]
    one = [row for row in rows if row["metered_ends"] == 1]
    feasible = [row for row in both if row["is_feasible"]]
    return {
        "live_copies": len(rows),
        "live_feasible": len(feasible),
        "live_budget_error_max": max(row["budget_error"] for row in both),
        "live_sla_met": float(np.mean([row["sla_met"] is True for row in feasible])) if feasible else None,
        "one_end_budget_error_max": max((row["budget_error"] for row in one), default=None),
        "one_end_scaling_said": all(row["is_scaling_said"] for row in one) if one else None,
    }
