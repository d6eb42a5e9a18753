"""Whether a restart of a tool with other settings pays, where it cannot change while it runs.

gain_s = s · (1 − r / r')                    s : the time for which the new settings come earlier, at the old rate
cost_s = a + w + 8 · b / r'                  r, r' : rates now and then, bit/s
                                             a : what the tool takes to start, s
                                             w : slow start of new connections, s
                                             b : bytes of unfinished files that are fetched again
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from tradewind.parameters import Parameters
from tradewind.units import BITS_PER_BYTE, format_bps, format_bytes

HYSTERESIS = 1.5
"""What is gained must be so many times what is lost: expectations are wrong by tens of per cent."""

MIN_TICKS_BETWEEN = 3
"""A start needs a tick to get going and one to be measured before the next one is thought of."""

MIN_TICKS_LEFT = 2
"""Nearer to the end than this nothing is worth a start."""

ASSUMED_RTT_S = 0.1
_FIRST_WINDOW_BYTES = 14_600
"""Ten segments of 1460 bytes (RFC 6928)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartCase:
    """What is weighed.

    ``now_bps``, ``then_bps`` : measured rate, and what is expected of the new settings.
    ``remaining_bytes`` : of all files; ``boundary_bytes`` : until the tool ends by itself and can be restarted.
    ``lost_bytes`` : fetched so far of unfinished files, to be fetched again.
    ``startup_s``, ``slow_start_s`` : until the tool moves bytes, and until new connections have their rate.
    ``since_s`` : how long the tool has run since it was last started; ``tick_s`` : one heartbeat interval.
    """

    now_bps: float
    then_bps: float
    remaining_bytes: int
    boundary_bytes: int
    lost_bytes: int
    startup_s: float
    slow_start_s: float
    since_s: float
    tick_s: float

    @property
    def gain_s(self) -> float:
        """Return the time saved by starting now and not at the next boundary; negative for settings that are slower."""
        if self.now_bps <= 0 or self.then_bps <= 0:
            return 0.0
        earlier_s = BITS_PER_BYTE * min(self.boundary_bytes, self.remaining_bytes) / self.now_bps
        return earlier_s * (1 - self.now_bps / self.then_bps)

    @property
    def cost_s(self) -> float:
        refetch_s = BITS_PER_BYTE * self.lost_bytes / self.then_bps if self.then_bps > 0 else math.inf
        return self.startup_s + self.slow_start_s + refetch_s


def is_restart_worthwhile(case: RestartCase) -> bool:
    """Return whether to interrupt the tool now: clearly worth it, not soon after the last start, nor near the end."""
    if case.since_s < MIN_TICKS_BETWEEN * case.tick_s or case.now_bps <= 0:
        return False
    if BITS_PER_BYTE * case.remaining_bytes / case.now_bps < MIN_TICKS_LEFT * case.tick_s:
        return False
    return case.gain_s > HYSTERESIS * case.cost_s


def predict_rate_bps(
    now_bps: float, *, expected_now_bps: float, expected_then_bps: float, streams_ratio: float
) -> float:
    """Return what is to be expected of new settings, from what is measured of the old ones, bit/s.

    Fewer or equal streams change the measured rate as they change the expected one. More streams may regain what is
    missed against the expectation (others have come, or more is lost), but at most in proportion to their number.
    """
    scaled_bps = now_bps * expected_then_bps / expected_now_bps if expected_now_bps > 0 else now_bps
    if streams_ratio <= 1:
        return scaled_bps
    return min(max(scaled_bps, expected_then_bps), now_bps * streams_ratio)


def estimate_slow_start_s(rate_bps: float, streams: int, rtt_s: float) -> float:
    """Estimate how long new connections take to reach the rate they share, s; each round trip doubles their windows."""
    window_bytes = rate_bps * rtt_s / BITS_PER_BYTE / max(streams, 1)
    return rtt_s * (1 + max(math.log2(max(window_bytes, 1.0) / _FIRST_WINDOW_BYTES), 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """One that was made, ``elapsed_s`` after the beginning."""

    elapsed_s: float
    before: Parameters
    after: Parameters
    case: RestartCase

    def format_line(self) -> str:
        """Return the restart as a line for the user."""
        again = f", {format_bytes(self.case.lost_bytes)} are fetched again" if self.case.lost_bytes else ""
        return (
            f"{self.elapsed_s:.0f} s: restarted with {_format_parameters(self.after)} "
            f"in place of {_format_parameters(self.before)}: "
            f"{format_bps(self.case.then_bps)} expected where {format_bps(self.case.now_bps)} was measured, "
            f"{self.case.gain_s:.1f} s gained for {self.case.cost_s:.1f} s{again}"
        )

    def build_document(self) -> dict[str, Any]:
        return {
            "elapsed_s": self.elapsed_s,
            "before": self.before.list_known(),
            "after": self.after.list_known(),
            "gain_s": self.case.gain_s,
            "cost_s": self.case.cost_s,
            **asdict(self.case),
        }


@dataclass(slots=True)
class Restarting:
    """What a run needs to weigh its restarts, and those that it has made.

    ``expected_bps`` : of a setting for all files; ``say`` : shows the user one line.
    """

    expected_bps: Callable[[Parameters], float]
    tick_s: float
    rtt_s: float
    say: Callable[[str], None]
    restarts: list[Restart] = field(default_factory=list)

    def note(self, restart: Restart) -> None:
        self.restarts.append(restart)
        self.say(restart.format_line())


def _format_parameters(parameters: Parameters) -> str:
    return ", ".join(f"{name} {value}" for name, value in parameters.list_known().items()) or "its own settings"
