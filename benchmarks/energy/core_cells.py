"""Cores varied for real: settings of little energy and the fastest ones, next to each other on emulated paths.

Energy is the processor time of the programs at both ends, times a constant: a proxy. Memory, disk and network take the
same for the same bytes. Each setting of a grid is run several times, which is the history. The product's surfaces and
SLAs choose from that history, as `choices` does. The chosen settings then run again, in turns, and only these runs are
judged. Brute force is the best setting of the grid by the medians of its runs.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.energy.live_budget import (
    BASE_POWER,
    PYTHON,
    CopyPlace,
    EndModel,
    Setup,
    build_environment,
    open_place,
)
from benchmarks.testbed.errors import CannotEmulate
from tradewind.learning.leaf import MEDIAN_LOAD, fit_leaf
from tradewind.learning.leaf_prediction import build_predicted_settings
from tradewind.learning.observations import Observations
from tradewind.parameters import Parameters
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, Sla, SlaKind
from tradewind.tiers.selection import choose_setting
from tradewind.tiers.setting_table import SettingTable

MB = 10**6
IDLE_W = 1.0
PROXY = EndModel(IDLE_W, 101.0)
"""Power of each end: its dynamic energy is 100 W times its share of the processors' time."""

FRACTION = 0.9
SAVING = 0.75
"""A cell counts as one with a setting to find where brute force takes this share of the fastest setting's energy."""

NO_WORSE = 1.05
"""Runs of one setting differ by about this much; energy above it counts as more."""

HISTORY_RUNS, JUDGED_RUNS, SMOKE_RUNS = 4, 5, 2
LEAST_J = 0.5
"""Dynamic energy of one tick of the processors' clock, 10 ms, by the proxy: less is not measured."""

COPY_PATIENCE_S = 120.0

AXES = ("concurrency", "parallelism", "cores")


@dataclass(frozen=True, slots=True)
class CoreCell:
    """A path, and the files that go over it."""

    name: str
    rate_bps: float
    rtt_s: float
    file_count: int
    file_bytes: int


CELLS = (
    CoreCell("small files, 200 Mbit/s, 20 ms", 2e8, 0.02, 400, 100_000),
    CoreCell("large files, 200 Mbit/s, 20 ms", 2e8, 0.02, 4, 25 * MB),
    CoreCell("medium files, 100 Mbit/s, 60 ms", 1e8, 0.06, 40, MB),
)
CONCURRENCY, PARALLELISM, CORES = (1, 4, 16), (1, 4), (1, 2)
SMOKE_CONCURRENCY = (1, 4)


class Measured(NamedTuple):
    """One copy: bit/s, and the dynamic energy of both ends by the proxy, J."""

    throughput_bps: float
    dynamic_j: float
    duration_s: float

    @property
    def power_w(self) -> float:
        return 2 * IDLE_W + self.dynamic_j / self.duration_s


def measure_core_cells(folder: Path, *, smoke: bool, seed: int) -> list[dict[str, Any]]:
    """Return a row for each cell; ``folder`` is for its files."""
    cells = (CoreCell("smoke", 2e8, 0.02, 8, 100_000),) if smoke else CELLS
    return [_measure_cell(cell, folder / f"cell{n}", smoke=smoke, seed=seed) for n, cell in enumerate(cells)]


def _measure_cell(cell: CoreCell, folder: Path, *, smoke: bool, seed: int) -> dict[str, Any]:
    source = folder / "source"
    source.mkdir(parents=True)
    draw = np.random.default_rng(seed)
    for number in range(cell.file_count):
        (source / f"file{number}").write_bytes(draw.bytes(cell.file_bytes))
    setup = Setup(name=cell.name, server=PROXY, client=PROXY, rate_bps=cell.rate_bps, rtt_s=cell.rtt_s)
    grid = [
        Parameters(concurrency=cc, parallelism=p, cores=cores, pipelining=1)
        for cc, p, cores in product(SMOKE_CONCURRENCY if smoke else CONCURRENCY, PARALLELISM, CORES)
        if p == 1 or cell.file_bytes >= MB
    ]
    with open_place(setup, seed) as place:
        copy = _Copy(place, source, folder)
        history: list[tuple[Parameters, Measured]] = []
        for _ in range(SMOKE_RUNS if smoke else HISTORY_RUNS):
            history += [(grid[i], copy(grid[i])) for i in draw.permutation(len(grid))]
        fastest, frugal = (_choose(history, grid, sla) for sla in (_FASTEST, _FRUGAL))
        judged: dict[Parameters, list[Measured]] = {}
        for _ in range(1 if smoke else JUDGED_RUNS):
            for setting in dict.fromkeys((fastest, frugal)):
                judged.setdefault(setting, []).append(copy(setting))
    return {"case": f"cores: {cell.name}", "place": place.name} | judge_runs(history, judged, fastest, frugal)


_FASTEST = Sla(kind=SlaKind.MAX_THROUGHPUT)
_FRUGAL = Sla(
    kind=SlaKind.THROUGHPUT_AT_LEAST,
    fraction=FRACTION,
    confidence=DEFAULT_CONFIDENCE,
    energy_basis=EnergyBasis.DYNAMIC,
)


def _choose(history: Sequence[tuple[Parameters, Measured]], grid: Sequence[Parameters], sla: Sla) -> Parameters:
    """Return the setting that the product's surfaces, fitted to the history, choose for an SLA."""

    def to_rows(settings: Sequence[Parameters]) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([[getattr(each, axis) for axis in AXES] for each in settings], dtype=np.float64)

    count = len(history)
    observations = Observations(
        axes=AXES,
        settings=to_rows([setting for setting, _ in history]),
        throughput_bps=np.array([each.throughput_bps for _, each in history]),
        power_w=np.array([each.power_w for _, each in history]),
        load=np.full(count, np.nan),
        started_s=np.arange(count, dtype=np.float64),
    )
    model = fit_leaf(observations, idle_power_w=2 * IDLE_W)
    prediction = model.predict(to_rows(grid), np.full(len(grid), MEDIAN_LOAD))
    table = SettingTable(tuple(build_predicted_settings(iter(grid), prediction)), 2 * IDLE_W)
    choice = choose_setting(table, sla, dataset_bytes=1.0)
    assert choice is not None, "nothing is capped"
    return choice.setting.parameters


def judge_runs(
    history: Sequence[tuple[Parameters, Measured]],
    judged: dict[Parameters, list[Measured]],
    fastest: Parameters,
    frugal: Parameters,
) -> dict[str, Any]:
    """Return what brute force and the choices reach; both are compared with the fastest setting of their own runs."""
    by_setting: dict[Parameters, list[Measured]] = {}
    for setting, each in history:
        by_setting.setdefault(setting, []).append(each)
    grid = {setting: _take_median(runs) for setting, runs in by_setting.items()}
    most = max(grid.values(), key=lambda each: each.throughput_bps)
    enough = [each for each in grid.values() if each.throughput_bps >= FRACTION * most.throughput_bps]
    least = min(enough, key=lambda each: each.dynamic_j)
    fast, slow = _take_median(judged[fastest]), _take_median(judged[frugal])
    return {
        "brute_force_dynamic": least.dynamic_j / max(most.dynamic_j, LEAST_J),
        "has_frugal_setting": least.dynamic_j <= SAVING * most.dynamic_j,
        "fastest": _describe(fastest),
        "frugal": _describe(frugal),
        "fastest_mbps": fast.throughput_bps / 1e6,
        "fastest_vs_best": fast.throughput_bps / most.throughput_bps,
        "frugal_dynamic": slow.dynamic_j / max(fast.dynamic_j, LEAST_J),
        "frugal_throughput": slow.throughput_bps / fast.throughput_bps,
    }


def _take_median(runs: Sequence[Measured]) -> Measured:
    throughput_bps, dynamic_j, duration_s = (float(np.median(values)) for values in zip(*runs, strict=True))
    return Measured(throughput_bps, dynamic_j, duration_s)


def _describe(setting: Parameters) -> str:
    cores = f"{setting.cores} {'core' if setting.cores == 1 else 'cores'}"
    return f"{setting.concurrency} × {setting.parallelism}, {cores}"


def _serve(place: CopyPlace, source: Path, folder: Path) -> "_Server":
    command = [*PYTHON, "serve-files", str(source), "--host", place.address, "--port", "0", "--json"]
    command += ["--power-profile", PROXY.option, "--base-power", BASE_POWER, "--meter"]
    return _Server(place.wrap_server(command), folder)


class _Server:
    """A server that accepts the cores of its clients, whose address is the value of its ``with`` block."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command, self._folder = [*command, "--accept-limits", "cores"], folder

    def __enter__(self) -> str:
        environment = build_environment(self._folder) | {"TRADEWIND_SERVE_TOKEN": TOKEN}
        self._process = subprocess.Popen(self._command, env=environment, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        url: str = json.loads(self._process.stdout.readline())["url"]
        return url

    @property
    def cores(self) -> int:
        """Cores that the server may use now; limits of a copy hold for some seconds after its end."""
        return len(os.sched_getaffinity(self._process.pid))

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()


TOKEN = "cores-may-be-limited"


class _Copy:
    """Copies of one cell, by settings of their own, each from a server of its own.

    A server leaves limits for some seconds after a copy ends; the next copy would begin with them.
    """

    def __init__(self, place: CopyPlace, source: Path, folder: Path) -> None:
        self._place, self._source, self._folder = place, source, folder

    def __call__(self, setting: Parameters) -> Measured:
        server = _serve(self._place, self._source, self._folder)
        with server as url:
            measured = self._copy(url, setting)
            if server.cores != setting.cores:
                raise RuntimeError(f"the server used {server.cores} cores, the copy was to use {setting.cores}")
            return measured

    def _copy(self, url: str, setting: Parameters) -> Measured:
        received = self._folder / "received"
        command = [*PYTHON, "copy", url, str(received), "--no-resume", "--json", "--quiet"]
        command += [*self._place.limit, "--power-profile", PROXY.option, "--base-power", BASE_POWER]
        command += ["--concurrency", str(setting.concurrency), "--parallelism", str(setting.parallelism)]
        command += ["--pipelining", str(setting.pipelining), "--limit-cores", str(setting.cores), "--limit-both-ends"]
        command += ["--header", f"Authorization: Bearer {TOKEN}", "--energy-basis", "total"]
        done = subprocess.run(
            self._place.wrap_client(command),
            env=build_environment(self._folder),
            capture_output=True,
            timeout=COPY_PATIENCE_S,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"the copy failed: {done.stderr.decode(errors='replace').strip()[-300:]}")
        for file in received.iterdir():
            file.unlink()
        report = json.loads(done.stdout)
        ends = {each["host"]: each["dynamic_j"] for each in report["energy"]}
        if len(ends) < 2:
            raise CannotEmulate("one end is not metered")
        sys.stderr.write(f"  {_describe(setting)}: {report['throughput_bps'] / 1e6:.1f} Mbit/s, {ends}\n")
        return Measured(report["throughput_bps"], sum(ends.values()), report["duration_s"])


def summarise_core_cells(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures of all cells; savings are of the cells in which brute force finds a frugal setting."""
    frugal = [row for row in rows if row["has_frugal_setting"]]
    return {
        "core_cells": len(rows),
        "core_cells_with_frugal_setting": len(frugal),
        "core_dynamic_vs_fastest_max": max((row["frugal_dynamic"] for row in frugal), default=None),
        "core_throughput_vs_fastest_min": min((row["frugal_throughput"] for row in rows), default=None),
        "core_dynamic_vs_fastest_anywhere_max": max(row["frugal_dynamic"] for row in rows),
    }
