"""The rate of one stream, and what follows for the ranges that it fetches."""

_FIRST_RANGE_BYTES = 4 * 1024 * 1024
_LONGEST_RANGE_BYTES = 1 << 30

_RANGE_S = 2.0
"""Duration of a range request, about: short enough that a retune takes effect soon …"""

_RANGE_ROUND_TRIPS = 50
"""… but at least this many round trips, so that the gap between two requests costs at most 2 %."""

_IN_ORDER_RANGE_S = 0.1
"""Duration of a range of a file that is summed meanwhile: no stream is far before the first gap."""

_MEASURED_BYTES = _FIRST_RANGE_BYTES // 4
"""An answer of fewer bytes says little of the rate."""

_YOUNG_ROUND_TRIPS = 4
"""An answer that has come for less says little of how long the rest will take."""

_LEAST_DIVIDED_BYTES = 256 * 1024

_RECENT_ROUND_TRIPS = 8
_RECENT_S = 0.25, 4.0
"""How long the recent rate looks back, at least and at most: a window of TCP that opens doubles within a round trip; a
server that thinks for long makes no long path."""

_MOST_REQUESTED_BYTES = 8 * 1024 * 1024
"""No further request is sent while this much is still to come on the connection. It covers 1 Gbit/s at 60 ms."""

_FIRST_REQUESTED_BYTES = 256 * 1024, 1024 * 1024
"""Least and most requested files at once on a connection that has not shown its rate."""

_REQUESTED_S = 1.0
_REQUESTED_ROUND_TRIPS = 4
"""How long a stream may be busy with what it has requested: files that are requested cannot be dealt to a faster one,
and a stream that loses its window late would hold the end up …"""

_REQUESTED_SHARE = 0.5
"""… and towards the end for this share of the time left. The rest goes to whichever is idle first (guided
self-scheduling) …"""

_LEAST_REQUESTED_ROUND_TRIPS = 2
"""… but the next answer is always on its way before the last one ends."""


class RecentRate:
    """The rate of the last while, by halving what was noted before."""

    def __init__(self) -> None:
        self._bytes = 0.0
        self._duration_s = 0.0

    def note(self, moved_bytes: int, duration_s: float, span_s: float) -> None:
        """Add bytes moved; what is longer ago than ``span_s`` loses its weight."""
        self._bytes += moved_bytes
        self._duration_s += duration_s
        if self._duration_s > span_s:
            self._bytes /= 2
            self._duration_s /= 2

    def compute_bytes_per_s(self, least_s: float) -> float | None:
        """Return the rate; ``None`` where less than ``least_s`` was noted."""
        return self._bytes / self._duration_s if self._duration_s >= least_s and self._bytes else None


class StreamRate:
    """What a stream has shown so far.

    Attributes
    ----------
    round_trip_s : from a request to the first byte of its answer; 0 before the first one.
    """

    def __init__(self) -> None:
        self.round_trip_s = 0.0
        self._bytes_per_s: float | None = None
        self._recent = RecentRate()

    def measure(self, moved_bytes: int, duration_s: float) -> None:
        """Note a finished answer."""
        if moved_bytes >= _MEASURED_BYTES and duration_s > 0:
            self._bytes_per_s = moved_bytes / duration_s
        self._recent.note(moved_bytes, duration_s, self._recent_s)

    @property
    def _recent_s(self) -> float:
        least_s, most_s = _RECENT_S
        return min(max(_RECENT_ROUND_TRIPS * self.round_trip_s, least_s), most_s)

    def compute_requested_bytes(self, time_left_s: float, even_bytes: float, *, is_divisible: bool) -> float:
        """Return how much may be requested at once.

        A slow stream has as few seconds of work as a fast one, so that all of them end at about the same time.

        Parameters
        ----------
        time_left_s : until the end of the transfer, as far as is known.
        even_bytes : an even part of what is left; half of it guides a stream too young to have shown a rate.
        is_divisible : what was requested last can be dealt to other streams again.
        """
        bytes_per_s = self._recent.compute_bytes_per_s(self._recent_s / 2)
        if bytes_per_s is None:
            least, most = _FIRST_REQUESTED_BYTES
            return min(max(even_bytes / 2, least), _MOST_REQUESTED_BYTES if is_divisible else most)
        most_s = max(_REQUESTED_S, _REQUESTED_ROUND_TRIPS * self.round_trip_s)
        least_s = _LEAST_REQUESTED_ROUND_TRIPS * self.round_trip_s
        return min(bytes_per_s * max(min(_REQUESTED_SHARE * time_left_s, most_s), least_s), _MOST_REQUESTED_BYTES)

    def compute_range_bytes(self, *, in_order: bool = False) -> int:
        """Return the length of the next range.

        ``in_order`` : the bytes are used in their order, so that ranges are to be short.
        """
        if self._bytes_per_s is None:
            return _FIRST_RANGE_BYTES
        lasting_s = max(_IN_ORDER_RANGE_S if in_order else _RANGE_S, _RANGE_ROUND_TRIPS * self.round_trip_s)
        return min(max(int(self._bytes_per_s * lasting_s), _FIRST_RANGE_BYTES), _LONGEST_RANGE_BYTES)

    def compute_time_left_s(self, moved_bytes: int, lasted_s: float, left_bytes: int) -> float:
        """Return how long an answer will still take at its rate so far; 0 where it is too young or nearly done."""
        if not moved_bytes or lasted_s < _YOUNG_ROUND_TRIPS * self.round_trip_s or left_bytes < _LEAST_DIVIDED_BYTES:
            return 0.0
        return lasted_s * left_bytes / moved_bytes
