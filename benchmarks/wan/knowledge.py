"""What our services have learned from: the logs of lessons, kept by path, kind and what the lessons were of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.support.sources import digest_of
from benchmarks.testbed.data_sets import SizeLists
from benchmarks.wan.cells import ALL_CELLS, Cell
from benchmarks.wan.lessons import lesson_sizes, lessons_digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Where the logs of lessons are that hold for these sources, files and paths; those of others are never looked at.

    ``own`` : folder of the cell's. ``foreign`` : those of cells on other paths, measured or not.
    """

    own: Path
    foreign: Sequence[Path]

    @classmethod
    def of(cls, cell: Cell, lists: SizeLists, seed: int, *, hashes: Mapping[str, str], folder: Path) -> Self:
        def logs_of(each: Cell) -> Path:
            digest = lessons_digest(each, lesson_sizes(each, lists, seed), hashes)
            return folder / each.path_name / f"{each.kind}-{digest}"

        return cls(
            own=logs_of(cell), foreign=[logs_of(other) for other in ALL_CELLS if other.path_name != cell.path_name]
        )

    def own_logs(self) -> list[Path]:
        return sorted(self.own.glob("*.ndjson"))

    def foreign_logs(self) -> list[Path]:
        return [log for folder in self.foreign for log in sorted(folder.glob("*.ndjson"))]


def learned_digest(logs: Sequence[Path]) -> str:
    """What a service knows that has learned from these logs alone."""
    return digest_of(*((log.parent.name, log.name) for log in logs))
