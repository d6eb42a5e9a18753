"""Where a request goes: URL, origin (scheme, host, port) and request target."""

from base64 import b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, Self
from urllib.parse import quote, unquote, urljoin, urlsplit

from tradewind_agent.errors import UnusableSource

DEFAULT_PORTS = {"http": 80, "https": 443}

# Reserved and already-escaped characters stay; everything else a person may type (blanks, umlauts) is escaped.
_SAFE_IN_TARGET = "/%:@!$&'()*+,;=~?-._[]"


def _escape(text: str, safe: str = "/") -> str:
    """Escape what may not stand in a request line; bytes of names that are no UTF-8 are escaped as they are."""
    return quote(text, safe=safe, errors="surrogateescape")


def encode_host(host: str) -> str:
    """Return an international host name in the form that DNS and servers know (UTS 46, RFC 5891).

    Raises
    ------
    UnusableSource : no name of a host.
    """
    import idna  # noqa: PLC0415 — with its tables of characters, for the few who need it

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError as error:
        raise UnusableSource(f"{host!r} is no name of a host: {error}") from error


class Origin(NamedTuple):
    """Scheme, host and port: requests to the same origin may share a connection."""

    scheme: str
    host: str
    port: int

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """Return the value of the Host header: the port only where it is not the scheme's own."""
        return _format_authority(self)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


@lru_cache(maxsize=256)
def _format_authority(origin: Origin) -> str:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return host if origin.port == DEFAULT_PORTS[origin.scheme] else f"{host}:{origin.port}"


@dataclass(frozen=True, slots=True)
class Login:
    """A user name and a password, which is never shown."""

    username: str
    password: str = field(default="", repr=False)

    @property
    def authorization(self) -> str:
        """Return the value of an Authorization header of the Basic scheme (RFC 7617)."""
        return "Basic " + b64encode(f"{self.username}:{self.password}".encode()).decode("ascii")


class Url(NamedTuple):
    """An absolute http or https URL; a login in it is kept apart and never shown."""

    origin: Origin
    target: str
    """Path and query, escaped, as it stands in the request line."""
    login: Login | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an absolute URL.

        Raises
        ------
        UnusableSource : not http or https, no host or one that cannot be, or a port that is no number.
        """
        try:
            parts = urlsplit(text.strip())
            port = parts.port
        except ValueError as error:
            raise UnusableSource(f"{text!r} is no URL: {error}") from error
        if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
            raise UnusableSource(f"{text!r} is no http or https URL; write it like https://host/folder/")
        host = parts.hostname if parts.hostname.isascii() else encode_host(parts.hostname)
        path = _escape(parts.path or "/", _SAFE_IN_TARGET)
        query = "?" + _escape(parts.query, _SAFE_IN_TARGET) if parts.query else ""
        return cls(
            Origin(parts.scheme, host, port if port is not None else DEFAULT_PORTS[parts.scheme]),
            path + query,
            Login(unquote(parts.username), unquote(parts.password or "")) if parts.username else None,
        )

    def join(self, reference: str) -> "Url":
        """Return the URL that ``reference`` means when met at this one.

        A login stays with its host: it goes along only to the same origin.

        Raises
        ------
        UnusableSource : no URL of http or https.
        """
        try:
            joined = Url.parse(urljoin(str(self), reference))
        except ValueError as error:
            raise UnusableSource(f"{reference!r} is no URL: {error}") from error
        if joined.origin != self.origin or joined.login:
            return joined
        return Url(joined.origin, joined.target, self.login)

    def join_path(self, path: str, *, is_folder: bool = False) -> "Url":
        """Return the URL of ``path`` below this folder, of plain segments that are not escaped.

        The same as joining it, for a fraction of the time: folders have thousands of files.
        """
        return Url(self.origin, self.folder + _escape(path) + "/" * is_folder, self.login)

    def is_folder_of(self, other: "Url") -> bool:
        """Return whether this is ``other`` with a slash at its end, as servers redirect to folders."""
        return self.path == other.path + "/"

    @property
    def folder(self) -> str:
        """Return the path up to its last slash, still escaped."""
        return self.path.rpartition("/")[0] + "/"

    @property
    def path(self) -> str:
        """Return the path without the query, still escaped."""
        return self.target.partition("?")[0]

    @property
    def name(self) -> str:
        """Return the last path segment, unescaped: the name of the file; empty for a folder."""
        return unquote(self.path.rpartition("/")[2], errors="surrogateescape")

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"
