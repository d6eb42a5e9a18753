"""Run one tuned transfer: ``python -m benchmarks.tuning.driver TASK.json``, in a client's namespace.

The project's own engine moves the files. Once a tick its snapshot becomes a sample, the tuner decides, and the engine
is retuned. The program prints a JSON line a tick, see `TickRow`.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

import psutil

from benchmarks.tuning.task import Task
from benchmarks.tuning.tuners import Tuner, TunerDecision, make_tuner
from tradewind.tuning import ChunkProgress, TickSample
from tradewind.units import compute_throughput_bps
from tradewind_agent.engine import DownloadJob, EngineOptions, Snapshot, TransferEngine, Url
from tradewind_agent.meters import build_assumed_profile
from tradewind_agent.meters.cpu_model import compute_modelled_energy_j
from tradewind_agent.session.loaded_path import LoadedPath


class TickRow(TypedDict):
    """One tick, and the decision at its end; ``until_s`` is the machine's monotonic clock, the same for all."""

    tick: int
    until_s: float
    interval_s: float
    throughput_bps: float
    streams: int
    setting: tuple[int, int, int]
    rtt_s: float | None
    min_rtt_s: float | None
    settled_rtt_s: float | None
    loss: float | None
    power_w: float | None
    kind: str
    reason: str
    streams_asked: int
    step_s: float


def make_sample(sequence: int, now: Snapshot, before: Snapshot, *, at_s: float, power_w: float | None) -> TickSample:
    """Return the sample of the tick between two snapshots."""
    interval_s = now.elapsed_s - before.elapsed_s
    earlier = {chunk.chunk: chunk.moved_bytes for chunk in before.chunks}
    return TickSample(
        sequence=sequence,
        at_s=at_s,
        interval_s=interval_s,
        bytes_moved=now.moved_bytes,
        throughput_bps=compute_throughput_bps(now.moved_bytes - before.moved_bytes, interval_s),
        remaining_bytes=now.remaining_bytes,
        remaining_files=now.remaining_files,
        rtt_s=now.path.rtt_s,
        min_rtt_s=now.path.min_rtt_s,
        settled_rtt_s=now.path.settled_rtt_s,
        sent_bytes=now.path.sent_bytes,
        retransmitted_bytes=now.path.retransmitted_bytes,
        power_w=power_w,
        chunks=tuple(
            ChunkProgress(
                kind=chunk.chunk,
                parameters=chunk.parameters,
                throughput_bps=compute_throughput_bps(chunk.moved_bytes - earlier.get(chunk.chunk, 0), interval_s),
                remaining_bytes=chunk.remaining_bytes,
            )
            for chunk in now.chunks
        ),
    )


def make_jobs(task: Task) -> Iterator[DownloadJob]:
    folder = Path(task.destination)
    for number in range(task.rounds):
        for name in task.names:
            source = Url.parse(task.url + name)
            yield DownloadJob(source=source, destination=str(folder / f"{number}-{name}"), size_bytes=task.file_bytes)


async def drive(task: Task, tuner: Tuner, on_tick: Callable[[TickRow], None]) -> None:
    """Run the transfer for the task's ticks, or to its end, and report each tick."""
    engine = TransferEngine(tuner.plan, EngineOptions(durable=False))
    running = asyncio.create_task(engine.run(list(make_jobs(task))))
    watching = asyncio.create_task(LoadedPath().watch(engine))  # as a copy does, so that round trips can settle
    try:
        await _drive_ticks(task, tuner, engine, running, on_tick)
    finally:
        for each in (watching, running):
            each.cancel()
            with suppress(asyncio.CancelledError):
                await each


async def _drive_ticks(
    task: Task,
    tuner: Tuner,
    engine: TransferEngine,
    running: "asyncio.Task[object]",
    on_tick: Callable[[TickRow], None],
) -> None:
    loop, power, finished = asyncio.get_running_loop(), _ModelledPower(), _FinishedFiles(task)
    before, earlier = engine.take_snapshot(), None
    started_s = loop.time()
    for tick in range(1, task.ticks + 1):
        await asyncio.wait([running], timeout=max(started_s + tick * task.tick_s - loop.time(), 0.0))
        if running.done():
            running.result()
            return
        now = engine.take_snapshot()
        power_w = power.measure_w(now.elapsed_s - before.elapsed_s)
        sample = make_sample(tick, now, before, at_s=time.monotonic(), power_w=power_w)
        step_started_s = time.perf_counter()
        decision = tuner.decide(sample)
        step_s = time.perf_counter() - step_started_s
        engine.retune(decision.plan)
        on_tick(_make_row(sample, earlier, decision, step_s))
        finished.remove()
        before, earlier = now, sample


def _make_row(sample: TickSample, earlier: TickSample | None, decision: TunerDecision, step_s: float) -> TickRow:
    [chunk] = sample.chunks
    known = chunk.parameters
    return TickRow(
        tick=sample.sequence,
        until_s=sample.at_s,
        interval_s=sample.interval_s,
        throughput_bps=sample.throughput_bps,
        streams=known.streams,
        setting=(known.concurrency or 1, known.parallelism or 1, known.pipelining or 1),
        rtt_s=sample.rtt_s,
        min_rtt_s=sample.min_rtt_s,
        settled_rtt_s=sample.settled_rtt_s,
        loss=_compute_loss_share(sample, earlier),
        power_w=sample.power_w,
        kind=decision.kind,
        reason=decision.reason,
        streams_asked=sum(chunk.parameters.streams for chunk in decision.plan),
        step_s=step_s,
    )


def _compute_loss_share(sample: TickSample, earlier: TickSample | None) -> float | None:
    """Return the share of the tick's bytes that were sent again, as the tuner saw it."""
    before_sent, before_again = (0, 0) if earlier is None else (earlier.sent_bytes, earlier.retransmitted_bytes)
    sent = (sample.sent_bytes or 0) - (before_sent or 0)
    return ((sample.retransmitted_bytes or 0) - (before_again or 0)) / sent if sent > 0 else None


class _ModelledPower:
    """Power of this process by the agent's model at its assumed constants: the same for every tuner."""

    def __init__(self) -> None:
        self._cpus = psutil.cpu_count() or 1
        self._profile = build_assumed_profile(self._cpus)
        self._used_s = time.process_time()

    def measure_w(self, interval_s: float) -> float:
        before_s, self._used_s = self._used_s, time.process_time()
        return compute_modelled_energy_j(self._profile, interval_s, self._used_s - before_s, self._cpus) / interval_s


class _FinishedFiles:
    """Removes files once they are complete: what is moved need not fit on the disk."""

    def __init__(self, task: Task) -> None:
        self._left = {Path(job.destination) for job in make_jobs(task)}

    def remove(self) -> None:
        for path in [path for path in self._left if path.exists()]:
            path.unlink()
            self._left.discard(path)


def main(argv: Sequence[str]) -> int:
    """Drive the transfer of a task."""
    task = Task.from_json(Path(argv[0]).read_text(encoding="utf-8"))

    def on_tick(row: TickRow) -> None:
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()

    asyncio.run(drive(task, make_tuner(task), on_tick))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
