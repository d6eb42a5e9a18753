"""When a transfer counts as silent: after several of its own ticks without a heartbeat."""

TICK_S = 5.0
"""Until the next heartbeat, as answers to one ask for it."""

SILENT_TICKS = 3
"""Heartbeats missing before a transfer's share goes to others."""

LONGEST_SILENCE_S = 300.0
"""However long the ticks of a transfer are, so that none holds a share for ever by what it says of itself."""


def silent_after_s(interval_s: float) -> float:
    """Seconds without a heartbeat after one that told a tick of ``interval_s``, which is ``TICK_S`` at least."""
    return min(SILENT_TICKS * max(interval_s, TICK_S), LONGEST_SILENCE_S)
