"""The names under which a server answers: a page elsewhere may lead a browser here under a name of its own.

A browser lets such a page read what comes from the page's own name. So a server for this machine alone, which asks for
no token, answers under the names of this machine; each of a page's names has a dot, and is no address.
"""

import socket
from collections.abc import Callable
from http import HTTPStatus
from ipaddress import ip_address

from tradewind_agent.serve.messages import RequestRefused
from tradewind_agent.serve.options import ServeOptions

LOCAL_SUFFIX = ".localhost"


def make_host_check(options: ServeOptions) -> Callable[[str], None]:
    """Return what refuses a ``Host`` field (421) whose name is not one of this server's."""
    if not options.allowed_hosts and (options.bearer_token is not None or not is_loopback(options.host)):
        return lambda _host: None
    names = frozenset(map(_normalise, (options.host, socket.gethostname(), *options.allowed_hosts)))
    return lambda host: _require_name(host, names)


def _require_name(host: str, names: frozenset[str]) -> None:
    name = _normalise(_drop_port(host))
    if name in names or "." not in name or name.endswith(LOCAL_SUFFIX) or _is_address(name):
        return
    raise RequestRefused(
        HTTPStatus.MISDIRECTED_REQUEST, f"nothing is served here as {name}; --allow-host {name} permits it"
    )


def _drop_port(host: str) -> str:
    """Return the name or address of ``name:port``, without the brackets of an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _normalise(name: str) -> str:
    return name.strip().rstrip(".").lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return ":" in name  # with a zone
    return True


def is_loopback(host: str) -> bool:
    """Return whether a server on this address is for this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return _normalise(host) == "localhost"
