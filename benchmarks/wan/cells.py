"""The cells: paths × data sets, downloads and uploads, and some of the downloads over TLS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from benchmarks.support.direction import Direction
from benchmarks.testbed.data_sets import Kind
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.peers import PEERS, TRADEWIND, Peer
from benchmarks.testbed.uploads.tools import UPLOADING_PEERS, UPLOADING_TRADEWIND
from tradewind.errors import InvalidValue

PATHS: Mapping[str, PathSpec] = MappingProxyType(
    {
        "50M-20ms": PathSpec(rate_bps=50e6, rtt_s=0.020),
        "100M-60ms": PathSpec(rate_bps=100e6, rtt_s=0.060, loss_rate=0.0002),
        "100M-290ms": PathSpec(rate_bps=100e6, rtt_s=0.290, loss_rate=0.0001),
        "200M-115ms": PathSpec(rate_bps=200e6, rtt_s=0.115, loss_rate=0.0001),
    }
)

TLS = "tls"
"""The word for TLS in a cell's name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One path with one data set in one direction; ``given`` is a path that is not in the table."""

    path_name: str
    kind: Kind
    given: PathSpec | None = None
    direction: Direction = Direction.DOWN
    over_tls: bool = False

    @property
    def name(self) -> str:
        """The name; of downloads and of what goes without TLS that is not said."""
        direction = () if self.direction is Direction.DOWN else (self.direction,)
        return "/".join((self.path_name, self.kind, *direction, *((TLS,) if self.over_tls else ())))

    @property
    def path(self) -> PathSpec:
        return self.given or PATHS[self.path_name]

    @property
    def engine(self) -> Peer:
        """Our own engine in this direction."""
        return UPLOADING_TRADEWIND if self.direction is Direction.UP else TRADEWIND

    @property
    def peers(self) -> Sequence[Peer]:
        """Today's tools that can do this; GridFTP encrypts otherwise, and not by default."""
        peers = UPLOADING_PEERS if self.direction is Direction.UP else PEERS
        return [peer for peer in peers if not (self.over_tls and peer.over_gridftp)]


WARM_ROUND_TRIPS = 40.0


def compute_warm_duration_s(path: PathSpec, least_s: float) -> float:
    """Return the length of a short run, at least ``least_s``: in slow start too many streams would seem best."""
    return max(least_s, WARM_ROUND_TRIPS * path.rtt_s)


UPLOADED_KINDS = (Kind.IMAGE, Kind.MIXED)
"""A file that is uploaded is one request, as one that is downloaded: these two kinds show what differs."""

DOWN_CELLS = tuple(Cell(path, kind) for path in PATHS for kind in Kind)
UP_CELLS = tuple(Cell(path, kind, direction=Direction.UP) for path in PATHS for kind in UPLOADED_KINDS)
TLS_CELLS = tuple(Cell("100M-60ms", kind, over_tls=True) for kind in (Kind.IMAGE, Kind.MIXED))
ALL_CELLS = (*DOWN_CELLS, *UP_CELLS, *TLS_CELLS)
QUICK_CELLS = (
    Cell("100M-60ms", Kind.HTML),
    Cell("100M-60ms", Kind.IMAGE),
    Cell("100M-60ms", Kind.IMAGE, direction=Direction.UP),
)


def select_cells(cells: Sequence[Cell], names: Sequence[str] | None) -> list[Cell]:
    """Return the cells that any of ``names`` matches: ``html/60ms``, ``video``, ``290ms/up``, ``tls``; the entire name
    of a cell is that cell alone.

    Raises
    ------
    InvalidValue : a name that matches none.
    """
    if names is None:
        return list(cells)
    selected = {name: [cell for cell in cells if cell.name == name] or _list_matching(cells, name) for name in names}
    for name, matching in selected.items():
        if not matching:
            raise InvalidValue("cells", f"{name!r} matches none of {', '.join(cell.name for cell in cells)}")
    return [cell for cell in cells if any(cell in matching for matching in selected.values())]


def _list_matching(cells: Sequence[Cell], name: str) -> list[Cell]:
    return [cell for cell in cells if set(name.split("/")) <= _list_words(cell)]


def _list_words(cell: Cell) -> set[str]:
    tls = {TLS} if cell.over_tls else set()
    return {cell.kind, cell.path_name, *cell.path_name.split("-"), cell.direction} | tls
