"""Which units the columns of a CSV log are in, found from magnitudes and from quantities that must agree.

Candidates are scored together, because only together do they make sense: a throughput fits under the link's rate,
throughput · duration is the size, energy over duration is a power that a host can draw, and a transfer has ended when
the next one starts. The score is a sum of penalties in decades; the least wins.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.samples import Sample, compute_median, compute_quantile

RATE_UNITS: Mapping[str, float] = MappingProxyType(
    {
        "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Mibit/s": 2.0**20,
        "B/s": 8.0, "kB/s": 8e3, "MB/s": 8e6, "MiB/s": 8 * 2.0**20, "GB/s": 8e9,
        "Tbit/s": 1e12, "KiB/s": 8 * 2.0**10, "GiB/s": 8 * 2.0**30, "TiB/s": 8 * 2.0**40, "TB/s": 8e12,
        "Kibit/s": 2.0**10, "Gibit/s": 2.0**30, "Tibit/s": 2.0**40, "Pbit/s": 1e15, "Pibit/s": 2.0**50, "PB/s": 8e15,
        "PiB/s": 8 * 2.0**50,
    }
)  # fmt: skip
_INFERRED_RATES = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Mibit/s", "B/s", "kB/s", "MB/s", "MiB/s", "GB/s")
LINK_UNITS = ("bit/s", "kbit/s", "Mbit/s", "Gbit/s")
SIZE_UNITS: Mapping[str, float] = MappingProxyType(
    {
        "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TB": 1e12,
        "TiB": 2.0**40, "PB": 1e15, "PiB": 2.0**50,
    }
)  # fmt: skip
_INFERRED_SIZES = ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")
TIME_UNITS: Mapping[str, float] = MappingProxyType(
    {"s": 1.0, "ms": 1e-3, "min": 60.0, "µs": 1e-6, "h": 3600.0, "ns": 1e-9, "d": 86400.0}
)
_INFERRED_TIMES = ("s", "ms", "min", "µs", "d")

SURPRISE: Mapping[str, float] = MappingProxyType(
    {
        "bit/s": 0.2, "Gbit/s": 0.5, "kbit/s": 1.5, "Mibit/s": 2.0, "B/s": 2.0, "kB/s": 2.5, "MB/s": 2.0,
        "MiB/s": 2.5, "GB/s": 3.0, "kB": 0.3, "GB": 0.5, "KiB": 2.2, "MiB": 2.0, "GiB": 2.5, "ms": 1.0, "min": 1.5,
        "µs": 2.0, "d": 2.5,
    }
)  # fmt: skip
"""Penalty for how seldom logs use a unit: small against a contradiction, decisive between what is equally plausible."""

_LINK_BPS = (1e7, 1e12)
_TRANSFER_BPS = (1e5, 4e11)
_FILE_BYTES = (1e2, 1e13)
_HOST_POWER_W = (3.0, 1500.0)
"""From a phone to a large server at full load."""

_DECADE = 3.0
"""Penalty for each decade outside of a range."""

_OVERBOOKED = 6.0
"""Penalty for a link whose rate most rows exceed, before the decades by which they do."""

_IDLE_LINK = 1e-3
"""Share of the link that logs of tuned transfers seldom stay below."""

_SIZE_TOLERANCE = 0.01
"""Share by which throughput · duration may miss the size for one unit of penalty: Mbit/s and Mibit/s differ by 5 %."""

_MOST_DISAGREEMENT = 30.0
_FRACTIONAL_BYTES = 6.0
_TOTAL_SIZE_SURPRISE = 1.0


@dataclass(frozen=True, slots=True)
class Units:
    """Units of the quantities that are judged together; ``size_is_total``: the size column is the whole data set's."""

    throughput: str
    bandwidth: str
    size: str
    duration: str
    size_is_total: bool = False

    @property
    def bits_per_size(self) -> float:
        return 8 * SIZE_UNITS[self.size]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Medians over the rows, as written, that candidates are scored by; ``None`` where the log does not say.

    ``per_file`` and ``in_total`` read the size column as a file's and as the whole data set's.
    """

    throughput: float | None
    high_throughput: float | None
    bandwidth: float | None
    bandwidth_bps: float | None
    size: float | None
    sizes_are_integers: bool
    per_file: "SizeEvidence"
    in_total: "SizeEvidence"

    def get_size_evidence(self, units: Units) -> "SizeEvidence":
        """Return the evidence of the size column as these units read it."""
        return self.in_total if units.size_is_total else self.per_file

    def find_link_bps(self, units: Units) -> float | None:
        """Rate of the link, given or in the log."""
        if self.bandwidth_bps is not None:
            return self.bandwidth_bps
        return scale_if_known(self.bandwidth, RATE_UNITS[units.bandwidth])


@dataclass(frozen=True, slots=True)
class SizeEvidence:
    """Medians of rate · duration / size, energy · rate / size (J) and gap · rate / size (s); else as written."""

    moved: float | None
    energy: float | None
    gap: float | None
    early_gap: float | None
    """The 5 % quantile of the gaps: almost no transfer may outlast it."""

    rate: float | None = None
    """Size over duration, in rows without a throughput."""


def compute_size_evidence(samples: Sequence[Sample], *, in_total: bool = False) -> SizeEvidence:
    """Compare sizes with time and energy in some rows."""
    moved: list[float] = []
    energy: list[float] = []
    gaps: list[float] = []
    rates: list[float] = []
    for sample in samples:
        size = sample.compute_data_set_size(in_total=in_total)
        if size is None:
            continue
        if sample.throughput is None:
            if sample.duration is not None:
                rates.append(size / sample.duration)
            continue
        inverse = sample.throughput / size
        if sample.duration is not None:
            moved.append(sample.duration * inverse)
        if sample.energy_j is not None:
            energy.append(sample.energy_j * inverse)
        if sample.gap_s is not None:
            gaps.append(sample.gap_s * inverse)
    return SizeEvidence(
        compute_median(moved),
        compute_median(energy),
        compute_median(gaps),
        compute_quantile(gaps, 0.05),
        compute_median(rates),
    )


def build_evidence(samples: Sequence[Sample], bandwidth_bps: float | None) -> Evidence:
    """Return what the sampled rows of a file say about its units."""
    throughputs = [sample.throughput for sample in samples if sample.throughput is not None]
    sizes = [sample.size for sample in samples if sample.size is not None]
    return Evidence(
        throughput=compute_median(throughputs),
        high_throughput=compute_quantile(throughputs, 0.9),
        bandwidth=compute_median([sample.bandwidth for sample in samples if sample.bandwidth is not None]),
        bandwidth_bps=bandwidth_bps,
        size=compute_median(sizes),
        sizes_are_integers=all(size == int(size) for size in sizes),
        per_file=compute_size_evidence(samples),
        in_total=compute_size_evidence(samples, in_total=True),
    )


def compute_decades_outside(value: float | None, low: float, high: float) -> float:
    """Return the decades by which a value lies outside a range; 0 for an unknown value."""
    if value is None or value <= 0:
        return 0.0
    return max(math.log10(low / value), math.log10(value / high), 0.0)


def infer_units(
    evidence: Evidence,
    columns: Columns,
    *,
    duration: str | None = None,
    size: str | None = None,
    size_is_total: bool | None = None,
    throughput: str | None = None,
) -> Units:
    """Return the candidate with the least penalty, of those with this unit and scope of the duration and of the size.

    Declared units are believed.
    """
    candidates = [
        units
        for units in _list_candidates(columns)
        if duration in (None, units.duration)
        and size in (None, units.size)
        and size_is_total in (None, units.size_is_total)
        and throughput in (None, units.throughput)
    ]
    return min(candidates, key=lambda units: compute_penalty(units, evidence))


def _list_candidates(columns: Columns) -> Iterator[Units]:
    """List every combination of units that the columns could be in; one for what the file lacks."""

    def list_units(quantity: str, units: Sequence[str]) -> Sequence[str]:
        if quantity not in columns.place:
            return units[:1]
        return [columns.declared[quantity]] if quantity in columns.declared else units

    size_column = "file_size" if "file_size" in columns.place else "total_size"
    is_mean = columns.find_title(size_column).lower().startswith(("avg", "average", "mean"))
    for throughput, bandwidth, size, duration, is_total in product(
        list_units("throughput", _INFERRED_RATES),
        list_units("bandwidth", LINK_UNITS),
        list_units(size_column, _INFERRED_SIZES),
        list_units("duration", _INFERRED_TIMES),
        (True,) if size_column == "total_size" else (False,) if is_mean else (False, True),
    ):
        yield Units(throughput, bandwidth, size, duration, is_total)


def compute_penalty(units: Units, evidence: Evidence) -> float:
    """Compute how implausible a candidate is, 0 = not at all."""
    rate = RATE_UNITS[units.throughput]
    link_bps = evidence.find_link_bps(units)
    total = sum(SURPRISE.get(unit, 0.0) for unit in (units.throughput, units.bandwidth, units.size, units.duration))
    total += _DECADE * compute_decades_outside(link_bps, *_LINK_BPS)
    total += _DECADE * compute_decades_outside(scale_if_known(evidence.throughput, rate), *_TRANSFER_BPS)
    total += _DECADE * compute_decades_outside(scale_if_known(evidence.size, SIZE_UNITS[units.size]), *_FILE_BYTES)
    total += _TOTAL_SIZE_SURPRISE * units.size_is_total
    total += _FRACTIONAL_BYTES * (units.size == "B" and not evidence.sizes_are_integers)
    if link_bps is not None and evidence.high_throughput is not None:
        share = evidence.high_throughput * rate / link_bps
        total += _OVERBOOKED * (share > 1.05) + _DECADE * compute_decades_outside(share, _IDLE_LINK, 1.05)
    if evidence.throughput is None:
        total += _compute_rate_penalty(compute_rate_by_duration_bps(units, evidence), link_bps)
    return total + _compute_size_penalty(units, evidence.get_size_evidence(units))


def compute_logged_rate_bps(units: Units, evidence: Evidence) -> float | None:
    """Return the median throughput, bit/s; where the log has none, that of size over duration."""
    if evidence.throughput is None:
        return compute_rate_by_duration_bps(units, evidence)
    return evidence.throughput * RATE_UNITS[units.throughput]


def compute_rate_by_duration_bps(units: Units, evidence: Evidence) -> float | None:
    """Return the median of size over duration in rows without a throughput, bit/s."""
    return scale_if_known(evidence.get_size_evidence(units).rate, units.bits_per_size / TIME_UNITS[units.duration])


def _compute_rate_penalty(rate_bps: float | None, link_bps: float | None) -> float:
    """Compute how implausible size over duration is as a rate, in a log without another."""
    implausible = _DECADE * compute_decades_outside(rate_bps, *_TRANSFER_BPS)
    if rate_bps is None or link_bps is None:
        return implausible
    share = rate_bps / link_bps
    return implausible + _OVERBOOKED * (share > 1.05) + _DECADE * compute_decades_outside(share, _IDLE_LINK, 1.05)


def _compute_size_penalty(units: Units, evidence: SizeEvidence) -> float:
    per_size = RATE_UNITS[units.throughput] / units.bits_per_size
    if evidence.moved is not None:
        miss = abs(math.log(evidence.moved * per_size * TIME_UNITS[units.duration]))
        return min(miss / _SIZE_TOLERANCE, _MOST_DISAGREEMENT)
    power_w = scale_if_known(evidence.energy, per_size)
    gaps = scale_if_known(evidence.gap, per_size)
    return _DECADE * (compute_decades_outside(power_w, *_HOST_POWER_W) + compute_decades_outside(gaps, 0.9, 1e3))


def scale_if_known(value: float | None, scale: float) -> float | None:
    """Return a value in SI, ``None`` for an unknown one."""
    return None if value is None else value * scale
