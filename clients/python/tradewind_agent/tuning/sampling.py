"""From what the engine and the meter see to the heartbeat of one tick."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan, whole_setting
from tradewind.tuning import Basis
from tradewind.units import throughput_bps
from tradewind.wire.heartbeats import ChunkSample, EndPowerSample, Heartbeat
from tradewind.wire.recommendations import RecommendRequest, wire_parameters
from tradewind.wire.records import WireUsage
from tradewind_agent.engine.path_sample import PathSample
from tradewind_agent.engine.progress import ChunkSnapshot, Snapshot
from tradewind_agent.meters import LiveSample


@dataclass(slots=True, kw_only=True)
class Sampling:
    """Counts the heartbeats of one transfer, and what has changed since the one before.

    ``enquiry`` : what the recommendation was asked with.
    ``sees_path`` : whether the ends of the connections are those of the path; through a proxy their round trips say
    nothing of it.
    """

    enquiry: RecommendRequest
    sees_path: bool
    now: Callable[[], datetime]
    sequence: int = 0
    _last: Snapshot | None = field(default=None, init=False)

    def first(self, basis: Basis) -> Heartbeat:
        """Sequence 0, before the first byte: the plan of ``basis`` is about to begin."""
        files = sum(chunk.file_count for chunk in basis.chunks)
        chunks = [(chunk.plan, 0.0, chunk.total_bytes) for chunk in basis.chunks]
        return self._heartbeat(chunks, interval_s=0.0, moved_bytes=0, left=(basis.total_bytes, files))

    def next(self, now: Snapshot, live: LiveSample | None) -> Heartbeat:
        """The tick between the last snapshot and ``now``."""
        last, self._last = self._last, now
        self.sequence += 1
        interval_s = now.elapsed_s - (last.elapsed_s if last else 0.0)
        before = {chunk.chunk: chunk.moved_bytes for chunk in last.chunks} if last else {}

        def rate_bps(chunk: ChunkSnapshot) -> float:
            moved_bytes = chunk.moved_bytes - before.get(chunk.chunk, 0)
            return throughput_bps(max(moved_bytes, 0), interval_s) if interval_s > 0 else 0.0

        chunks = [
            (ChunkPlan(each.chunk, None, each.parameters), rate_bps(each), each.remaining_bytes) for each in now.chunks
        ]
        return self._heartbeat(
            chunks,
            interval_s=interval_s,
            moved_bytes=now.moved_bytes,
            left=(now.remaining_bytes, now.remaining_files),
            **(self._path(now.path) | _metered(live)),
        )

    def _heartbeat(
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
            parameters=wire_parameters(whole_setting(_in_force(chunks))),
            chunks=tuple(
                ChunkSample(
                    chunk=plan.chunk,
                    parameters=wire_parameters(plan.parameters),
                    throughput_bps=rate,
                    remaining_bytes=remaining_bytes,
                )
                for plan, rate, remaining_bytes in chunks
            ),
            enquiry=self.enquiry,
            **more,
        )

    def _path(self, seen: PathSample) -> dict[str, Any]:
        if not self.sees_path or _is_of_a_middle_box(self.enquiry, seen):
            return {}
        return {
            "rtt_s": seen.rtt_s,
            "min_rtt_s": seen.min_rtt_s,
            "sent_bytes": seen.sent_bytes,
            "retransmitted_bytes": min(seen.retransmitted_bytes, seen.sent_bytes),
        }


def _in_force(chunks: Sequence[tuple[ChunkPlan, float, int]]) -> list[Parameters]:
    """Settings of the chunks that have something left, or of all at the end: one that is done uses no streams."""
    unfinished = [plan.parameters for plan, _, remaining_bytes in chunks if remaining_bytes]
    return unfinished or [plan.parameters for plan, _, _ in chunks]


def _is_of_a_middle_box(enquiry: RecommendRequest, seen: PathSample) -> bool:
    """Whether connections end at something nearer than the other end: far below the round trip known beforehand."""
    known_s = enquiry.path.rtt_s if enquiry.path is not None else None
    return known_s is not None and seen.min_rtt_s is not None and seen.min_rtt_s < known_s / 2


def _metered(live: LiveSample | None) -> dict[str, Any]:
    if live is None:
        return {}
    usage = {name: getattr(live.usage, name) for name in ("cpu", "memory", "disk", "nic")}
    told: dict[str, Any] = {"usage": WireUsage(**usage)}
    if live.power_w is not None and live.power_w >= 0:
        told |= {"power_w": live.power_w, "power_method": live.method, "power_quality": live.quality}
    ends = tuple(
        EndPowerSample(host=end.host, power_w=end.power_w, method=end.method, quality=end.quality)
        for end in (live, live.other)
        if end is not None and end.power_w is not None and end.power_w >= 0
    )
    return told | {"power_ends": ends} if ends else told
