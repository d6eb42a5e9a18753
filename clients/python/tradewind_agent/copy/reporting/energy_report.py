"""The energy of one end of a copy, split into base, dynamic and tail: in total, and per 100 MB and GB."""

from collections.abc import Mapping
from typing import Any

from tradewind.energy.measured import EnergyReading
from tradewind.mobile.energy_split import PAPER_UNIT_BYTES, UNITS_BYTES
from tradewind.units import format_bytes, format_joules


def format_energy(reading: EnergyReading, moved_bytes: int) -> str:
    """Format a reading for the closing line, with values per 100 MB where the radio's tail is known."""
    dynamic = "" if reading.dynamic_j is None else f", {format_joules(reading.dynamic_j)} of it dynamic"
    how = f"{reading.method}, {reading.quality}"
    if reading.tail_j is None:
        return f"{format_joules(reading.total_j)} at the {reading.host}{dynamic} ({how})"
    text = f"{format_joules(reading.total_j)} at the {reading.host}{dynamic} ({how}), "
    text += f"{format_joules(reading.tail_j)} of tail after it (modelled)"
    if not moved_bytes:
        return text
    per_unit = _scale(_compute_parts(reading), PAPER_UNIT_BYTES / moved_bytes)
    parts = (
        f"{format_joules(joules)} {name.removesuffix('_j')}" for name, joules in per_unit.items() if joules is not None
    )
    return f"{text}; per 100 MB: {', '.join(parts)}"


def build_energy_split(reading: EnergyReading, moved_bytes: int) -> dict[str, Any]:
    """Return the parts of a reading under their wire names; an unknown part is ``None``, never zero."""
    parts = _compute_parts(reading)
    split: dict[str, Any] = {"host": str(reading.host), **parts}
    for name, unit_bytes in UNITS_BYTES.items():
        split[name] = _scale(parts, unit_bytes / moved_bytes) if moved_bytes else None
    return split


def _compute_parts(reading: EnergyReading) -> dict[str, float | None]:
    dynamic_j = reading.dynamic_j
    base_j = None if dynamic_j is None else reading.total_j - dynamic_j
    return {"base_j": base_j, "dynamic_j": dynamic_j, "tail_j": reading.tail_j}


def _scale(parts: Mapping[str, float | None], factor: float) -> dict[str, float | None]:
    return {name: None if joules is None else factor * joules for name, joules in parts.items()}


def explain_no_energy(bytes_by_servers: int, bytes_moved: int) -> str:
    """Return why the energy of a copy was not measured, as the end of a sentence; empty where nobody knows."""
    if not bytes_by_servers:
        return ""
    part = "" if bytes_by_servers == bytes_moved else f" {format_bytes(bytes_by_servers)} of"
    return f", as the servers have moved{part} it between them"
