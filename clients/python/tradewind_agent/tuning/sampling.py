"""Take the sample of one tick from a snapshot of the engine and a sample of the meter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tradewind.parameters import Parameters
from tradewind.recommendation import combine_settings
from tradewind.tuning import Basis
from tradewind.tuning.sample import ChunkProgress
from tradewind.units import compute_throughput_bps
from tradewind_agent.engine.path_sample import PathSample
from tradewind_agent.engine.progress import ChunkSnapshot, Snapshot
from tradewind_agent.meters import LiveSample
from tradewind_agent.session.plan_request import PlanRequest
from tradewind_agent.tuning.transfer_sample import MeteredEnd, TransferSample


@dataclass(slots=True, kw_only=True)
class Sampling:
    """Takes the samples of one transfer, each with the changes since the one before.

    ``request`` : the request for the recommendation, which goes with each heartbeat.
    ``sees_path`` : whether the connections end where the path ends; round trips to a proxy say nothing of the path.
    """

    request: PlanRequest
    sees_path: bool
    now: Callable[[], datetime]
    sequence: int = 0
    _last: Snapshot | None = field(default=None, init=False)

    def build_first(self, basis: Basis) -> TransferSample:
        """Return sample 0, of the time before the first byte, with the plan of ``basis``."""
        files = sum(chunk.file_count for chunk in basis.chunks)
        chunks = [
            ChunkProgress(chunk.plan.chunk, chunk.plan.parameters, 0.0, chunk.total_bytes) for chunk in basis.chunks
        ]
        return self._build_sample(chunks, interval_s=0.0, moved_bytes=0, left=(basis.total_bytes, files))

    def build_next(self, now: Snapshot, live: LiveSample | None) -> TransferSample:
        """Return the sample of the tick between the last snapshot and ``now``."""
        last, self._last = self._last, now
        self.sequence += 1
        interval_s = now.elapsed_s - (last.elapsed_s if last else 0.0)
        moved_before = {chunk.chunk: chunk.moved_bytes for chunk in last.chunks} if last else {}

        def compute_rate_bps(chunk: ChunkSnapshot) -> float:
            moved_bytes = chunk.moved_bytes - moved_before.get(chunk.chunk, 0)
            return compute_throughput_bps(max(moved_bytes, 0), interval_s) if interval_s > 0 else 0.0

        chunks = [
            ChunkProgress(chunk.chunk, chunk.parameters, compute_rate_bps(chunk), chunk.remaining_bytes)
            for chunk in now.chunks
        ]
        return self._build_sample(
            chunks,
            interval_s=interval_s,
            moved_bytes=now.moved_bytes,
            left=(now.remaining_bytes, now.remaining_files),
            **(self._build_path_fields(now.path) | _build_metered_fields(live)),
        )

    def _build_sample(
        self,
        chunks: Sequence[ChunkProgress],
        *,
        interval_s: float,
        moved_bytes: int,
        left: tuple[int, int],
        **more: Any,
    ) -> TransferSample:
        return TransferSample(
            sequence=self.sequence,
            at=self.now(),
            interval_s=interval_s,
            bytes_moved=moved_bytes,
            throughput_bps=sum(chunk.throughput_bps for chunk in chunks),
            remaining_bytes=left[0],
            remaining_files=left[1],
            parameters=combine_settings(_list_active_settings(chunks)),
            chunks=tuple(chunks),
            request=self.request,
            **more,
        )

    def _build_path_fields(self, seen: PathSample) -> dict[str, Any]:
        if not self.sees_path or _ends_at_middle_box(self.request, seen):
            return {}
        return {
            "rtt_s": seen.rtt_s,
            "min_rtt_s": seen.min_rtt_s,
            "settled_rtt_s": seen.settled_rtt_s,
            "sent_bytes": seen.sent_bytes,
            "retransmitted_bytes": min(seen.retransmitted_bytes, seen.sent_bytes),
        }


def _list_active_settings(chunks: Sequence[ChunkProgress]) -> list[Parameters]:
    """Return the settings of the unfinished chunks, which alone use streams; of all chunks once all are finished."""
    unfinished = [chunk.parameters for chunk in chunks if chunk.remaining_bytes]
    return unfinished or [chunk.parameters for chunk in chunks]


def _ends_at_middle_box(request: PlanRequest, seen: PathSample) -> bool:
    """Return whether connections end before the other end: their round trip is far below the known one."""
    known_s = request.path.rtt_s
    return known_s is not None and seen.min_rtt_s is not None and seen.min_rtt_s < known_s / 2


def _build_metered_fields(live: LiveSample | None) -> dict[str, Any]:
    if live is None:
        return {}
    fields: dict[str, Any] = {"usage": live.usage}
    if live.power_w is not None and live.power_w >= 0:
        fields |= {"power_w": live.power_w, "power_method": live.method, "power_quality": live.quality}
    ends = tuple(
        MeteredEnd(host=end.host, power_w=end.power_w, method=end.method, quality=end.quality)
        for end in (live, live.other)
        if end is not None and end.power_w is not None and end.power_w >= 0
    )
    return fields | {"power_ends": ends} if ends else fields
