"""Which proxy, if any, leads to an origin: an option, or http_proxy, https_proxy and no_proxy of the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from typing import Self
from urllib.parse import urlsplit

from tradewind_agent.engine.http.address import Login, Origin, Url, encode_host
from tradewind_agent.errors import UnusableSource

_SOCKS_PORT = 1080
_SOCKS = {"socks4": False, "socks4a": True, "socks5": False, "socks5h": True, "socks": True}
"""Schemes of SOCKS proxies, and whether the proxy looks up the names of hosts."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy and the login that it requires.

    Parameters
    ----------
    scheme : http, or one of SOCKS.
    variable : of the environment, that names it.
    fault : why it cannot be used; reported only where it is needed, since a variable may concern other programs alone.
    """

    host: str
    port: int
    login: Login | None = None
    scheme: str = "http"
    variable: str = ""
    fault: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``host:port``, ``http://user:password@host:port`` or ``socks5h://host:port``.

        Raises
        ------
        UnusableSource : no URL, or a kind of proxy that is not known, such as one to be reached by TLS.
        """
        scheme, separator, _ = text.partition("://")
        scheme = scheme.lower() if separator else "http"
        if scheme == "https":
            raise UnusableSource("is a proxy to be reached by TLS, which is not supported; use an http:// proxy")
        if scheme != "http" and scheme not in _SOCKS:
            raise UnusableSource(f"has the scheme {scheme!r}; known are http, {', '.join(_SOCKS)}")
        rest = text.partition("://")[2] if separator else text
        try:
            url = Url.parse(f"http://{rest}")
        except UnusableSource:
            raise UnusableSource("is no address of a proxy; write it like http://host:port") from None
        port = url.origin.port if scheme == "http" or urlsplit(f"http://{rest}").port else _SOCKS_PORT
        return cls(url.origin.host, port, url.login, scheme)

    def __str__(self) -> str:
        return f"proxy {self.host}:{self.port}" + (f" of {self.variable}" if self.variable else "")

    @property
    def is_socks(self) -> bool:
        return self.scheme in _SOCKS

    @property
    def resolves_names(self) -> bool:
        """Return whether a SOCKS proxy looks up the names of hosts."""
        return _SOCKS[self.scheme]

    def build_headers(self) -> dict[str, str]:
        """Return ``Proxy-Authorization``, where there is a login."""
        return {"Proxy-Authorization": self.login.authorization} if self.login is not None else {}


@dataclass(frozen=True, slots=True)
class Proxies:
    """A proxy for each scheme, and the hosts that are reached without one."""

    by_scheme: Mapping[str, Proxy] = field(default_factory=dict)
    direct: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the variables as curl does: lower case first; HTTP_PROXY is ignored: a CGI client could set it."""
        variables = {"http": ("http_proxy",), "https": ("https_proxy", "HTTPS_PROXY")}
        found = {}
        for scheme, own in variables.items():
            for variable in (*own, "all_proxy", "ALL_PROXY"):
                if text := environment.get(variable, "").strip():
                    found[scheme] = _read_variable(variable, text)
                    break
        direct = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
        return cls(found, tuple(direct.replace(",", " ").lower().split()))

    def find_proxy(self, origin: Origin) -> Proxy | None:
        """Return the proxy for ``origin``, or ``None`` to go straight there."""
        if not self.by_scheme or any(_covers(entry, origin) for entry in self.direct):
            return None
        return self.by_scheme.get(origin.scheme)


def _read_variable(variable: str, text: str) -> Proxy:
    try:
        return replace(Proxy.parse(text), variable=variable)
    except UnusableSource as error:
        return Proxy("", 0, variable=variable, fault=f"{variable} {error}, or name the server in no_proxy")


def _covers(entry: str, origin: Origin) -> bool:
    """Return whether an entry of no_proxy means the origin: ``*``, a name, a domain, an address or a network."""
    if entry == "*":
        return True
    host = origin.host.lower()
    name, port = _split_port(entry)
    if port and port != str(origin.port):
        return False
    try:
        return ip_address(host) in ip_network(name, strict=False)
    except ValueError:
        domain = _encode_domain(name.removeprefix("*").lstrip("."))
        return bool(domain) and (host == domain or host.endswith(f".{domain}"))


def _encode_domain(domain: str) -> str:
    """Return a domain as hosts are named; nothing for one that cannot be, which then means no host."""
    try:
        return domain if domain.isascii() else encode_host(domain)
    except UnusableSource:
        return ""


def _split_port(entry: str) -> tuple[str, str]:
    """Return the name and the port of an entry; colons within an IPv6 address separate nothing."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and port.isdecimal() and ":" not in name else (entry, "")


NO_PROXIES = Proxies()
