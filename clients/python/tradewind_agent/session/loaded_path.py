"""What a transfer does to its path: round trips while its data move."""

import asyncio

from tradewind_agent.engine.engine import TransferEngine
from tradewind_agent.engine.http.patient_loop import running_patient_loop

LOOK_INTERVAL_S = 0.5

HIGH = 0.9
"""Quantile of the looks: the queue that a transfer fills again and again, without its longest moment."""


class LoadedPath:
    """Looks at an engine's connections from time to time.

    The round trip that a transfer begins with says what the path is; what its own streams make of it, which history
    tells the controller to expect (`tradewind.tuning.path.congestion`), shows itself only while they carry data.
    """

    def __init__(self) -> None:
        self._rtts_s: list[float] = []

    async def watch(self, engine: TransferEngine) -> None:
        """Go on looking until cancelled; the running loop is as patient as the path permits."""
        patient_loop = running_patient_loop()
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            path = engine.path()
            if patient_loop is not None:
                patient_loop.suit(path.min_rtt_s)
            if path.rtt_s is not None:
                self._rtts_s.append(path.rtt_s)

    @property
    def rtt_s(self) -> float | None:
        """Smoothed round trip under load, its 90th percentile over the transfer; ``None`` if nobody could look."""
        ordered = sorted(self._rtts_s)
        return ordered[int(HIGH * (len(ordered) - 1))] if ordered else None
