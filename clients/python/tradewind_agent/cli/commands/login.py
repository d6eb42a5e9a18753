"""``tradewind login``: keep the address and key of a service."""

import os
import sys
from typing import Annotated

import typer

from tradewind_agent.cli import options
from tradewind_agent.cli.terminal import Terminal


def register(app: typer.Typer) -> None:
    app.command()(login)


def login(
    url: Annotated[str, typer.Argument(help="Address of the service.", metavar="URL")],
    *,
    key: Annotated[str, typer.Option(help="API key; - reads it from standard input.", metavar="KEY")],
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="Keep them even if the service does not answer.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Keep the address and key of a service for later commands (mode 0600), once the service has taken the key."""
    from tradewind_agent.config import check_url, store_service
    from tradewind_agent.errors import NotConfigured, ObjectNotFound, ServiceUnreachable
    from tradewind_agent.service.client import Client
    from tradewind_agent.service.retries import BRIEF_RETRIES

    terminal = Terminal(as_json)
    secret = sys.stdin.readline().strip() if key == "-" else key.strip()
    if not secret:
        raise typer.BadParameter("is empty", param_hint="--key")
    try:
        address = check_url(url)
    except NotConfigured as wrong:
        raise typer.BadParameter(str(wrong), param_hint="URL") from None
    checked = True
    with Client(address, secret, retries=BRIEF_RETRIES) as client:
        try:
            client.inventory.endpoints()
        except ObjectNotFound as missing:
            raise NotConfigured(f"{address} answers, but is no Tradewind service: check address and port") from missing
        except ServiceUnreachable as away:
            if not unchecked:
                raise ServiceUnreachable(
                    f"{away}; nothing was changed, --unchecked keeps the key all the same"
                ) from away
            terminal.note(f"{away}; the key is kept unchecked")
            checked = False
    path = store_service(os.environ, url=address, key=secret)
    document = {"url": address, "file": str(path), "checked": checked}
    terminal.print_result(f"logged in to {address}; key kept in {path}", document)
