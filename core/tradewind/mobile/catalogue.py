"""The profiles that are shipped with the package: one TOML file a radio and a device below ``data/``, named by its
stem.

A new phone is a new file; nothing else has to change.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from tradewind.errors import InvalidValue, NotFound
from tradewind.mobile.profiles import COMPONENTS, RADIO_FIELDS, DeviceProfile, RadioProfile, SourcedValue, ValueOrigin

_REQUIRED_TEXT = ("producer", "model")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Radios and devices by name."""

    radios: Mapping[str, RadioProfile]
    devices: Mapping[str, DeviceProfile]

    def find_radio(self, name: str) -> RadioProfile:
        """Return the radio of that name.

        Raises
        ------
        NotFound
        """
        return find_radio(name, self.radios)

    def find_device(self, name: str) -> DeviceProfile:
        """Return the device of that name.

        Raises
        ------
        NotFound
        """
        if name not in self.devices:
            raise NotFound(f"no device {name!r}; there are {', '.join(self.devices)}")
        return self.devices[name]


def find_radio(name: str, radios: Mapping[str, RadioProfile]) -> RadioProfile:
    """Return the radio of that name.

    Raises
    ------
    NotFound
    """
    if name not in radios:
        raise NotFound(f"no radio {name!r}; there are {', '.join(radios)}")
    return radios[name]


SATURATION = "saturation_bps"


@cache
def load_shipped_catalogue() -> Catalogue:
    """Load the profiles of the package, once."""
    radios = {name: parse_radio(name, content) for name, content in _list_documents("radios")}
    devices = {name: parse_device(name, content, radios) for name, content in _list_documents("devices")}
    return Catalogue(radios, devices)


def _list_documents(folder: str) -> list[tuple[str, Mapping[str, Any]]]:
    found = sorted(files("tradewind.mobile").joinpath("data", folder).iterdir(), key=lambda entry: entry.name)
    return [
        (entry.name.removesuffix(".toml"), tomllib.loads(entry.read_text(encoding="utf-8")))
        for entry in found
        if entry.name.endswith(".toml")
    ]


def parse_radio(name: str, content: Mapping[str, Any]) -> RadioProfile:
    """Parse the content of a radio's file.

    Raises
    ------
    InvalidValue : a value is missing, out of its domain or without source.
    """
    if unknown := set(content) - {"title", SATURATION, *RADIO_FIELDS}:
        raise InvalidValue(f"{name}.{min(unknown)}", "is not known of a radio")
    figures = {figure: _parse_sourced(name, figure, content) for figure in RADIO_FIELDS}
    saturation_bps = _parse_sourced(name, SATURATION, content) if SATURATION in content else None
    return RadioProfile(name=name, title=str(content.get("title", name)), saturation_bps=saturation_bps, **figures)


def parse_device(name: str, content: Mapping[str, Any], radios: Mapping[str, RadioProfile]) -> DeviceProfile:
    """Parse the content of a device's file; ``radios`` are those that it may name.

    Raises
    ------
    InvalidValue : as for a radio, or it names a radio that is not there.
    """
    known = {"radios", "facts", "idle_w", "screen_w", *_REQUIRED_TEXT, *(f"{each}_w" for each in COMPONENTS)}
    if unknown := set(content) - known:
        raise InvalidValue(f"{name}.{min(unknown)}", "is not known of a device")
    for key in _REQUIRED_TEXT:
        if not isinstance(content.get(key), str):
            raise InvalidValue(f"{name}.{key}", "is missing")
    for radio in content.get("radios", ()):
        if radio not in radios:
            raise InvalidValue(f"{name}.radios", f"{radio!r} is no radio; there are {', '.join(radios)}")
    return DeviceProfile(
        name=name,
        producer=content["producer"],
        model=content["model"],
        facts={key: str(value) for key, value in content.get("facts", {}).items()},
        idle_w=_parse_sourced(name, "idle_w", content),
        screen_w=_parse_sourced(name, "screen_w", content) if "screen_w" in content else None,
        component_w={
            component: _parse_sourced(name, f"{component}_w", content)
            for component in COMPONENTS
            if f"{component}_w" in content
        },
        radios={radio: radios[radio] for radio in content.get("radios", ())},
    )


def _parse_sourced(owner: str, figure: str, content: Mapping[str, Any]) -> SourcedValue:
    field = f"{owner}.{figure}"
    table = content.get(figure)
    if not isinstance(table, Mapping):
        raise InvalidValue(field, "is missing; write a table with value, origin and source")
    value, source = table.get("value"), table.get("source")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValue(f"{field}.value", "must be a number")
    if not isinstance(source, str):
        raise InvalidValue(f"{field}.source", "must say where the figure comes from")
    try:
        origin = ValueOrigin(table.get("origin", ""))
    except ValueError:
        raise InvalidValue(f"{field}.origin", f"must be one of {', '.join(ValueOrigin)}") from None
    return SourcedValue(float(value), source, origin)
