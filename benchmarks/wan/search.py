"""Brute force over static settings, coarse to fine.

The search first tries a coarse lattice, every other power of two of each axis; then, around the best few, their
neighbours on the full lattice of powers of two, until the best settings have no untried neighbour. These runs are
short, and on a long path most of one is slow start: they only name the leaders, which complete runs then compare.
Another run of the winner gives a figure without the winner's luck.
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
"""Every so many of the full lattice's points on an axis are in the coarse one."""

REFINED = 2
"""How many of the best settings have their neighbours tried, and lead in the end."""

FIRST = Parameters(concurrency=16, parallelism=1, pipelining=8)
"""The search starts near this setting: a good early result lets runs that cannot be better be abandoned."""

FIRST_BYTES = 100_000
"""Bytes in files from which on data count as arriving. Before, the link may carry a list of files, or the last run."""

GIVEN_UP_BELOW = 0.95
"""Share of the best score so far. Two runs of one setting differ by as much: they only select complete runs."""

Score = Callable[[Parameters], float]


def list_coarse_settings(axes: Sequence[str]) -> list[Parameters]:
    """Return the settings tried first, those near `FIRST` before the others."""
    settings = (_make_setting(axes, values) for values in product(*(AXES[axis][::COARSE_STEP] for axis in axes)))
    return sorted(
        (setting for setting in settings if setting.streams <= MOST_STREAMS), key=partial(_compute_distance, axes)
    )


def _compute_distance(axes: Sequence[str], setting: Parameters) -> tuple[float, ...]:
    """Return the steps of the full lattice from `FIRST`; settings at the same distance are in the order of their
    values.
    """
    values = [getattr(setting, axis) for axis in axes]
    steps = (abs(math.log2(value / getattr(FIRST, axis))) for axis, value in zip(axes, values, strict=True))
    return (sum(steps), *values)


def list_neighbours(setting: Parameters, axes: Sequence[str]) -> Iterator[Parameters]:
    """Yield settings one step away on one axis of the full lattice."""
    values = [getattr(setting, axis) for axis in axes]
    for position, axis in enumerate(axes):
        index = AXES[axis].index(values[position])
        for value in (*AXES[axis][max(index - 1, 0) : index], *AXES[axis][index + 1 : index + 2]):
            neighbour = _make_setting(axes, [*values[:position], value, *values[position + 1 :]])
            if neighbour.streams <= MOST_STREAMS:
                yield neighbour


def _make_setting(axes: Sequence[str], values: Sequence[int]) -> Parameters:
    return Parameters(**dict(zip(axes, values, strict=True)))  # type: ignore[arg-type]  # all of them are numbers


def find_leading_settings(axes: Sequence[str], score: Score) -> Sequence[Parameters]:
    """Return the settings with the highest scores, the best first.

    Parameters
    ----------
    axes : those that the mover lets its users set.
    score : measures a setting; called once for each.
    """
    tried = {setting: score(setting) for setting in list_coarse_settings(axes)}
    while True:
        leaders = sorted(tried, key=lambda setting: -tried[setting])[:REFINED]
        untried = {neighbour for leader in leaders for neighbour in list_neighbours(leader, axes)} - tried.keys()
        if not untried:
            return leaders
        for setting in sorted(untried, key=lambda setting: tuple(getattr(setting, axis) for axis in axes)):
            tried[setting] = score(setting)


PAYLOAD_SHARE = 1448 / 1500
"""Share of files in a full packet with IP and TCP headers and time stamps: the most that files can gain of a path."""


class _ClockStart(NamedTuple):
    """A run at the start of the clock: its age, what the link had carried and what was in files."""

    age_s: float
    carried_bytes: float
    done_bytes: float


class SearchRun:
    """One run of the search while it goes: how much of the path it uses, and whether it can still be of interest.

    The clock starts when files begin to come: how long a program takes to start is the same at all its settings, varies
    with the machine's other work, and counts in the winner's further runs. Settings are ranked by the bytes in files:
    on a full path they differ only in what is sent twice, which the link does not see.

    Parameters
    ----------
    rate_bps : of the path.
    cut_s : for how long it is watched.
    best_bps : what the files of the best setting so far have gained.
    least_bps : a run for which the link carries less is of no interest.
    """

    def __init__(self, *, rate_bps: float, cut_s: float, best_bps: float, least_bps: float = 0.0) -> None:
        self._rate_bps, self._cut_s = rate_bps, cut_s
        self._best_bps, self._least_bps = best_bps, least_bps
        self._clock_start: _ClockStart | None = None
        self._most_bps = math.inf
        self.carried_bps = 0.0
        self.is_hopeless = False

    @property
    def has_started(self) -> bool:
        return self._clock_start is not None

    def start(self, age_s: float, carried_bytes: float, done_bytes: float) -> None:
        """Start the clock; ``done_bytes`` : those that are in files already."""
        self._clock_start = _ClockStart(age_s, carried_bytes, done_bytes)

    def is_finished(self, age_s: float, carried_bytes: float) -> bool:
        """Return whether the run has been watched for long enough; never before the start of the clock.

        Parameters
        ----------
        age_s, carried_bytes : of the run, and by the link since the run was started, IP headers included.
        """
        if self._clock_start is None:
            return False
        watched_s, came_bytes = age_s - self._clock_start.age_s, carried_bytes - self._clock_start.carried_bytes
        self.carried_bps = BITS_PER_BYTE * came_bytes / watched_s if watched_s > 0 else 0.0
        most_bytes = came_bytes + max(self._cut_s - watched_s, 0.0) * self._rate_bps / BITS_PER_BYTE
        self._most_bps = BITS_PER_BYTE * most_bytes / max(self._cut_s, watched_s)
        best_bps = GIVEN_UP_BELOW * self._best_bps
        self.is_hopeless = PAYLOAD_SHARE * self._most_bps < best_bps or self._most_bps < self._least_bps
        if self.is_hopeless:
            self.carried_bps = min(self.carried_bps, self._most_bps)  # a good second is no match for a good run
        return self.is_hopeless or watched_s >= self._cut_s

    def score_bps(self, duration_s: float, bytes_done: float) -> float:
        """Return what its files gained while it was watched, or could have gained at most where it was given up."""
        if self._clock_start is None or duration_s <= self._clock_start.age_s:
            return 0.0
        score_bps = BITS_PER_BYTE * (bytes_done - self._clock_start.done_bytes) / (duration_s - self._clock_start.age_s)
        return min(score_bps, PAYLOAD_SHARE * self._most_bps) if self.is_hopeless else score_bps
