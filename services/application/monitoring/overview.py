"""Values of the overview: SLAs met, bytes moved, and time and energy saved against untuned transfers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from tradewind.cluster import Leaf
from tradewind.energy.measured import Host
from tradewind.prediction import BAND_Z, Interval
from tradewind.units import BITS_PER_BYTE

MIN_TRANSFERS = 10
"""Of fewer transfers the gain is not shown: a single one may reach several times what the others do."""

USUAL_SHARE = 0.95
"""Share of a link's metered logs that meter the same ends; then the power of each cluster is of these ends."""


class MeteredEnds(StrEnum):
    """The metered ends of a transfer. Energy of one end and of both are different quantities."""

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
    """Return the ends that nearly all of a link's metered logs meter; ``None`` where they differ, or without logs."""
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
    """Sums of the transfers that started on one day, or in one hour (UTC).

    ``metered_bytes`` : bytes of transfers whose energy is known, measured or modelled.
    """

    day: str
    transfers: int
    bytes_moved: int
    measured_energy_j: float
    modelled_energy_j: float
    metered_bytes: int

    @property
    def j_per_byte(self) -> float | None:
        """Energy per byte of the transfers whose energy is known, J."""
        return (self.measured_energy_j + self.modelled_energy_j) / self.metered_bytes if self.metered_bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedTransfers:
    """Sums of the tuned transfers of a link.

    ``throughput_bps`` : their bytes over their time. ``j_per_byte`` : of metered transfers, by the metered ends.
    """

    link_id: UUID
    transfers: int
    bytes_moved: int
    throughput_bps: float
    j_per_byte: Mapping[MeteredEnds, float]


class LowestSetting(NamedTuple):
    """The expectation of a cluster's surfaces for its lowest certified setting, at the cluster's median load.

    ``log_throughput_mean`` : log of bit/s, with its standard deviation ``log_throughput_sd``. ``log_power_mean`` : log
    of W, ``None`` where no power was metered.
    """

    leaf: Leaf
    log_throughput_mean: float
    log_throughput_sd: float
    log_power_mean: float | None


class UntunedEstimate(NamedTuple):
    """The expectation of a link's model for its lowest setting, over the data sets in its logs.

    ``throughput_bps`` : with its 90 % interval. ``ends`` : whose energy it is; ``None`` where its logs meter different
    ends.
    """

    throughput_bps: Interval
    j_per_byte: float | None
    ends: MeteredEnds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """Tuned transfers against the untuned estimate on one link."""

    tuned: TunedTransfers
    untuned: UntunedEstimate

    @property
    def speedup(self) -> Interval | None:
        """Return tuned over untuned throughput with its 90 % interval; ``None`` of fewer than `MIN_TRANSFERS`."""
        if self.tuned.transfers < MIN_TRANSFERS:
            return None
        tuned_bps, untuned_bps = self.tuned.throughput_bps, self.untuned.throughput_bps
        return Interval(tuned_bps / untuned_bps.mean, tuned_bps / untuned_bps.high, tuned_bps / untuned_bps.low)

    @property
    def energy_saved(self) -> float | None:
        """Share of the untuned energy that was saved, at the same ends; ``None`` where it cannot be compared, or of
        fewer than `MIN_TRANSFERS`.
        """
        if (
            self.tuned.transfers < MIN_TRANSFERS
            or self.not_comparable
            or self.untuned.ends is None
            or not self.untuned.j_per_byte
        ):
            return None
        return 1 - self.tuned.j_per_byte[self.untuned.ends] / self.untuned.j_per_byte

    @property
    def not_comparable(self) -> str:
        """Reason why energy is not compared; empty where it is."""
        tuned = self.tuned.j_per_byte
        if not tuned:
            return "no tuned transfer was metered"
        if not self.untuned.j_per_byte:
            return "the model knows no energy"
        if self.untuned.ends is None:
            return "its logs do not all meter the same ends"
        if self.untuned.ends not in tuned:
            tuned_ends = " or ".join(ends.in_words for ends in tuned)
            return f"its logs meter {self.untuned.ends.in_words}, tuned transfers {tuned_ends}"
        return ""

    @property
    def tuned_energy(self) -> tuple[MeteredEnds, float] | None:
        """J per byte of tuned transfers, at the compared ends, else at other metered ends."""
        tuned, ends = self.tuned.j_per_byte, self.untuned.ends
        if ends is not None and ends in tuned:
            return ends, tuned[ends]
        return next(iter(tuned.items()), None)


def estimate_untuned(
    clusters: Sequence[LowestSetting], metered: Mapping[MeteredEnds, int] = MappingProxyType({})
) -> UntunedEstimate:
    """Return the estimate for the lowest setting of a link; each cluster counts by the bytes in its logs.

    Rates and energies are medians of the surfaces, at the clusters' median load. The interval takes the errors of the
    clusters as fully correlated, which is the wider assumption.

    Parameters
    ----------
    metered : the link's metered logs, counted by ends.
    """
    sizes = [
        each.leaf.row_count * 2 ** (each.leaf.log2_mean_file_bytes + each.leaf.log2_file_count) for each in clusters
    ]
    throughput_bps = Interval(*(_compute_throughput_bps(clusters, sizes, z) for z in (0.0, -BAND_Z, BAND_Z)))
    return UntunedEstimate(throughput_bps, _compute_j_per_byte(clusters, sizes), find_usual_ends(metered))


def _compute_throughput_bps(clusters: Sequence[LowestSetting], sizes: Sequence[float], z: float) -> float:
    """Return the throughput over all clusters where each is ``z`` standard deviations from its expectation."""
    time_s = sum(
        BITS_PER_BYTE * size / math.exp(each.log_throughput_mean + z * each.log_throughput_sd)
        for size, each in zip(sizes, clusters, strict=True)
    )
    return BITS_PER_BYTE * sum(sizes) / time_s


def _compute_j_per_byte(clusters: Sequence[LowestSetting], sizes: Sequence[float]) -> float | None:
    """Return J per byte; ``None`` where a cluster's power was not metered."""
    total_j = 0.0
    for each, size in zip(clusters, sizes, strict=True):
        if each.log_power_mean is None:
            return None
        total_j += size * BITS_PER_BYTE * math.exp(each.log_power_mean - each.log_throughput_mean)
    return total_j / sum(sizes)
