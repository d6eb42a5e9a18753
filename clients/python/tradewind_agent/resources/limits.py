"""The limits of a transfer on its host: the five resources of a resource group (GreenDataFlow, algorithm 1)."""

import math
from dataclasses import dataclass, fields
from typing import Self

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most of each resource that a transfer may use; ``None`` sets no limit.

    ``cores`` : whole or in part, such as 1.5. ``disk_bps`` : each of reading and writing, each disk, bit/s.
    ``nic_bps`` : of the network, bit/s.
    """

    cores: float | None = None
    frequency_hz: float | None = None
    memory_bytes: int | None = None
    disk_bps: float | None = None
    nic_bps: float | None = None

    def __post_init__(self) -> None:
        for name, value in self.select_known().items():
            if not 0 < value < math.inf:
                raise InvalidValue(f"limits.{name}", f"must be above 0 and finite, got {value:g}")

    @classmethod
    def of(cls, parameters: Parameters) -> Self:
        """Return the limits among ``parameters``."""
        return cls(**{name: getattr(parameters, name) for name in RESOURCES})

    def select_known(self) -> dict[str, float]:
        """Return the limits that are set, by name."""
        return {name: value for name in RESOURCES if (value := getattr(self, name)) is not None}

    def complete_from(self, other: Self) -> Self:
        """Return these limits, completed by those of ``other``."""
        return type(self)(**{**other.select_known(), **self.select_known()})  # type: ignore[arg-type]  # keys are field names

    def select_only(self, *names: str) -> Self:
        """Return these limits without all but ``names``."""
        return self.without(*(name for name in RESOURCES if name not in names))

    def without(self, *names: str) -> Self:
        """Return these limits without ``names``."""
        return type(self)(**{name: value for name, value in self.select_known().items() if name not in names})  # type: ignore[arg-type]


RESOURCES = tuple(f.name for f in fields(Limits))
NO_LIMITS = Limits()
