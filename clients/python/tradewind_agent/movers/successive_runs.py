"""A list of files moved by successive runs of a tool that cannot change as it runs.

Each run takes a part of what is left, so that a boundary comes by itself; a run is interrupted before its boundary only
where that pays (`restarting.is_restart_worthwhile`). A file that was interrupted goes back to what is left, once.
"""

import os
import signal
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from threading import RLock

from tradewind.parameters import Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.movers.flag_words import choose_single_setting
from tradewind_agent.movers.port import RunSettings
from tradewind_agent.movers.rounds import count_rounds, split_by_bytes
from tradewind_agent.movers.step_down import StepDown
from tradewind_agent.movers.wrap.restarts import (
    Restart,
    RestartCase,
    estimate_slow_start_s,
    is_restart_worthwhile,
    predict_rate_bps,
)

_INTERRUPTED = 128 + signal.SIGINT
_SAMPLES_PER_TICK = 5


class SuccessiveRuns(ABC):
    """The remaining files, the current part and its restarts; each tool adds its own command line.

    Parameters
    ----------
    sizes_bytes : of the files, by position; none where the command line is run once, unchanged.
    default_concurrency : files at once of the tool by itself.
    """

    is_over = False

    def __init__(
        self,
        sizes_bytes: Sequence[int],
        tuning: RunSettings,
        clock_s: Callable[[], float] = time.monotonic,
        *,
        default_concurrency: int = 1,
    ) -> None:
        self._sizes, self._tuning, self._clock_s = tuple(sizes_bytes), tuning, clock_s
        self._left = list(range(len(self._sizes)))
        self._part: tuple[int, ...] = ()
        self._parameters = self._running = tuning.parameters
        self._refetched_bytes = 0
        self.step_down = StepDown(tuning.fixed, default_concurrency)
        self._missing: list[int] = []
        self._repeats_command = False
        self._start_count = 0
        self._pid: int | None = None
        self._interrupting = False
        self._first_s: float | None = None
        self._started_s = self._due_s = 0.0
        self._startup_s: float | None = None
        self._samples: deque[tuple[float, int]] = deque()
        self._changing = RLock()

    # Implemented by each tool.

    @abstractmethod
    def _count_moved_bytes(self) -> int:
        """Return the bytes moved so far by all runs, unfinished files included, those fetched twice once."""

    @abstractmethod
    def _list_unfinished(self) -> Sequence[int]:
        """Return the positions of the part under way, or just interrupted, that are not over."""

    @abstractmethod
    def _compute_lost_bytes(self) -> int:
        """Return the bytes of unfinished files that an interruption would have fetched again."""

    @abstractmethod
    def _express(self, parameters: Parameters) -> Parameters:
        """Return what of ``parameters`` the tool can have."""

    # What they share.

    def note_started(self, pid: int, /) -> None:
        with self._changing:
            self._pid, self._started_s = pid, self._clock_s()
            self._first_s = self._started_s if self._first_s is None else self._first_s
            self._due_s = self._started_s
            self._samples.clear()

    def retune(self, chunks: Sequence[ChunkPlan], /) -> bool:
        new_parameters = self.step_down.cut_parameters(choose_single_setting(chunks, self._tuning.fixed))
        with self._changing:
            if self._express(new_parameters) == self._express(self._parameters):
                return False
            before, self._parameters = self._parameters, new_parameters
            if self._left or self._interrupt_if_worthwhile():
                return True
            self._parameters = before
            return False

    @property
    def _is_run_due(self) -> bool:
        """Return whether another run is due."""
        return not self._start_count or self._repeats_command or bool(self._left or self._missing)

    def _retry_missing(self, missing: Sequence[int]) -> bool:
        """Move what is missing once more with less at once, when the rest is over; false where nothing less is left.

        Where the work is not a list, the whole command line is run again.
        """
        with self._changing:
            if not self.step_down.lower(self._running):
                return False
            self._missing += missing
            self._repeats_command = not missing
            return True

    def _take_part(self) -> tuple[int, ...]:
        """Return what the next run is to move, which begins with the settings wanted by now."""
        with self._changing:
            self._repeats_command = False
            if not self._left:
                self._left, self._missing = self._missing, []
            self._parameters = self.step_down.cut_parameters(self._parameters)
            sizes = [self._sizes[at] for at in self._left]
            rate_bps = self._compute_rate_bps() or self._tuning.expected_bps
            at_once = self._parameters.concurrency or 1
            rounds = count_rounds(sizes, rate_bps, self._tuning.round_s, at_once)
            count = len(split_by_bytes(sizes, rounds)[0]) if sizes else 0
            self._part, self._left = tuple(self._left[:count]), self._left[count:]
            self._running, self._pid, self._interrupting = self._parameters, None, False
            self._start_count += 1
            return self._part

    def _watch(self) -> None:
        """Measure, and weigh a start with settings that wait for a boundary."""
        now_s = self._clock_s()
        with self._changing:
            if self._pid is None or now_s < self._due_s or self._tuning.restarting is None:
                return
            self._due_s = now_s + self._tuning.restarting.tick_s / _SAMPLES_PER_TICK
            moved = self._count_moved_bytes()
            if self._startup_s is None and moved:
                self._startup_s = now_s - self._started_s
            self._samples.append((now_s, moved))
            while len(self._samples) > 2 * _SAMPLES_PER_TICK:
                self._samples.popleft()
            self._interrupt_if_worthwhile()

    def _interrupt_if_worthwhile(self) -> bool:
        """Interrupt the tool if that pays."""
        case = self._make_case()
        if case is None or not is_restart_worthwhile(case) or self._pid is None or self._tuning.restarting is None:
            return False
        try:
            os.kill(self._pid, signal.SIGINT)
        except ProcessLookupError:  # it has ended by itself: its boundary is now
            return False
        self._interrupting = True
        elapsed_s = self._clock_s() - (self._first_s or 0.0)
        before, after = self._express(self._running), self._express(self._parameters)
        self._tuning.restarting.note(Restart(elapsed_s=elapsed_s, before=before, after=after, case=case))
        return True

    def _make_case(self) -> RestartCase | None:
        """Return what there is to weigh now; ``None`` where nothing waits, or nothing is known of it."""
        weighing, now_bps = self._tuning.restarting, self._compute_rate_bps()
        before, after = self._express(self._running), self._express(self._parameters)
        if weighing is None or self._pid is None or self._interrupting or before == after or now_bps is None:
            return None
        then_bps = predict_rate_bps(
            now_bps,
            expected_now_bps=weighing.expected_bps(before),
            expected_then_bps=weighing.expected_bps(after),
            streams_ratio=after.streams / before.streams,
        )
        lost = self._compute_lost_bytes()
        part = max(sum(self._sizes[at] for at in self._list_unfinished()) - lost, 0)
        return RestartCase(
            now_bps=now_bps,
            then_bps=then_bps,
            remaining_bytes=part + sum(self._sizes[at] for at in self._left),
            boundary_bytes=part,
            lost_bytes=lost,
            startup_s=self._startup_s or 0.0,
            slow_start_s=estimate_slow_start_s(then_bps, after.streams, weighing.rtt_s),
            since_s=self._clock_s() - self._started_s,
            tick_s=weighing.tick_s,
        )

    def _compute_rate_bps(self) -> float | None:
        """Return the rate over the last two ticks of this run; ``None`` before two samples."""
        if len(self._samples) < 2:
            return None
        (from_s, from_bytes), (to_s, to_bytes) = self._samples[0], self._samples[-1]
        return max(to_bytes - from_bytes, 0) * BITS_PER_BYTE / (to_s - from_s) if to_s > from_s else None

    def _finish_run(self, code: int) -> int:
        """Finish the run; return its exit code. Requeue what was interrupted."""
        with self._changing:
            self._pid = None
            if not self._interrupting or code != _INTERRUPTED:
                return code
            self._refetched_bytes += self._compute_lost_bytes()
            self._left = [*self._list_unfinished(), *self._left]
            return 0
