"""What one leaf of the clustering holds: the rows from which its surfaces are fitted."""

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tradewind.errors import InvalidValue

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp] | NDArray[np.bool_] | slice


@dataclass(frozen=True, slots=True)
class Observations:
    """Rows of one leaf, n transfers over k axes.

    Attributes
    ----------
    axes : k names, those of ``tradewind.parameters.AXES``; other positive quantities that differ from row to row, such
        as ``mean_file_bytes``, may accompany them and are held at their median where only a setting is asked for.
    settings : (n, k) raw values; NaN where a row does not say.
    throughput_bps : (n,) bit/s.
    power_w : (n,) mean power during the transfer, W; NaN where not measured.
    load : (n,) share of the path taken by others, 0..0.95; NaN where unknown.
    started_s : (n,) start of each transfer, seconds from any epoch: the order in time.
    """

    axes: tuple[str, ...]
    settings: Floats
    throughput_bps: Floats
    power_w: Floats
    load: Floats
    started_s: Floats

    def __post_init__(self) -> None:
        n = len(self.throughput_bps)
        if self.settings.shape != (n, len(self.axes)):
            raise InvalidValue("settings", f"must have shape ({n}, {len(self.axes)}), got {self.settings.shape}")
        for f in fields(self)[2:]:
            if getattr(self, f.name).shape != (n,):
                raise InvalidValue(f.name, f"must have shape ({n},), got {getattr(self, f.name).shape}")

    def __len__(self) -> int:
        return len(self.throughput_bps)

    def take(self, rows: Rows) -> Self:
        """Return the rows of a mask, an index or a slice."""
        return replace(self, **{f.name: getattr(self, f.name)[rows] for f in fields(self)[1:]})
