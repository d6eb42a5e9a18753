"""A cell from start to end: the search for the best static settings, then everyone in turn, several times."""

import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from benchmarks.testbed.measured_run import MeasuredRun
from benchmarks.testbed.peers import TRADEWIND, Peer
from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.runs import Row, RunLog
from benchmarks.wan.search import best_setting
from tradewind.parameters import Parameters

OURS = "tuned"
OURS_MIN_ENERGY = "tuned min_energy"
ENERGY_BASIS = "dynamic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How thoroughly a cell is measured.

    Attributes
    ----------
    repeats : interleaved runs of every contender.
    cut_s : of those; ``search_cut_s`` of the search's runs, which only rank settings.
    seed : of the files and the losses.
    searched : peers whose best static setting is searched for, beside our engine's.
    variables : of the environment of our tuned runs: where the service is and who we are there.
    """

    repeats: int
    cut_s: float
    search_cut_s: float
    seed: int
    searched: Sequence[Peer]
    hashes: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict)


def run_cell(arena: Arena, peers: Sequence[Peer], log: RunLog, plan: Plan) -> Row:
    """Measure what is not in ``log`` yet; the cell's row."""
    measure = _Measuring(arena, log, plan)
    oracles: list[Contender] = []
    for peer in (TRADEWIND, *plan.searched):
        setting = best_setting(peer.axes, partial(measure.ranked, peer))
        oracles.append(Contender(name=f"best {peer.name}", peer=peer, setting=setting))
    contenders = [
        *(Contender(name=peer.name, peer=peer) for peer in peers),
        *_tuned(plan.variables),
        *oracles,
    ]
    runs: dict[str, list[Row]] = {contender.name: [] for contender in contenders}
    for repeat in range(plan.repeats):
        # In turn, and from another one on each time, so that slow times of the machine hit all alike.
        for contender in contenders[repeat % len(contenders) :] + contenders[: repeat % len(contenders)]:
            runs[contender.name].append(measure.repeated(contender, repeat))
    return _row(arena, plan, runs, measure.searched)


def _tuned(variables: Mapping[str, str]) -> list[Contender]:
    min_energy = ("--sla", "min_energy", "--energy-basis", ENERGY_BASIS)
    return [
        Contender(name=OURS, peer=TRADEWIND, variables=variables),
        Contender(name=OURS_MIN_ENERGY, peer=TRADEWIND, options=min_energy, variables=variables),
    ]


class _Measuring:
    """Runs of one cell that are looked up before they are made."""

    def __init__(self, arena: Arena, log: RunLog, plan: Plan) -> None:
        self._arena, self._log, self._plan = arena, log, plan
        self.searched: dict[str, list[Row]] = {}

    def ranked(self, peer: Peer, setting: Parameters) -> float:
        """Throughput of a static setting, bit/s."""
        row = self._run(Contender(name=peer.name, peer=peer, setting=setting), "search", self._plan.search_cut_s)
        self.searched.setdefault(peer.name, []).append(row)
        return float(row["throughput_bps"])

    def repeated(self, contender: Contender, repeat: int) -> Row:
        return self._run(contender, f"repeat {repeat}", self._plan.cut_s)

    def _run(self, contender: Contender, role: str, cut_s: float) -> Row:
        key = self._key(contender, role, cut_s)
        if (row := self._log.find(key)) is not None:
            return row
        run = self._arena.run(contender, cut_s=cut_s)
        row = self._log.add(key, _run_row(self._arena, contender, role, run))
        known = contender.setting.known() if contender.setting is not None else ""
        mbps = row["throughput_bps"] / 1e6
        sys.stderr.write(f"  {self._arena.cell.name} {role} {contender.name} {known}: {mbps:.1f} Mbit/s\n")
        return row

    def _key(self, contender: Contender, role: str, cut_s: float) -> str:
        """What a run's figures depend on: a peer's not on our engine, a static setting's not on what chose it."""
        hashes = self._plan.hashes
        parts = [
            self._arena.cell.name,
            role,
            contender.name,
            f"{sum(self._arena.sizes)} bytes",
            f"{cut_s:g} s",
            f"seed {self._plan.seed}",
            hashes["testbed"],
        ]
        if contender.setting is not None:
            parts.append(" ".join(f"{name}={value}" for name, value in contender.setting.known().items()))
        if contender.peer is TRADEWIND:
            parts.append(hashes["engine"] if contender.setting is not None else hashes["controller"])
        return "; ".join(parts)


def _run_row(arena: Arena, contender: Contender, role: str, run: MeasuredRun) -> Row:
    return {
        "cell": arena.cell.name,
        "contender": contender.name,
        "role": role,
        "setting": contender.setting.known() if contender.setting is not None else None,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": run.duration_s,
        "bytes_done": run.bytes_done,
        "bytes_asked": sum(arena.sizes),
        "throughput_bps": run.throughput_bps,
        "cpu_s": run.cpu_s,
        "modelled_energy_j": run.modelled_energy_j(),
        "modelled_j_per_gb": run.per_gb(run.modelled_energy_j()),
        "dynamic_j_per_gb": run.per_gb(run.modelled_dynamic_energy_j()),
        "cut": run.cut,
        "exit_code": run.exit_code,
        "dropped": run.path.down.dropped,
        "lost": run.path.down.lost,
        "refused": run.path.down.refused + run.path.up.refused,
    }


def _row(arena: Arena, plan: Plan, runs: Mapping[str, Sequence[Row]], searched: Mapping[str, Sequence[Row]]) -> Row:
    """Medians of each contender over the repeats, with the runs themselves."""
    return {
        "cell": arena.cell.name,
        "path": str(arena.cell.path),
        "tcp": arena.bed.tcp(),
        "files": len(arena.sizes),
        "bytes": sum(arena.sizes),
        "seed": plan.seed,
        "repeats": plan.repeats,
        "cut_s": plan.cut_s,
        "search_cut_s": plan.search_cut_s,
        "hashes": dict(plan.hashes),
        "settings_tried": {name: len(rows) for name, rows in searched.items()},
        "least_dynamic_energy": _least_energy(searched[TRADEWIND.name]),
        "contenders": {name: _medians(rows) for name, rows in runs.items()},
    }


def _medians(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "setting": rows[0]["setting"],
        "throughput_bps": statistics.median(row["throughput_bps"] for row in rows),
        "modelled_j_per_gb": _median_or_none([row["modelled_j_per_gb"] for row in rows]),
        "dynamic_j_per_gb": _median_or_none([row["dynamic_j_per_gb"] for row in rows]),
        "failed": sum(row["exit_code"] not in (0, None) for row in rows),
        "cut": sum(row["cut"] for row in rows),
        "throughputs_bps": [round(row["throughput_bps"]) for row in rows],
    }


def _median_or_none(values: Sequence[float | None]) -> float | None:
    """The median; ``None`` where a run did nothing, whose energy by the byte has no number."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if len(known) == len(values) else None


def _least_energy(searched: Sequence[Row]) -> dict[str, Any]:
    """Of the static settings tried: what the fastest takes above idle for a gigabyte, and the least that any takes."""
    worked = [row for row in searched if row["dynamic_j_per_gb"] is not None]
    fastest = max(worked, key=lambda row: row["throughput_bps"])
    least = min(worked, key=lambda row: row["dynamic_j_per_gb"])
    return {
        "setting": least["setting"],
        "dynamic_j_per_gb": least["dynamic_j_per_gb"],
        "throughput_bps": least["throughput_bps"],
        "of_fastest_j_per_gb": fastest["dynamic_j_per_gb"],
    }
