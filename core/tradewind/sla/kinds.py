"""Service-level SLAs: what a transfer should reach, and with which probability.

A further kind needs its unit and `ENERGY_KINDS` here, `outcome` for what was reached, `tiers.selection` and
`tiers.partitions` for the settings that serve it, `tuning.bank` for the online control, `unknown_path.rules` for paths
without history, and the agent's `sla_text`; mypy names the matches that lack it.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from tradewind.errors import InvalidValue

CONFIDENCES = (0.5, 0.8, 0.9, 0.95, 0.99)
DEFAULT_CONFIDENCE = 0.9


class SlaKind(StrEnum):
    MAX_THROUGHPUT = "max_throughput"
    MIN_ENERGY = "min_energy"
    ENERGY_EFFICIENCY = "energy_efficiency"
    THROUGHPUT_AT_LEAST = "throughput_at_least"
    ENERGY_AT_MOST = "energy_at_most"
    POWER_AT_MOST = "power_at_most"
    DEADLINE = "deadline"


ENERGY_KINDS = frozenset({SlaKind.MIN_ENERGY, SlaKind.ENERGY_EFFICIENCY, SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST})
"""Kinds that are about energy or power."""

BOUNDED_ABOVE = frozenset({SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST})
"""Kinds whose target is an upper bound of energy or power."""

AS_FAST_AS_PERMITTED = frozenset({SlaKind.MAX_THROUGHPUT, *BOUNDED_ABOVE})
"""Kinds of whose permitted settings the fastest is wanted."""


class EnergyBasis(StrEnum):
    TOTAL = "total"
    DYNAMIC = "dynamic"


_UNIT_OF_TARGET = MappingProxyType(
    {
        SlaKind.THROUGHPUT_AT_LEAST: "bit/s",
        SlaKind.ENERGY_AT_MOST: "J of the entire data set",
        SlaKind.POWER_AT_MOST: "W",
        SlaKind.DEADLINE: "s",
    }
)
"""Kinds that need a target, with its unit."""


def round_up_confidence(confidence: float) -> float:
    """Return the next confidence of the tables from this one on: 0.5, 0.8, 0.9, 0.95 or 0.99.

    Raises
    ------
    InvalidValue : not within (0, 0.99].
    """
    if not 0 < confidence <= CONFIDENCES[-1]:
        raise InvalidValue("sla.confidence", f"must be above 0 and at most {CONFIDENCES[-1]}, got {confidence}")
    return next(tabulated for tabulated in CONFIDENCES if confidence <= tabulated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sla:
    """One SLA.

    ``target`` is in bit/s, J (entire data set), W (mean) or s by ``kind``; ``fraction`` (flexible throughput) is of the
    certifiable maximum and takes the target's place for ``throughput_at_least`` alone. ``has_default_basis`` : nobody
    named the basis, so the power policy of the endpoints decides it (`with_basis`).
    """

    kind: SlaKind
    target: float | None = None
    fraction: float | None = None
    confidence: float = DEFAULT_CONFIDENCE
    energy_basis: EnergyBasis = EnergyBasis.TOTAL
    has_default_basis: bool = False

    def __post_init__(self) -> None:
        if self.confidence not in CONFIDENCES:
            object.__setattr__(self, "confidence", round_up_confidence(self.confidence))
        if self.fraction is not None:
            if self.kind is not SlaKind.THROUGHPUT_AT_LEAST or self.target is not None:
                raise InvalidValue("sla.fraction", "goes with throughput_at_least, in place of a target")
            if not 0 < self.fraction <= 1:
                raise InvalidValue("sla.fraction", f"must be within (0, 1], got {self.fraction}")
        elif self.kind in _UNIT_OF_TARGET:
            if self.target is None:
                raise InvalidValue("sla.target", f"{self.kind} needs a target, in {_UNIT_OF_TARGET[self.kind]}")
            if not 0 < self.target < float("inf"):
                raise InvalidValue("sla.target", f"must be above 0 and finite, got {self.target}")
        elif self.target is not None:
            raise InvalidValue("sla.target", f"{self.kind} takes no target")

    def with_target(self, target: float) -> "Sla":
        """Return the same SLA with another target."""
        return replace(self, target=target, fraction=None)

    def with_basis(self, default: EnergyBasis) -> "Sla":
        """Return the same SLA on the basis that was named, or else on ``default``, which then counts as named."""
        return replace(self, energy_basis=default, has_default_basis=False) if self.has_default_basis else self
