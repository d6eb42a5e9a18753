"""Units of a CSV log that habit alone would decide: durations in s or ms, in days, and sizes without a unit."""

import re
from collections.abc import Sequence

from tradewind.errors import InvalidValue
from tradewind.units import format_bps
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.names import SYNONYMS, to_plain
from tradewind_agent.history.importers.csv_logs.samples import Sample, compute_median
from tradewind_agent.history.importers.csv_logs.units_inference import (
    SURPRISE,
    TIME_UNITS,
    Evidence,
    Units,
    compute_logged_rate_bps,
    compute_penalty,
    infer_units,
)

_SHORTEST_LOGGED_S = 1.0
"""Shorter transfers are hardly worth a log: where milliseconds would give one, seconds are meant."""

_HABIT = 1.25
"""Difference of two penalties that comes from how usual their units are, not from what the rows say."""

_FINER = {"ms": "µs", "µs": "ns"}
_SLOW_BPS = 1e6
"""Below it transfers that are worth a log are rare, as 1 Gbit/s is not."""

_AS_PLAUSIBLE = 1.0
"""Difference of two penalties that comes from how long the link may be idle, which decides nothing: 1/3 of a decade."""

_SPEED = re.compile("speed|(?<!bit)rate")

DECLARE = "write the unit into the header, such as {title}_ms"

_OR_GIVE = "write the unit into the header, or give --unit '{title}={unit}'"


def reject_undecided_units(columns: Columns, evidence: Evidence, units: Units, samples: Sequence[Sample]) -> None:
    """Refuse a file whose durations or sizes may be in several units.

    Raises
    ------
    InvalidValue : names the column, and what settles it.
    """
    _reject_undecided_durations(columns, evidence, samples)
    _reject_fractions(columns, evidence, units, samples)
    _reject_days(columns, evidence, units)
    _reject_undecided_sizes(columns, evidence, units)
    _reject_undecided_scope(columns, evidence, samples)
    _reject_undecided_rates(columns, evidence, units)


def _reject_undecided_durations(columns: Columns, evidence: Evidence, samples: Sequence[Sample]) -> None:
    """Refuse durations that could be seconds or milliseconds, if only habit decides."""
    title = columns.find_title("duration")
    durations = compute_median([sample.duration for sample in samples if sample.duration is not None])
    if "duration" in columns.declared or durations is None or durations * TIME_UNITS["ms"] < _SHORTEST_LOGGED_S:
        return
    either = [infer_units(evidence, columns, duration=unit) for unit in ("s", "ms")]
    slow, fast = (compute_penalty(units, evidence) for units in either)
    if abs(slow - fast) < _HABIT:
        rates = (compute_logged_rate_bps(units, evidence) for units in either)
        in_s, in_ms = ("" if rate is None else f" ({format_bps(rate)})" for rate in rates)
        known = evidence.bandwidth is not None or evidence.bandwidth_bps is not None
        advice = DECLARE.format(title=title) + ("" if known else ", or give --bandwidth")
        raise InvalidValue(title, f"may be in s{in_s} or in ms{in_ms}; {advice}")


def _reject_fractions(columns: Columns, evidence: Evidence, units: Units, samples: Sequence[Sample]) -> None:
    """Refuse durations in ms or µs that no rate shows, if the transfers would be slow, and usual in the unit below."""
    durations = compute_median([sample.duration for sample in samples if sample.duration is not None])
    finer, rate_bps = _FINER.get(units.duration), compute_logged_rate_bps(units, evidence)
    if finer is None or rate_bps is None or "duration" in columns.declared or evidence.throughput is not None:
        return
    if durations is None or durations * TIME_UNITS[finer] < _SHORTEST_LOGGED_S:
        return
    link_bps = evidence.find_link_bps(units)
    in_finer_bps = rate_bps * TIME_UNITS[units.duration] / TIME_UNITS[finer]
    if rate_bps < _SLOW_BPS and (link_bps is None or in_finer_bps <= link_bps):
        title = columns.find_title("duration")
        either = f"may be in {units.duration} ({format_bps(rate_bps)}) or in {finer} ({format_bps(in_finer_bps)})"
        raise InvalidValue(title, f"{either}; {_OR_GIVE.format(title=title, unit=finer)}")


def _reject_days(columns: Columns, evidence: Evidence, units: Units) -> None:
    """Refuse durations that only make sense in days, as spreadsheets hold them, where no rate shows that they are."""
    if "duration" in columns.declared or evidence.get_size_evidence(units).moved is not None:
        return
    title = columns.find_title("duration")
    if units.duration == "min":
        either = {unit: infer_units(evidence, columns, duration=unit) for unit in ("min", "d")}
        in_min, in_d = (compute_penalty(each, evidence) for each in either.values())
        if in_d - in_min < _HABIT:
            raise InvalidValue(title, f"may be in min or in d; {_OR_GIVE.format(title=title, unit='d')}")
    if units.duration != "d":
        return
    rate = compute_logged_rate_bps(units, evidence)
    found = "" if rate is None else f" ({format_bps(rate)})"
    reason = f"may be in days{found}, as spreadsheets hold times; give --unit '{title}=d', or the unit that it is in"
    raise InvalidValue(title, reason)


def _reject_undecided_sizes(columns: Columns, evidence: Evidence, units: Units) -> None:
    """Refuse sizes in no stated unit that are no bytes, if nothing but habit decides between larger units."""
    quantity = "file_size" if "file_size" in columns.place else "total_size"
    found = evidence.get_size_evidence(units)
    if units.size == "B" or quantity in columns.declared or not (found.moved is found.energy is found.gap is None):
        return
    either = {unit: infer_units(evidence, columns, size=unit) for unit in ("B", "kB", "MB", "GB")}
    least = compute_penalty(units, evidence)
    possible = [unit for unit, each in either.items() if compute_penalty(each, evidence) < least + _HABIT]
    if len(possible) > 1:
        title = columns.find_title(quantity)
        advice = _OR_GIVE.format(title=title, unit=possible[-1])
        raise InvalidValue(title, f"may be in {' or in '.join(possible)}: nothing else in the file decides; {advice}")


def _reject_undecided_rates(columns: Columns, evidence: Evidence, units: Units) -> None:
    """Refuse rates without durations that may be in bits or in bytes: habit would decide.

    A throughput is in Mbit/s in most logs; speeds are printed in bytes by as many programs as in bits.
    """
    if "throughput" not in columns.place or "throughput" in columns.declared:
        return
    if evidence.throughput is None or evidence.get_size_evidence(units).moved is not None:
        return
    title = columns.find_title("throughput")
    is_speed = _SPEED.search(to_plain(title)) is not None
    is_unusual = units.throughput == "Gbit/s" and evidence.bandwidth is None and evidence.bandwidth_bps is None
    least = _compute_plausibility(units, evidence)
    in_bits = units.throughput.replace("B/s", "bit/s")
    possible = [
        unit
        for unit in dict.fromkeys(("Mbit/s", "MB/s", "Gbit/s", in_bits, in_bits.replace("bit/s", "B/s")))
        if _compute_plausibility(infer_units(evidence, columns, throughput=unit), evidence) <= least + _AS_PLAUSIBLE
    ]
    if (is_speed or is_unusual) and len(possible) > 1:
        advice = _OR_GIVE.format(title=title, unit=possible[-1])
        raise InvalidValue(title, f"may be in {' or in '.join(possible)}: nothing else in the file decides; {advice}")


def _compute_plausibility(units: Units, evidence: Evidence) -> float:
    """Return the penalty of units without that of how seldom logs use the unit of rates."""
    return compute_penalty(units, evidence) - SURPRISE.get(units.throughput, 0.0)


def _reject_undecided_scope(columns: Columns, evidence: Evidence, samples: Sequence[Sample]) -> None:
    """Refuse a size under that title alone next to a count of files in many words, if nothing shows of what it is."""
    title, counted = columns.find_title("file_size"), columns.find_title("file_count")
    if not {"file_size", "file_count"} <= columns.place.keys() or not to_plain(title).startswith("size"):
        return
    if to_plain(counted) in SYNONYMS or all((sample.file_count or 1) <= 1 for sample in samples):
        return
    of_file, of_all = (infer_units(evidence, columns, size_is_total=each) for each in (False, True))
    if abs(compute_penalty(of_file, evidence) - compute_penalty(of_all, evidence)) < _HABIT:
        reason = f"may be of a file, or of all that {counted} counts; call it file_size or total_size"
        raise InvalidValue(title, reason)
