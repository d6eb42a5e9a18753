"""Credentials for a server: those of the URL first, then a token for it, then netrc."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from tradewind_agent.engine.http.address import Login, Origin, Url
from tradewind_agent.errors import UnusableSource
from tradewind_agent.folders import find_home
from tradewind_agent.system_errors import explain_os_error

_NETRC = ".netrc"
_VALUED = frozenset({"machine", "login", "user", "password", "account"})
_WORD = re.compile(r"\s*(\S+)")
_VALUE = re.compile(r'\s*(?:"((?:\\.|[^"\\])*)"(?!\S)|(\S+))', re.DOTALL)
_LINE, _MACRO = re.compile(r"[^\n]*"), re.compile(r".*?(?:\n[ \t]*\n|\Z)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL = {"n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Credentials:
    """Logins by host, as netrc lists them, and bearer tokens and further headers by origin.

    ``unbound`` : headers that the user gives for the servers that he names; `bind` says which these are.
    ``unread`` : why the user's netrc could not be read.
    """

    by_host: dict[str, Login] = field(default_factory=dict, repr=False)
    tokens: dict[Origin, str] = field(default_factory=dict, repr=False)
    by_origin: dict[Origin, dict[str, str]] = field(default_factory=dict, repr=False)
    unbound: dict[str, str] = field(default_factory=dict, repr=False)
    unread: str = ""

    @classmethod
    def from_netrc(cls, path: Path) -> Self:
        """Read a netrc file; a file that does not exist holds no logins.

        Raises
        ------
        UnusableSource : the file cannot be read.
        """
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise UnusableSource(f"cannot read {path}: {explain_os_error(error)}") from error
        try:
            return cls(parse_netrc(content.decode("utf-8-sig")))
        except UnicodeDecodeError:
            return cls(parse_netrc(content.decode("latin-1")))

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read the file that ``NETRC`` names, or the one in the user's home; that one the copy may not need.

        Raises
        ------
        UnusableSource : the file that ``NETRC`` names cannot be read.
        """
        if named := environ.get("NETRC"):
            return cls.from_netrc(Path(named))
        try:
            return cls.from_netrc(find_home(environ) / _NETRC)
        except UnusableSource as unread:
            return cls(unread=str(unread))

    def build_headers(self, url: Url) -> dict[str, str]:
        """Return ``Authorization`` for a request to ``url``, where something is known, and the origin's own headers.

        The entry ``default`` is not used.
        """
        return self._find_authorization(url) | self.by_origin.get(url.origin, {})

    def bind(self, origins: Iterable[Origin]) -> Self:
        """Return credentials whose unbound headers go to these servers, and to no other that they redirect to."""
        return replace(self, by_origin=dict.fromkeys(origins, self.unbound), unbound={}) if self.unbound else self

    def _find_authorization(self, url: Url) -> dict[str, str]:
        if url.login is not None:
            return {"Authorization": url.login.authorization}
        if (token := self.tokens.get(url.origin)) is not None:
            return {"Authorization": f"Bearer {token}"}
        login = self.by_host.get(url.origin.host)
        return {"Authorization": login.authorization} if login else {}


def parse_netrc(text: str) -> dict[str, Login]:
    """Return the logins by host, the last of each, by the rules of curl.

    Words that are not known are left out, and so are macros and the entry ``default``. Only within quotes does a
    backslash escape what follows it.
    """
    logins: dict[str, Login] = {}
    host, at = None, 0
    while (word := _WORD.match(text, at)) is not None:
        key, at = word[1].lower(), word.end()
        if key.startswith("#"):
            at = _LINE.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing as well
        elif key == "macdef":
            at = _MACRO.match(text, at).end()  # type: ignore[union-attr]
        elif key == "default":
            host = None
        elif key in _VALUED and (value := _VALUE.match(text, at)) is not None:
            at = value.end()
            stated = value[2] if value[1] is None else _ESCAPED.sub(_unescape, value[1])
            if key == "machine":
                host = stated.lower()
                logins[host] = Login("")
            elif host is not None and key != "account":
                name = "password" if key == "password" else "username"
                logins[host] = replace(logins[host], **{name: stated})
    return {host: login for host, login in logins.items() if login != Login("")}


def _unescape(escaped: re.Match[str]) -> str:
    return _SPECIAL.get(escaped[1], escaped[1])


NO_CREDENTIALS = Credentials()
