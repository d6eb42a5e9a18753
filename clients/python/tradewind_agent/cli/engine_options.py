"""Options of commands that move files by the engine: proxies, logins, certificates, patience."""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli.object_options import build_object_properties
from tradewind_agent.cli.option_groups import GroupOf
from tradewind_agent.cli.options import parse_duration_s
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from ssl import SSLContext

    from tradewind_agent.engine.options import EngineOptions
    from tradewind_agent.engine.skipping import SkipRule
    from tradewind_agent.engine.store_access import ObjectProperties, StoreAccess

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWN_HEADERS = frozenset(
    {"host", "range", "if-range", "content-length", "content-range", "transfer-encoding", "connection"}
)


def build_store_access(
    *,
    endpoint_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Object store of s3:// addresses, if it is not AWS.")
    ] = None,
    region: Annotated[str | None, typer.Option(metavar="NAME", help="Region of the bucket, such as eu-west-1.")] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="Profile of your AWS configuration that has the credentials.")
    ] = None,
    anonymous: Annotated[bool, typer.Option("--anonymous", help="Read a public bucket without credentials.")] = False,
    requester_pays: Annotated[
        bool, typer.Option("--requester-pays", help="Agree to pay for requests to a bucket that asks for it.")
    ] = False,
) -> "StoreAccess":
    """Return how object stores are reached; what is left out is as the user's AWS configuration has it."""
    from tradewind_agent.engine.store_access import StoreAccess
    from tradewind_agent.folders import build_state_folder

    return StoreAccess(
        endpoint_url=endpoint_url,
        region=region,
        profile=profile,
        is_anonymous=anonymous,
        pays=requester_pays,
        notes_folder=build_state_folder(os.environ) / "uploads",
    )


def build_engine_options(
    *,
    skip: Annotated[
        str,
        typer.Option(
            metavar="existing|newer|same",
            help="Files that stay as they are: all, those not older than the source, or those of its size and time.",
        ),
    ] = "same",
    checksum: Annotated[
        bool, typer.Option("--checksum", help="Compare files that are there already by checksum.")
    ] = False,
    ca_file: Annotated[Path | None, typer.Option(metavar="PEM", help="CA certificates to trust.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Accept any certificate.")] = False,
    cert: Annotated[
        Path | None, typer.Option(metavar="PEM", help="Your certificate for servers that ask for one, and its key.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="PEM", help="The key of --cert, if in another file.")] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:VALUE", help="A header for the servers that you name; may be given several times."),
    ] = None,
    bearer_token: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="A token for the servers that you name; env:NAME is a variable that holds it."
        ),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Longest wait until an answer begins, and for silence in it, such as 90s; 5min and 1min if left out.",
            show_default=False,
        ),
    ] = None,
    stores: Annotated["StoreAccess", GroupOf(build_store_access)],
    properties: Annotated["ObjectProperties", GroupOf(build_object_properties)],
    congestion_control: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="TCP congestion control of uploads, such as fld_tcp; else the system's."),
    ] = None,
) -> "EngineOptions":
    """Return the engine's options, with proxies, netrc and authorities from the user's environment."""
    from tradewind_agent.engine.http.credentials import Credentials
    from tradewind_agent.engine.http.proxy import Proxies
    from tradewind_agent.engine.options import EngineOptions
    from tradewind_agent.engine.origin.book import OriginBook
    from tradewind_agent.folders import build_state_folder

    tls = _build_tls(ca_file, cert, key, insecure=insecure)
    headers = _read_headers(header or ())
    if bearer_token is not None:
        headers["Authorization"] = f"Bearer {_read_token(bearer_token)}"
    engine = EngineOptions(
        tls=tls,
        proxies=Proxies.from_environment(os.environ),
        credentials=replace(Credentials.from_environment(os.environ), unbound=headers),
        stores=stores,
        properties=properties,
        skip=_parse_skip_rule(skip),
        checksum=checksum,
        origins=OriginBook(build_state_folder(os.environ) / "origins.json"),
        congestion_control=None if congestion_control is None else _check_congestion_control(congestion_control),
    )
    if timeout is None:
        return engine
    longest_s = parse_duration_s("--timeout", f"{timeout}s" if timeout.strip().isdecimal() else timeout)
    return replace(engine, answer_timeout_s=longest_s, idle_timeout_s=longest_s)


def _parse_skip_rule(text: str) -> "SkipRule":
    from tradewind_agent.engine.skipping import SkipRule

    try:
        return SkipRule(text)
    except ValueError:
        rules = ", ".join(rule.value for rule in SkipRule)
        raise typer.BadParameter(f"is one of {rules}; got {text!r}", param_hint="--skip") from None


def _build_tls(ca_file: Path | None, cert: Path | None, key: Path | None, *, insecure: bool) -> "SSLContext | None":
    """Return TLS settings; ``None`` for the usual ones, which the engine reads when it meets https: that is slow."""
    from tradewind_agent.engine.options import build_tls_context
    from tradewind_agent.system_errors import explain_os_error

    if key is not None and cert is None:
        raise typer.BadParameter("goes with --cert", param_hint="--key")
    if ca_file is None and cert is None and not insecure:
        return None
    try:
        return build_tls_context(ca_file=ca_file, insecure=insecure, cert=cert, key=key)
    except OSError as failure:
        files = ", ".join(str(file) for file in (ca_file, cert, key) if file is not None)
        why = explain_os_error(failure).what
        raise typer.BadParameter(f"{files}: {why}", param_hint="--ca-file, --cert, --key") from None


def bind_headers(engine: "EngineOptions", places: Sequence[str]) -> "EngineOptions":
    """Return options whose --header and --bearer-token go to the servers that the user names, and to no other."""
    from tradewind_agent.engine.http.address import Url

    origins = [Url.parse(place).origin for place in places if place.lower().startswith(("http://", "https://"))]
    if engine.credentials.unbound and not origins and any(place.lower().startswith("s3://") for place in places):
        raise typer.BadParameter("is not sent to object stores", param_hint="--header, --bearer-token")
    return replace(engine, credentials=engine.credentials.bind(origins))


def _read_headers(texts: Sequence[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon or _HEADER_NAME.fullmatch(name) is None or not value.strip().isprintable():
            raise typer.BadParameter(f"{text!r} is no header; write it like 'Name: value'", param_hint="--header")
        if name.lower() in _OWN_HEADERS:
            raise typer.BadParameter(f"{name} is set by the copy itself", param_hint="--header")
        headers[name.title()] = value.strip()
    return headers


def _read_token(place: str) -> str:
    """Return the token in a file, or in the variable of the environment that ``env:NAME`` names."""
    from tradewind_agent.system_errors import explain_os_error

    scheme, _, name = place.partition(":")
    try:
        token = os.environ.get(name, "") if scheme == "env" else Path(place).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        if isinstance(failure, FileNotFoundError):  # perhaps the token itself, which is not repeated
            reason = "no such file; give a file that holds the token, or env:NAME for a variable"
            raise typer.BadParameter(reason, param_hint="--bearer-token") from None
        why = explain_os_error(failure).what if isinstance(failure, OSError) else "is no text"
        raise typer.BadParameter(f"{place}: {why}", param_hint="--bearer-token") from None
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise typer.BadParameter(f"{place} holds no token", param_hint="--bearer-token")
    return token


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
