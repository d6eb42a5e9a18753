"""Cumulative bytes that logged transfers moved at an endpoint, R(t): what external load is read from (001 eq. 4).

A log adds its mean rate over its life, so R is piecewise linear. It is kept as sorted breakpoints with the step of the
aggregate rate at each; curves are merged by merging breakpoints, which makes them append-only: new logs, of any time,
are a curve of their own that is merged in.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from tradewind.errors import InvalidValue

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LoadTimeline:
    """R(t) by its breakpoints.

    Attributes
    ----------
    times_s : (m,) strictly increasing, POSIX seconds.
    rate_steps : (m,) change of the aggregate rate at each, bytes a second.
    """

    times_s: FloatArray
    rate_steps: FloatArray

    @classmethod
    def empty(cls) -> Self:
        return cls(np.empty(0), np.empty(0))

    @classmethod
    def of_transfers(cls, start_s: FloatArray, end_s: FloatArray, moved_bytes: FloatArray) -> Self:
        """Return the curve of n transfers, each at its mean rate. O(n log n).

        Leave out the row of a chunked transfer where its chunks are given, or its bytes count twice.

        Raises
        ------
        InvalidValue : a transfer that does not end after it starts.
        """
        duration_s = end_s - start_s
        if not np.all(duration_s > 0):
            raise InvalidValue("ended_at", f"must be after started_at, in row {int(np.argmin(duration_s > 0))}")
        rates = moved_bytes / duration_s
        return cls._sum_steps(np.concatenate([start_s, end_s]), np.concatenate([rates, -rates]))

    @classmethod
    def _sum_steps(cls, times_s: FloatArray, rate_steps: FloatArray) -> Self:
        if not len(times_s):
            return cls.empty()
        order = np.argsort(times_s, kind="stable")  # merges runs that are already sorted in linear time
        times_s, rate_steps = times_s[order], rate_steps[order]
        first = np.flatnonzero(np.diff(times_s, prepend=-np.inf) > 0)
        return cls(times_s[first], np.add.reduceat(rate_steps, first))

    def merge(self, other: Self) -> Self:
        """Return the curve of both sets of transfers."""
        return self._sum_steps(
            np.concatenate([self.times_s, other.times_s]), np.concatenate([self.rate_steps, other.rate_steps])
        )

    @cached_property
    def _rates(self) -> FloatArray:
        """(m,) aggregate rate from each breakpoint on."""
        return np.maximum(np.cumsum(self.rate_steps), 0.0)  # rounding must not leave a negative rate behind

    @cached_property
    def _bytes(self) -> FloatArray:
        """(m,) R at each breakpoint."""
        return np.concatenate([[0.0], np.cumsum(self._rates[:-1] * np.diff(self.times_s))])

    def compute_bytes_until(self, time_s: FloatArray) -> FloatArray:
        """R(t) for any array of times, bytes since the first breakpoint. O(log m) a time."""
        if not len(self.times_s):
            return np.zeros_like(time_s)
        segment = np.searchsorted(self.times_s, time_s, side="right") - 1
        started = segment >= 0
        segment = np.maximum(segment, 0)
        inside = self._bytes[segment] + self._rates[segment] * (time_s - self.times_s[segment])
        return np.where(started, inside, 0.0)

    def compute_bytes_between(self, start_s: FloatArray, end_s: FloatArray) -> FloatArray:
        """ΔR = R(end) − R(start), bytes."""
        return self.compute_bytes_until(end_s) - self.compute_bytes_until(start_s)
