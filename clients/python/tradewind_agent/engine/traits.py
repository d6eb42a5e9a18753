"""What has been learned of a server while talking to it."""

from dataclasses import dataclass


@dataclass(slots=True)
class OriginTraits:
    """Limits of one origin, learned as answers come in; a fresh one is trusted with everything.

    ``requests_per_connection`` : after how many answers it closes (keepalive_requests, MaxKeepAliveRequests).
    """

    ranges: bool = True
    pipelining: bool = True
    requests_per_connection: int | None = None

    def answered(self, answers: int, *, keep_alive: bool) -> None:
        """Learn from the ``answers``-th answer on a connection: a limit where it closes, none where it goes beyond."""
        if not keep_alive:
            self.requests_per_connection = answers
        elif self.requests_per_connection is not None and answers >= self.requests_per_connection:
            self.requests_per_connection = None

    def window(self, pipelining: int, answered: int) -> int:
        """Requests that may be in flight on a connection that has ``answered`` so far, at least one."""
        window = max(pipelining, 1) if self.pipelining else 1
        if self.requests_per_connection is not None:
            window = min(window, self.requests_per_connection - answered)
        return max(window, 1)
