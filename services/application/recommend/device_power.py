"""Power of the receiving device, from its profile, where no log of the path has any."""

from dataclasses import dataclass

from services.application.recommend.request import PricedRecommendation
from tradewind.mobile.profiles import DeviceProfile, RadioProfile
from tradewind.prediction import Interval, Prediction
from tradewind.units import BITS_PER_BYTE


@dataclass(frozen=True, slots=True)
class ReceivingDevice:
    """A device that receives a transfer, and the radio that it uses; ``None`` where nobody says which."""

    profile: DeviceProfile
    radio: RadioProfile | None

    @classmethod
    def of(cls, profile: DeviceProfile, network: str | None) -> "ReceivingDevice":
        """Return the device with its radio of the network's name, or its only one."""
        only = next(iter(profile.radios.values())) if len(profile.radios) == 1 else None
        return cls(profile, profile.radios.get(network or "", only))

    def add_power(self, priced: PricedRecommendation, dataset_bytes: int) -> PricedRecommendation:
        """Return the recommendation with the power and energy of this end, unless logs have shown power."""
        made = priced.recommendation
        if made.predicted.power_w is not None or not self.profile.radios:
            return priced
        if self.radio is None:
            radios = ", ".join(self.profile.radios)
            reason = f"the power of {self.profile.name} needs one of its radios as network: {radios}"
            return priced._replace(recommendation=made._replace(rationale=f"{made.rationale}; {reason}"))
        predicted = self._predict(made.predicted, self.radio, dataset_bytes)
        reason = f"power of the receiving end alone, modelled by the profile of {self.profile.name}, {self.radio.name}"
        made = made._replace(predicted=predicted, rationale=f"{made.rationale}; {reason}")
        return priced._replace(recommendation=made)

    def _predict(self, predicted: Prediction, radio: RadioProfile, dataset_bytes: int) -> Prediction:
        """Return the prediction with power and energy; a lower rate takes less power and, for longer, more energy."""
        rate = predicted.throughput_bps
        power_w = Interval(*(self.profile.predict_power_w(bps, radio) for bps in rate))
        mean_j, most_j, least_j = (
            watts * BITS_PER_BYTE * dataset_bytes / bps for watts, bps in zip(power_w, rate, strict=True)
        )
        return predicted._replace(power_w=power_w, energy_j=Interval(mean_j, least_j, most_j))
