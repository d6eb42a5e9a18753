"""Slots for password hashes: a process computes a few at once, as each takes 64 MiB and tens of milliseconds.

Unauthenticated clients can request a hash, so slots are shared by network: the next one goes to the network that was
served longest ago. If too many wait, one of the network with most of them is refused, and among equals one of the
network with most recent hashes. Users who signed in from their network before, and signed-in users, have slots of their
own, which guesses at other logins cannot take.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition, Lock
from typing import NamedTuple

from services.application.access.sign_in_networks import NOWHERE
from tradewind.errors import TooManyAttempts, Unavailable

AT_ONCE = 2
MOST_WAITING = 16
"""Waiting attempts at most; each blocks a thread that could answer other requests."""

KNOWN_AT_ONCE = 1
MOST_KNOWN_WAITING = 4

FAILURES_AT_ONCE, FAILURES_PER_S = 200, 0.5
"""Wrong passwords of one network, for any login: an office of users with typing errors stays far below."""

MORE_HASHES, HASHES_PER_S = 0.5, 1 / 60
"""A network gives way to another after this many more recent hashes; its count falls at this rate."""

MOST_NETWORKS = 10_000
"""Networks counted at a time; the one counted longest ago is dropped first."""


class Attempt(NamedTuple):
    """An attempt that needs a hash. ``is_known`` : this user has signed in from this network, or is signed in."""

    network: str = NOWHERE
    login: str = ""
    is_known: bool = False


@dataclass(slots=True, eq=False)
class _Waiting:
    attempt: Attempt
    is_admitted: bool = False
    is_refused: bool = False


@dataclass(slots=True)
class _SlotPool:
    at_once: int
    most_waiting: int
    running: list[_Waiting] = field(default_factory=list)
    waiting: list[_Waiting] = field(default_factory=list)
    served: dict[str, int] = field(default_factory=dict)
    """When each network with attempts here was served last, as the count of all attempts served."""
    count: int = 0

    def make_room(self, network: str, hashes: Callable[[str], float]) -> bool:
        """Return whether one more of a network may wait; one of the busiest network may be refused for that.

        ``hashes`` : recent hashes of a network, which decide between networks with equally many waiting.
        """
        if len(self.waiting) < self.most_waiting:
            return True
        waiting = Counter(waiting.attempt.network for waiting in self.waiting)
        busiest = max(waiting, key=lambda name: (waiting[name], hashes(name)))
        most, own = waiting[busiest], waiting[network] + 1
        if most < own or (most == own and hashes(busiest) <= hashes(network) + MORE_HASHES):
            return False
        newest = next(attempt for attempt in reversed(self.waiting) if attempt.attempt.network == busiest)
        newest.is_refused = True
        self.waiting.remove(newest)
        return True

    def admit(self) -> None:
        """Give free slots to waiting attempts."""
        while self.waiting and len(self.running) < self.at_once:
            first = min(self.waiting, key=lambda waiting: self.served.get(waiting.attempt.network, -1))
            self.waiting.remove(first)
            first.is_admitted = True
            self.running.append(first)
            self.count += 1
            self.served[first.attempt.network] = self.count
        present = {waiting.attempt.network for waiting in (*self.waiting, *self.running)}
        self.served = {network: count for network, count in self.served.items() if network in present}


class RecentCounts:
    """Counts by network; each count falls at a steady rate.

    Parameters
    ----------
    monotonic : returns seconds of a clock that never goes back.
    per_s : how fast each falls.
    """

    def __init__(self, monotonic: Callable[[], float], per_s: float) -> None:
        self._monotonic = monotonic
        self._per_s = per_s
        self._levels: dict[str, tuple[float, float]] = {}

    def count(self, network: str) -> float:
        """Return a network's current count."""
        level, at_s = self._levels.get(network, (0.0, 0.0))
        return max(0.0, level - self._per_s * (self._monotonic() - at_s))

    def add(self, network: str) -> None:
        """Count one more."""
        level = self.count(network) + 1
        self._levels.pop(network, None)  # move it to the end, so that it is dropped last
        self._levels[network] = (level, self._monotonic())
        if len(self._levels) > MOST_NETWORKS:
            del self._levels[next(iter(self._levels))]


class HashingSlots:
    """Hashing slots of one process, for any thread.

    Parameters
    ----------
    monotonic : returns seconds of a clock that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._changed = Condition()
        self._hashes = RecentCounts(monotonic, HASHES_PER_S)
        self._open = _SlotPool(AT_ONCE, MOST_WAITING)
        self._known = _SlotPool(KNOWN_AT_ONCE, MOST_KNOWN_WAITING)

    @contextmanager
    def hold_slot(self, attempt: Attempt) -> Iterator[None]:
        """Hold a slot for the time of the block.

        Raises
        ------
        Unavailable : too many attempts wait.
        """
        waiting = _Waiting(attempt)
        with self._changed:
            pool = self._choose_pool(attempt)
            if not pool.make_room(attempt.network, self._hashes.count):
                raise _build_busy_error()
            pool.waiting.append(waiting)
            pool.admit()
            self._changed.notify_all()
            self._changed.wait_for(lambda: waiting.is_admitted or waiting.is_refused)
            if waiting.is_admitted:
                self._hashes.add(attempt.network)
        if waiting.is_refused:
            raise _build_busy_error()
        try:
            yield
        finally:
            with self._changed:
                pool.running.remove(waiting)
                pool.admit()
                self._changed.notify_all()

    def _choose_pool(self, attempt: Attempt) -> _SlotPool:
        """Return the pool of known users, unless one has the same login: guesses at one login cannot fill it."""
        known = (*self._known.running, *self._known.waiting)
        if not attempt.is_known or any(other.attempt.login == attempt.login for other in known):
            return self._open
        return self._open if len(self._known.waiting) >= MOST_KNOWN_WAITING else self._known


class FailedAttempts:
    """Wrong passwords by network, in a bucket for each that empties at a steady rate.

    Parameters
    ----------
    monotonic : returns seconds of a clock that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._failed = RecentCounts(monotonic, FAILURES_PER_S)
        self._changing = Lock()

    def require_few(self, network: str) -> None:
        """Raise ``TooManyAttempts`` where too many recent passwords from this network were wrong."""
        with self._changing:
            over = self._failed.count(network) + 1 - FAILURES_AT_ONCE
        if over > 0:
            raise TooManyAttempts(
                "too many sign-ins from your network have failed; wait a minute, or sign in from where you did before"
            )

    def add(self, network: str) -> None:
        """Count one more."""
        with self._changing:
            self._failed.add(network)


def _build_busy_error() -> Unavailable:
    return Unavailable("too many users sign in at this moment; try again in a few seconds")
