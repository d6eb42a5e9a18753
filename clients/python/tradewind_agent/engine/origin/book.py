"""Limits of origins from earlier runs: a small file of the user, which may be lost or damaged at any time."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.credentials import Credentials
from tradewind_agent.folders import make_private, replace_durably

MAX_AGE_S = 24 * 3600.0
"""Lifetime of a limit. It may have been a bad hour of the server, so it is learned again after a day."""

MOST_ORIGINS = 1000
_MOST_BYTES = 1 << 20
_VERSION = 1


@dataclass(frozen=True, slots=True)
class PermittedConnections:
    """Connections at once, and when the origin last refused more (seconds since 1970)."""

    count: int
    refused_at_s: float


class OriginBook:
    """Limits by origin and user.

    Parameters
    ----------
    path : of the file; it is private to the user.
    """

    def __init__(self, path: Path, now_s: Callable[[], float] = time.time) -> None:
        self._path, self._now_s = path, now_s

    def read(self, origin: Origin, credentials: Credentials) -> PermittedConnections | None:
        """Return what is known of an origin; ``None`` where nothing is, or where the file cannot be read."""
        return self._read_all().get(_make_key(origin, credentials))

    def write(self, learned: Mapping[Origin, PermittedConnections], credentials: Credentials) -> None:
        """Add what this run has learned; a file that cannot be written is no failure of the transfer."""
        known = self._read_all() | {_make_key(origin, credentials): each for origin, each in learned.items()}
        newest = sorted(known.items(), key=lambda entry: -entry[1].refused_at_s)[:MOST_ORIGINS]
        rows = {key: {"connections": each.count, "refused_at_s": each.refused_at_s} for key, each in newest}
        document = json.dumps({"version": _VERSION, "origins": rows}, indent=1)
        with suppress(OSError):
            make_private(self._path.parent)
            replace_durably(self._path, document.encode())

    def _read_all(self) -> dict[str, PermittedConnections]:
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            with self._path.open("rb") as file:
                document = json.loads(file.read(_MOST_BYTES))
            if document["version"] != _VERSION:
                return {}
            rows = ((str(key), _parse_row(row)) for key, row in document["origins"].items())
            oldest_s, now_s = self._now_s() - MAX_AGE_S, self._now_s()
            return {key: row for key, row in rows if row is not None and oldest_s < row.refused_at_s <= now_s}
        return {}


def _parse_row(row: object) -> PermittedConnections | None:
    match row:
        case {"connections": int(count), "refused_at_s": int(at_s) | float(at_s)} if count >= 1 and count is not True:
            return PermittedConnections(count, float(at_s))
    return None


def _make_key(origin: Origin, credentials: Credentials) -> str:
    """Return the origin and user name; a server may permit more to some users."""
    if origin in credentials.tokens:
        return f"{origin} with a token"
    login = credentials.by_host.get(origin.host)
    return str(origin) if login is None else f"{origin} as {login.username}"
