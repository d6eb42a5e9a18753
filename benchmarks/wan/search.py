"""Brute force over static settings, coarse to fine.

First a coarse lattice, every other power of two of each axis; then, around the best few, their neighbours on the full
lattice of powers of two, until the best settings have no untried neighbour. These runs are short, and on a long path
most of one is slow start: they only name the leaders, of which whole runs have to tell the best. Whoever runs the
winner afresh gets a figure without the winner's luck.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

from tradewind.parameters import Parameters
from tradewind.units import BITS_PER_BYTE

AXES: Mapping[str, tuple[int, ...]] = {
    "concurrency": (1, 2, 4, 8, 16, 32, 64),
    "parallelism": (1, 2, 4, 8, 16),
    "pipelining": (1, 2, 4, 8, 16, 32),
}
"""The full lattice, of every mover's axes."""

MOST_STREAMS = 128
"""Settings with more connections are left out: on every path of the table they are deep in collapse."""

COARSE_STEP = 2
"""Of the full lattice's points on an axis, every so many are in the coarse one."""

REFINED = 2
"""How many of the best settings have their neighbours tried, and lead in the end."""

FIRST = Parameters(concurrency=16, parallelism=1, pipelining=8)
"""Near this the search begins: what is good early lets runs that cannot be better be abandoned."""

FIRST_BYTES = 100_000
"""In files: by then they are coming. What the link carries before may be a list of them, or of the run before."""

GIVEN_UP_BELOW = 0.95
"""Of the best so far. Two runs of one setting differ by as much: they only name who is run whole."""

Score = Callable[[Parameters], float]


def coarse(axes: Sequence[str]) -> list[Parameters]:
    """The settings tried first, those near `FIRST` before the others."""
    settings = (_setting(axes, values) for values in product(*(AXES[axis][::COARSE_STEP] for axis in axes)))
    return sorted((setting for setting in settings if setting.streams <= MOST_STREAMS), key=partial(_distance, axes))


def _distance(axes: Sequence[str], setting: Parameters) -> tuple[float, ...]:
    """Steps of the full lattice from `FIRST`; settings at the same distance in the order of their values."""
    values = [getattr(setting, axis) for axis in axes]
    steps = (abs(math.log2(value / getattr(FIRST, axis))) for axis, value in zip(axes, values, strict=True))
    return (sum(steps), *values)


def neighbours(setting: Parameters, axes: Sequence[str]) -> Iterator[Parameters]:
    """Settings one step away on one axis of the full lattice."""
    here = [getattr(setting, axis) for axis in axes]
    for place, axis in enumerate(axes):
        at = AXES[axis].index(here[place])
        for value in (*AXES[axis][max(at - 1, 0) : at], *AXES[axis][at + 1 : at + 2]):
            near = _setting(axes, [*here[:place], value, *here[place + 1 :]])
            if near.streams <= MOST_STREAMS:
                yield near


def _setting(axes: Sequence[str], values: Sequence[int]) -> Parameters:
    return Parameters(**dict(zip(axes, values, strict=True)))  # type: ignore[arg-type]  # all of them are numbers


def leading_settings(axes: Sequence[str], score: Score) -> Sequence[Parameters]:
    """The settings with the highest scores, the best first.

    Parameters
    ----------
    axes : those that the mover lets its users set.
    score : measures a setting; asked once for each.
    """
    tried = {setting: score(setting) for setting in coarse(axes)}
    while True:
        leaders = sorted(tried, key=lambda setting: -tried[setting])[:REFINED]
        untried = {near for leader in leaders for near in neighbours(leader, axes)} - tried.keys()
        if not untried:
            return leaders
        for setting in sorted(untried, key=lambda setting: tuple(getattr(setting, axis) for axis in axes)):
            tried[setting] = score(setting)


PAYLOAD_SHARE = 1448 / 1500
"""Of a full packet with IP and TCP headers and time stamps: what files can gain of a path at most."""


class _Begin(NamedTuple):
    """Of a run: its age, what the link had carried and what was in files when the clock started."""

    age_s: float
    carried_bytes: float
    done_bytes: float


class Heat:
    """One run of the search while it goes: how much of the path it uses, and whether it can still be of interest.

    The clock starts when files begin to come: how long a program takes to start is the same at all its settings, varies
    with the machine's other work, and counts where the winner is run afresh. Settings are ranked by what came to be in
    files: on a full path they differ only in what is sent twice, of which the link knows nothing.

    Parameters
    ----------
    rate_bps : of the path.
    cut_s : for how long it is watched.
    wanted_bps : what the files of the best so far have gained.
    least_bps : what the link has to carry for it.
    """

    def __init__(self, *, rate_bps: float, cut_s: float, wanted_bps: float, least_bps: float = 0.0) -> None:
        self._rate_bps, self._cut_s = rate_bps, cut_s
        self._wanted_bps, self._least_bps = wanted_bps, least_bps
        self._began: _Begin | None = None
        self._most_bps = math.inf
        self.carried_bps = 0.0
        self.hopeless = False

    @property
    def begun(self) -> bool:
        return self._began is not None

    def begin(self, age_s: float, carried_bytes: float, done_bytes: float) -> None:
        """Start the clock; ``done_bytes`` : those that are in files already."""
        self._began = _Begin(age_s, carried_bytes, done_bytes)

    def over(self, age_s: float, carried_bytes: float) -> bool:
        """Whether it has been watched for long enough; never before its begin.

        Parameters
        ----------
        age_s, carried_bytes : of the run, and by the link since it was started, IP headers included.
        """
        if self._began is None:
            return False
        watched_s, came_bytes = age_s - self._began.age_s, carried_bytes - self._began.carried_bytes
        self.carried_bps = BITS_PER_BYTE * came_bytes / watched_s if watched_s > 0 else 0.0
        most_bytes = came_bytes + max(self._cut_s - watched_s, 0.0) * self._rate_bps / BITS_PER_BYTE
        self._most_bps = BITS_PER_BYTE * most_bytes / max(self._cut_s, watched_s)
        wanted_bps = GIVEN_UP_BELOW * self._wanted_bps
        self.hopeless = PAYLOAD_SHARE * self._most_bps < wanted_bps or self._most_bps < self._least_bps
        if self.hopeless:
            self.carried_bps = min(self.carried_bps, self._most_bps)  # a good second is no match for a good run
        return self.hopeless or watched_s >= self._cut_s

    def score_bps(self, duration_s: float, bytes_done: float) -> float:
        """What its files gained while it was watched, or could have gained at most where it was given up."""
        if self._began is None or duration_s <= self._began.age_s:
            return 0.0
        score_bps = BITS_PER_BYTE * (bytes_done - self._began.done_bytes) / (duration_s - self._began.age_s)
        return min(score_bps, PAYLOAD_SHARE * self._most_bps) if self.hopeless else score_bps
