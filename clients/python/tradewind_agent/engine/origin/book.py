"""What earlier runs have learned of origins: a small file of the user, which may be lost or damaged at any time."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import pbkdf2_hmac
from pathlib import Path

from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.credentials import Credentials
from tradewind_agent.folders import make_private, replace_durably

MAX_AGE_S = 24 * 3600.0
"""Lifetime of what is known. It may have been a bad hour of the server, so it is learned again after a day."""

MOST_ORIGINS = 1000
_MOST_BYTES = 1 << 20
_VERSION = 1
_ROUNDS = 20_000
"""Of the sum of headers: some milliseconds a run."""


@dataclass(frozen=True, slots=True)
class PermittedConnections:
    """Connections at once, and when the origin last refused more (seconds since 1970)."""

    count: int
    refused_at_s: float


@dataclass(frozen=True, slots=True)
class OriginRecord:
    """What is known of an origin; each time is in seconds since 1970.

    Attributes
    ----------
    permitted : the connections that it permits; ``None`` where it has refused none.
    pipelining_failed_at_s : when it last forgot or confused requests behind others; ``None`` where it never did.
    """

    permitted: PermittedConnections | None = None
    pipelining_failed_at_s: float | None = None

    @property
    def learned_at_s(self) -> float:
        """Return when the latest of it was learned."""
        return max(self.permitted.refused_at_s if self.permitted else 0.0, self.pipelining_failed_at_s or 0.0)

    def update(self, later: "OriginRecord") -> "OriginRecord":
        """Return the same with what has been learned later."""
        return OriginRecord(
            later.permitted or self.permitted, later.pipelining_failed_at_s or self.pipelining_failed_at_s
        )


NOTHING_KNOWN = OriginRecord()


class OriginBook:
    """Records by origin and user.

    Parameters
    ----------
    path : of the file; it is private to the user.
    """

    def __init__(self, path: Path, now_s: Callable[[], float] = time.time) -> None:
        self._path, self._now_s = path, now_s

    def read(self, origin: Origin, credentials: Credentials) -> OriginRecord:
        """Return what is known of an origin; nothing where the file cannot be read."""
        return self._read_all().get(_make_key(origin, credentials), NOTHING_KNOWN)

    def write(self, learned: Mapping[Origin, OriginRecord], credentials: Credentials) -> None:
        """Add what this run has learned; a file that cannot be written is no failure of the transfer."""
        known = self._read_all()
        for origin, record in learned.items():
            key = _make_key(origin, credentials)
            known[key] = known.get(key, NOTHING_KNOWN).update(record)
        newest = sorted(known.items(), key=lambda entry: -entry[1].learned_at_s)[:MOST_ORIGINS]
        rows = {key: _build_row(record) for key, record in newest}
        document = json.dumps({"version": _VERSION, "origins": rows}, indent=1)
        with suppress(OSError):
            make_private(self._path.parent)
            replace_durably(self._path, document.encode())

    def _read_all(self) -> dict[str, OriginRecord]:
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            with self._path.open("rb") as file:
                document = json.loads(file.read(_MOST_BYTES))
            if document["version"] != _VERSION:
                return {}
            rows = ((str(key), self._parse_row(row)) for key, row in document["origins"].items())
            return {key: record for key, record in rows if record != NOTHING_KNOWN}
        return {}

    def _parse_row(self, row: object) -> OriginRecord:
        """Return what a row holds; nothing of what is too old, from the future, or not understood."""
        permitted, failed_at_s = None, None
        match row:
            case {"connections": int(count), "refused_at_s": int(at_s) | float(at_s)} if count >= 1:
                if count is not True and self._is_current(at_s):
                    permitted = PermittedConnections(count, float(at_s))
        match row:
            case {"pipelining_failed_at_s": int(at_s) | float(at_s)} if self._is_current(at_s):
                failed_at_s = float(at_s)
        return OriginRecord(permitted, failed_at_s)

    def _is_current(self, at_s: float) -> bool:
        return self._now_s() - MAX_AGE_S < at_s <= self._now_s()


def _build_row(record: OriginRecord) -> dict[str, float]:
    row: dict[str, float] = {}
    if record.permitted is not None:
        row |= {"connections": record.permitted.count, "refused_at_s": record.permitted.refused_at_s}
    if record.pipelining_failed_at_s is not None:
        row["pipelining_failed_at_s"] = record.pipelining_failed_at_s
    return row


def _make_key(origin: Origin, credentials: Credentials) -> str:
    """Return the origin, user name and a sum of the user's headers; a server may permit more to some users."""
    headers = credentials.by_origin.get(origin, {})
    words = f" with headers {_sum_headers(headers)}" if headers else ""
    if origin in credentials.tokens:
        return f"{origin} with a token{words}"
    login = credentials.by_host.get(origin.host)
    return f"{origin}{words}" if login is None else f"{origin} as {login.username}{words}"


def _sum_headers(headers: Mapping[str, str]) -> str:
    """Return a short sum of headers; they may hold secrets, which must not be guessed by it."""
    named = repr(sorted((name.lower(), value) for name, value in headers.items()))
    return pbkdf2_hmac("sha256", named.encode("utf-8", "surrogateescape"), b"origins", _ROUNDS).hex()[:16]
