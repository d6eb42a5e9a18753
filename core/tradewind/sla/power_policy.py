"""What a host is powered for, and the energy basis that follows: what counts of a transfer by default.

A host that stays on anyway takes its idle power with or without a transfer: a transfer causes the dynamic energy
alone. A host that runs on its battery, or that is on for the transfer, spends all of it on the transfer.
"""

from collections.abc import Iterable
from enum import StrEnum

from tradewind.sla.kinds import EnergyBasis


class PowerPolicy(StrEnum):
    """The power policy of an endpoint."""

    ALWAYS_ON = "always_on"
    ON_FOR_TRANSFERS = "on_for_transfers"
    BATTERY = "battery"

    @property
    def energy_basis(self) -> EnergyBasis:
        return EnergyBasis.DYNAMIC if self is PowerPolicy.ALWAYS_ON else EnergyBasis.TOTAL


def choose_energy_basis(policies: Iterable[PowerPolicy | None]) -> EnergyBasis:
    """Return the default basis of what several endpoints do together; ``None`` stands for an unknown policy.

    One endpoint whose total counts makes the total count. Endpoints without a policy follow the others, and where no
    endpoint has one the total counts.
    """
    bases = {policy.energy_basis for policy in policies if policy is not None}
    return EnergyBasis.DYNAMIC if bases == {EnergyBasis.DYNAMIC} else EnergyBasis.TOTAL
