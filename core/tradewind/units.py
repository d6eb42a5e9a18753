"""Conversion of quantities: the only module that converts a quantity or parses one from text.

Names carry their unit: ``_s`` seconds, ``_bytes``, ``_bps`` bits per second, ``_j`` joules, ``_w`` watts, ``_hz``.
Sizes take decimal (kB, MB) and binary (KiB, MiB) suffixes; rates are decimal and in bits unless they end in B/s. Only a
size may be a bare number: any other quantity has two equally likely units.
"""

import math
import re

from tradewind.errors import InvalidUnit

BITS_PER_BYTE = 8
KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
MBIT = 10**6
"""Bits."""
GB = 10**9
"""Bytes."""
JOULES_PER_KWH = 3_600_000

_DECIMAL = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}
_BINARY = {"ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40, "pi": 2.0**50}
_PREFIX = _DECIMAL | _BINARY
_DURATION_S = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER_AND_UNIT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z/%]*)\s*")


def _split(text: str, quantity: str, example: str) -> tuple[float, str]:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None:
        raise InvalidUnit(quantity, f"{text!r} is not a number with a unit; write it like {example}")
    value = float(match[1])
    if not math.isfinite(value) or value < 0:
        raise InvalidUnit(quantity, f"{text!r} is not finite and non-negative")
    return value, match[2]


def _build_unit_error(quantity: str, text: str, unit: str, example: str) -> InvalidUnit:
    wrong = f"unknown unit in {text!r}" if unit else f"{text!r} has no unit"
    return InvalidUnit(quantity, f"{wrong}; write it like {example}")


def _parse_scaled(text: str, quantity: str, unit_pattern: str, example: str, factor: float = 1.0) -> float:
    value, unit = _split(text, quantity, example)
    match = re.fullmatch(rf"([kmgtp]i?)?(?:{unit_pattern})", unit, re.IGNORECASE)
    if match is None:
        raise _build_unit_error(quantity, text, unit, example)
    return _require_finite(factor * value * _PREFIX[(match[1] or "").lower()], text, quantity)


def _require_finite(value: float, text: str, quantity: str) -> float:
    if not math.isfinite(value):
        raise InvalidUnit(quantity, f"{text!r} is too large")
    return value


def parse_bytes(text: str) -> int:
    """Parse a size such as ``4096``, ``64KiB``, ``1.5GB`` to bytes (fractions of one are rounded)."""
    example = "64KiB or 1.5GB"
    size_bytes = _parse_scaled(text, "size", "b|", example)
    if not (size_bytes.is_integer() or _split(text, "size", example)[1]):
        raise _build_unit_error("size", text, "", example)
    return round(size_bytes)


def parse_bps(text: str) -> float:
    """Parse a rate such as ``500Mbps``, ``10Gbit/s``, ``12.5MB/s`` (bytes) to bits per second."""
    if text.strip().endswith(("B/s", "Bps")):
        return _parse_scaled(text, "rate", "b/s|bps", "12.5MB/s", BITS_PER_BYTE)
    return _parse_scaled(text, "rate", "bps|b/s|bit/s|bits/s|bit", "500Mbps or 12.5MB/s")


def parse_seconds(text: str) -> float:
    """Parse a duration such as ``90s``, ``60ms``, ``2h`` to seconds."""
    example = "60ms, 90s or 2h"
    value, unit = _split(text, "duration", example)
    if unit.lower() not in _DURATION_S:
        raise _build_unit_error("duration", text, unit, example)
    return _require_finite(value * _DURATION_S[unit.lower()], text, quantity="duration")


def parse_joules(text: str) -> float:
    """Parse an energy such as ``4kJ``, ``500J``, ``0.2Wh``, ``1kWh`` to joules."""
    if text.strip().lower().endswith("wh"):
        return _parse_scaled(text, "energy", "wh", "1kWh", 3600.0)
    if text.strip().endswith("mJ"):
        return 1e-3 * _parse_scaled(text.strip().removesuffix("mJ") + "J", "energy", "j", "800mJ")
    return _parse_scaled(text, "energy", "j", "4kJ")


def parse_watts(text: str) -> float:
    """Parse a power such as ``15W`` or ``800mW`` to watts."""
    if text.strip().endswith("mW"):
        return 1e-3 * _parse_scaled(text.strip().removesuffix("mW") + "W", "power", "w", "800mW")
    return _parse_scaled(text, "power", "w", "15W")


def parse_hertz(text: str) -> float:
    """Parse a frequency such as ``2.4GHz`` or ``800MHz`` to hertz."""
    return _parse_scaled(text, "frequency", "hz", "2.4GHz")


def parse_fraction(text: str) -> float:
    """Parse ``90%`` or ``0.9`` to a fraction in (0, 1]."""
    value, unit = _split(text, "fraction", "90%")
    fraction = value / 100 if unit == "%" else value
    if unit not in ("", "%") or not 0 < fraction <= 1:
        raise InvalidUnit("fraction", f"{text!r} is not within (0 %, 100 %]")
    return fraction


def _format_engineering(value: float, unit: str) -> str:
    rounded = float(f"{value:.3g}")  # before the prefix is chosen: 999.9 M is 1 G
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(rounded) >= scale:
            return f"{rounded / scale:.3g} {prefix}{unit}"
    return f"{rounded:.3g} {unit}"


def format_bps(value: float) -> str:
    """Format a rate for display, such as ``94.2 Mbit/s``."""
    return _format_engineering(value, "bit/s")


def format_bytes(value: float) -> str:
    """Format a size for display, decimal, such as ``1.2 GB``."""
    return _format_engineering(value, "B")


def format_joules(value: float) -> str:
    """Format an energy for display, such as ``1.2 kJ``."""
    return _format_engineering(value, "J")


def format_bits_per_joule(value: float) -> str:
    """Format an energy efficiency for display, such as ``1.2 Mbit/J``."""
    return _format_engineering(value, "bit/J")


def format_hertz(value: float) -> str:
    """Format a frequency for display, such as ``2.4 GHz``."""
    return _format_engineering(value, "Hz")


def format_probability(value: float) -> str:
    """Format a probability for people, such as ``90 %``; ``> 99.9 %`` and ``< 0.1 %`` at the ends.

    Nothing that is predicted is certain: it is never shown as 0 or 100 %.
    """
    percent = 100 * value
    if percent > 99.9:
        return "> 99.9 %"
    if percent < 0.1:
        return "< 0.1 %"
    return f"{percent:.0f} %" if 0.5 < percent < 99.5 else f"{percent:.1f} %"


def format_seconds(value: float) -> str:
    """Format a duration in its largest unit without a fraction: ``2 h``, ``90 s``, ``1.5 s``."""
    for unit, seconds in (("d", _DURATION_S["d"]), ("h", _DURATION_S["h"]), ("min", _DURATION_S["min"])):
        if value > 0 and value % seconds == 0:
            return f"{value / seconds:g} {unit}"
    return f"{value:g} s"


def format_elapsed_seconds(value: float) -> str:
    """Format how long something took: ``1.6 s``, and below a second with two digits, ``0.43 s``, ``40 ms``."""
    if value >= 0.95:
        return f"{value:.1f} s"
    return f"{value:.2f} s" if value >= 0.0995 else f"{1000 * value:.2g} ms"


def format_measured_seconds(value: float) -> str:
    """Format a measured duration to three digits: ``40 s``, from two minutes on ``3.2 min``, ``1.5 h``."""
    minutes, hours = value / _DURATION_S["min"], value / _DURATION_S["h"]
    if minutes < 2:
        return f"{value:.3g} s"
    return f"{minutes:.3g} min" if hours < 2 else f"{hours:.3g} h"


def format_count(number: int, one: str, several: str | None = None) -> str:
    """Format a number with its noun, such as ``1 row``, ``2 rows``; ``several`` is an irregular plural."""
    return f"{number} {one if number == 1 else several or one + 's'}"


def compute_throughput_bps(moved_bytes: float, duration_s: float) -> float:
    """Return the mean rate of ``moved_bytes`` in ``duration_s`` > 0 seconds, bit/s."""
    return BITS_PER_BYTE * moved_bytes / duration_s
