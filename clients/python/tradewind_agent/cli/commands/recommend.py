"""``tradewind recommend``: ask how a transfer should be run, without running it."""

from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.option_groups import expand_groups
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind_agent.session.planning import Plan


def register(app: typer.Typer) -> None:
    app.command()(recommend)


@expand_groups
def recommend(
    source: Annotated[str, typer.Argument(help="Name of the endpoint that sends.")],
    destination: Annotated[str, typer.Argument(help="Name of the endpoint that receives.")],
    *,
    total: Annotated[str, typer.Option("--bytes", metavar="SIZE", help="Size of all files together, such as 10GB.")],
    files: Annotated[int, typer.Option(min=1, help="Number of files.")] = 1,
    sla: options.SlaOption,
    mover: Annotated[str, typer.Option(help="Program that will move the files.")] = "tradewind",
    network: options.Network = None,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="Device that receives, of `tradewind devices`, by its --network.")
    ] = None,
    path: options.KnownPath,
    load: options.Load = None,
    flags: Annotated[str | None, typer.Option(metavar="TOOL", help="Print only the flags for this tool.")] = None,
    as_json: options.Json = False,
) -> None:
    """Recommend parameters for a transfer between two endpoints; by formulas while the service is unreachable."""
    from tradewind.dataset import SizeBin
    from tradewind.wire.base import BIGINT_MAX
    from tradewind.wire.devices import parse_profile_name
    from tradewind.wire.recommendations import RecommendRequest, WireSla, WireWorkload
    from tradewind.wire.records import WirePath
    from tradewind_agent.session.planning import plan_by_rules, request_plan

    terminal = Terminal(as_json)
    _check_tool(flags)
    for argument, name in (
        ("SOURCE", source),
        ("DESTINATION", destination),
        ("--mover", mover),
        ("--network", network),
    ):
        _check_name(argument, name)
    total_bytes = options.parse_size("--bytes", total)
    if max(total_bytes, files) > BIGINT_MAX:
        wrong = "--bytes" if total_bytes > BIGINT_MAX else "--files"
        raise typer.BadParameter("is more than any transfer moves", param_hint=wrong)
    request = RecommendRequest(
        source=source,
        destination=destination,
        dataset=WireWorkload(file_count=files, total_bytes=total_bytes),
        sla=WireSla.from_sla(sla),
        mover=mover,
        network=network,
        device=None if device is None else parse_profile_name(device),
        path=WirePath(bandwidth_bps=path.bandwidth_bps, rtt_s=path.rtt_s),
        load=load,
    )
    client = environment.open_client_if_configured()
    try:
        plan = request_plan(client, request)
    finally:
        if client is not None:
            client.close()
    if isinstance(plan, str):
        bins = (SizeBin(max(-(-total_bytes // files), 1), files, total_bytes),)
        plan = plan_by_rules(uuid4(), bins, path, sla, load=load, because=plan)
    _report(terminal, plan, flags)


def _check_name(argument: str, name: str | None) -> None:
    from tradewind.wire.base import MAX_NAME_LENGTH

    if name is None:
        return
    if not name.strip():
        raise typer.BadParameter("is empty", param_hint=argument)
    if len(name) > MAX_NAME_LENGTH or any(letter < " " for letter in name):
        raise typer.BadParameter(
            f"is longer than {MAX_NAME_LENGTH} characters, or has control characters in it", param_hint=argument
        )


def _check_tool(tool: str | None) -> None:
    from tradewind.flags import list_flags_by_tool
    from tradewind.parameters import UNTUNED

    known, _ = list_flags_by_tool(UNTUNED)
    if tool is not None and tool not in known:
        raise typer.BadParameter(f"unknown tool {tool!r}; one of {', '.join(known)}", param_hint="--flags")


def _report(terminal: Terminal, plan: "Plan", tool: str | None) -> None:
    from tradewind.flags import list_flags_by_tool
    from tradewind_agent.copy.reporting.report import build_plan_document, describe_plan

    made, _ = list_flags_by_tool(plan.parameters)
    if tool is not None:
        terminal.print_result(made[tool], {"tool": tool, "flags": made[tool]})
        return
    document = build_plan_document(plan) | {"flags": made}
    terminal.print_result(describe_plan(plan), document)
