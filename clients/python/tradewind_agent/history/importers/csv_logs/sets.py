"""The unit of file sizes set by set: a log may write kB in one set and MB in the next, or a size that fits nowhere.

Where a log has no duration, a size still shows in two ways: energy over duration is the host's power, which is much the
same in all sets of a file, and a transfer does not outlast the start of the next one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tradewind.units import format_bytes
from tradewind_agent.history.importers.csv_logs.samples import Sample, SetKey, compute_median
from tradewind_agent.history.importers.csv_logs.units_inference import (
    RATE_UNITS,
    SIZE_UNITS,
    SizeEvidence,
    Units,
    compute_size_evidence,
    scale_if_known,
)

POWER_TOLERANCE = 3.0
"""Factor within which the mean power of two sets of one host agrees; idle and full load differ by about as much."""

_LONGEST_PAUSE = 100.0
"""Times its duration after which the next transfer has nearly always started."""

_DECIMAL_UNITS = ("B", "kB", "MB", "GB")


@dataclass(frozen=True, slots=True)
class SetSize:
    """What a size as written means in one set.

    Attributes
    ----------
    unit : unit of the size, "no unit" where none fits.
    bytes_per_size : scale to bytes, ``None`` where no unit fits.
    replaced_bytes : size taken from the sets that agree, in place of the one written.
    note : what was found, "" where the set is as the rest of the file.
    """

    unit: str
    bytes_per_size: float | None
    replaced_bytes: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class SetSizes:
    """Sizes by set, and the host's mean power (W) over the sets that agree, ``None`` if not known."""

    by_key: Mapping[SetKey, SetSize]
    host_power_w: float | None


def infer_set_sizes(sets: Mapping[SetKey, Sequence[Sample]], units: Units, *, repair: bool) -> SetSizes:
    """Infer the size unit of each set of a file whose other units are known."""
    per_size = RATE_UNITS[units.throughput] / units.bits_per_size
    evidence = {key: compute_size_evidence(samples, in_total=units.size_is_total) for key, samples in sets.items()}
    powers = [power for found in evidence.values() if (power := scale_if_known(found.energy, per_size)) is not None]
    usual = SetSize(units.size, SIZE_UNITS[units.size])
    if not powers or any(found.moved is not None for found in evidence.values()):
        return SetSizes(dict.fromkeys(sets, usual), median(powers) if powers else None)
    judge = _Judge(units, median(powers))
    sizes = {key: judge.judge_size(found) or usual for key, found in evidence.items()}
    unfit = [key for key, size in sizes.items() if size.bytes_per_size is None]
    if repair:
        for key in unfit:
            sizes[key] = judge.repair_size(key, sizes, sets, evidence[key])
    return SetSizes(sizes, judge.host_power_w)


@dataclass(frozen=True, slots=True)
class _Judge:
    units: Units
    host_power_w: float

    def judge_size(self, found: SizeEvidence) -> SetSize | None:
        """Judge the meaning of a set's sizes; ``None``: nothing speaks against the unit of the file."""
        if found.energy is None or self._agrees(found, SIZE_UNITS[self.units.size]):
            return None
        power_w = self._compute_power_w(found, SIZE_UNITS[self.units.size])
        against = (
            f"in {self.units.size} the host would draw {power_w:.3g} W against {self.host_power_w:.3g} W in the file"
        )
        for unit in _DECIMAL_UNITS:
            if unit != self.units.size and self._agrees(found, SIZE_UNITS[unit]):
                against += f", in {unit} {self._compute_power_w(found, SIZE_UNITS[unit]):.3g} W"
                return SetSize(unit, SIZE_UNITS[unit], note=against)
        return SetSize("no unit", None, note=f"contradicts throughput and energy: {against}, and no other unit fits")

    def repair_size(
        self, key: SetKey, sizes: Mapping[SetKey, SetSize], sets: Mapping[SetKey, Sequence[Sample]], found: SizeEvidence
    ) -> SetSize:
        """Return the size of sets with the same file type that agree, if this set agrees with it too."""
        candidates = [
            size_bytes
            for other, size in sizes.items()
            if other[0] == key[0]
            and size.bytes_per_size is not None
            and size.replaced_bytes is None
            and (size_bytes := scale_if_known(_compute_mean_size(sets[other]), size.bytes_per_size)) is not None
        ]
        written = _compute_mean_size(sets[key])
        if written is not None:
            for size_bytes in sorted(candidates):
                if self._agrees(found, size_bytes / written):
                    note = f"{sizes[key].note}; {format_bytes(size_bytes)}, as other sets of this type have it, fits"
                    return SetSize(self.units.size, SIZE_UNITS[self.units.size], replaced_bytes=size_bytes, note=note)
        return sizes[key]

    def _compute_power_w(self, found: SizeEvidence, bytes_per_size: float) -> float:
        assert found.energy is not None
        return found.energy * RATE_UNITS[self.units.throughput] / (8 * bytes_per_size)

    def _agrees(self, found: SizeEvidence, bytes_per_size: float) -> bool:
        power_w = self._compute_power_w(found, bytes_per_size)
        if not self.host_power_w / POWER_TOLERANCE <= power_w <= self.host_power_w * POWER_TOLERANCE:
            return False
        early = scale_if_known(found.early_gap, RATE_UNITS[self.units.throughput] / (8 * bytes_per_size))
        return early is None or 1 / POWER_TOLERANCE <= early <= _LONGEST_PAUSE


def _compute_mean_size(samples: Sequence[Sample]) -> float | None:
    return compute_median([sample.size for sample in samples if sample.size is not None])
