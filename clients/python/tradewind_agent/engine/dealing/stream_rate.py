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


class StreamRate:
    """What a stream has shown so far.

    Attributes
    ----------
    round_trip_s : from a request to the first byte of its answer; 0 before the first one.
    """

    def __init__(self) -> None:
        self.round_trip_s = 0.0
        self._bytes_per_s: float | None = None

    def measure(self, moved_bytes: int, duration_s: float) -> None:
        """Note a finished answer."""
        if moved_bytes >= _MEASURED_BYTES and duration_s > 0:
            self._bytes_per_s = moved_bytes / duration_s

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
