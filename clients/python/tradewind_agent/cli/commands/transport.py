"""``tradewind transport``: FLD_TCP, a congestion control for short flows, in this host's kernel."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind_agent.transport.installation import Change, State

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]


_OPTIONS = {
    "growth_factor": "--growth",
    "threshold_bytes": "--threshold",
    "initial_window_segments": "--initial-window",
}


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Install, look at or remove FLD_TCP: short flows in fewer round trips, by eBPF.")
    group.command()(install)
    group.command()(status)
    group.command()(remove)
    app.add_typer(group, name="transport")


def install(
    *,
    threshold: Annotated[str, typer.Option(metavar="SIZE", help="Flows of up to this size count as short.")] = "2MB",
    growth: Annotated[
        int, typer.Option(metavar="N", help="Factor by which the window grows each round trip in slow start.")
    ] = 3,
    initial_window: Annotated[
        int, typer.Option(metavar="N", help="Initial window in segments; 0 leaves the system's.")
    ] = 10,
    btf: Annotated[Path | None, typer.Option(metavar="FILE", help="BTF file of the running kernel.")] = None,
    dry_run: DryRun = False,
    as_json: options.Json = False,
) -> None:
    """Compile FLD_TCP for the running kernel and load it; sockets may choose it then, none does by default."""
    from tradewind.errors import InvalidValue
    from tradewind_agent.transport import installation
    from tradewind_agent.transport.parameters import Parameters
    from tradewind_agent.transport.requirements import BTF

    try:
        parameters = Parameters(
            growth_factor=growth,
            threshold_bytes=options.parse_size("--threshold", threshold),
            initial_window_segments=initial_window,
        )
    except InvalidValue as wrong:
        raise typer.BadParameter(wrong.reason, param_hint=_OPTIONS[wrong.field]) from None
    change = installation.install(parameters, btf=btf or BTF, dry_run=dry_run)
    _report(Terminal(as_json), change, dry_run, done="installed", already="is installed already")


def status(*, as_json: options.Json = False) -> None:
    """Say whether FLD_TCP is loaded, and with which parameters; exit 1 where it is not."""
    from tradewind_agent.transport import installation

    state = installation.read_state()
    Terminal(as_json).print_result(_format_state(state), state.build_document())
    if not state.registered:
        raise typer.Exit(1)


def remove(*, dry_run: DryRun = False, as_json: options.Json = False) -> None:
    """Take FLD_TCP out of the kernel; connections that use it keep it until they end."""
    from tradewind_agent.transport import installation

    _report(
        Terminal(as_json), installation.remove(dry_run=dry_run), dry_run, done="removed", already="is not installed"
    )


def _report(terminal: Terminal, change: "Change", dry_run: bool, *, done: str, already: str) -> None:
    document = {
        **change.state.build_document(),
        "changed": bool(change.steps) and not dry_run,
        "steps": list(change.steps),
    }
    if not change.steps:
        terminal.print_result(f"fld_tcp {already}", document)
    elif dry_run:
        terminal.print_result("\n".join(f"would {step}" for step in change.steps), document)
    else:
        terminal.print_result(f"fld_tcp {done}", document)


def _format_state(state: "State") -> str:
    if not state.registered:
        return f"fld_tcp is not installed; the system's default is {state.default}"
    lines = [f"fld_tcp can be chosen by sockets; the system's default is {state.default}"]
    if state.ours is None:
        lines.append("its parameters are for root to see")
    elif not state.ours:
        lines.append("it was registered by another program")
    elif state.parameters is not None:
        held = state.parameters
        lines.append(
            f"growth {held.growth_factor} a round trip up to {held.threshold_bytes:,} bytes, "
            f"initial window {held.initial_window_segments or 'of the system'}"
        )
    if state.current is False:
        reason = "" if state.unknown is None else f": {state.unknown}"
        lines.append(f"it is another version than this agent's{reason}; `tradewind transport remove`, then install")
    return "\n".join(lines)
