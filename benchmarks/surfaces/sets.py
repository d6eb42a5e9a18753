"""Sets of transfers to fit surfaces to: one file of a log, or one group within it, read by the project's importers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tradewind.energy.measured import EnergyReading
from tradewind.errors import InvalidValue
from tradewind.learning.observations import Flags, Floats, Observations
from tradewind.learning.surface.cells import Index
from tradewind.parameters import AXES
from tradewind.transfer import TransferRecord
from tradewind.units import format_count
from tradewind_agent.history.importers.importing import import_file
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow

SIZE_AXIS = "mean_file_bytes"
"""An axis in addition to the parameters: many logs sweep the same settings over data sets of several file sizes."""

LOG_SUFFIXES = (".csv", ".ndjson")
MIN_ROWS = 100
LAN_RTT_S = 1e-3
REPEATED_ROWS = 1.5
"""Average rows a setting from which on a set counts as repeated."""

SIZES_PER_DOUBLING = 4
"""File sizes closer than this are one data set where settings are compared with each other."""


@dataclass(frozen=True, slots=True)
class SurfaceSet:
    """One set. ``total_bytes`` (n,) turns energy a byte into energy; ``rtt_s`` is the median, 0 if not logged.

    ``base_power_w`` : (n,) of the metered ends without the transfer, NaN where that is not logged.
    """

    name: str
    observations: Observations
    total_bytes: Floats
    base_power_w: Floats
    rtt_s: float

    @property
    def is_metered(self) -> Flags:
        return np.isfinite(self.observations.power_w)

    @property
    def energy_j(self) -> Floats:
        """Energy (n,), NaN where not metered."""
        o = self.observations
        return o.power_w * 8 * self.total_bytes / o.throughput_bps

    @property
    def dynamic_energy_j(self) -> Floats:
        """Energy that the transfers caused (n,), NaN where it is not known."""
        o = self.observations
        return (o.power_w - self.base_power_w) * 8 * self.total_bytes / o.throughput_bps

    @property
    def inputs(self) -> Floats:
        """Axes that vary (n, k), for the baseline; logarithms change nothing for trees."""
        settings = self.observations.settings
        varies = [len(np.unique(column[np.isfinite(column)])) > 1 for column in settings.T]
        return settings[:, varies]

    @property
    def contexts(self) -> Floats:
        """Label (n,) of the data set of each row: what a user cannot choose."""
        axes = self.observations.axes
        if SIZE_AXIS not in axes:
            return np.zeros(len(self.observations))
        size = self.observations.settings[:, axes.index(SIZE_AXIS)]
        return np.round(np.log2(size) * SIZES_PER_DOUBLING)

    @property
    def settings_label(self) -> Index:
        """Label (n,) of the setting and data set of each row."""
        choices = [i for i, axis in enumerate(self.observations.axes) if axis != SIZE_AXIS]
        columns = np.nan_to_num(self.observations.settings[:, choices], nan=-1.0)
        _, label = np.unique(np.column_stack([columns, self.contexts]), axis=0, return_inverse=True)
        return np.asarray(label, dtype=np.intp)

    @property
    def is_repeated(self) -> bool:
        return len(self.observations) >= REPEATED_ROWS * len(np.unique(self.settings_label))

    @property
    def is_wan_grid(self) -> bool:
        return self.is_repeated and self.rtt_s > LAN_RTT_S


def read_sets(folders: Sequence[Path]) -> list[SurfaceSet]:
    """Return every set of at least ``MIN_ROWS`` rows in the logs below ``folders``; skip other files."""
    logs = (path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in LOG_SUFFIXES)
    return [found for path in logs for found in _read_sets_of(path)]


def _read_sets_of(path: Path) -> list[SurfaceSet]:
    context = ImportContext(source="source", destination="destination", repair_sizes=True)
    groups: dict[str, list[TransferRecord]] = {}
    refused = 0
    try:
        for item in import_file(path, context=context):
            if isinstance(item, ImportedRow):
                groups.setdefault(item.group, []).append(item.record)
            else:
                refused += 1
    except InvalidValue as invalid:
        print(f"{path.name}: skipped, {str(invalid)[:80]}")
        return []
    rows, sets = format_count(sum(map(len, groups.values())), "row"), format_count(len(groups), "set")
    print(f"{path.name}: {rows} in {sets}, {refused} refused")
    return [
        _make_set(f"{path.stem}:{group}" if group else path.stem, records)
        for group, records in sorted(groups.items())
        if len(records) >= MIN_ROWS
    ]


def _make_set(name: str, records: Sequence[TransferRecord]) -> SurfaceSet:
    settings = [[_read_value(record, axis) for axis in (*AXES, SIZE_AXIS)] for record in records]
    table = np.array(settings, dtype=np.float64)
    used = [i for i, column in enumerate(table.T) if np.isfinite(column).any()]
    return SurfaceSet(
        name=name,
        observations=Observations(
            axes=tuple((*AXES, SIZE_AXIS)[i] for i in used),
            settings=table[:, used],
            throughput_bps=np.array([record.outcome.throughput_bps for record in records]),
            power_w=np.array([_compute_power_w(record) for record in records]),
            load=np.full(len(records), np.nan),
            started_s=np.array([record.started_at.timestamp() for record in records]),
        ),
        total_bytes=np.array([float(record.dataset.total_bytes) for record in records]),
        base_power_w=np.array([_compute_base_power_w(record) for record in records]),
        rtt_s=float(np.median([record.path.rtt_s or 0.0 for record in records])),
    )


def _read_value(record: TransferRecord, axis: str) -> float:
    value = record.dataset.mean_file_bytes if axis == SIZE_AXIS else getattr(record.parameters, axis)
    return float("nan") if value is None else float(value)


def _compute_base_power_w(record: TransferRecord) -> float:
    """Return the mean power of the metered ends without the transfer, W; NaN if one of them does not know it."""
    if not record.energy or record.duration_s <= 0:
        return float("nan")
    return sum(_read_base_w(reading, record.duration_s) for reading in record.energy)


def _read_base_w(reading: EnergyReading, duration_s: float) -> float:
    if reading.base_w is not None:
        return reading.base_w
    return float("nan") if reading.dynamic_j is None else (reading.total_j - reading.dynamic_j) / duration_s


def _compute_power_w(record: TransferRecord) -> float:
    """Return the mean power of the metered ends over the transfer, W; NaN if none was."""
    if not record.energy or record.duration_s <= 0:
        return float("nan")
    return sum(reading.total_j for reading in record.energy) / record.duration_s
