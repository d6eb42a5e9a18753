"""Traits of a server, learned from its answers."""

import time
from dataclasses import dataclass, field

from tradewind_agent.engine.origin.pipelining import TrialVerdict
from tradewind_agent.engine.origin.range_refusals import RangeRefusals

_MOST_OPEN_TRIALS = 8
_CLOSES_BEFORE_A_TEST = 16
_DEEPER = 4
"""Factor by which the next trial is deeper than the proved depth."""


@dataclass(slots=True)
class OriginTraits:
    """Limits of one origin, learned as answers come in.

    ``ranges`` : whether parts of files are requested; ``range_refusals`` : what the server has made of such requests.
    ``pipelining`` : whether requests may be sent behind others at all; false once the server has failed at it.
    ``proved_depth`` : requests in flight that the server has answered one by one, in order; more have to be proved.
    ``pipelining_failed_at_s`` : when it forgot or confused requests in this run, seconds since 1970.
    ``open_trials`` : trials that have shown nothing.
    ``shows_uploads`` : whether a question has shown a file as it was sent, or cannot.
    ``requests_per_connection`` : after how many answers it closes (keepalive_requests, MaxKeepAliveRequests).
    ``closes_after`` : the same, of a server that does not say that it is about to.
    """

    ranges: bool = True
    range_refusals: RangeRefusals = field(default_factory=RangeRefusals)
    pipelining: bool = True
    pipelining_failed_at_s: float | None = None
    proved_depth: int = 1
    open_trials: int = 0
    shows_uploads: bool = False
    requests_per_connection: int | None = None
    closes_after: int | None = None
    _closed_after: int | None = None
    _most_answers: int = 0
    _closed_early: int = 0

    def note_answer(self, answers: int, *, keep_alive: bool) -> None:
        """Learn from the ``answers``-th answer on a connection: a limit where it closes, none where it goes beyond."""
        self._most_answers = max(self._most_answers, answers)
        if self.closes_after is not None and answers > self.closes_after:
            self.closes_after = self._closed_after = None
        if not keep_alive:
            self.requests_per_connection = answers
        elif self.requests_per_connection is not None and answers >= self.requests_per_connection:
            self.requests_per_connection = None

    def note_close(self, answers: int) -> None:
        """Learn from a connection that was closed without notice: twice after as many answers shows a limit.

        Unless a connection has had more.
        """
        if answers == self._closed_after and answers >= self._most_answers:
            self.closes_after = answers
        self._closed_after = answers

    def should_close(self, answers: int) -> bool:
        """Return whether to close a connection after so many answers, as the server does without notice.

        Now and then one goes on, since the limit may have been a restart of the server.
        """
        if self.closes_after is None or answers < self.closes_after:
            return False
        self._closed_early += 1
        return self._closed_early % _CLOSES_BEFORE_A_TEST != 0

    def note_trial(self, verdict: TrialVerdict, members: int) -> None:
        """Learn from a trial of the pipeline; some without a result are enough to go without."""
        if verdict is TrialVerdict.PROVED:
            self.proved_depth, self.open_trials = max(self.proved_depth, members), 0
        elif verdict is TrialVerdict.REFUSED:
            self.note_pipelining_failure()
        else:
            self.open_trials += 1
            self.pipelining = self.pipelining and self.open_trials < _MOST_OPEN_TRIALS

    def note_pipelining_failure(self) -> None:
        """Send no request behind others any more: the server has forgotten or confused some."""
        self.pipelining, self.pipelining_failed_at_s = False, time.time()

    def trial_limit(self, window: int) -> int:
        """Return the most requests of the next trial for a pipeline of ``window`` requests."""
        return min(window, 2 if self.proved_depth == 1 else _DEEPER * self.proved_depth)

    def compute_window(self, pipelining: int, answered: int) -> int:
        """Return the requests that may be in flight on a connection that has ``answered`` so far, at least one."""
        window = max(pipelining, 1) if self.pipelining else 1
        if self.requests_per_connection is not None:
            window = min(window, self.requests_per_connection - answered)
        if self.closes_after is not None:
            window = min(window, self.closes_after - answered)
        return max(window, 1)
