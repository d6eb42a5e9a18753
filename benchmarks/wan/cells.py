"""The table's cells: paths × data sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchmarks.testbed.data_sets import Kind
from benchmarks.testbed.path_spec import PathSpec
from tradewind.errors import InvalidValue

PATHS: Mapping[str, PathSpec] = MappingProxyType(
    {
        "50M-20ms": PathSpec(rate_bps=50e6, rtt_s=0.020),
        "100M-60ms": PathSpec(rate_bps=100e6, rtt_s=0.060, loss_rate=0.0002),
        "100M-290ms": PathSpec(rate_bps=100e6, rtt_s=0.290, loss_rate=0.0001),
        "200M-115ms": PathSpec(rate_bps=200e6, rtt_s=0.115, loss_rate=0.0001),
    }
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One path with one data set; ``given`` is a path that is not in the table."""

    path_name: str
    kind: Kind
    given: PathSpec | None = None

    @property
    def name(self) -> str:
        return f"{self.path_name}/{self.kind}"

    @property
    def path(self) -> PathSpec:
        return self.given or PATHS[self.path_name]


WARM_ROUND_TRIPS = 40.0


def compute_warm_duration_s(path: PathSpec, least_s: float) -> float:
    """Return the length of a short run, at least ``least_s``: in slow start too many streams would seem best."""
    return max(least_s, WARM_ROUND_TRIPS * path.rtt_s)


ALL_CELLS = tuple(Cell(path, kind) for path in PATHS for kind in Kind)
QUICK_CELLS = (Cell("100M-60ms", Kind.HTML), Cell("100M-60ms", Kind.IMAGE))


def select_cells(cells: Sequence[Cell], names: Sequence[str] | None) -> list[Cell]:
    """Return the cells that any of ``names`` matches: ``html/60ms``, ``100M-60ms/html``, ``video``, ``290ms``.

    Raises
    ------
    InvalidValue : a name that matches none.
    """
    if names is None:
        return list(cells)
    for name in names:
        if not any(_matches(cell, name) for cell in cells):
            raise InvalidValue("cells", f"{name!r} matches none of {', '.join(cell.name for cell in cells)}")
    return [cell for cell in cells if any(_matches(cell, name) for name in names)]


def _matches(cell: Cell, name: str) -> bool:
    words = {str(cell.kind), cell.path_name, *cell.path_name.split("-")}
    return set(name.split("/")) <= words
