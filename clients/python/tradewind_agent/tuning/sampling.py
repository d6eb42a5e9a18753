"""Build the heartbeat of one tick from a snapshot of the engine and a sample of the meter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan, combine_settings
from tradewind.tuning import Basis
from tradewind.units import compute_throughput_bps
from tradewind.wire.heartbeats import ChunkSample, EndPowerSample, Heartbeat
from tradewind.wire.recommendations import RecommendRequest, to_wire_parameters
from tradewind.wire.records import WireUsage
from tradewind_agent.engine.path_sample import PathSample
from tradewind_agent.engine.progress import ChunkSnapshot, Snapshot
from tradewind_agent.meters import LiveSample


@dataclass(slots=True, kw_only=True)
class Sampling:
    """Builds the heartbeats of one transfer, each with the changes since the one before.

    ``request`` : the request for the recommendation, sent with each heartbeat as ``enquiry``.
    ``sees_path`` : whether the connections end where the path ends; round trips to a proxy say nothing of the path.
    """

    request: RecommendRequest
    sees_path: bool
    now: Callable[[], datetime]
    sequence: int = 0
    _last: Snapshot | None = field(default=None, init=False)

    def build_first(self, basis: Basis) -> Heartbeat:
        """Return heartbeat 0, sent before the first byte, with the plan of ``basis``."""
        files = sum(chunk.file_count for chunk in basis.chunks)
        chunks = [(chunk.plan, 0.0, chunk.total_bytes) for chunk in basis.chunks]
        return self._build_heartbeat(chunks, interval_s=0.0, moved_bytes=0, left=(basis.total_bytes, files))

    def build_next(self, now: Snapshot, live: LiveSample | None) -> Heartbeat:
        """Return the heartbeat of the tick between the last snapshot and ``now``."""
        last, self._last = self._last, now
        self.sequence += 1
        interval_s = now.elapsed_s - (last.elapsed_s if last else 0.0)
        moved_before = {chunk.chunk: chunk.moved_bytes for chunk in last.chunks} if last else {}

        def compute_rate_bps(chunk: ChunkSnapshot) -> float:
            moved_bytes = chunk.moved_bytes - moved_before.get(chunk.chunk, 0)
            return compute_throughput_bps(max(moved_bytes, 0), interval_s) if interval_s > 0 else 0.0

        chunks = [
            (ChunkPlan(chunk.chunk, None, chunk.parameters), compute_rate_bps(chunk), chunk.remaining_bytes)
            for chunk in now.chunks
        ]
        return self._build_heartbeat(
            chunks,
            interval_s=interval_s,
            moved_bytes=now.moved_bytes,
            left=(now.remaining_bytes, now.remaining_files),
            **(self._build_path_fields(now.path) | _build_metered_fields(live)),
        )

    def _build_heartbeat(
        self,
        chunks: Sequence[tuple[ChunkPlan, float, int]],
        *,
        interval_s: float,
        moved_bytes: int,
        left: tuple[int, int],
        **more: Any,
    ) -> Heartbeat:
        return Heartbeat(
            sequence=self.sequence,
            at=self.now(),
            interval_s=interval_s,
            bytes_moved=moved_bytes,
            throughput_bps=sum(rate for _, rate, _ in chunks),
            remaining_bytes=left[0],
            remaining_files=left[1],
            parameters=to_wire_parameters(combine_settings(_list_active_settings(chunks))),
            chunks=tuple(
                ChunkSample(
                    chunk=plan.chunk,
                    parameters=to_wire_parameters(plan.parameters),
                    throughput_bps=rate,
                    remaining_bytes=remaining_bytes,
                )
                for plan, rate, remaining_bytes in chunks
            ),
            enquiry=self.request,
            **more,
        )

    def _build_path_fields(self, seen: PathSample) -> dict[str, Any]:
        if not self.sees_path or _ends_at_middle_box(self.request, seen):
            return {}
        return {
            "rtt_s": seen.rtt_s,
            "min_rtt_s": seen.min_rtt_s,
            "sent_bytes": seen.sent_bytes,
            "retransmitted_bytes": min(seen.retransmitted_bytes, seen.sent_bytes),
        }


def _list_active_settings(chunks: Sequence[tuple[ChunkPlan, float, int]]) -> list[Parameters]:
    """Return the settings of the unfinished chunks, which alone use streams; of all chunks once all are finished."""
    unfinished = [plan.parameters for plan, _, remaining_bytes in chunks if remaining_bytes]
    return unfinished or [plan.parameters for plan, _, _ in chunks]


def _ends_at_middle_box(request: RecommendRequest, seen: PathSample) -> bool:
    """Return whether connections end before the other end: their round trip is far below the known one."""
    known_s = request.path.rtt_s if request.path is not None else None
    return known_s is not None and seen.min_rtt_s is not None and seen.min_rtt_s < known_s / 2


def _build_metered_fields(live: LiveSample | None) -> dict[str, Any]:
    if live is None:
        return {}
    usage = {name: getattr(live.usage, name) for name in ("cpu", "memory", "disk", "nic")}
    fields: dict[str, Any] = {"usage": WireUsage(**usage)}
    if live.power_w is not None and live.power_w >= 0:
        fields |= {"power_w": live.power_w, "power_method": live.method, "power_quality": live.quality}
    ends = tuple(
        EndPowerSample(host=end.host, power_w=end.power_w, method=end.method, quality=end.quality)
        for end in (live, live.other)
        if end is not None and end.power_w is not None and end.power_w >= 0
    )
    return fields | {"power_ends": ends} if ends else fields
