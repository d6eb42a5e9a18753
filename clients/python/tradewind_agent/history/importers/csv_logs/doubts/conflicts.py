"""Whether throughput, duration and size of a CSV log agree; where they differ as units do, the user decides."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tradewind.errors import InvalidValue
from tradewind.units import format_bps
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.samples import Sample
from tradewind_agent.history.importers.csv_logs.units_inference import (
    RATE_UNITS,
    SIZE_UNITS,
    TIME_UNITS,
    Evidence,
    Units,
    compute_logged_rate_bps,
    compute_size_evidence,
    scale_if_known,
)

_FACTORS: Mapping[float, str] = {
    8.0: "as between bits and bytes",
    1e3: "as between neighbouring prefixes",
    1024.0: "as between neighbouring binary prefixes",
    8e3: "as between bits and bytes with neighbouring prefixes",
    60.0: "as between seconds and minutes",
    1e6: "as between prefixes",
}
_BINARY_FACTORS: Mapping[float, str] = {
    1024.0**power / 1000.0**power: "as between prefixes of 1000 and of 1024" for power in (1, 2, 3, 4, 5)
}
_MEGABITS = re.compile(r"(?<![A-Z])[KMGTP]i?b(?![a-z])")
_PREFIX_ALONE = re.compile(r"[\s_(\[]([KMGTP])[)\]]?$")
_RATE_IN_LOWER_CASE = re.compile(r"(?<![A-Za-z])([kmgtp])b/s")
_LEAST_RATIO, _MOST_RATIO = 0.45, 8**0.5
"""Between these, throughput · duration over size shows the rate's unit, though the two are of other spans.

A duration may hold a queue, and a rate be the highest: then the product is above the size, and up to √8 no unit is
nearer, for bits and bytes are 8 apart. A rate below size over duration is less likely than one four times above it.
"""

_EXACTLY = 3e-4
"""Spans often differ by some per cent: only a ratio that is one of these, but for rounding, is one of units."""

_TOLERANCE = 0.05
"""Share by which a ratio may differ from a factor; measurements of different spans rarely hit one by chance."""


def reject_conflicting_units(
    columns: Columns, units: Units, evidence: Evidence, size_ratio: float | None, successes: Sequence[Sample]
) -> None:
    """Refuse units under which throughput · duration differs from the size as two units differ.

    Parameters
    ----------
    size_ratio : throughput · duration over size, in the median; ``None`` where the log lacks one of them.
    successes : the sampled rows that succeeded.

    Raises
    ------
    InvalidValue : they contradict each other, and the user has named none of the units.
    """
    if size_ratio is None or columns.given & {"throughput", "duration", "file_size", "total_size"}:
        return
    found = find_factor(size_ratio)
    if found is None:
        if "throughput" in columns.declared:
            _reject_low_rate(columns, _compute_size_ratio(units, successes))
        else:
            _reject_undecided_rate(columns, size_ratio)
        return
    factor, meaning = found
    title = columns.find_title("throughput")
    rate_bps = compute_logged_rate_bps(units, evidence)
    rates = "" if rate_bps is None else f": {format_bps(rate_bps)} against {format_bps(rate_bps / size_ratio)}"
    options = " or ".join(f"--unit '{each}'" for each in _list_options(columns, units, size_ratio))
    reason = f"differs from size over duration by a factor of {factor:g}, {meaning}{rates}"
    raise InvalidValue(title, f"{reason}; give {options or '--unit'} to say which unit is meant")


def _compute_size_ratio(units: Units, samples: Sequence[Sample]) -> float | None:
    """Return throughput · duration over size of these rows, in the median, ``None`` where they lack one of them."""
    found = compute_size_evidence(samples, in_total=units.size_is_total).moved
    return scale_if_known(found, RATE_UNITS[units.throughput] / units.bits_per_size * TIME_UNITS[units.duration])


def _reject_low_rate(columns: Columns, size_ratio: float | None) -> None:
    """Refuse rates in a stated unit that are far below size over duration.

    A highest rate, and one without the queue of the duration, are above it; one below it may be of one file of several,
    or of what was moved, where another column counts that.
    """
    counts_moved = columns.place.get("moved_size") not in (None, columns.place.get("total_size"))
    if size_ratio is None or size_ratio >= _LEAST_RATIO or counts_moved:
        return
    title = columns.find_title("throughput")
    reason = f"is {size_ratio:.2g} of size over duration: one is in another unit, or the rate is of one file of several"
    advice = f"give --unit '{title}={columns.declared['throughput']}' to insist"
    raise InvalidValue(title, f"{reason}, or of a longer time; {advice}")


def _reject_undecided_rate(columns: Columns, size_ratio: float) -> None:
    """Refuse rates in no stated unit that come near to size over duration in none: habit alone would decide."""
    if _LEAST_RATIO < size_ratio < _MOST_RATIO:
        return
    title = columns.find_title("throughput")
    reason = "differs from size over duration in every unit, so that its own is not known"
    raise InvalidValue(title, f"{reason}; write it into the header, or give --unit '{title}=MB/s' or another")


def reject_unclear_titles(columns: Columns) -> None:
    """Refuse sizes in ``M`` or ``Mb``, and rates in ``mb/s``, where nothing else shows which unit is meant.

    ``Mbit`` is no unit of sizes.

    Raises
    ------
    InvalidValue : names the column and the option that settles it.
    """
    for size in ("file_size", "total_size", "moved_size"):
        title = columns.find_title(size)
        if size not in columns.place or size in columns.given or (found := _PREFIX_ALONE.search(title)) is None:
            continue
        decimal = "k" if found[1] == "K" else found[1]
        options = f"--unit '{title}={decimal}B' or --unit '{title}={found[1]}iB'"
        raise InvalidValue(title, f"may be in powers of 1000 or of 1024; give {options}")
    if "throughput" in columns.place and {"duration", "end"} & columns.place.keys():
        return
    for size in ("file_size", "total_size", "moved_size"):
        title = columns.find_title(size)
        if size in columns.place and size not in columns.given and _MEGABITS.search(title) is not None:
            unit = columns.declared.get(size, "MB")
            raise InvalidValue(title, f"may be in bits or in bytes; give --unit '{title}={unit}' if bytes are meant")
    title = columns.find_title("throughput")
    if "throughput" in columns.given or (found := _RATE_IN_LOWER_CASE.search(title)) is None:
        return
    prefix = found[1] if found[1] == "k" else found[1].upper()
    options = f"--unit '{title}={prefix}bit/s' or --unit '{title}={prefix}B/s'"
    raise InvalidValue(title, f"may be in bits or in bytes; give {options}")


def settle_duration(columns: Columns, ratio: float | None) -> Columns:
    """Return the columns with the unit of durations that agrees with starts and ends, where the header declares none.

    Parameters
    ----------
    ratio : duration as written over the s from start to end, in the median; ``None`` where the log lacks one of them.

    Raises
    ------
    InvalidValue : the declared unit differs from them as two units do, and the user has not named it.
    """
    if ratio is None or "duration" in columns.given:
        return columns
    nearest = min(TIME_UNITS, key=lambda unit: abs(ratio * TIME_UNITS[unit] - 1))
    if abs(ratio * TIME_UNITS[nearest] - 1) >= _TOLERANCE:
        return columns
    declared = columns.declared.get("duration")
    if declared is None:
        return replace(columns, declared={**columns.declared, "duration": nearest})
    if declared == nearest:
        return columns
    title = columns.find_title("duration")
    reason = f"is in {declared}, but agrees with start and end in {nearest}"
    raise InvalidValue(title, f"{reason}; give --unit '{title}={nearest}', or --unit '{title}={declared}' to insist")


def find_factor(ratio: float) -> tuple[float, str] | None:
    """Return the factor between units that a ratio is, or its inverse, and which; ``None`` if it is none."""
    excess = max(ratio, 1 / ratio)
    binary = min(_BINARY_FACTORS, key=lambda each: abs(excess / each - 1))
    if abs(excess / binary - 1) < _EXACTLY:
        return binary, _BINARY_FACTORS[binary]
    factor = min(_FACTORS, key=lambda each: abs(excess / each - 1))
    return (factor, _FACTORS[factor]) if abs(excess / factor - 1) < _TOLERANCE else None


def _list_options(columns: Columns, units: Units, size_ratio: float) -> Iterator[str]:
    """Yield the units that would make the columns agree, as ``TITLE=UNIT``."""
    size = "file_size" if "file_size" in columns.place else "total_size"
    for quantity, unit, scales, factor in (
        ("throughput", units.throughput, RATE_UNITS, 1 / size_ratio),
        (size, units.size, SIZE_UNITS, size_ratio),
        ("duration", units.duration, TIME_UNITS, 1 / size_ratio),
    ):
        target = scales[unit] * factor
        nearest = min(scales, key=lambda name: abs(scales[name] / target - 1))
        if quantity == "duration" and nearest == unit:
            continue
        if quantity in columns.place and abs(scales[nearest] / target - 1) < _TOLERANCE:
            yield f"{columns.find_title(quantity)}={nearest}"
