"""Load shedding of a process that gets more than it can answer: it refuses old requests, so that new ones stay young.

Requests wait in the event loop, first come, first served. Without a limit to that queue everybody waits ever longer,
and in the end for an answer that nobody needs any more. Refused agents tune their transfers themselves, and keep what
they have to report.
"""

import time

from starlette.types import ASGIApp, Receive, Scope, Send

from services.api.arrival import ARRIVED_S
from services.api.problems import RETRY_AFTER_S, make_problem

MOST_WAITED_S = 2.0
"""From the arrival of a request until its processing. An agent waits 3 s for the answer to a heartbeat."""

NEVER_SHED = frozenset({"/healthz", "/readyz", "/servingz", "/metrics", "/metrics/service"})
"""Monitoring must see the process as it is: a busy process is not broken."""


class Shedding:
    """Refuses requests that have waited too long since ``ARRIVED_S`` in their scope; without it nothing is shed."""

    def __init__(self, app: ASGIApp, most_waited_s: float = MOST_WAITED_S) -> None:
        self._app = app
        self._most_waited_s = most_waited_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        arrived_s = scope.get(ARRIVED_S)
        if arrived_s is None or time.monotonic() - arrived_s <= self._most_waited_s or scope["path"] in NEVER_SHED:
            await self._app(scope, receive, send)
            return
        refused = make_problem(
            503,
            "Unavailable for now",
            "more comes in than this process can answer; come again later",
            headers={"Retry-After": str(RETRY_AFTER_S)},
        )
        await refused(scope, receive, send)
