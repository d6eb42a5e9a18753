"""The round-trip time of a path while a transfer loads it."""

import asyncio
from dataclasses import replace
from typing import Protocol

from tradewind.path import Path
from tradewind_agent.engine.http.patient_loop import find_patient_loop
from tradewind_agent.engine.path_sample import PathSample

SAMPLE_INTERVAL_S = 0.25

HIGH = 0.9
"""Quantile of the samples: the queue that the transfer fills again and again, without its longest moment."""


class SampledEngine(Protocol):
    """An engine whose connections can be sampled."""

    def sample_path(self) -> PathSample: ...


class LoadedPath:
    """Samples the round-trip times of an engine's connections.

    The round trip before a transfer describes the unloaded path. What the transfer's own streams add, which history
    lets the controller expect (`tradewind.tuning.path.congestion`), shows only while they carry data.
    """

    def __init__(self) -> None:
        self._rtts_s: list[float] = []

    async def watch(self, engine: SampledEngine) -> None:
        """Sample until cancelled, and adapt the patience of the running loop to the path."""
        patient_loop = find_patient_loop()
        while True:
            await asyncio.sleep(SAMPLE_INTERVAL_S)
            path = engine.sample_path()
            if patient_loop is not None:
                patient_loop.adapt_to(path.min_rtt_s)
            if path.rtt_s is not None:
                self._rtts_s.append(path.rtt_s)

    @property
    def rtt_s(self) -> float | None:
        """Smoothed round trip under load, s: the 90th percentile over the transfer; ``None`` without a sample."""
        ordered = sorted(self._rtts_s)
        return ordered[int(HIGH * (len(ordered) - 1))] if ordered else None


def add_measured_rtts(path: Path, least_s: float | None, loaded_s: float | None, *, stated_s: float | None) -> Path:
    """Return the path with the RTTs of the transfer's own connections: under its load, and the least.

    ``stated_s`` : the RTT that the user has stated, s; one far below it is that to a middle box, and says nothing of
    the path.
    """
    if least_s is None or loaded_s is None or (stated_s is not None and least_s < stated_s / 2):
        return replace(path, rtt_s=path.rtt_s or loaded_s)
    return replace(path, rtt_s=max(loaded_s, least_s), min_rtt_s=least_s)
