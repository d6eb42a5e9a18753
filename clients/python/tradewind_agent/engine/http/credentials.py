"""Credentials for a server: those of the URL first, then a token for it, then netrc."""

import netrc
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tradewind_agent.engine.http.address import Login, Origin, Url
from tradewind_agent.errors import UnusableSource
from tradewind_agent.system_errors import explain_os_error


@dataclass(frozen=True, slots=True)
class Credentials:
    """Logins by host, as netrc lists them, and bearer tokens by origin."""

    by_host: dict[str, Login] = field(default_factory=dict, repr=False)
    tokens: dict[Origin, str] = field(default_factory=dict, repr=False)

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

    def headers(self, url: Url) -> dict[str, str]:
        """Return ``Authorization`` for a request to ``url``, where something is known.

        The entry ``default`` is not used.
        """
        if url.login is not None:
            return {"Authorization": url.login.authorization}
        if (token := self.tokens.get(url.origin)) is not None:
            return {"Authorization": f"Bearer {token}"}
        login = self.by_host.get(url.origin.host)
        return {"Authorization": login.authorization} if login else {}


NO_CREDENTIALS = Credentials()
