"""What has been measured so far: one JSON line a run, valid as long as what it measured has not changed."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import ROOT

Row = dict[str, Any]

_CORE, _AGENT = "core/tradewind", "clients/python/tradewind_agent"
_ENGINE = (f"{_AGENT}/engine", f"{_AGENT}/moving.py")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "engine": _ENGINE,
    "controller": (
        *_ENGINE,
        *(f"{_AGENT}/{name}" for name in ("copying.py", "copy_plan.py", "copy_tuning.py", "planning.py", "tuning")),
        *(f"{_CORE}/{name}.py" for name in ("cold_start", "heuristics", "prior", "selection", "sla_partitions")),
        *(f"{_CORE}/{name}" for name in ("learning", "tuning")),
    ),
    "testbed": (
        "benchmarks/testbed/link",
        "benchmarks/testbed/data_sets.py",
        "benchmarks/testbed/measured_run.py",
        "benchmarks/testbed/namespaces.py",
        "benchmarks/testbed/origins.py",
        "benchmarks/testbed/peers.py",
    ),
    "harness": ("benchmarks/wan/cell_run.py", "benchmarks/wan/learned_service.py", "benchmarks/wan/search.py"),
}
"""What a figure depends on: the code that moves bytes or decides how, not what reads options, tells or stores.

A run at a static setting: engine and testbed; one of ours that chooses: controller and testbed; a peer's: the testbed.
A cell's row depends on all, and on what makes it of the runs. Left out although a run passes through them: the command
line, logs and reports, meters, the wire, the service around the models. A change of theirs that costs a transfer time
is for the repeats of a new row to show; whoever makes one that could change which setting is chosen removes the rows.
"""

_HASH_DIGITS = 12


def hashes(parts: Mapping[str, Sequence[str]] = _PARTS) -> dict[str, str]:
    """A digest of the sources of each part, under the part's name."""
    return {part: _digest(_sources(ROOT / path for path in paths)) for part, paths in parts.items()}


def hashes_of_rules() -> dict[str, str]:
    """As `hashes`, where ours asks no service: another choice, whose rows are none of the table's and no runs of it."""
    current = hashes()
    return current | {"controller": f"{current['controller']} by rules"}


def _sources(paths: Iterable[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += (each for each in path.rglob("*") if each.suffix in (".py", ".c", ".h"))
        else:
            found.append(path)  # one that is missing fails aloud: a digest without it would hold for ever
    return sorted(found)


def _digest(files: Iterable[Path]) -> str:
    state = hashlib.sha256()
    for file in files:
        state.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes() + b"\0")
    return state.hexdigest()[:_HASH_DIGITS]


@dataclass
class RunLog:
    """Rows of a file, found again by key; a row is written as soon as it is measured."""

    path: Path
    _rows: dict[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                row = _parsed(line)
                if row is not None:
                    self._rows[row["key"]] = row

    def find(self, key: str) -> Row | None:
        return self._rows.get(key)

    def add(self, key: str, row: Row) -> Row:
        """Keep a row under its key, in place of an earlier one."""
        kept = {"key": key, **row}
        self._rows[key] = kept
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(kept, allow_nan=False) + "\n")
        return kept

    def rows(self) -> list[Row]:
        return list(self._rows.values())

    def rewrite(self) -> None:
        """Write the file afresh, sorted and without rows that were replaced: a small difference for who commits it."""
        lines = [json.dumps(self._rows[key], allow_nan=False) + "\n" for key in sorted(self._rows)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f".{self.path.name}")
        partial.write_text("".join(lines), encoding="utf-8")
        partial.replace(self.path)


def _parsed(line: str) -> Row | None:
    """The row of a line; ``None`` for the torn end of an interrupted run."""
    try:
        row: Row = json.loads(line)
    except ValueError:
        return None
    return row
