"""Power of devices and their radios; every value states its source.

Notation of the mobile paper (Guner & Kosar, "Energy-Performance Trade-offs in Mobile Data Transfers"): P_b is the power
of the device in its base state, screen on or off, before the transfer; all others are the part above that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isfinite
from types import MappingProxyType

from tradewind.errors import InvalidValue, NotFound
from tradewind.parameters import NO_CAPS, Caps

MAX_VALUE = 1e6
"""Highest W, J/bit or s of any device, to catch mistakes and keep all sums finite. An assumption."""

MAX_RATE_BPS = 1e13
"""Highest rate of any radio, likewise."""


class ValueOrigin(StrEnum):
    PUBLISHED = "published"
    """Measured by others, on this device or on another that is named with it."""
    CALIBRATED = "calibrated"
    """Fitted on this device."""
    ASSUMED = "assumed"
    """Not measured; the source says what it was derived from."""


@dataclass(frozen=True, slots=True)
class SourcedValue:
    """A value, not negative, and its source."""

    value: float
    source: str
    origin: ValueOrigin

    def scale(self, factor: float) -> "SourcedValue":
        return SourcedValue(self.value * factor, f"{self.source}; × {factor:g}", self.origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioProfile:
    """Power of a radio.

    Attributes
    ----------
    idle_w : mean power when it is on and nothing is sent, W.
    active_w : power while a transfer runs, whatever its rate, W.
    receive_j_per_bit, send_j_per_bit : energy of each bit on top, at low rates.
    saturation_bps : rate at which a bit takes half of that; ``None`` where its energy is the same at all rates.
    tail_w, tail_s : power after the last byte, and for how long before the radio is idle again.
    """

    name: str
    title: str
    idle_w: SourcedValue
    active_w: SourcedValue
    receive_j_per_bit: SourcedValue
    send_j_per_bit: SourcedValue
    tail_w: SourcedValue
    tail_s: SourcedValue
    saturation_bps: SourcedValue | None = None

    def __post_init__(self) -> None:
        _check_figures(self.name, {name: getattr(self, name) for name in RADIO_FIELDS})
        if self.saturation_bps is not None:
            _check_saturation(self.name, self.saturation_bps)
        for name in ("active_w", "tail_w"):
            if getattr(self, name).value < self.idle_w.value:
                raise InvalidValue(f"{self.name}.{name}", "must not be below idle_w")

    @property
    def active_above_idle_w(self) -> float:
        return self.active_w.value - self.idle_w.value

    @property
    def tail_above_idle_w(self) -> float:
        return self.tail_w.value - self.idle_w.value

    def compute_bits_energy_j(self, received_bits: float, sent_bits: float, duration_s: float) -> float:
        """Return the energy of bits that took ``duration_s``: e · bits / (1 + R / R_s) with R their mean rate.

        A radio takes most of its power for being on, and little more for each further bit: e · R / (1 + R / R_s) rises
        to e · R_s and no further.
        """
        energy_j = self.receive_j_per_bit.value * received_bits + self.send_j_per_bit.value * sent_bits
        if self.saturation_bps is None or not duration_s > 0:
            return energy_j
        rate_bps = (received_bits + sent_bits) / duration_s
        return energy_j / (1 + rate_bps / self.saturation_bps.value)

    def compute_tail_energy_j(self, gap_s: float) -> float:
        """Return E_tail = (P_tail − P_b) · min(gap, t_tail), the energy after a transfer until the next one, ``gap_s``
        later.
        """
        return self.tail_above_idle_w * min(gap_s, self.tail_s.value)

    def scale(self, factor: float) -> "RadioProfile":
        """Return the profile with every power and energy multiplied; times and rates stay."""
        powers = {name: getattr(self, name).scale(factor) for name in RADIO_FIELDS if name != "tail_s"}
        return replace(self, **powers)


RADIO_FIELDS = ("idle_w", "active_w", "receive_j_per_bit", "send_j_per_bit", "tail_w", "tail_s")
COMPONENTS = ("cpu", "memory", "disk", "nic")
"""Components whose utilisation a host reports, in the order of a fine-grained model's coefficients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProfile:
    """Power of a device.

    Attributes
    ----------
    facts : what it is, such as ``processor``; for users.
    idle_w : P_b with the screen off and the radio idle, W.
    screen_w : of the screen on top, W; absent where there is none.
    component_w : of each component of :data:`COMPONENTS` when it is fully used, above idle, W.
    radios : by name, in the order of preference.
    caps : of each transfer of the device.
    """

    name: str
    producer: str
    model: str
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    idle_w: SourcedValue
    screen_w: SourcedValue | None = None
    component_w: Mapping[str, SourcedValue]
    radios: Mapping[str, RadioProfile] = field(default_factory=lambda: MappingProxyType({}))
    caps: Caps = NO_CAPS

    def __post_init__(self) -> None:
        figures = {"idle_w": self.idle_w, **self.component_w}
        _check_figures(self.name, figures if self.screen_w is None else figures | {"screen_w": self.screen_w})
        for component in self.component_w:
            if component not in COMPONENTS:
                raise InvalidValue(f"{self.name}.{component}", f"is no component; there are {', '.join(COMPONENTS)}")

    def compute_base_w(self, radio: RadioProfile, *, screen_on: bool) -> float:
        """Return P_b: idle power, with the screen if it is on, and the radio idle."""
        screen_w = self.screen_w.value if screen_on and self.screen_w is not None else 0.0
        return self.idle_w.value + screen_w + radio.idle_w.value

    def predict_power_w(self, rate_bps: float, radio: RadioProfile) -> float:
        """Return the power while it receives at a rate, W: base state with the screen off, radio, and bits."""
        return (
            self.compute_base_w(radio, screen_on=False)
            + radio.active_above_idle_w
            + radio.compute_bits_energy_j(rate_bps, 0.0, 1.0)
        )

    def find_radio(self, name: str) -> RadioProfile:
        """Return the device's radio of that name.

        Raises
        ------
        NotFound : it has none.
        """
        if name not in self.radios:
            known = ", ".join(self.radios) or "none"
            raise NotFound(f"{self.name} has no radio {name!r}; it has {known}")
        return self.radios[name]

    def scale(self, factor: float) -> "DeviceProfile":
        """Return the profile with every power constant multiplied, including its radios'."""
        return replace(
            self,
            idle_w=self.idle_w.scale(factor),
            screen_w=None if self.screen_w is None else self.screen_w.scale(factor),
            component_w={name: figure.scale(factor) for name, figure in self.component_w.items()},
            radios={name: radio.scale(factor) for name, radio in self.radios.items()},
        )


def _check_saturation(owner: str, figure: SourcedValue) -> None:
    if not 0 < figure.value <= MAX_RATE_BPS:
        raise InvalidValue(f"{owner}.saturation_bps", f"must be above 0 and at most {MAX_RATE_BPS:g}")
    if not figure.source.strip():
        raise InvalidValue(f"{owner}.saturation_bps.source", "must say where the figure comes from")


def _check_figures(owner: str, figures: Mapping[str, SourcedValue]) -> None:
    for name, figure in figures.items():
        if not isfinite(figure.value) or figure.value < 0:
            raise InvalidValue(f"{owner}.{name}", "must be finite and not negative")
        if figure.value > MAX_VALUE:
            raise InvalidValue(f"{owner}.{name}", f"must be {MAX_VALUE:g} at most: no device has as much")
        if not figure.source.strip():
            raise InvalidValue(f"{owner}.{name}.source", "must say where the figure comes from")
