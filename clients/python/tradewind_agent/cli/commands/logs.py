"""``tradewind logs``: upload history, and follow logs that other programs write."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from tradewind.path import Path as NetworkPath
from tradewind.units import format_count, parse_seconds
from tradewind_agent.cli import environment, options
from tradewind_agent.cli.log_options import Context
from tradewind_agent.cli.option_groups import expand_groups
from tradewind_agent.cli.progress import build_plain_lines, show_count
from tradewind_agent.cli.terminal import PartlyDone, Terminal

if TYPE_CHECKING:
    from tradewind_agent.har.upload import HarReport
    from tradewind_agent.history.importers.ports import ImportContext
    from tradewind_agent.history.log_upload import FileReport
    from tradewind_agent.history.watching import Tally
    from tradewind_agent.service.client import Client

Format = Annotated[
    str,
    typer.Option(
        "--format", help="gridftp, rclone, fts, aria2, csv, ndjson, har or another, or auto to detect it by content."
    ),
]
FollowedFormat = Annotated[
    str,
    typer.Option(
        "--format", help="gridftp, rclone, fts, aria2, csv, ndjson or another, or auto to detect it by content."
    ),
]
UPLOADED_ALONE = ("har",)
"""Formats that nobody writes line by line, so that there is nothing to follow."""


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Upload transfer logs, once or for ever, and report what they are worth.")
    group.command()(upload)
    group.command()(watch)
    group.command()(report)
    app.add_typer(group, name="logs")


@expand_groups
def upload(
    logs: Annotated[list[str], typer.Argument(metavar="FILE|DIR|-", help="Logs; - reads standard input.")],
    *,
    format_name: Format = "auto",
    context: Context,
    proxy: options.Proxy = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be uploaded.")] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Upload transfer logs; the same log uploaded twice is stored once.

    Rows are stored by link (source, destination, network, mover). A log uploaded again with other ends is stored again,
    for the link that they name; the rows of the first upload stay with their link.

    The agent reports each row that it cannot parse, with the reason, and does not upload it; the exit code is then 1.
    The service keeps rows that it refuses in quarantine.

    From a browser's log (HAR) the service stores the connections of each page; the same log again replaces them.
    """
    from tradewind_agent.har.upload import build_har_document, list_har_lines, split, upload_hars

    terminal = Terminal(as_json, quiet)
    _check_format(format_name, *UPLOADED_ALONE)
    path = NetworkPath(bandwidth_bps=context.bandwidth_bps, rtt_s=context.rtt_s)
    with ExitStack() as closing:
        hars, others = split(_open_logs(logs, closing), format_name)
        _check_options_apply(context, proxy, pages=bool(hars), transfers=bool(others))
        client = None if dry_run else closing.enter_context(environment.open_client())
        pages: list[HarReport] = []
        with _report_if_interrupted(pages, dry_run=dry_run):
            pages.extend(upload_hars(hars, client=client, path=path, proxy=proxy))  # what came before a failure stays
            texts, document = list_har_lines(pages, dry_run=dry_run), build_har_document(pages, dry_run=dry_run)
            failed = any(each.failure for each in pages)
            if others or not hars:
                text, records_document, has_failed = _upload_records(others, format_name, context, client, terminal)
                texts, document, failed = [*texts, text], records_document | document, failed or has_failed
    terminal.print_result("\n".join(texts), document)
    if failed:
        raise typer.Exit(1)


@contextmanager
def _report_if_interrupted(pages: "list[HarReport]", *, dry_run: bool) -> Iterator[None]:
    """Report the browsers' logs even if the logs that follow them fail."""
    from tradewind_agent.har.upload import build_har_document, list_har_lines

    try:
        yield
    except (Exception, KeyboardInterrupt) as failure:
        if not pages:
            raise
        document = build_har_document(pages, dry_run=dry_run)
        raise PartlyDone("\n".join(list_har_lines(pages, dry_run=dry_run)), document) from failure


def _check_options_apply(context: "ImportContext", proxy: str | None, *, pages: bool, transfers: bool) -> None:
    """Refuse what says something of transfers where there are browsers' logs alone, and the other way round."""
    if proxy is not None and not pages:
        raise typer.BadParameter("is of a browser's logs, not of transfers'", param_hint="--proxy")
    if transfers or not pages:
        return
    given = {
        "--source": context.source,
        "--destination": context.destination,
        "--timezone": context.timezone,
        "--mover": context.mover,
        "--network": context.network,
        "--start": context.started_at,
        "--unit": context.units or None,
        "--decimal": context.decimal,
        "--date-order": context.date_order,
        "--alias": context.aliases or None,
    }
    if alone := next((name for name, value in given.items() if value is not None), None):
        raise typer.BadParameter("is of logs of transfers, not of a browser's", param_hint=alone)


def _upload_records(
    logs: "list[tuple[str, Path | IO[bytes]]]",
    format_name: str,
    context: "ImportContext",
    client: "Client | None",
    terminal: Terminal,
) -> tuple[str, dict[str, Any], bool]:
    """Upload logs of transfers, or only read them without a client.

    Return text and document for the end, and whether something was wrong.
    """
    from tradewind_agent.history.log_upload import read_logs, upload_report

    reports: list[FileReport] = []
    lines = read_logs(logs, format_name=format_name, context=context, reports=reports)
    if client is None:
        with show_count(terminal, "reading", "row") as count:
            for _ in lines:
                count(1)
        receipts = None
    else:
        with show_count(terminal, "uploading", "row") as count:
            receipts = client.upload_logs(lines, on_receipt=lambda receipt: count(receipt.accepted + receipt.rejected))
    text, document = upload_report(reports, receipts)
    has_records = any(report.imported for report in reports)
    wrong = has_records and receipts is not None and not receipts.stored_any
    wrong |= any(report.failure or report.refused for report in reports)
    wrong |= not has_records and format_name != "auto"  # the content may be of another format than the one named
    return text, document, wrong


@expand_groups
def watch(
    folder: Annotated[Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="Folder of logs.")],
    *,
    format_name: FollowedFormat = "auto",
    context: Context,
    pattern: Annotated[str, typer.Option(metavar="GLOB", help="File names of logs to follow.")] = "*",
    interval: Annotated[str, typer.Option(metavar="TIME", help="Polling interval.")] = "5s",
    quiet_after: Annotated[
        str, typer.Option(metavar="TIME", help="Lines that belong together are taken when a log was quiet so long.")
    ] = "60s",
    once: Annotated[bool, typer.Option("--once", help="Upload the present lines once, and exit.")] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Follow the logs in a folder and upload what is new, through rotation and restarts, until it is stopped."""
    from tradewind_agent.folders import build_state_folder
    from tradewind_agent.history.log_reader import ImportingReader
    from tradewind_agent.history.watch_state import build_state_path, hold_folder
    from tradewind_agent.history.watching import Watch, WatchOptions

    terminal = Terminal(as_json, quiet)
    _check_format(format_name)
    interval_s = options.parse_duration_s("--interval", interval)
    quiet_s = options.read("--quiet-after", parse_seconds, quiet_after)
    state = build_state_path(build_state_folder(os.environ), folder)
    stop = _stop_on_signals()
    client = environment.open_client_if_configured(pause=stop.wait)
    if client is None:
        terminal.note("no service is configured: logs are spooled until `tradewind login`")
    try:
        with hold_folder(state):
            tally = Watch(
                options=WatchOptions(folder=folder, pattern=pattern, interval_s=interval_s, quiet_s=quiet_s),
                state_path=state,
                spool=environment.open_spool(terminal),
                service=client,
                reader=ImportingReader(context, format_name),
                note=terminal.note,
                stop=stop,
                jitter=Random(),  # noqa: S311 -- spreads retries, guards nothing
                now_s=time.time,
                on_progress=_make_progress_callback(terminal),
            ).run(once=once)
    finally:
        if client is not None:
            client.close()
    terminal.print_result(_format_tally(tally) + _format_unread(tally), asdict(tally))
    if once and any(each.failed for each in tally.not_read):
        raise typer.Exit(1)


def _format_tally(tally: "Tally") -> str:
    return (
        f"{format_count(tally.records, 'record')} read, {format_count(tally.refused, 'row')} refused, "
        f"{format_count(tally.accepted, 'record')} taken by the service"
    )


def _format_unread(tally: "Tally") -> str:
    """Name the logs that were not read, or not to their end; the reason was reported when it was found."""
    return f"; not read, or in part: {', '.join(each.file for each in tally.not_read)}" if tally.not_read else ""


def _make_progress_callback(terminal: Terminal) -> "Callable[[Tally], None]":
    """Return a callback that prints what a watch has done, when that has changed."""
    from tradewind_agent.history.watching import Tally

    lines = build_plain_lines(terminal, known=_format_tally(Tally()))
    return lambda tally: None if lines is None else lines.say_if_due(lambda: _format_tally(tally))


def report(
    *,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as a self-contained HTML page.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Report what tuning would have gained on the uploaded history, those links first that would save most.

    Savings are those of a month, with 90 % intervals, and only where the recommended setting is certified.
    """
    from tradewind_agent.history.gain_page import write_gain_page
    from tradewind_agent.history.gain_report import list_report_lines

    terminal = Terminal(as_json)
    with environment.open_client() as client:
        found = client.inventory.gain()
    if html is not None:
        write_gain_page(found, html)
    terminal.print_result("\n".join(list_report_lines(found)), found.model_dump(mode="json"))


def _check_format(name: str, *more: str) -> None:
    from tradewind_agent.history.importers.importing import build_known_importers

    known = ("auto", *build_known_importers(), *more)
    if name not in known:
        raise typer.BadParameter(f"unknown format {name!r}; one of {', '.join(known)}", param_hint="--format")


def _open_logs(logs: list[str], closing: ExitStack) -> Iterator[tuple[str, Any]]:
    """Yield names and logs: files as they are, folders as the files in them, ``-`` as standard input.

    What is no file gives its bytes once, as a pipe does that a shell makes of ``<(...)``: it is opened here, for all.
    """
    for log in logs:
        path = Path(log)
        if log == "-":
            yield "standard input", sys.stdin.buffer
        elif path.is_dir():
            yield from ((str(file), file) for file in _list_files_below(path))
        elif path.is_file():
            yield log, path
        elif path.exists():
            yield log, _open_pipe(path, closing)
        else:
            raise typer.BadParameter(f"{log} does not exist", param_hint="FILE|DIR|-")


def _open_pipe(path: Path, closing: ExitStack) -> IO[bytes]:
    from tradewind_agent.system_errors import explain_os_error

    try:
        return closing.enter_context(path.open("rb"))
    except OSError as failed:
        reason = f"{path} cannot be read: {explain_os_error(failed)}"
        raise typer.BadParameter(reason, param_hint="FILE|DIR|-") from None


def _list_files_below(folder: Path) -> list[Path]:
    """Return all files in a folder and below it, by path; refuse a folder without files, or one that is unreadable."""
    from tradewind_agent.system_errors import explain_os_error

    def refuse_unreadable(failure: OSError) -> None:
        reason = f"{failure.filename} cannot be read: {explain_os_error(failure)}"
        raise typer.BadParameter(reason, param_hint="FILE|DIR|-") from None

    found = [Path(inside, name) for inside, _, names in os.walk(folder, onerror=refuse_unreadable) for name in names]
    files = sorted(path for path in found if path.is_file())
    if not files:
        raise typer.BadParameter(f"{folder} is a folder without files", param_hint="FILE|DIR|-")
    return files


def _stop_on_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    return stop
