"""The runs measured so far: one JSON line a run, valid as long as what it measured has not changed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.support.direction import Direction
from benchmarks.support.engine_files import DOWNLOADING, UPLOADING
from benchmarks.support.sources import digest_parts

Row = dict[str, Any]

UPLOADS = "uploads"
"""The part that only uploads depend on."""

_CORE, _AGENT = "core/tradewind", "clients/python/tradewind_agent"
_ENGINE = (*DOWNLOADING, f"{_AGENT}/copy/moving.py")
PARTS: Mapping[str, tuple[str, ...]] = {
    "engine": _ENGINE,
    "controller": (
        *_ENGINE,
        *(f"{_AGENT}/copy/{name}.py" for name in ("run", "plan", "tuning")),
        *(f"{_AGENT}/session/{name}.py" for name in ("planning", "path_probe")),
        f"{_AGENT}/tuning",
        *(f"{_CORE}/{name}.py" for name in ("heuristics", "cluster", "dataset", "load_effect", "model")),
        *(
            f"{_CORE}/{name}.py"
            for name in ("parameters", "prediction", "tiers/selection", "tiers/setting_table", "tiers/partitions")
        ),
        *(f"{_CORE}/{name}" for name in ("learning", "tuning", "unknown_path")),
        "services/application/recommend",
    ),
    "testbed": (
        "benchmarks/support/processes.py",
        "benchmarks/testbed/link",
        *(
            f"benchmarks/testbed/{name}.py"
            for name in (
                *("certificate", "data_sets", "emulator", "measured_run", "namespaces", "origins", "path_spec"),
                *("peers", "soundness", "testbed"),
            )
        ),
        f"{_AGENT}/meters/cpu_model.py",
    ),
    UPLOADS: (*UPLOADING, "benchmarks/testbed/uploads"),
    "harness": (
        "benchmarks/support/precedence.py",
        "benchmarks/support/wakefulness.py",
        *(
            f"benchmarks/wan/{name}.py"
            for name in (
                "arena",
                "cell_row",
                "cell_run",
                "knowledge",
                "learned_service",
                "lessons",
                "cell_runner",
                "repeats",
                "search",
            )
        ),
    ),
}
"""The code that a figure depends on: what moves bytes or decides how, not what reads options, reports or stores.

A run at a static setting depends on engine and testbed, one of the search on the harness too; one of ours that chooses
depends on controller, testbed and what was learned; a peer's on the testbed. An upload depends on uploads as well. A
cell's row depends on all of these. Paths and files are in the keys themselves, so that another cell in the table
changes no row.

Left out although a run passes through them: the command line, logs and reports, meters except the model that measures
all, the wire, the service around the models. The repeats of a new row show a change of such code that costs a
transfer time. A developer whose change could alter the chosen setting removes the rows.
"""


def digest_sources() -> dict[str, str]:
    """Return a digest of the sources of each part, under the part's name."""
    return digest_parts(PARTS)


def select_digests(hashes: Mapping[str, str], direction: Direction) -> dict[str, str]:
    """Return the digests that a cell's row depends on: what only uploads run through is no matter of downloads."""
    return {part: digest for part, digest in hashes.items() if part != UPLOADS or direction is Direction.UP}


def digest_sources_of_rules() -> dict[str, str]:
    """Return the digests for runs without a service: another choice, whose rows and runs are not the table's."""
    current = digest_sources()
    return current | {"controller": f"{current['controller']} by rules"}


@dataclass
class RunLog:
    """Rows of a file, found again by key; a row is written as soon as it is measured."""

    path: Path
    _rows: dict[str, Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                row = _parse_row(line)
                if row is not None:
                    self._rows[row["key"]] = row

    def find(self, key: str) -> Row | None:
        return self._rows.get(key)

    def find_last(self, matches: Callable[[Row], bool]) -> Row | None:
        """Return the row that was stored last of those that are looked for."""
        return next((row for row in reversed(self._rows.values()) if matches(row)), None)

    def add(self, key: str, row: Row) -> Row:
        """Store a row under its key, in place of an earlier one."""
        keyed_row = {"key": key, **row}
        self._rows[key] = keyed_row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(keyed_row, allow_nan=False) + "\n")
        return keyed_row

    def forget(self, key: str) -> None:
        """Treat a row as not measured; the next one under its key replaces it in the file."""
        self._rows.pop(key, None)

    def list_rows(self) -> list[Row]:
        return list(self._rows.values())

    def rewrite(self) -> None:
        """Write the file again, sorted and without replaced rows, so that a commit shows a small difference."""
        lines = [json.dumps(self._rows[key], allow_nan=False) + "\n" for key in sorted(self._rows)]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f".{self.path.name}")
        partial.write_text("".join(lines), encoding="utf-8")
        partial.replace(self.path)


def _parse_row(line: str) -> Row | None:
    """Return the row of a line; ``None`` for the torn end of an interrupted run."""
    try:
        row: Row = json.loads(line)
    except ValueError:
        return None
    return row
