"""Effect of external load on the transfers of one cluster, tabulated so that looking it up needs no numerics."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tradewind.errors import InvalidValue


class LoadShift(NamedTuple):
    """What one load adds to ln T and ln P of every setting of a cluster, against the cluster's median load."""

    log_throughput: float
    log_power: float


NO_SHIFT = LoadShift(0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadEffect:
    """Δ ln throughput and Δ ln power against the median load, the same for all settings, linear between a few loads.

    Attributes
    ----------
    loads : (n,) shares of the path taken by others, ascending, n ≥ 2: from the lowest to the highest that the rows of
        the cluster saw. Beyond these the effect is that of the nearest: nothing is extrapolated.
    log_throughput : (n,) Δ ln(bit/s) at these loads.
    log_power : (n,) Δ ln(W); ``None`` where power was not metered.

    Raises
    ------
    InvalidValue : loads that do not rise, or values that do not go with them.
    """

    loads: tuple[float, ...]
    log_throughput: tuple[float, ...]
    log_power: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.loads) < 2 or any(one >= other for one, other in pairwise(self.loads)):
            raise InvalidValue("load_effect.loads", "must be at least two and rise")
        for name in ("log_throughput", "log_power"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.loads):
                raise InvalidValue(f"load_effect.{name}", f"must have {len(self.loads)} values, got {len(values)}")

    def interpolate_shift(self, load: float) -> LoadShift:
        """Return the shift under a load 0 … 1."""
        loads = self.loads
        within = min(max(load, loads[0]), loads[-1])
        i = min(bisect_right(loads, within), len(loads) - 1)
        share = (within - loads[i - 1]) / (loads[i] - loads[i - 1])

        def interpolate(values: tuple[float, ...]) -> float:
            return values[i - 1] + share * (values[i] - values[i - 1])

        return LoadShift(interpolate(self.log_throughput), interpolate(self.log_power) if self.log_power else 0.0)
