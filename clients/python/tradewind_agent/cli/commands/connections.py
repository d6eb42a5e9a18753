"""``tradewind connections``: analyse a page's connections in a browser's log, without sending it anywhere."""

from pathlib import Path
from typing import Annotated

import typer

from tradewind_agent.cli import options
from tradewind_agent.cli.option_groups import expand_groups
from tradewind_agent.cli.terminal import Terminal


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Analyse the connections of web pages.")
    group.callback()(_connections)
    group.command()(analyse)
    app.add_typer(group, name="connections")


def _connections() -> None:
    """Analyse the connections of web pages."""


@expand_groups
def analyse(
    har: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help="A browser's log (HAR).")],
    *,
    path: options.KnownPath,
    proxy: options.Proxy = None,
    as_json: options.Json = False,
) -> None:
    """Show idle time, effective concurrency and reuse of a page's connections, and what to change; nothing is sent.

    `tradewind logs upload FILE` stores the same analysis at the service.
    """
    from tradewind.errors import InvalidValue
    from tradewind.wire.connections import analyse_har
    from tradewind_agent.har.file import read_har
    from tradewind_agent.har.report import describe_analysis

    try:
        analysis = analyse_har(read_har(har), path=path, proxy=proxy)
    except InvalidValue as wrong:
        raise InvalidValue(str(har), wrong.reason) from None
    Terminal(as_json).print_result(describe_analysis(analysis), analysis.model_dump(mode="json", exclude_none=False))
