"""The report of gains as one HTML page that loads nothing and runs no script."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind.wire.gain import GainReport, LinkGain
from tradewind_agent.history.gain_report import (
    format_data_set,
    format_link,
    format_link_total,
    format_total,
    list_data_set_lines,
    list_notes,
)
from tradewind_agent.system_errors import explain_os_error

_HEAD = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>What tuning would gain</title>
<style>body{font:1rem/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}h2{margin-top:2rem}</style>
<h1>What tuning would gain</h1>
"""


def write_gain_page(report: GainReport, file: Path) -> None:
    """Write the page.

    Raises
    ------
    InvalidValue : the file cannot be written.
    """
    try:
        file.write_text("\n".join(_list_parts(report)), encoding="utf-8")
    except OSError as failed:
        raise InvalidValue("--html", f"{file} cannot be written: {explain_os_error(failed)}") from failed


def _list_parts(report: GainReport) -> Iterator[str]:
    yield _HEAD
    yield f"<p><strong>{escape(format_total(report))}</strong></p>"
    for link in report.links:
        yield from _list_link_parts(link)
    yield from (f"<p>{escape(note)}</p>" for note in list_notes(report))
    release = "" if report.release is None else f" by release {report.release}"
    yield f"<p>Made {report.made_at:%Y-%m-%d %H:%M %Z}{release}. Intervals hold 90 %; savings are those of a month.</p>"
    yield "</html>"


def _list_link_parts(link: LinkGain) -> Iterator[str]:
    yield f"<h2>{escape(format_link(link))}</h2>"
    yield f"<p>{escape(format_link_total(link))}</p>"
    for data_set in link.data_sets:
        yield f"<h3>{escape(format_data_set(data_set).removesuffix(':'))}</h3>"
        yield "<ul>"
        yield from (f"<li>{escape(line)}</li>" for line in list_data_set_lines(data_set))
        yield "</ul>"
    yield from (f"<p>Try: {escape(advice)}</p>" for advice in link.advice)
