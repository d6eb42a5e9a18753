"""From where somebody signs in: failures are counted by person and network, so that no stranger keeps a person out.

Over all networks together they are counted too, with more patience, and that lock holds where the person has never
signed in from: guessing from many addresses is bounded, and whoever knows the password gets in from where they work.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network

PREFIX_BITS = {4: 24, 6: 64}
"""Addresses that one customer of a provider usually has at hand."""

NOWHERE = "unknown"
"""Of who asks without an address."""

IN_A_SESSION = "session"
"""Where old passwords are tried that a change of password asks for: by whoever has the session, from anywhere."""

KNOWN_FOR = timedelta(days=90)
"""A network is the person's so long after the last sign-in from there."""

FAILURES_BEFORE_LOCK = 5
FAILURES_BEFORE_LOCK_EVERYWHERE = 50
FIRST_LOCK = timedelta(seconds=30)
LONGEST_LOCK = timedelta(hours=1)
MOST_DOUBLINGS = 7  # of the first lock, beyond the longest: after days of guessing more would be no time at all


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a person's sign-ins from one network."""

    locked_until: datetime | None = None
    signed_in_at: datetime | None = None

    def is_known(self, now: datetime) -> bool:
        return self.signed_in_at is not None and now < self.signed_in_at + KNOWN_FOR

    def is_locked(self, now: datetime, *, everywhere_until: datetime | None) -> bool:
        return _is_ahead(self.locked_until, now) or (_is_ahead(everywhere_until, now) and not self.is_known(now))


def network_of(address: str | None) -> str:
    """The network that an address is counted with."""
    try:
        found = ip_address((address or "").partition("%")[0])  # a zone is of the host, not of the address
    except ValueError:
        return NOWHERE
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return str(ip_network(f"{found}/{PREFIX_BITS[found.version]}", strict=False))


def compute_lock_end(failures: int, *, most: int, now: datetime) -> datetime | None:
    """Until when so many failures in a row lock, doubling with each above ``most``; ``None``: not yet."""
    if failures < most:
        return None
    return now + min(FIRST_LOCK * (1 << min(failures - most, MOST_DOUBLINGS)), LONGEST_LOCK)


def _is_ahead(moment: datetime | None, now: datetime) -> bool:
    return moment is not None and now < moment
