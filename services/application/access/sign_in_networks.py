"""Networks of sign-ins: failures are counted by user and network, so that an attacker cannot lock a user out.

Failures over all networks are counted too, with a higher limit; that lock holds only for networks that the user has
never signed in from. It bounds guesses from many addresses, and lets users sign in from their usual network.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network

PREFIX_BITS = {4: 24, 6: 64}
"""Prefix lengths by IP version, for the addresses that one customer of a provider usually has."""

NOWHERE = "unknown"
"""The network of clients without an address."""

IN_A_SESSION = "session"
"""The network of old passwords in a change of password: tried with a session, from any address."""

KNOWN_FOR = timedelta(days=90)
"""A network counts as the user's for this time after the last sign-in from there."""

FAILURES_BEFORE_LOCK = 5
FAILURES_BEFORE_LOCK_EVERYWHERE = 50
FIRST_LOCK = timedelta(seconds=30)
LONGEST_LOCK = timedelta(hours=1)
MOST_DOUBLINGS = 7  # of the first lock, past the longest one; more would overflow after days of guessing


@dataclass(frozen=True, slots=True)
class Standing:
    """The lock and the last sign-in of a user on one network."""

    locked_until: datetime | None = None
    signed_in_at: datetime | None = None

    def is_known(self, now: datetime) -> bool:
        return self.signed_in_at is not None and now < self.signed_in_at + KNOWN_FOR

    def is_locked(self, now: datetime, *, everywhere_until: datetime | None) -> bool:
        return _is_in_future(self.locked_until, now) or (
            _is_in_future(everywhere_until, now) and not self.is_known(now)
        )


def find_network(address: str | None) -> str:
    """Return the network that an address is counted with."""
    try:
        found = ip_address((address or "").partition("%")[0])  # a zone belongs to the host, not to the address
    except ValueError:
        return NOWHERE
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return str(ip_network(f"{found}/{PREFIX_BITS[found.version]}", strict=False))


def compute_lock_end(failures: int, *, most: int, now: datetime) -> datetime | None:
    """Return the end of the lock after so many failures, doubling with each above ``most``; ``None`` for no lock."""
    if failures < most:
        return None
    return now + min(FIRST_LOCK * (1 << min(failures - most, MOST_DOUBLINGS)), LONGEST_LOCK)


def _is_in_future(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and now < moment
