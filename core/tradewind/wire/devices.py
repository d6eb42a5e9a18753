"""``/v1/devices``: device and radio profiles; every value with its source."""

import re
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Self

from pydantic import Field

from tradewind.errors import InvalidValue
from tradewind.mobile.catalogue import find_radio
from tradewind.mobile.profiles import COMPONENTS, RADIO_FIELDS, DeviceProfile, RadioProfile, SourcedValue, ValueOrigin
from tradewind.parameters import NO_CAPS
from tradewind.wire.base import PATTERN_DESCRIPTIONS, PROFILE_NAME, Name, NonNegative, Open, ProfileName, Strict, Text
from tradewind.wire.limits import WireCaps

MAX_FACTS = 20
MAX_RADIOS = 8


def parse_profile_name(text: str) -> str:
    """Return a name that a profile may have.

    Raises
    ------
    InvalidValue
    """
    if not re.fullmatch(PROFILE_NAME, text):
        raise InvalidValue("name", f"{text[:80]!r} {PATTERN_DESCRIPTIONS[PROFILE_NAME]}")
    return text


class WireSourced(Strict):
    """A value, who says so, and whether it was measured at all."""

    value: NonNegative
    source: Annotated[Text, Field(min_length=1)]
    origin: ValueOrigin

    def to_sourced(self) -> SourcedValue:
        return SourcedValue(self.value, self.source, self.origin)

    @classmethod
    def from_domain(cls, figure: SourcedValue) -> Self:
        return cls(value=figure.value, source=figure.source, origin=figure.origin)


class WireRadioProfile(Strict):
    """Power of a radio: idle, active, each bit on top, and the tail after the last byte.

    ``saturation_bps`` : rate at which a bit takes half of its energy at low rates; absent, it takes the same at all.
    """

    name: ProfileName
    title: Name
    idle_w: WireSourced
    active_w: WireSourced
    receive_j_per_bit: WireSourced
    send_j_per_bit: WireSourced
    tail_w: WireSourced
    tail_s: WireSourced
    saturation_bps: WireSourced | None = None

    def to_profile(self) -> RadioProfile:
        figures = {name: getattr(self, name).to_sourced() for name in RADIO_FIELDS}
        saturation_bps = None if self.saturation_bps is None else self.saturation_bps.to_sourced()
        return RadioProfile(name=self.name, title=self.title, saturation_bps=saturation_bps, **figures)

    @classmethod
    def from_domain(cls, radio: RadioProfile) -> Self:
        figures = {name: WireSourced.from_domain(getattr(radio, name)) for name in RADIO_FIELDS}
        known = radio.saturation_bps
        saturation_bps = None if known is None else WireSourced.from_domain(known)
        return cls(name=radio.name, title=radio.title, saturation_bps=saturation_bps, **figures)


class NewDeviceProfile(Strict):
    """A device as it was measured or described.

    ``component_w`` : of cpu, memory, disk and nic when fully used, above idle. ``radios`` : names of known ones, or
    entire profiles of its own; where none is given, as by a calibration, all known ones. ``limits`` : of each of its
    transfers.
    """

    producer: Name
    model: Name
    facts: dict[Name, Name] = Field(default_factory=dict, max_length=MAX_FACTS)
    idle_w: WireSourced
    screen_w: WireSourced | None = None
    component_w: dict[str, WireSourced] = Field(default_factory=dict, max_length=len(COMPONENTS))
    radios: tuple[ProfileName | WireRadioProfile, ...] = Field(default=(), max_length=MAX_RADIOS)
    limits: WireCaps | None = None

    def to_profile(self, name: str, known: Mapping[str, RadioProfile]) -> DeviceProfile:
        """Return the profile in the words of the domain.

        Raises
        ------
        InvalidValue : a component or a value cannot be.
        NotFound : it names a radio that is not in ``known``.
        """
        names = self.radios or tuple(known)
        radios = [find_radio(each, known) if isinstance(each, str) else each.to_profile() for each in names]
        if twice := next((name for name, times in Counter(each.name for each in radios).items() if times > 1), None):
            raise InvalidValue("radios", f"two are named {twice!r}")
        return DeviceProfile(
            name=name,
            producer=self.producer,
            model=self.model,
            facts=self.facts,
            idle_w=self.idle_w.to_sourced(),
            screen_w=None if self.screen_w is None else self.screen_w.to_sourced(),
            component_w={component: figure.to_sourced() for component, figure in self.component_w.items()},
            radios={radio.name: radio for radio in radios},
            caps=NO_CAPS if self.limits is None else self.limits.to_caps(),
        )


class WireDeviceProfile(Open):
    """``own`` : uploaded by this tenant rather than shipped with the service."""

    name: str
    producer: str
    model: str
    facts: dict[str, str]
    idle_w: WireSourced
    screen_w: WireSourced | None = None
    component_w: dict[str, WireSourced]
    radios: tuple[WireRadioProfile, ...]
    limits: WireCaps | None = None
    own: bool
    uploaded_at: datetime | None = None

    @classmethod
    def from_domain(cls, device: DeviceProfile, *, own: bool, uploaded_at: datetime | None) -> Self:
        return cls(
            name=device.name,
            producer=device.producer,
            model=device.model,
            facts=dict(device.facts),
            idle_w=WireSourced.from_domain(device.idle_w),
            screen_w=None if device.screen_w is None else WireSourced.from_domain(device.screen_w),
            component_w={name: WireSourced.from_domain(figure) for name, figure in device.component_w.items()},
            radios=tuple(WireRadioProfile.from_domain(radio) for radio in device.radios.values()),
            limits=None if device.caps == NO_CAPS else WireCaps.from_caps(device.caps),
            own=own,
            uploaded_at=uploaded_at,
        )


class DeviceCatalogue(Open):
    """All devices a tenant may name, its own before those of the service, and all radios."""

    devices: tuple[WireDeviceProfile, ...]
    radios: tuple[WireRadioProfile, ...]
