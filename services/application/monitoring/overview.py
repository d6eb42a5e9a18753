"""What an overview tells: agreements kept, what was moved, and how much faster and thriftier than untuned."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from tradewind.cluster import Leaf
from tradewind.energy.measured import Host
from tradewind.units import BITS_PER_BYTE

USUAL_SHARE = 0.95
"""Of a link's metered logs that meter the same ends: then so do most logs of each cluster, which its power is of."""


class MeteredEnds(StrEnum):
    """Which ends of a transfer were metered. Energy of one end and of both are different quantities."""

    SOURCE = "source"
    DESTINATION = "destination"
    BOTH = "both"

    @property
    def hosts(self) -> tuple[Host, ...]:
        return tuple(Host) if self is MeteredEnds.BOTH else (Host(self.value),)

    @property
    def in_words(self) -> str:
        return "both ends" if self is MeteredEnds.BOTH else f"the {self.value} alone"


def find_usual_ends(metered: Mapping[MeteredEnds, int]) -> MeteredEnds | None:
    """The ends that nearly all of a link's metered logs meter; ``None`` where there are no such, or no logs."""
    total = sum(metered.values())
    return next((ends for ends, rows in metered.items() if total and rows >= USUAL_SHARE * total), None)


@dataclass(frozen=True, slots=True)
class SlaOutcomes:
    """SLAs of finished transfers, counted: targets met and missed.

    ``unpromised`` : a target was requested that could not be promised, so no SLA applied. ``open_`` : there was no
    target, or too little was metered to tell.
    """

    met: int
    missed: int
    unpromised: int
    open_: int

    @property
    def share(self) -> float | None:
        """Return the share of targets that were met, 0 … 1; ``None`` where none was judged."""
        judged = self.met + self.missed
        return self.met / judged if judged else None


@dataclass(frozen=True, slots=True)
class Day:
    """What was recorded of the transfers that began on one day (UTC).

    ``metered_bytes`` : moved by those whose energy is known, measured or by a model.
    """

    day: str
    transfers: int
    bytes_moved: int
    measured_energy_j: float
    modelled_energy_j: float
    metered_bytes: int

    @property
    def j_per_byte(self) -> float | None:
        """Of the transfers whose energy is known."""
        return (self.measured_energy_j + self.modelled_energy_j) / self.metered_bytes if self.metered_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedTransfers:
    """What tuned transfers of a link reached together.

    ``throughput_bps`` : their bytes over their time. ``j_per_byte`` : of those that were metered, by the ends.
    """

    link_id: UUID
    transfers: int
    bytes_moved: int
    throughput_bps: float
    j_per_byte: Mapping[MeteredEnds, float]


class LowestSetting(NamedTuple):
    """What a cluster's surfaces expect of the lowest setting of its lattice, at the cluster's median load.

    ``log_throughput_mean`` : of bit/s. ``log_power_mean`` : of W, ``None`` where no power was metered.
    """

    leaf: Leaf
    log_throughput_mean: float
    log_power_mean: float | None


class UntunedEstimate(NamedTuple):
    """What the model of a link expects of its lowest setting, over the data sets that it has seen.

    ``ends`` : those whose energy it tells, ``None`` where its logs meter now these, now those.
    """

    throughput_bps: float
    j_per_byte: float | None
    ends: MeteredEnds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """Tuned beside untuned on one link."""

    tuned: TunedTransfers
    untuned: UntunedEstimate

    @property
    def speedup(self) -> float:
        return self.tuned.throughput_bps / self.untuned.throughput_bps

    @property
    def energy_saved(self) -> float | None:
        """Share of the untuned energy that was not taken, of the same ends; ``None`` where that cannot be compared."""
        if self.not_comparable or self.untuned.ends is None or not self.untuned.j_per_byte:
            return None
        return 1 - self.tuned.j_per_byte[self.untuned.ends] / self.untuned.j_per_byte

    @property
    def not_comparable(self) -> str:
        """Why energy is not compared; empty where it is."""
        tuned = self.tuned.j_per_byte
        if not tuned:
            return "no tuned transfer was metered"
        if not self.untuned.j_per_byte:
            return "the model knows no energy"
        if self.untuned.ends is None:
            return "its logs do not all meter the same ends"
        if self.untuned.ends not in tuned:
            told = " or ".join(ends.in_words for ends in tuned)
            return f"its logs meter {self.untuned.ends.in_words}, tuned transfers {told}"
        return ""

    @property
    def tuned_energy(self) -> tuple[MeteredEnds, float] | None:
        """J a byte of tuned transfers: of the ends that are compared, else of some that were metered."""
        tuned, ends = self.tuned.j_per_byte, self.untuned.ends
        if ends is not None and ends in tuned:
            return ends, tuned[ends]
        return next(iter(tuned.items()), None)


def estimate_untuned(
    clusters: Sequence[LowestSetting], metered: Mapping[MeteredEnds, int] = MappingProxyType({})
) -> UntunedEstimate:
    """The lowest setting of a link, each of its clusters, one or more, weighted with the bytes that it has seen.

    Rates and energies are medians of the surfaces, at the clusters' median load.

    Parameters
    ----------
    metered : how many of the link's logs were metered at which ends.
    """
    sizes = [
        each.leaf.row_count * 2 ** (each.leaf.log2_mean_file_bytes + each.leaf.log2_file_count) for each in clusters
    ]
    time_s = sum(
        BITS_PER_BYTE * size / math.exp(each.log_throughput_mean) for size, each in zip(sizes, clusters, strict=True)
    )
    return UntunedEstimate(BITS_PER_BYTE * sum(sizes) / time_s, _energy_of(clusters, sizes), find_usual_ends(metered))


def _energy_of(clusters: Sequence[LowestSetting], sizes: Sequence[float]) -> float | None:
    """J a byte; ``None`` where a cluster's power was not metered."""
    total_j = 0.0
    for each, size in zip(clusters, sizes, strict=True):
        if each.log_power_mean is None:
            return None
        total_j += size * BITS_PER_BYTE * math.exp(each.log_power_mean - each.log_throughput_mean)
    return total_j / sum(sizes)
