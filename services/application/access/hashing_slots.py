"""Slots for password hashes, of which a process computes a few at once: each takes 64 MiB and tens of milliseconds.

Anybody may ask for one, so a slot is shared out by network: the next goes to the network that was served longest ago.
Where too many wait, one of the network with most of them gives way, and among equals one of the network that was
given most hashes of late. People who signed in from their network before, and those who are signed in, have slots of
their own, which guesses at other logins cannot take.
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
"""Each keeps a thread from answering other requests."""

KNOWN_AT_ONCE = 1
MOST_KNOWN_WAITING = 4

FAILURES_AT_ONCE, FAILURES_PER_S = 200, 0.5
"""Wrong passwords of one network, for whatever logins: an office of people who mistype them stays far below."""

MORE_HASHES, HASHES_PER_S = 0.5, 1 / 60
"""By so many more hashes of late a network gives way to another one; its count falls so fast."""

MOST_NETWORKS = 10_000
"""Counted at a time; the one that was counted longest ago is forgotten first."""


class Attempt(NamedTuple):
    """Who asks for a hash. ``is_known`` : the person of this login has signed in from this network, or is signed in."""

    network: str = NOWHERE
    login: str = ""
    is_known: bool = False


@dataclass(slots=True, eq=False)
class _Waiting:
    attempt: Attempt
    is_admitted: bool = False
    is_refused: bool = False


@dataclass(slots=True)
class _Lane:
    at_once: int
    most_waiting: int
    running: list[_Waiting] = field(default_factory=list)
    waiting: list[_Waiting] = field(default_factory=list)
    served: dict[str, int] = field(default_factory=dict)
    """When each network that has somebody here was served last, by the count of all that were."""
    count: int = 0

    def make_room(self, network: str, hashes: Callable[[str], float]) -> bool:
        """Return whether one more of a network may wait; for that, one of the busiest network may have to go.

        ``hashes`` : how many a network was given of late, which decides between networks with as many who wait.
        """
        if len(self.waiting) < self.most_waiting:
            return True
        waiting = Counter(each.attempt.network for each in self.waiting)
        busiest = max(waiting, key=lambda each: (waiting[each], hashes(each)))
        most, own = waiting[busiest], waiting[network] + 1
        if most < own or (most == own and hashes(busiest) <= hashes(network) + MORE_HASHES):
            return False
        newest = next(each for each in reversed(self.waiting) if each.attempt.network == busiest)
        newest.is_refused = True
        self.waiting.remove(newest)
        return True

    def admit(self) -> None:
        """Give free slots to those who wait."""
        while self.waiting and len(self.running) < self.at_once:
            first = min(self.waiting, key=lambda each: self.served.get(each.attempt.network, -1))
            self.waiting.remove(first)
            first.is_admitted = True
            self.running.append(first)
            self.count += 1
            self.served[first.attempt.network] = self.count
        here = {each.attempt.network for each in (*self.waiting, *self.running)}
        self.served = {network: count for network, count in self.served.items() if network in here}


class RecentCounts:
    """Counts by network, each of which falls at a steady rate.

    Parameters
    ----------
    monotonic : seconds of a clock that never goes back.
    per_s : how fast each falls.
    """

    def __init__(self, monotonic: Callable[[], float], per_s: float) -> None:
        self._monotonic = monotonic
        self._per_s = per_s
        self._levels: dict[str, tuple[float, float]] = {}

    def count(self, network: str) -> float:
        """Return how much is left of a network's count."""
        level, at_s = self._levels.get(network, (0.0, 0.0))
        return max(0.0, level - self._per_s * (self._monotonic() - at_s))

    def add(self, network: str) -> None:
        """Count one more."""
        level = self.count(network) + 1
        self._levels.pop(network, None)  # to the end of those that are forgotten first
        self._levels[network] = (level, self._monotonic())
        if len(self._levels) > MOST_NETWORKS:
            del self._levels[next(iter(self._levels))]


class HashingSlots:
    """Slots of one process, for any thread.

    Parameters
    ----------
    monotonic : seconds of a clock that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._changed = Condition()
        self._hashes = RecentCounts(monotonic, HASHES_PER_S)
        self._open = _Lane(AT_ONCE, MOST_WAITING)
        self._known = _Lane(KNOWN_AT_ONCE, MOST_KNOWN_WAITING)

    @contextmanager
    def slot(self, attempt: Attempt) -> Iterator[None]:
        """Hold a slot for the time of the block.

        Raises
        ------
        Unavailable : too many wait for one.
        """
        waiting = _Waiting(attempt)
        with self._changed:
            lane = self._lane_of(attempt)
            if not lane.make_room(attempt.network, self._hashes.count):
                raise _busy()
            lane.waiting.append(waiting)
            lane.admit()
            self._changed.notify_all()
            self._changed.wait_for(lambda: waiting.is_admitted or waiting.is_refused)
            if waiting.is_admitted:
                self._hashes.add(attempt.network)
        if waiting.is_refused:
            raise _busy()
        try:
            yield
        finally:
            with self._changed:
                lane.running.remove(waiting)
                lane.admit()
                self._changed.notify_all()

    def _lane_of(self, attempt: Attempt) -> _Lane:
        """Return the lane of known people, unless somebody is there for the same login: guesses at one fill none."""
        known = (*self._known.running, *self._known.waiting)
        if not attempt.is_known or any(each.attempt.login == attempt.login for each in known):
            return self._open
        return self._open if len(self._known.waiting) >= MOST_KNOWN_WAITING else self._known


class FailedAttempts:
    """Wrong passwords by network, in a bucket for each that empties at a steady rate.

    Parameters
    ----------
    monotonic : seconds of a clock that never goes back.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._failed = RecentCounts(monotonic, FAILURES_PER_S)
        self._changing = Lock()

    def require_few(self, network: str) -> None:
        """Raise ``TooManyAttempts`` where too many passwords from this network were wrong of late."""
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


def _busy() -> Unavailable:
    return Unavailable("many sign in at this moment; try again in a few seconds")
