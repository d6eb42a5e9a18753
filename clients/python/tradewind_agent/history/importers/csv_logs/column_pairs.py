"""What columns of a CSV log say together: a number and its unit, a rounded size and the exact one, or too much.

Where two columns hold one quantity, one is read; where they differ as units do, neither is sure. Rows show which of its
two meanings a title has.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.clock.dates import find_date
from tradewind_agent.history.importers.csv_logs.columns import Columns, has_start, require_transfers
from tradewind_agent.history.importers.csv_logs.doubts.conflicts import find_factor
from tradewind_agent.history.importers.csv_logs.names import DECLARED_UNITS, find_quantity, to_plain
from tradewind_agent.history.importers.csv_logs.samples import Sample
from tradewind_agent.history.importers.csv_logs.units_inference import RATE_UNITS, SIZE_UNITS, TIME_UNITS
from tradewind_agent.history.importers.csv_verdicts import normalise
from tradewind_agent.history.importers.csv_words.cells import TRUTHS
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS
from tradewind_agent.history.importers.instants import describe_epoch
from tradewind_agent.history.importers.ports import ImportReport

_UNIT_TITLE = re.compile(r"(?P<quantity>.*?)units?")
_SIZE = re.compile(r"(?P<number>\d+(?:\.(?P<decimals>\d+))?)\s*(?P<unit>[A-Za-z]*)")
_PREFIXES = "KMGTP"
_SHARE_THAT_AGREES = 0.9
"""Of rows with an exact size. Bytes moved have to agree in all of them: a transfer that failed was of more."""

_SCALES: Mapping[str, Mapping[str, float]] = MappingProxyType({"throughput": RATE_UNITS, "duration": TIME_UNITS})
_SIZES_AGREE = 0.05
"""Share by which a file may differ from the entire data set where no column counts files."""

_LEAST_ROWS = 3
_LEAST_NUMBERED = 4
_DIFFERS = 1.02
"""Ratio of the highest bandwidth to the lowest, from which on there are several."""

_IS_SAME_RATE = 1.005
"""Ratio of a rate to another that measures the same: of jumbo frames 99 % are what a transfer reaches at most."""

_SHARE_OF_ROWS = 0.9
"""Of rows: what failed moved less than its size."""

_FACTORS = [bits * 1000.0**power for bits in (0.125, 1.0, 8.0) for power in range(-4, 5)]
"""Between units of rates, sizes and times: a share of the link that every row has in common is none of these."""

_DIGITS = frozenset({"0", "1"})
_COMPLETIONS = frozenset({"finished", "ended"})
"""Titles of ends that may also say whether there was one."""

_NUMBERS_OF_ROWS = frozenset({"count", "filenumber", "filenumbers"})
"""Titles that may also say which row one is."""


def take_unit_columns(columns: Columns, rows: Sequence[Sequence[str]]) -> Columns:
    """Return the columns with the units that other columns hold, such as ``speed_unit``; each row has to have them.

    Raises
    ------
    InvalidValue : a column of units holds several, or one that is not known.
    """
    declared, constants = dict(columns.declared), dict(columns.constants)
    for place, title in enumerate(columns.header):
        quantity = _find_measured(columns, place, title)
        if quantity is None or quantity in columns.given:
            continue
        units = {text: None for row in rows if (text := row[place].strip()).lower() not in UNKNOWN_TEXTS}
        if not units:
            continue
        measured = columns.find_title(quantity)
        if len(units) > 1:
            seen = ", ".join(list(units)[:3])
            raise InvalidValue(
                title, f"has several units: {seen}; write each behind its number, such as {measured} 40 MB"
            )
        written = next(iter(units))
        _, unit = find_quantity(f"{to_plain(measured)} {written}")
        if unit is None:
            raise InvalidValue(title, f"is no known unit: {written[:20]!r}; give --unit '{measured}=UNIT'")
        declared[quantity], constants[place] = unit, written
    return replace(columns, declared=declared, constants=constants)


def _find_measured(columns: Columns, place: int, title: str) -> str | None:
    """Return the quantity whose unit a column holds, ``None`` for other columns, and for units that the title has."""
    found = _UNIT_TITLE.fullmatch(to_plain(title))
    if found is None:
        return None
    if found["quantity"]:
        quantity = find_quantity(found["quantity"])[0]
    else:
        quantity = next((each for each, at in columns.place.items() if at == place - 1), None)
    is_open = quantity in columns.place and quantity not in columns.declared and quantity in DECLARED_UNITS
    return quantity if is_open else None


def drop_rounded_sizes(columns: Columns, rows: Sequence[Sequence[str]]) -> Columns:
    """Return the columns without a size such as ``38M`` that another has to the byte."""
    exact = next((each for each in ("total_size", "moved_size") if _is_in_bytes(columns, each)), None)
    if exact is None or columns.given & {"file_size", "total_size"}:
        return columns
    for quantity in ("file_size", "total_size"):
        at, exact_at = columns.place.get(quantity), columns.place[exact]
        if at is None or at == exact_at:
            continue
        pairs = [(row[at].strip(), row[exact_at].strip()) for row in rows if row[exact_at].strip().isdecimal()]
        agreeing = sum(_is_rounded(size, int(exactly), columns.declared.get(quantity)) for size, exactly in pairs)
        if pairs and agreeing >= (_SHARE_THAT_AGREES if exact == "total_size" else 1) * len(pairs):
            place = {each: index for each, index in columns.place.items() if each != quantity}
            declared = {each: unit for each, unit in columns.declared.items() if each != quantity}
            if not {"file_size", "total_size"} & place.keys():
                place["total_size"], declared["total_size"] = exact_at, "B"
            return replace(columns, place=place, declared=declared)
    return columns


def _is_in_bytes(columns: Columns, quantity: str) -> bool:
    if quantity not in columns.place:
        return False
    return columns.declared.get(quantity, "B") == "B" and "byte" in to_plain(columns.find_title(quantity))


def _is_rounded(text: str, exact_bytes: int, declared: str | None) -> bool:
    """Return whether a size is a number of bytes in some unit, to its last digit."""
    found = _SIZE.fullmatch(text)
    if found is None or exact_bytes == 0:
        return False
    last_digit = 10.0 ** -len(found["decimals"] or "")
    scales = _list_scales(found["unit"], declared)
    return any(abs(exact_bytes / scale - float(found["number"])) <= last_digit for scale in scales if scale != 1)


def _list_scales(unit: str, declared: str | None) -> Iterator[float]:
    """Yield the bytes that a unit may mean; that of a number alone may be any, unless the title declares it.

    A title in powers of 1000 may stand above numbers in powers of 1024: many programs write ``MB`` for MiB.
    """
    if not unit:
        meant = SIZE_UNITS if declared is None else (declared, f"{declared[0].upper()}iB")
        yield from (SIZE_UNITS[each] for each in meant if each in SIZE_UNITS)
    elif unit.upper() in _PREFIXES:
        power = 1 + _PREFIXES.index(unit.upper())
        yield from (1000.0**power, 1024.0**power)
    elif (known := find_quantity(f"size {unit}")[1]) is not None:
        yield SIZE_UNITS[known]


def reject_contradicting_columns(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Refuse a file in which a second column of rates or durations differs from the first as two units do.

    Others may measure something else, such as the time with and without the queue.

    Raises
    ------
    InvalidValue : names both columns; or a file's size and that of all differ, and nothing counts the files.
    """
    for place, title in enumerate(columns.header):
        quantity, unit = find_quantity(title)
        first = columns.place.get(quantity or "", place)
        scales, declared = _SCALES.get(quantity or "", {}), columns.declared.get(quantity or "")
        if (
            first == place
            or unit is None
            or unit not in scales
            or declared is None
            or declared not in scales
            or quantity in columns.given
        ):
            continue
        ratio = _compute_ratio(rows, (place, scales[unit]), (first, scales[declared]))
        found = None if ratio is None else find_factor(ratio)
        if found is not None:
            reason = (
                f"differs from {columns.header[first]} by a factor of {found[0]:g}, {found[1]}; leave out one of them"
            )
            raise InvalidValue(title, reason)
    _reject_sizes_without_count(columns, rows)


def _reject_sizes_without_count(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    of_file, of_all = columns.place.get("file_size"), columns.place.get("total_size")
    units = columns.declared.get("file_size"), columns.declared.get("total_size")
    if of_file is None or of_all is None or "file_count" in columns.place or None in units:
        return
    ratio = _compute_ratio(rows, (of_all, SIZE_UNITS[units[1] or "B"]), (of_file, SIZE_UNITS[units[0] or "B"]))
    if ratio is not None and abs(ratio - 1) > _SIZES_AGREE:
        title = columns.header[of_all]
        reason = f"is {ratio:.4g} times {columns.header[of_file]}, and no column counts files; leave out one of them"
        raise InvalidValue(title, reason)


def _compute_ratio(rows: Sequence[Sequence[str]], second: tuple[int, float], first: tuple[int, float]) -> float | None:
    """Return the median of a second column over the first, each with its scale; ``None`` without a row of both."""
    ratios = list(_list_ratios(rows, second, first))
    return median(ratios) if ratios else None


def _list_ratios(rows: Sequence[Sequence[str]], second: tuple[int, float], first: tuple[int, float]) -> Iterator[float]:
    for row in rows:
        try:
            one, other = float(row[second[0]]) * second[1], float(row[first[0]]) * first[1]
        except ValueError:  # not known, or in another notation
            continue
        if one > 0 and other > 0:
            yield one / other


def take_measured_bandwidth(columns: Columns, samples: Sequence[Sample], report: ImportReport) -> Columns:
    """Return the columns with a bandwidth as the throughput, where it is bytes over time in nearly every row.

    A link has one rate, or a few; iperf calls bandwidth what a transfer reached. Next to a throughput of the same
    course it is not read.
    """
    if "bandwidth" not in columns.place or "bandwidth" in columns.given:
        return columns
    is_second = "throughput" in columns.place
    found = list(_list_bandwidths(columns, samples))
    if len(found) < _LEAST_ROWS or not _is_measured(found):
        return columns
    place, declared = dict(columns.place), dict(columns.declared)
    title = columns.find_title("bandwidth")
    at, unit = place.pop("bandwidth"), declared.pop("bandwidth", None)
    if is_second:
        report.assume(f"{title} follows the throughput and is no rate of the link")
    else:
        report.assume(f"{title} is bytes over time, and so what the transfer reached, not the link's rate")
        place["throughput"] = at
        if unit is not None:
            declared["throughput"] = unit
    return replace(columns, place=place, declared=declared)


def _list_bandwidths(columns: Columns, samples: Sequence[Sample]) -> Iterator[tuple[float, float]]:
    """Yield the bandwidth of each row, and its ratio to the throughput, or else to bytes over time."""
    is_in_total = "file_size" not in columns.place
    for sample in samples:
        size = sample.compute_data_set_size(in_total=is_in_total)
        if sample.bandwidth is None:
            continue
        if "throughput" in columns.place:
            if sample.throughput is not None:
                yield sample.bandwidth, sample.bandwidth / sample.throughput
        elif size is not None and sample.duration is not None:
            yield sample.bandwidth, sample.bandwidth * sample.duration / size


def _is_measured(found: Sequence[tuple[float, float]]) -> bool:
    """Return whether bandwidths differ among rows, and are the rates of all of them in some unit."""
    usual = median(ratio for _, ratio in found)
    agreeing = [bandwidth for bandwidth, ratio in found if 1 / _IS_SAME_RATE < ratio / usual < _IS_SAME_RATE]
    if len(agreeing) < _SHARE_OF_ROWS * len(found) or max(agreeing) < _DIFFERS * min(agreeing):
        return False
    return any(1 / _IS_SAME_RATE < usual / factor < _IS_SAME_RATE for factor in _FACTORS)


def drop_row_numbers(columns: Columns, rows: Sequence[Sequence[str]], report: ImportReport) -> Columns:
    """Return the columns without a count of files that only numbers the rows."""
    at = columns.place.get("file_count")
    if at is None or to_plain(columns.header[at]) not in _NUMBERS_OF_ROWS or len(rows) < _LEAST_NUMBERED:
        return columns
    texts = [row[at].strip() for row in rows]
    if not all(text.isdecimal() for text in texts) or int(texts[0]) > 1:
        return columns
    steps = {int(after) - int(before) for before, after in pairwise(texts)}  # rows are thinned by a fixed step
    if len(steps) != 1 or steps.pop() < 1:
        return columns
    report.assume(f"{columns.header[at]} numbers the rows and is no count of files")
    return replace(columns, place={each: place for each, place in columns.place.items() if each != "file_count"})


def settle_time_columns(columns: Columns, rows: Sequence[list[str]], report: ImportReport) -> Columns:
    """Return columns of times that hold times: ends that are none, and durations that are ends, are set right.

    Raises
    ------
    InvalidValue : no log of transfers is left.
    """
    truthful = _take_success_from_end(columns, rows, report)
    return _take_end_from_duration(_drop_ends_without_dates(truthful, rows, report), rows)


def _take_success_from_end(columns: Columns, rows: Sequence[list[str]], report: ImportReport) -> Columns:
    """Return columns whose ends say whether rows ended, if these are truth values, as in a column ``finished``."""
    quantity = "start" if columns.starts_are_ends else "stated_end"
    at = columns.place.get(quantity)
    if at is None or "success" in columns.place:
        return columns
    texts = {normalise(text) for text in _list_known(rows, at)}
    if not texts or not texts <= TRUTHS or (texts <= _DIGITS and to_plain(columns.header[at]) not in _COMPLETIONS):
        return columns
    report.assume(f"{columns.header[at]} says whether a transfer succeeded, and not when it ended")
    place = {each: index for each, index in columns.place.items() if each != quantity} | {"success": at}
    left = replace(columns, place=place, starts_are_ends=False)
    require_transfers(left)
    return left


def _drop_ends_without_dates(columns: Columns, rows: Sequence[list[str]], report: ImportReport) -> Columns:
    """Return columns without their ends, where these are no dates and the only times: rows follow each other.

    Raises
    ------
    InvalidValue : without them, no log of transfers is left.
    """
    if not columns.starts_are_ends or "start" in columns.given:
        return columns
    at = columns.place["start"]
    if any(describe_epoch(text) or find_date(text) for text in _list_known(rows, at)):
        return columns
    report.assume(f"{columns.header[at]} holds no dates and says nothing of a transfer")
    place = {quantity: index for quantity, index in columns.place.items() if quantity != "start"}
    left = replace(columns, place=place, starts_are_ends=False)
    require_transfers(left)
    return left


def _list_known(rows: Sequence[list[str]], at: int) -> list[str]:
    return [text for row in rows if (text := row[at].strip()).lower() not in UNKNOWN_TEXTS]


def _take_end_from_duration(columns: Columns, rows: Sequence[list[str]]) -> Columns:
    """Return columns whose "completion time" is when rows ended, if it holds times and not durations."""
    at = columns.place.get("duration")
    if at is None or "end" in columns.place or not has_start(columns) or columns.declared.get("duration"):
        return columns
    texts = _list_known(rows, at)
    if not texts or not all(describe_epoch(text) or find_date(text) for text in texts):
        return columns
    place = {quantity: index for quantity, index in columns.place.items() if quantity != "duration"} | {"end": at}
    return replace(columns, place=place, declared={**columns.declared, "duration": "s"})
