"""When a transfer counts as silent: after several of its ticks without a heartbeat, while the service can answer."""

TICK_S = 5.0
"""Time to the next heartbeat, as answers request it."""

SILENT_TICKS = 3
"""Missing heartbeats after which a transfer's share goes to others."""

LONGEST_SILENCE_S = 300.0
"""Upper bound, so that a transfer that claims long ticks does not hold a share for ever."""

LONGEST_GAP_S = TICK_S
"""After a longer gap without answers, shares of transfers that continued alone may have expired."""

COMING_BACK_S = SILENT_TICKS * TICK_S
"""After such a gap, or a loss of shares, running transfers have sent a heartbeat within this time."""


def compute_silence_limit_s(interval_s: float) -> float:
    """Return the seconds without a heartbeat after which a transfer with ticks of ``interval_s`` is silent."""
    return min(SILENT_TICKS * max(interval_s, TICK_S), LONGEST_SILENCE_S)
