"""When a transfer counts as silent: after several of its own ticks without a heartbeat, while it could be heard."""

TICK_S = 5.0
"""Until the next heartbeat, as answers to one ask for it."""

SILENT_TICKS = 3
"""Heartbeats missing before a transfer's share goes to others."""

LONGEST_SILENCE_S = 300.0
"""However long the ticks of a transfer are, so that none holds a share for ever by what it says of itself."""

LONGEST_GAP_S = TICK_S
"""Nobody answered for longer: shares may have run out of transfers that went on alone."""

COMING_BACK_S = SILENT_TICKS * TICK_S
"""After such a gap, or where shares were lost, transfers that still run have told so by then."""


def silent_after_s(interval_s: float) -> float:
    """Seconds without a heartbeat after one that told a tick of ``interval_s``, which is ``TICK_S`` at least."""
    return min(SILENT_TICKS * max(interval_s, TICK_S), LONGEST_SILENCE_S)
