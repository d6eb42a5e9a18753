"""``tradewind serve-files``: receiver and origin of files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind.units import format_bytes, format_count
from tradewind_agent.cli import options
from tradewind_agent.cli.option_groups import expand_groups
from tradewind_agent.cli.progress import build_plain_lines
from tradewind_agent.cli.terminal import Terminal
from tradewind_agent.errors import ServeFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tradewind_agent.serve import Server
    from tradewind_agent.serve.counters import Counters

TOKEN_VARIABLE = "TRADEWIND_SERVE_TOKEN"  # noqa: S105 -- the name of a variable


def register(app: typer.Typer) -> None:
    app.command("serve-files")(serve_files)


@expand_groups
def serve_files(
    folder: Annotated[Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="Folder to serve.")],
    *,
    host: Annotated[str, typer.Option(help="Address to listen on; this machine alone by default.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8090,
    writable: Annotated[bool, typer.Option("--writable", help="Take uploads, whole or in resumable parts.")] = False,
    certificate: Annotated[Path | None, typer.Option(metavar="PEM", help="Serve https with this certificate.")] = None,
    certificate_key: Annotated[Path | None, typer.Option(metavar="PEM", help="Key of the certificate.")] = None,
    quota: Annotated[str | None, typer.Option(metavar="SIZE", help="Most bytes that uploads may store in DIR.")] = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Serve and take names that begin with a dot, too.")] = False,
    allowed_hosts: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Name by which clients address it, besides this machine's."),
    ] = None,
    max_connections: Annotated[
        int, typer.Option(min=1, help="Connections at once; beyond that, idle ones are closed.")
    ] = 1024,
    congestion_control: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="TCP congestion control of downloads, such as fld_tcp; else the system's."),
    ] = None,
    accepted_resources: Annotated[
        list[str] | None,
        typer.Option(
            "--accept-limits",
            metavar="cores|frequency",
            help="Resources of this host that clients may limit while it serves them alone; needs a token, or this "
            "machine alone.",
        ),
    ] = None,
    metered: Annotated[
        bool, typer.Option("--meter/--no-meter", help="Report to transfers the energy that they take here.")
    ] = True,
    meter: options.Meter,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Serve a folder over HTTP until Ctrl-C; TRADEWIND_SERVE_TOKEN is asked of clients, as a bearer or a password."""
    from tradewind_agent.serve import ServeOptions, ServerLimits, TlsFiles, serve_forever

    terminal = Terminal(as_json, quiet)
    if (certificate is None) != (certificate_key is None):
        raise typer.BadParameter("go together", param_hint="--certificate and --certificate-key")
    tls = TlsFiles(certificate, certificate_key) if certificate and certificate_key else None
    token = os.environ.get(TOKEN_VARIABLE) or None
    settings = ServeOptions(
        root=folder,
        host=host,
        port=port,
        writable=writable,
        tls=tls,
        bearer_token=token,
        allowed_hosts=allowed_hosts or (),
        hidden=hidden,
        limits=ServerLimits(max_connections=max_connections, quota_bytes=options.parse_size_if("--quota", quota)),
        meter=meter if metered else None,
        congestion_control=congestion_control,
        accepted_resources=_parse_accepted(accepted_resources or (), is_open=token is None, host=host),
    )
    try:
        counters = serve_forever(
            settings,
            on_ready=lambda server: _report_address(terminal, folder, server),
            on_counters=_make_progress_callback(terminal),
        )
    except OSError as failure:
        raise ServeFailed(f"{folder} cannot be served on {host}:{port}: {_explain_failure(failure)}") from None
    terminal.note(f"stopped after {format_count(counters.requests, 'request')}")


_ACCEPTED = {"cores": "cores", "frequency": "frequency_hz"}


def _parse_accepted(names: "Sequence[str]", *, is_open: bool, host: str) -> tuple[str, ...]:
    """Return the resources that clients may limit; only clients that are authorised, or of this very machine."""
    from tradewind_agent.serve.host_names import is_loopback

    if unknown := sorted(set(names) - set(_ACCEPTED)):
        raise typer.BadParameter(f"takes cores and frequency, not {', '.join(unknown)}", param_hint="--accept-limits")
    if names and is_open and not is_loopback(host):
        raise typer.BadParameter(f"needs clients with a token; set {TOKEN_VARIABLE}", param_hint="--accept-limits")
    return tuple(dict.fromkeys(_ACCEPTED[name] for name in names))


def _make_progress_callback(terminal: Terminal) -> "Callable[[Counters], None] | None":
    """Return a callback that prints what was served, when that has changed."""
    from tradewind_agent.serve.counters import Counters

    lines = build_plain_lines(terminal, known=_format_counters(Counters()))
    return None if lines is None else lambda counters: lines.say_if_due(lambda: _format_counters(counters))


def _format_counters(counters: "Counters") -> str:
    moved = f"{format_bytes(counters.sent_bytes)} sent, {format_bytes(counters.received_bytes)} received"
    connections = format_count(counters.open_connections, "connection")
    return f"{format_count(counters.requests, 'request')}, {moved}, {connections} open"


def _explain_failure(failure: OSError) -> str:
    import ssl

    from tradewind_agent.system_errors import explain_os_error

    if isinstance(failure, ssl.SSLError):
        return "--certificate and --certificate-key are no PEM files that belong together"
    if isinstance(failure, FileNotFoundError):
        return "--certificate or --certificate-key does not exist; check the names"
    return f"{explain_os_error(failure).what}; choose another --port or --host"


def _report_address(terminal: Terminal, folder: Path, server: "Server") -> None:
    document = {"url": server.url, "port": server.port, "writable": server.options.writable, "folder": str(folder)}
    if server.options.congestion_control is not None:
        document["congestion_control"] = None if server.refusal else server.options.congestion_control
    if server.refusal is not None:
        terminal.note(f"{server.refusal}; connections use the system's")
    terminal.print_result(f"serving {folder} at {server.url}", document)
