"""Traits of a server, learned from its answers."""

from dataclasses import dataclass

from tradewind_agent.engine.origin.pipelining import TrialVerdict

_MOST_OPEN_TRIALS = 8
_DEEPER = 4
"""Factor by which the next trial is deeper than the proved depth."""


@dataclass(slots=True)
class OriginTraits:
    """Limits of one origin, learned as answers come in.

    ``pipelining`` : whether requests may be sent behind others at all; false once the server has failed at it.
    ``proved_depth`` : requests in flight that the server has answered one by one, in order; more have to be proved.
    ``open_trials`` : trials that have shown nothing.
    ``requests_per_connection`` : after how many answers it closes (keepalive_requests, MaxKeepAliveRequests).
    """

    ranges: bool = True
    pipelining: bool = True
    proved_depth: int = 1
    open_trials: int = 0
    requests_per_connection: int | None = None

    def note_answer(self, answers: int, *, keep_alive: bool) -> None:
        """Learn from the ``answers``-th answer on a connection: a limit where it closes, none where it goes beyond."""
        if not keep_alive:
            self.requests_per_connection = answers
        elif self.requests_per_connection is not None and answers >= self.requests_per_connection:
            self.requests_per_connection = None

    def note_trial(self, verdict: TrialVerdict, members: int) -> None:
        """Learn from a trial of the pipeline; some without a result are enough to go without."""
        if verdict is TrialVerdict.PROVED:
            self.proved_depth, self.open_trials = max(self.proved_depth, members), 0
        elif verdict is TrialVerdict.REFUSED:
            self.pipelining = False
        else:
            self.open_trials += 1
            self.pipelining = self.pipelining and self.open_trials < _MOST_OPEN_TRIALS

    def trial_limit(self, window: int) -> int:
        """Return the most requests of the next trial for a pipeline of ``window`` requests."""
        return min(window, 2 if self.proved_depth == 1 else _DEEPER * self.proved_depth)

    def compute_window(self, pipelining: int, answered: int) -> int:
        """Return the requests that may be in flight on a connection that has ``answered`` so far, at least one."""
        window = max(pipelining, 1) if self.pipelining else 1
        if self.requests_per_connection is not None:
            window = min(window, self.requests_per_connection - answered)
        return max(window, 1)
