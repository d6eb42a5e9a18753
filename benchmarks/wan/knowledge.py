"""The logs that our services learn from: those of lessons, stored by path, kind and digest of the lessons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.support.sources import digest_values
from benchmarks.testbed.data_sets import SizeLists
from benchmarks.wan.cells import ALL_CELLS, Cell
from benchmarks.wan.lessons import digest_lessons, draw_lesson_sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Folders of the lessons' logs that are valid for these sources, files and paths; others are never read.

    ``own`` : folder of the cell's lessons. ``foreign`` : those of cells on other paths in the same direction, measured
    or not.
    """

    own: Path
    foreign: Sequence[Path]

    @classmethod
    def of(cls, cell: Cell, lists: SizeLists, seed: int, *, hashes: Mapping[str, str], folder: Path) -> Self:
        def find_logs(other_cell: Cell) -> Path:
            digest = digest_lessons(other_cell, draw_lesson_sizes(other_cell, lists, seed), hashes)
            return folder / f"{other_cell.name}-{digest}"

        elsewhere = [other for other in ALL_CELLS if other.path_name != cell.path_name and not other.over_tls]
        foreign = [find_logs(other) for other in elsewhere if other.direction is cell.direction]
        return cls(own=find_logs(cell), foreign=foreign)

    def list_own_logs(self) -> list[Path]:
        return sorted(self.own.glob("*.ndjson"))

    def list_foreign_logs(self) -> list[Path]:
        return [log for folder in self.foreign for log in sorted(folder.glob("*.ndjson"))]


def digest_logs(logs: Sequence[Path]) -> str:
    """Return a digest of what a service knows that has learned from these logs alone."""
    return digest_values(*((log.parent.name, log.name) for log in logs))
