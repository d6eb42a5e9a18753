"""Credentials for a server: those of the URL first, then a token for it, then netrc."""

import netrc
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from tradewind_agent.engine.http.address import Login, Origin, Url
from tradewind_agent.errors import UnusableSource
from tradewind_agent.system_errors import explain_os_error


@dataclass(frozen=True, slots=True)
class Credentials:
    """Logins by host, as netrc lists them, and bearer tokens and further headers by origin.

    ``unbound`` : headers that the user gives for the servers that he names; `bind` says which these are.
    """

    by_host: dict[str, Login] = field(default_factory=dict, repr=False)
    tokens: dict[Origin, str] = field(default_factory=dict, repr=False)
    by_origin: dict[Origin, dict[str, str]] = field(default_factory=dict, repr=False)
    unbound: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_netrc(cls, path: Path) -> Self:
        """Read a netrc file; a file that does not exist holds no logins.

        Raises
        ------
        UnusableSource : the file cannot be read or parsed.
        """
        try:
            entries = netrc.netrc(str(path)).hosts
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise UnusableSource(f"cannot read {path}: {explain_os_error(error)}") from error
        except netrc.NetrcParseError as error:
            raise UnusableSource(f"cannot read {path}: {error}") from error
        return cls({host: Login(name, password or "") for host, (name, _, password) in entries.items()})

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


NO_CREDENTIALS = Credentials()
