"""Which proxy, if any, leads to an origin: an option, or http_proxy, https_proxy and no_proxy of the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from tradewind_agent.engine.http.address import Login, Origin, Url
from tradewind_agent.errors import UnusableSource


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy and the login that it requires."""

    origin: Origin
    login: Login | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``host:port`` or ``http://user:password@host:port``.

        Raises
        ------
        UnusableSource : no URL, or a proxy that is itself to be reached by TLS.
        """
        url = Url.parse(text if "://" in text else f"http://{text}")
        if url.origin.is_secure:
            raise UnusableSource(f"proxy {url.origin} wants TLS, which is not supported; use an http:// proxy")
        return cls(url.origin, url.login)

    def headers(self) -> dict[str, str]:
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
        found = {
            "http": environment.get("http_proxy"),
            "https": environment.get("https_proxy") or environment.get("HTTPS_PROXY"),
        }
        fallback = environment.get("all_proxy") or environment.get("ALL_PROXY")
        direct = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
        return cls(
            {scheme: Proxy.parse(text) for scheme, own in found.items() if (text := own or fallback)},
            tuple(entry.strip().lower().lstrip(".") for entry in direct.split(",") if entry.strip()),
        )

    def find_proxy(self, origin: Origin) -> Proxy | None:
        """Return the proxy for ``origin``, or ``None`` to go straight there."""
        host = origin.host.lower()
        for entry in self.direct:
            name, _, port = entry.partition(":")
            if entry == "*" or ((not port or port == str(origin.port)) and (host == name or host.endswith(f".{name}"))):
                return None
        return self.by_scheme.get(origin.scheme)


NO_PROXIES = Proxies()
