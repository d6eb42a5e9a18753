"""Limits of an origin, learned from its refusals: simultaneous connections, and the time of the next request.

A refusal may mean one file (forbidden, broken) or the load (too many connections, too many requests). It means the load
where others of the origin are served meanwhile and the file is served later. It means the file where the same answer
comes to a request while nothing else is asked of the origin.
"""

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from tradewind_agent.engine.origin.book import PermittedConnections

AMBIGUOUS_STATUSES = frozenset({403, 421})
"""Statuses that refuse a file as often as an excess connection."""

TOO_MANY_REQUESTS = 429
BUSY_STATUSES = frozenset({503, 509})
LOAD_STATUSES = AMBIGUOUS_STATUSES | BUSY_STATUSES | {TOO_MANY_REQUESTS}

RAISE_S = 60.0
"""Time without a refusal after which one more connection is tried."""

MOST_PROMPT_TESTS = 3
"""Files refused alone, from which on the origin is assumed to forbid files; others are retried alone last."""


SETTLE_S = 1.0
"""Time for which an origin may still count a connection that was closed here."""


UNREACHABLE_S = 120.0
"""Time without any answer, while connections are refused or closed at once, after which nothing more is tried."""


_SURELY = 1e-9
"""Chance of that many refusals in a row below which they are not those that all files get."""

_LEAST_BUSY_ALONE = 4
_SERVED_A_BUSY_ONE = 10
"""Refusals of single requests, and served ones for each at most, from which on fewer connections do not help."""


class SendContext(NamedTuple):
    """The state of an origin when a request was sent.

    ``pipeline`` : the one that carries the request. ``in_use`` : pipelines in use, this one included.
    ``started`` : requests sent so far, this one included.
    """

    step: int
    pipeline: Hashable
    in_use: int
    started: int


@dataclass(slots=True)
class _Burst:
    """Refusals of requests that were sent under the same limit."""

    step: int
    base: int
    in_use: int
    pipelines: set[Hashable] = field(default_factory=set)
    files: set[Hashable] = field(default_factory=set)
    is_certain: bool = False
    counts_connections: bool = True
    is_applied: bool = False
    before: int | None = None


class OriginLimits:
    """Learned limits of one origin.

    Parameters
    ----------
    clock_s : of the event loop.
    known : what an earlier run has learned; ``None`` where nothing is known.

    Attributes
    ----------
    held_until_s : no request before, as ``Retry-After`` says.
    progress : what the origin has served so far, of all files.
    forbidden_files : files refused while no other request to the origin was in flight.
    is_load_proven : a file that was refused was served later.
    silences : requests in a row that it has not answered in time.
    given_up : why no file is requested of it any more; ``None`` while they are.
    """

    def __init__(self, clock_s: Callable[[], float], known: PermittedConnections | None = None) -> None:
        self.held_until_s = 0.0
        self.progress = 0
        self.served = 0
        self.forbidden_files = 0
        self.is_load_proven = False
        self.started = self.silences = 0
        self._silent_files = set[Hashable]()
        self.given_up: str | None = None
        self._clock_s = clock_s
        self._permitted = None if known is None else known.count
        self._refused_at_s = None if known is None else known.refused_at_s
        self._changed_s = clock_s()
        self._closed_s = clock_s()  # of those that listed the files, at the latest
        self._unreached_since_s: float | None = None
        self._step = 0
        self._burst: _Burst | None = None
        self._refused: set[Hashable] = set()
        self._applied: list[_Burst] = []
        self._passed = 0  # refusals of files that were served later
        self._served_alone = self._busy_alone = 0
        self._is_busy_anyway = False
        self._has_refused_ranges = False

    @property
    def permitted(self) -> int | None:
        """Return the connections at once; ``None`` while nothing was refused."""
        if self._permitted is not None:
            raised = int((self._clock_s() - self._changed_s) / RAISE_S)
            self._permitted += raised
            self._changed_s += raised * RAISE_S
        return self._permitted

    def get_known_limit(self) -> PermittedConnections | None:
        """Return the limit for the next run; ``None`` where nothing was refused."""
        if self.permitted is None or self._refused_at_s is None:
            return None
        return PermittedConnections(self.permitted, self._refused_at_s)

    @property
    def is_held(self) -> bool:
        return self._clock_s() < self.held_until_s

    def hold(self, wait_s: float) -> None:
        """Send nothing for a while."""
        self.held_until_s = max(self.held_until_s, self._clock_s() + wait_s)

    def note_closed(self) -> None:
        """Note that a connection was closed here."""
        self._closed_s = self._clock_s()

    def compute_settling_s(self) -> float:
        """Return how long the origin may still count connections that were closed here; 0 where it counts none."""
        return max(0.0, self._closed_s + SETTLE_S - self._clock_s())

    def note_start(self, pipeline: Hashable, in_use: int) -> SendContext:
        """Count a request that is about to be sent."""
        self.started += 1
        return SendContext(self._step, pipeline, in_use, self.started)

    def was_alone(self, sent: SendContext) -> bool:
        """Return whether no other request was in flight between this request and now."""
        return sent.in_use == 1 and sent.started == self.started

    @property
    def is_unreachable(self) -> bool:
        """Return whether the origin has not answered for so long that another try would hardly be answered."""
        since_s = self._unreached_since_s
        return since_s is not None and self._clock_s() - since_s >= UNREACHABLE_S

    def note_silence(self, file: Hashable) -> None:
        """Note that a request was not answered in time."""
        self.silences += 1
        self._silent_files.add(file)

    def is_silent(self, most_silences: int) -> bool:
        """Return whether so many requests in a row, not of one file alone, were not answered in time."""
        return self.silences >= most_silences and len(self._silent_files) > 1

    def note_answer(self) -> None:
        """Note that the origin has answered, whatever it was."""
        self._unreached_since_s = None
        self.silences = 0
        self._silent_files.clear()

    def note_served(self, file: Hashable) -> None:
        """Note that bytes of a file were served, or that it was stored."""
        self.note_answer()
        self.served += 1
        self._served_alone += self._permitted == 1
        if file in self._refused:
            self._refused.discard(file)
            self.is_load_proven = True
        if self._burst is not None and not self._burst.is_applied:
            self._apply(self._burst)

    def note_passed(self, refusals: int) -> None:
        """Note that a file was served that was refused before, whatever the cause."""
        self._passed += refusals

    def count_worthwhile_tries(self, least: int) -> int:
        """Return after how many refusals in a row a file would have been served if it were one like the others.

        ``least`` : the number where no other was served after a refusal.
        """
        share = self._passed / max(self._passed + self.served, 1)
        return max(least, math.ceil(math.log(_SURELY) / math.log(share))) if share else least

    def note_busy_alone(self) -> None:
        """Note that a request was refused as one too many though it was the only one.

        Where that is frequent, fewer connections do not help.
        """
        self._busy_alone += 1
        is_frequent = self._busy_alone * _SERVED_A_BUSY_ONE >= self._served_alone
        if self._busy_alone >= _LEAST_BUSY_ALONE and self._served_alone and is_frequent:
            self._is_busy_anyway, self._permitted, self._refused_at_s = True, None, None

    def note_forbidden(self, file: Hashable) -> None:
        """Note that a file was refused although no other request was in flight."""
        self.forbidden_files += 1
        self._refused.discard(file)
        if self._burst is not None and not self._burst.is_applied:
            self._burst.files.discard(file)
        while self._applied and self._applied[-1].files == {file}:  # it alone has lowered the limit
            self._permitted = self._applied.pop().before

    def note_refused_ranges(self) -> None:
        """Note that refusals so far were due to the ranges that were requested: they are no sign of load."""
        self._has_refused_ranges = True
        self._refused.clear()
        if self._burst is not None and not self._burst.is_applied and self._burst.files:
            self._burst = None

    def take_refused_ranges(self) -> bool:
        """Return whether that was noted since the last call."""
        has_refused, self._has_refused_ranges = self._has_refused_ranges, False
        return has_refused

    def note_refused_file(self, file: Hashable, sent: SendContext, in_use: int, status: int) -> None:
        """Note that a request was refused while others were in flight."""
        self._refused.add(file)
        if self._is_busy_anyway and status in BUSY_STATUSES:
            return
        burst = self._find_burst(sent, in_use)
        if burst is None:
            return
        burst.files.add(file)
        burst.is_certain = burst.is_certain or (status not in AMBIGUOUS_STATUSES and len(burst.files) > 1)
        burst.counts_connections = burst.counts_connections and status != TOO_MANY_REQUESTS
        if self.served or burst.is_applied:
            self._apply(burst)

    def note_refused_connection(self, sent: SendContext, in_use: int, *, others_work: bool) -> None:
        """Note that a connection was refused, or closed before its first answer."""
        if self._unreached_since_s is None:
            self._unreached_since_s = self._clock_s()
        burst = self._find_burst(sent, in_use)
        if burst is not None:
            burst.is_certain = True
            if others_work or burst.is_applied:
                self._apply(burst)

    def _find_burst(self, sent: SendContext, in_use: int) -> _Burst | None:
        """Return the burst that a refusal belongs to; ``None`` for one that was sent under an older limit."""
        if self._permitted is not None:
            self._changed_s = self._clock_s()
        burst, in_use = self._burst, max(in_use, sent.in_use)
        if burst is None or (burst.step != sent.step and sent.step == self._step):
            burst = self._burst = _Burst(sent.step, min(self._permitted or in_use, in_use), in_use)
        if burst.step != sent.step:
            return None
        burst.pipelines.add(sent.pipeline)
        burst.in_use = max(burst.in_use, in_use)
        return burst

    def _apply(self, burst: _Burst) -> None:
        """Halve the limit, or lower it to the number of connections that were not refused."""
        if not (burst.is_certain or self.is_load_proven):
            return
        if not burst.is_applied:
            burst.is_applied, burst.before = True, self._permitted
            self._applied.append(burst)
            burst.base = max(burst.base, min(self._permitted or burst.in_use, burst.in_use))
            self._step += 1
        permitted, accepted = burst.base // 2, burst.in_use - len(burst.pipelines)
        if burst.counts_connections and accepted > 0:
            permitted = min(permitted, accepted)
        self._permitted = max(permitted, 1)
        self._changed_s = self._clock_s()
        self._refused_at_s = time.time()

    def may_test_now(self) -> bool:
        """Return whether to pause other files to retry one that may be forbidden; else it is retried after them."""
        return self.forbidden_files < MOST_PROMPT_TESTS
