"""Energy that a row of a CSV log says its host used, as far as size and throughput do not contradict it."""

from dataclasses import dataclass

from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.units import CsvReading
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS, parse_number, parse_positive

_POWER_FACTOR = 10.0
"""Times the host's mean power in the file beyond which a row's energy contradicts its size and throughput."""


@dataclass(frozen=True, slots=True)
class EnergyColumns:
    """Reads the columns of energy of one file; ``host`` is the end that used it."""

    reading: CsvReading
    host: Host

    def read(self, total: str, dynamic: str, duration_s: float) -> tuple[EnergyReading, ...]:
        """Return the energy of a row, nothing where the row does not say it.

        Raises
        ------
        InvalidValue : no number, or a power that no other row of the file comes near.
        """
        if total.strip().lower() in UNKNOWN_TEXTS:
            return ()
        total_j = parse_positive("energy.total_j", total, self.reading.joules_per_energy)
        usual_w = self.reading.sets.host_power_w
        power_w = total_j / duration_s
        if usual_w is not None and not usual_w / _POWER_FACTOR <= power_w <= usual_w * _POWER_FACTOR:
            found = f"a mean of {power_w:.3g} W where the file has {usual_w:.3g} W"
            raise InvalidValue("energy.total_j", f"contradicts size and throughput: {found}")
        return (
            EnergyReading(
                host=self.host,
                total_j=total_j,
                dynamic_j=self._compute_dynamic_j(dynamic, total_j),
                method=EnergyMethod.METER,
                quality=EnergyQuality.ASSUMED,
            ),
        )

    def _compute_dynamic_j(self, text: str, total_j: float) -> float | None:
        """Compute the energy above the base power, J: noise around that may make it negative, and it is not clipped."""
        if text.strip().lower() in UNKNOWN_TEXTS:
            return None
        sign, magnitude = (-1.0, text.strip()[1:]) if text.strip().startswith("-") else (1.0, text)
        dynamic_j = sign * parse_number("energy.dynamic_j", magnitude) * self.reading.joules_per_dynamic_energy
        if dynamic_j > total_j:
            raise InvalidValue("energy.dynamic_j", f"is above the total: {dynamic_j:.6g} J of {total_j:.6g} J")
        return dynamic_j
