"""Leaves of other links near an unknown path and data set, found in the index alone: no model has to be in memory.

A leaf lies at (log2 RTT, log2 bandwidth, log2 of BDP over mean file size); distances are in doublings (Euclidean).
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from services.application.models.learned_model import IndexedModel
from tradewind.path import Path
from tradewind.transfer import LinkKey

NEIGHBOURS = 3
"""Leaves that lend their residuals (algorithms: the k nearest clusters)."""

MAX_DISTANCE = 3.0
"""Distance of the farthest leaf that is used, in doublings."""

OTHER_MOVER_DISTANCE = 1.0
"""Distance of another mover on the same path, in doublings: like a path of twice the RTT. A judgement."""

Position = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A leaf of another link, by its place in the link's model, and its distance in doublings."""

    distance: float
    link: LinkKey
    model: IndexedModel
    ordinal: int


class Neighbourhood:
    """All leaves of some links, sorted by the coordinate on which they spread most.

    A search goes outwards from the requested position, so it visits only leaves that are about as near on that
    coordinate as those that it finds.
    """

    def __init__(self, models: Iterable[tuple[LinkKey, IndexedModel]]) -> None:
        leaves = [
            (locate(model.path, 2.0**leaf.log2_mean_file_bytes), link, model, ordinal)
            for link, model in models
            if model.path.bdp_bytes is not None
            for ordinal, leaf in enumerate(model.leaves)
        ]
        columns = list(zip(*(leaf[0] for leaf in leaves), strict=True))
        self._axis = max(range(len(columns)), key=lambda n: max(columns[n]) - min(columns[n]), default=0)
        leaves.sort(key=lambda leaf: leaf[0][self._axis])
        self._leaves = leaves
        self._marks = [leaf[0][self._axis] for leaf in leaves]

    def find_nearest(self, here: Position, *, powered: bool) -> list[Neighbour]:
        """Return at most ``NEIGHBOURS`` leaves within ``MAX_DISTANCE``, nearest first.

        ``powered`` : only leaves with power in their logs.
        """
        mark, last = here[self._axis], len(self._marks)
        above = bisect_left(self._marks, mark)
        below = above - 1
        found: list[tuple[float, int]] = []
        reach = MAX_DISTANCE
        while True:
            up = self._marks[above] - mark if above < last else math.inf
            down = mark - self._marks[below] if below >= 0 else math.inf
            if min(up, down) > reach or (len(found) == NEIGHBOURS and min(up, down) == reach):
                return [Neighbour(distance, *self._leaves[n][1:]) for distance, n in found]
            if up <= down:
                n, above = above, above + 1
            else:
                n, below = below, below - 1
            there, _, model, ordinal = self._leaves[n]
            distance = math.dist(here, there)
            if distance <= reach and (model.powered[ordinal] or not powered):
                insort(found, (distance, n))
                del found[NEIGHBOURS:]
                if len(found) == NEIGHBOURS:
                    reach = found[-1][0]


def find_nearest_leaves(
    own_links: Neighbourhood | None, others: Neighbourhood, here: Position, *, powered: bool
) -> list[Neighbour]:
    """Return at most ``NEIGHBOURS`` leaves, nearest first: of the mover's links, and of other movers on this path."""
    found = [] if own_links is None else own_links.find_nearest(here, powered=powered)
    borrowed = others.find_nearest(here, powered=powered)
    found += (replace(leaf, distance=leaf.distance + OTHER_MOVER_DISTANCE) for leaf in borrowed)
    return sorted(found, key=lambda leaf: leaf.distance)[:NEIGHBOURS]


def group_by_mover(models: Mapping[LinkKey, IndexedModel]) -> Mapping[str, Neighbourhood]:
    """Return a neighbourhood for each mover: a setting of one means something else for another."""
    grouped: dict[str, list[tuple[LinkKey, IndexedModel]]] = {}
    for link, model in models.items():
        grouped.setdefault(link.mover, []).append((link, model))
    return {mover: Neighbourhood(links) for mover, links in grouped.items()}


def locate(path: Path, mean_file_bytes: float) -> Position:
    """Return the position of a data set on a path of known bandwidth and RTT among the leaves."""
    bdp_bytes = path.bdp_bytes or 1.0
    return (
        math.log2(path.rtt_s or 1.0),
        math.log2(path.bandwidth_bps or 1.0),
        math.log2(max(bdp_bytes / max(mean_file_bytes, 1.0), 1e-6)),
    )
