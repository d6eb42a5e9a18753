"""Options of commands that move files by the engine: proxies, logins, certificates, patience."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli.options import duration
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind_agent.engine.options import EngineOptions


def build_engine_options(
    *,
    checksum: Annotated[
        bool, typer.Option("--checksum", help="Compare SHA-256 sums where the other end has them.")
    ] = False,
    ca_file: Annotated[Path | None, typer.Option(metavar="PEM", help="Authorities to trust.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Accept any certificate.")] = False,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Longest wait until an answer begins, and for silence in it; 5min and 1min if left out.",
            show_default=False,
        ),
    ] = None,
    congestion_control: Annotated[
        str | None, typer.Option(metavar="NAME", help="That uploads are sent by, such as fld_tcp; else the system's.")
    ] = None,
) -> "EngineOptions":
    """Return the engine's options, with proxies, netrc and authorities from the user's environment."""
    from tradewind_agent.engine.http.credentials import Credentials
    from tradewind_agent.engine.http.proxy import Proxies
    from tradewind_agent.engine.options import EngineOptions, tls_context
    from tradewind_agent.engine.origin.book import OriginBook
    from tradewind_agent.folders import state_folder
    from tradewind_agent.system_errors import explain_os_error

    netrc = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    try:
        # The engine makes the usual one when it meets https: reading the system's authorities takes a while.
        tls = tls_context(ca_file=ca_file, insecure=insecure) if ca_file is not None or insecure else None
    except OSError as failure:
        raise typer.BadParameter(f"{ca_file}: {explain_os_error(failure).what}", param_hint="--ca-file") from None
    engine = EngineOptions(
        tls=tls,
        proxies=Proxies.from_environment(os.environ),
        credentials=Credentials.from_netrc(netrc),
        checksum=checksum,
        origins=OriginBook(state_folder(os.environ) / "origins.json"),
        congestion_control=None if congestion_control is None else _check_congestion_control(congestion_control),
    )
    if timeout is None:
        return engine
    longest_s = duration("--timeout", timeout)
    return replace(engine, answer_timeout_s=longest_s, idle_timeout_s=longest_s)


def _check_congestion_control(congestion_control: str) -> str | None:
    """Return the name if the kernel lets this user choose it; otherwise note the reason and return ``None``."""
    import socket

    from tradewind_agent.transport.choosing import choose_congestion_control

    if not congestion_control:
        raise typer.BadParameter("is empty", param_hint="--congestion-control")
    with socket.socket() as probe:
        refusal = choose_congestion_control([probe], congestion_control)
    if refusal is not None:
        Terminal().note(f"{refusal}; connections use the system's")
    return congestion_control if refusal is None else None
