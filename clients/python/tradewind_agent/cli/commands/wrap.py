"""``tradewind wrap -- TOOL …``: another tool with the best parameters known."""

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.option_groups import GroupOf, expand_groups
from tradewind_agent.cli.terminal import Terminal
from tradewind_agent.cli.transfer_options import TransferOptions

if TYPE_CHECKING:
    from tradewind_agent.copy.options import CopyOptions
    from tradewind_agent.movers.port import Workload
    from tradewind_agent.movers.wrap.prepare import PreparedWrap
    from tradewind_agent.service.client import Client
    from tradewind_agent.session.metering import HostMeter


def register(app: typer.Typer) -> None:
    app.command(context_settings={"allow_interspersed_args": False})(wrap)


def build_wrap_options(
    *,
    settings: TransferOptions,
    tune: Annotated[
        bool, typer.Option(help="Change settings while it runs where the tool has a way; none of your own flags.")
    ] = True,
) -> "CopyOptions":
    """Return the options of the transfer; the tool's own flags may set its parameters."""
    return replace(settings, tune=tune)


def build_stated_workload(
    *,
    files: Annotated[
        int | None, typer.Option(min=1, help="Number of files, instead of counting them; with --bytes.")
    ] = None,
    total: Annotated[
        str | None, typer.Option("--bytes", metavar="SIZE", help="Size of the files together; with --files.")
    ] = None,
) -> "Workload | None":
    """Build the workload from the sizes that the user states, taken as equal."""
    from tradewind_agent.movers.port import Workload

    if (files is None) != (total is None):
        raise typer.BadParameter("go together", param_hint="--files, --bytes")
    if files is None or total is None:
        return None
    each, rest = divmod(options.parse_size("--bytes", total), files)
    return Workload((*(each,) * (files - 1), each + rest), is_exact=False)


@expand_groups
def wrap(
    words: Annotated[
        list[str], typer.Argument(metavar="-- TOOL ARGUMENTS...", help="The tool's command line, as you would type it.")
    ],
    *,
    settings: Annotated["CopyOptions", GroupOf(build_wrap_options)],
    workload: Annotated["Workload | None", GroupOf(build_stated_workload)],
    meter: options.Meter,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the command line that would run.")] = False,
    as_json: options.Json = False,
) -> None:
    """Run rclone, aria2c, curl, globus-url-copy, aws or s5cmd as recommended; your settings win. Measure and log it.

    scp, sftp and rsync are measured and logged as they are. The exit code is the tool's. With --json, what the tool
    writes to standard output goes to standard error.
    """
    from tradewind_agent.movers.wrap.prepare import WrapOptions, prepare_wrap
    from tradewind_agent.service.retries import BRIEF_RETRIES

    terminal = Terminal(as_json)
    client = environment.open_client_if_configured(BRIEF_RETRIES)
    try:
        wrap_settings = WrapOptions(copy=settings, workload=workload)
        prepared = prepare_wrap(words, options=wrap_settings, environment=os.environ, client=client)
        if dry_run:
            show_command(terminal, prepared)
            return
        code = run_and_report(terminal, prepared, client, meter)
    finally:
        if client is not None:
            client.close()
    raise typer.Exit(code)


def run_and_report(terminal: Terminal, prepared: "PreparedWrap", client: "Client | None", meter: "HostMeter") -> int:
    """Run a tool and return its exit code; standard output is the tool's, so the closing line is a note."""
    from tradewind_agent.movers.wrap.run import run_wrap
    from tradewind_agent.session.logbook import Logbook

    for line in _list_notes_before_run(prepared):
        terminal.note(line)
    logbook = Logbook(spool=environment.open_spool(terminal), client=client)
    # The document alone is on standard output; the tool's own output goes to standard error.
    output_to = sys.stderr.fileno() if terminal.json else None
    report = run_wrap(
        prepared,
        client=client,
        logbook=logbook,
        meter=meter,
        say=_say_nothing if terminal.quiet else terminal.note,
        output_to=output_to,
    )
    if terminal.json:
        terminal.print_result("", report.build_document())
    else:
        terminal.note(report.format_line())
    return report.exit_code


def show_command(terminal: Terminal, prepared: "PreparedWrap") -> None:
    """Show the command line that would run."""
    from tradewind_agent.copy.reporting.report import build_plan_document
    from tradewind_agent.movers.wrap.report import format_command

    command = prepared.build_first_command()
    for line in _list_notes_before_run(prepared):
        terminal.note(line)
    document = {
        "dry_run": True,
        "mover": prepared.installed.mover.name,
        "version": prepared.installed.version,
        "command": list(command.words),
        "settings": dict(command.settings),
        "source": prepared.source,
        "destination": prepared.destination,
        "by_hand": prepared.task.by_hand.list_known(),
        "not_expressible": list(prepared.not_expressible),
        "live": prepared.task.live,
        "plan": build_plan_document(prepared.plan),
        "notes": list(prepared.notes),
    }
    terminal.print_result(format_command(command), document)


def _say_nothing(_: str) -> None:
    """Ignore a note, for users who want none."""


def _list_notes_before_run(prepared: "PreparedWrap") -> list[str]:
    return [*prepared.notes, *(f"cannot be set: {phrase}" for phrase in prepared.not_expressible)]
