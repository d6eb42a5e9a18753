"""Cores and frequency of a host while a transfer runs: which of them a table knows, and which may be changed.

GreenDataFlow calls them a resource group, and chooses it again whenever load or path have changed (algorithm 1). Here
a table is cut to the settings with the current resources, and is looked up there; see `choice.choose_best` for other
resources.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, Self

from tradewind.parameters import Caps, Parameters
from tradewind.units import format_hertz

ADJUSTABLE = ("cores", "frequency_hz")
"""Resources that an agent may be able to change while a transfer runs."""


class HostResources(NamedTuple):
    """Cores and their frequency; ``None`` where any value will do."""

    cores: int | None = None
    frequency_hz: float | None = None

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        return cls(parameters.cores, parameters.frequency_hz)

    def apply_to(self, parameters: Parameters) -> Parameters:
        """Return a setting with these resources."""
        if HostResources.of(parameters) == self:
            return parameters
        return replace(parameters, cores=self.cores, frequency_hz=self.frequency_hz)

    def includes(self, parameters: Parameters) -> bool:
        return (self.cores is None or parameters.cores == self.cores) and (
            self.frequency_hz is None or parameters.frequency_hz == self.frequency_hz
        )

    def are_within(self, caps: Caps) -> bool:
        return (caps.cores is None or (self.cores or 1) <= caps.cores) and (
            caps.frequency_hz is None or (self.frequency_hz or 0.0) <= caps.frequency_hz
        )

    def __str__(self) -> str:
        cores = [] if self.cores is None else [f"{self.cores} {'core' if self.cores == 1 else 'cores'}"]
        frequency = [] if self.frequency_hz is None else [format_hertz(self.frequency_hz)]
        return " at ".join(cores + frequency) or "all cores"


ANY_RESOURCES = HostResources()


def find_nearest(settings: Sequence[Parameters], current: HostResources) -> HostResources:
    """Return the resources of a table's settings that are nearest to the current ones, on each axis by itself.

    An axis is left open where the table or the transfer does not state it, and frequency where no setting has both.
    """
    cores = _find_nearest_value((setting.cores for setting in settings), current.cores)
    frequency_hz = _find_nearest_value((setting.frequency_hz for setting in settings), current.frequency_hz)
    nearest = HostResources(None if cores is None else int(cores), frequency_hz)
    return nearest if any(map(nearest.includes, settings)) else nearest._replace(frequency_hz=None)


def _find_nearest_value(values: Iterable[float | None], current: float | None) -> float | None:
    known = {value for value in values if value is not None}
    if current is None or not known:
        return None
    return min(known, key=lambda value: (abs(math.log(value / current)), value))


def list_alternatives(
    settings: Iterable[Parameters], current: HostResources, adjustable: Collection[str]
) -> tuple[HostResources, ...]:
    """Return the other resources that settings of a table have and that differ only where they may be changed."""
    found: dict[HostResources, None] = {}
    for setting in settings:
        stated = HostResources.of(setting)
        changed = HostResources(
            stated.cores if "cores" in adjustable else current.cores,
            stated.frequency_hz if "frequency_hz" in adjustable else current.frequency_hz,
        )
        if changed != current and changed.includes(setting):
            found[changed] = None
    return tuple(found)
