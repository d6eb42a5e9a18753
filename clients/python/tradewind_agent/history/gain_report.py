"""The report of gains in words, for a terminal and for a page."""

from collections.abc import Iterator
from itertools import starmap

from tradewind.gain import DAYS_ENOUGH
from tradewind.units import format_bps, format_bytes, format_count, format_joules
from tradewind.wire.gain import DataSetGain, GainBackTest, GainReport, LinkGain
from tradewind.wire.recommendations import WireInterval
from tradewind.wire.records import WireParameters

_NAMES = {"concurrency": ("file", "at once"), "parallelism": ("stream", "each"), "pipelining": ("request", "in flight")}


def list_report_lines(report: GainReport) -> Iterator[str]:
    """Yield the report line by line."""
    yield format_total(report)
    for link in report.links:
        yield ""
        yield f"{format_link(link)}: {format_link_total(link)}"
        for data_set in link.data_sets:
            yield f"  {format_data_set(data_set)}"
            yield from (f"    {line}" for line in list_data_set_lines(data_set))
        yield from (f"  try: {advice}" for advice in link.advice)
    if notes := list_notes(report):
        yield ""
        yield from notes


def format_total(report: GainReport) -> str:
    """Return what all links together would save."""
    if not report.links:
        return "no logs yet: upload some with tradewind logs upload"
    if report.saved_hours_a_month is None:
        waiting = sum(link.waiting_logs or 0 for link in report.links)
        if waiting:
            return f"nothing is certified yet: {format_count(waiting, 'log waits', 'logs wait')} for the next release"
        return "nothing is certified yet: no link has a model that promises a setting"
    joules = "" if report.saved_j_a_month is None else f" and {format_joules(report.saved_j_a_month)}"
    return f"tuning saves {format_hours(report.saved_hours_a_month)}{joules} a month"


def format_link(link: LinkGain) -> str:
    network = f" by {link.network}" if link.network else ""
    return f"{link.source} to {link.destination}{network} with {link.mover}"


def format_link_total(link: LinkGain) -> str:
    """Return what a link moved, and what it would save."""
    moved = (
        f"{format_count(link.transfers, 'transfer')}, {format_bytes(link.bytes_moved)} from {link.first_day} to"
        f" {link.last_day}, {link.hours_a_month:.3g} h a month"
    )
    days = (link.last_day - link.first_day).days + 1
    if days < DAYS_ENOUGH:
        moved += f" (extrapolated from {format_count(days, 'day')})"
    if link.waiting_logs is not None:
        return f"{moved}; {format_count(link.waiting_logs, 'log waits', 'logs wait')} for the next release"
    if link.saved_hours_a_month is None:
        return f"{moved}; nothing is certified"
    joules = "" if link.saved_j_a_month is None else f" and {format_joules(link.saved_j_a_month)}"
    return f"{moved}; saves {format_hours(link.saved_hours_a_month)}{joules} a month"


def format_data_set(found: DataSetGain) -> str:
    files = format_count(max(round(found.file_count), 1), "file")
    return f"data sets near {files} of {format_bytes(found.mean_file_bytes)}, {format_count(found.rows, 'row')}:"


def list_data_set_lines(found: DataSetGain) -> Iterator[str]:
    """Yield how the data sets were moved, what is recommended, how that was tested, and what to try."""
    for used in found.used[:1]:
        yield (
            f"most time at {format_setting(used.parameters)}: {format_bps(used.rate_bps)},"
            f" {used.share_of_time:.0%} of it"
        )
    if found.recommended is not None and found.rate_bps is not None and found.gain is not None:
        yield (
            f"recommended {format_setting(found.recommended)}: {format_bps(found.rate_bps.mean)}"
            f" ({format_bps(found.rate_bps.low)} to {format_bps(found.rate_bps.high)}),"
            f" {format_gain(found.gain)} as fast as the others"
        )
    if found.back_test is not None:
        yield format_back_test(found.back_test)
    yield from (f"try: {advice}" for advice in found.advice)


def format_back_test(test: GainBackTest) -> str:
    return (
        f"back-test: predicted {format_gain(test.predicted)}, later reached {test.observed:.3g} times by"
        f" {format_count(test.rows, 'row')}, {'within' if test.within else 'outside'} the interval"
    )


def list_notes(report: GainReport) -> list[str]:
    """Return what the report does not hold."""
    notes = []
    if report.links_left_out:
        notes.append(f"{format_count(report.links_left_out, 'link')} with less transfer time left out")
    if report.waiting_days:
        notes.append(f"{format_count(report.waiting_days, 'day')} of logs not summed yet: run this again in a minute")
    if report.links and report.release is None:
        notes.append("no release yet: it follows an upload within two minutes")
    return notes


def format_gain(gain: WireInterval) -> str:
    return f"{gain.mean:.3g} times ({gain.low:.3g} to {gain.high:.3g})"


def format_hours(hours: WireInterval) -> str:
    return f"{hours.mean:.3g} h ({hours.low:.3g} to {hours.high:.3g})"


def format_setting(parameters: WireParameters) -> str:
    """Return the setting in words; only what the logs say."""
    known = parameters.model_dump(exclude_none=True)
    return ", ".join(starmap(_format_value, known.items())) or "settings that are not logged"


def _format_value(name: str, value: float | str) -> str:
    if name not in _NAMES:
        return f"{name.replace('_', ' ')} {value}"
    noun, how = _NAMES[name]
    return f"{format_count(int(value), noun)} {how}"
