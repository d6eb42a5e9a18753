"""A power meter's trace as CSV: a time and a power a row, some ten a second, not regular.

Errors that can be corrected are corrected and noted; other rows are refused. The reader accepts commas, semicolons or
tabs between the columns; decimal commas where columns are separated otherwise or the cell is in quotation marks; powers
in W or mW; times in seconds or of RFC 3339.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import isfinite
from statistics import fmean, median

from tradewind.errors import InvalidTrace, TooFewSamples
from tradewind.units import format_count
from tradewind_agent.meters.steady import MOST_HOST_W

LONGEST_GAP_S = 5.0
"""A longer hole is not bridged: what happened in it is anybody's guess."""
SLOW_FACTOR = 2
"""Of a trace whose usual pauses are long themselves, one of so many times the usual is not."""
GAP_FACTOR = 10
"""A shorter pause counts as a gap, and is noted, if it is so many times the usual one."""
LATEST_S = 1e11
"""More than three thousand years of seconds; milliseconds of the day's clock are more."""
DATES_FROM_S = 1e8
"""Times from here on are dates, not seconds from a trace's beginning: three years of them."""
_DATE_NAMES = ("date", "datetime")
_TIME_NAMES = ("time_s", "time", "timestamp", "t", "seconds", "elapsed", "date", "datetime")
_POWER_NAMES = {
    "power_w": 1.0,
    "power": 1.0,
    "watts": 1.0,
    "watt": 1.0,
    "w": 1.0,
    "p": 1.0,
    "power_mw": 1e-3,
    "mw": 1e-3,
}


@dataclass(frozen=True, slots=True)
class PowerTrace:
    """Samples with strictly rising times; ``notes`` : what was corrected."""

    time_s: tuple[float, ...]
    power_w: tuple[float, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """``columns`` : of the first row, without the empty one behind a delimiter at its end; ``width`` : with it."""

    delimiter: str
    time_column: int
    power_column: int
    watts: float
    header: bool
    columns: int
    width: int
    has_dates: bool = False


def read_power_trace(text: str) -> PowerTrace:
    """Read the trace in the text of a CSV file.

    Raises
    ------
    InvalidTrace : a row that is no time and power, time that goes back, a gap that is too long.
    TooFewSamples : none, or one.
    """
    numbered = [
        (number, line) for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1) if line.strip()
    ]
    if not numbered:
        raise TooFewSamples("trace", "is empty")
    form = _find_form(*numbered[0])
    body = [(_split_cells(line, number, form.delimiter), number) for number, line in numbered[form.header :]]
    samples = [(number, *_sample(row, number, form)) for row, number in body]
    notes: list[str] = []
    _check_separators([row[form.power_column].strip() for row, _ in body], form.watts)
    _look_for_decimal_commas([row for row, _ in body], form, notes)
    _look_for_local_times([row[form.time_column] for row, _ in body], notes)
    merged = _drop_duplicates(samples, notes)
    if len(merged) < 2:
        raise TooFewSamples("trace", f"has {format_count(len(merged), 'sample')}; two at least are needed")
    _look_for_gaps(merged, notes)
    return PowerTrace(tuple(at for at, _ in merged), tuple(power for _, power in merged), tuple(notes))


def _split_cells(line: str, number: int, delimiter: str) -> list[str]:
    """Split one line into cells; a cell that goes on in the next line is damaged."""
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))
    except csv.Error:
        raise InvalidTrace(
            "trace", f"row {number}: a quotation mark opens or ends a cell in its middle; take it away, or close it"
        ) from None


def _find_form(number: int, first: str) -> _Form:
    delimiter = next((each for each in (";", "\t", ",") if each in first), None)
    if delimiter is None:
        raise InvalidTrace("trace", "has one column; a time and a power are needed")
    cells = [cell.strip().lower() for cell in _split_cells(first, number, delimiter)]
    columns = len(cells) - (not cells[-1])  # some end each line with a delimiter
    header = not any(_is_number(cell.replace(",", ".")) for cell in cells)
    if not header:
        if columns > 2:
            commas = ", or part them by semicolons for decimal commas" if delimiter == "," else ""
            raise InvalidTrace("trace", f"has {columns} columns without names; name them{commas}")
        return _Form(delimiter, 0, 1, 1.0, header=False, columns=columns, width=len(cells))
    names = [
        cell.replace(" ", "_").replace("[", "").replace("]", "").replace("(", "").replace(")", "") for cell in cells
    ]
    time_column = next((names.index(name) for name in _TIME_NAMES if name in names), None)
    power = next((name for name in _POWER_NAMES if name in names), None)
    if time_column is None or power is None:
        raise InvalidTrace("trace", f"names no time or no power among {', '.join(cells)}; call them time_s and power_w")
    _check_power_column(_split_cells(first, number, delimiter)[names.index(power)], power, names)
    return _Form(
        delimiter,
        time_column,
        names.index(power),
        _POWER_NAMES[power],
        header=True,
        columns=columns,
        width=len(cells),
        has_dates=names[time_column] in _DATE_NAMES,
    )


def _check_power_column(column: str, power: str, names: Sequence[str]) -> None:
    """Refuse a power that is there twice, as of a meter with two sockets, or in MW, which is another unit than mW."""
    if names.count(power) > 1:
        raise InvalidTrace("trace", f"names {power} {names.count(power)} times; call the one that counts power_w")
    if power.endswith("mw") and "MW" in column:
        raise InvalidTrace("trace", "has a power in MW; call the column power_mw if it is in milliwatts")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _sample(row: Sequence[str], number: int, form: _Form) -> tuple[float, float]:
    if len(row) <= max(form.time_column, form.power_column):
        raise InvalidTrace("trace", f"row {number} has {format_count(len(row), 'column')}: it was cut short?")
    if any(cell.strip() for cell in row[form.columns :]) or (form.columns > 2 and len(row) > form.width):
        why = "decimal commas between commas? part the columns by semicolons" if form.delimiter == "," else "damaged?"
        raise InvalidTrace("trace", f"row {number} has {len(row)} columns, not {form.columns}: {why}")
    at_s = _parse_time_s(row[form.time_column].strip(), number)
    if form.has_dates and abs(at_s) < DATES_FROM_S:
        raise InvalidTrace("trace", f"row {number}: {at_s:g} s is no date; write dates as RFC 3339 has them")
    text = row[form.power_column].strip()
    try:
        power_w = form.watts * _parse_number(text)
    except ValueError:
        raise InvalidTrace("trace", f"row {number}: {text!r} is no power") from None
    if not isfinite(power_w) or power_w < 0:
        raise InvalidTrace("trace", f"row {number}: a power of {text} cannot be")
    if power_w > MOST_HOST_W:
        raise InvalidTrace("trace", f"row {number}: {power_w:g} W is more than any host takes; is it in milliwatts?")
    return at_s, power_w


def _parse_number(text: str) -> float:
    """Parse a number with a decimal point or comma; Python alone has underscores in numbers."""
    if "_" in text:
        raise ValueError(text)
    return float(text.replace(",", "."))


def _parse_time_s(text: str, number: int) -> float:
    try:
        at_s = _parse_number(text)
    except ValueError:
        try:
            at_s = datetime.fromisoformat(text).timestamp()
        except ValueError:
            raise InvalidTrace("trace", f"row {number}: {text!r} is neither seconds nor a time of RFC 3339") from None
    if not isfinite(at_s):
        raise InvalidTrace("trace", f"row {number}: a time of {text} cannot be")
    if abs(at_s) > LATEST_S:
        raise InvalidTrace("trace", f"row {number}: a time of {text} s is no day's; is it in milliseconds?")
    return at_s


def _drop_duplicates(samples: Sequence[tuple[int, float, float]], notes: list[str]) -> list[tuple[float, float]]:
    """Merge samples of the same time into their mean, and note how many there were; each sample comes with its row."""
    groups: list[list[tuple[float, float]]] = []
    for number, at_s, power_w in samples:
        if groups and at_s < groups[-1][0][0]:
            back_s = groups[-1][0][0] - at_s
            raise InvalidTrace(
                "trace", f"row {number}: time goes back by {back_s:.3g} s; cut the trace where its clock was set"
            )
        if groups and at_s == groups[-1][0][0]:
            groups[-1].append((at_s, power_w))
        else:
            groups.append([(at_s, power_w)])
    if (twice := len(samples) - len(groups)) > 0:
        notes.append(f"{format_count(twice, 'sample')} of a time that was there already: the mean counts")
    return [(group[0][0], fmean(power for _, power in group)) for group in groups]


def _check_separators(powers: Sequence[str], watts: float) -> None:
    """Refuse powers in which a comma or a point may separate thousands: 1,002 next to 998, or 1.002 next to 998,5."""
    commas = [text for text in powers if "," in text]
    thousands = all(_may_separate_thousands(text, watts) for text in commas)
    mixed = any("." in text for text in powers) or (
        thousands and any(len(text) >= 3 and text.isdecimal() for text in powers)
    )
    if commas and mixed:
        raise InvalidTrace("trace", f"has the power {commas[0]} next to others: does its comma separate thousands?")


def _may_separate_thousands(text: str, watts: float) -> bool:
    """Return whether the comma of a power may: that of 1,002 W, but not of 0,998, 1002,500 or 99,875 W."""
    before, _, after = text.partition(",")
    is_grouped = len(after) == 3 and 1 <= len(before) <= 3 and not before.startswith("0")
    return is_grouped and watts * float(before + after) <= MOST_HOST_W


def _look_for_decimal_commas(rows: Sequence[Sequence[str]], form: _Form, notes: list[str]) -> None:
    """Note cells in quotation marks whose comma is read as a decimal comma, where commas also separate cells."""
    if form.delimiter != ",":
        return
    row = sum("," in row[column] for row in rows for column in (form.time_column, form.power_column))
    if row:
        one, several = "comma in quotation marks is read as a decimal comma", "commas in quotation marks are read as"
        notes.append(format_count(row, one, f"{several} decimal commas"))


def _look_for_local_times(times: Sequence[str], notes: list[str]) -> None:
    """Note times without a zone, which may be of another place's clock."""
    moments = (text.strip() for text in times if not _is_number(text.replace(",", ".")))
    if any(datetime.fromisoformat(text).tzinfo is None for text in moments):
        notes.append("its times name no zone: they are taken for this host's")


def _look_for_gaps(samples: Sequence[tuple[float, float]], notes: list[str]) -> None:
    pauses_s = [later[0] - before[0] for before, later in pairwise(samples)]
    usual_s = median(pauses_s)
    bridged_s = max(LONGEST_GAP_S, SLOW_FACTOR * usual_s)
    least_s = min(GAP_FACTOR * usual_s, bridged_s)
    gaps = [(pause_s, before[0]) for pause_s, before in zip(pauses_s, samples, strict=False) if pause_s > least_s]
    if not gaps:
        return
    longest_s, after_s = max(gaps)
    if longest_s > bridged_s:
        raise InvalidTrace(
            "trace",
            f"has a gap of {longest_s:.3g} s after {after_s - samples[0][0]:.3g} s; "
            f"one of {bridged_s:.3g} s at most is bridged",
        )
    lost_s = sum(pause_s for pause_s, _ in gaps)
    notes.append(f"{format_count(len(gaps), 'gap')}, {lost_s:.3g} s in all, bridged by straight lines")
