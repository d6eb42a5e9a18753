"""Cores and frequency of this server while clients request less than all: applied, and undone when they are gone.

A client names them in a header of each request of its transfer. They are requests, not commands: while any other
transfer is served that has not requested as little, the server keeps what that one needs.
"""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tradewind_agent.resources.adjusting import AdjustedResources
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import NO_LIMITS, Limits
from tradewind_agent.serve.messages import ReceivedRequest
from tradewind_agent.serve.transfer_meters import LIVENESS_S
from tradewind_agent.session.transfer_naming import (
    RESOURCES_HEADER,
    TRANSFER_HEADER,
    parse_resources,
    parse_transfer_id,
)

SETTLING_S = 0.5
"""Least time between two changes, and the least duration of a request without a transfer that lifts limits: a client's
own look-ups are shorter."""


ResourceHold: TypeAlias = Callable[[ReceivedRequest], contextlib.AbstractContextManager[object]]


@dataclass(slots=True)
class RequestingTransfer:
    """What a transfer requests, its open requests, and when the last one started or ended."""

    limits: Limits
    open_requests: int = 0
    active_s: float = 0.0


class ResourceRequests:
    """Applies the resources that the transfers in progress request together.

    Parameters
    ----------
    names : resources that clients may limit, of `tradewind.tuning.resources.ADJUSTABLE`.
    is_authorised : whether a request is one of a client that the server serves.
    clock : seconds, monotonic.
    """

    def __init__(
        self,
        limiter: ResourceLimiter,
        names: Collection[str],
        is_authorised: Callable[[ReceivedRequest], bool],
        clock: Callable[[], float],
    ) -> None:
        self._is_authorised = is_authorised
        self._names, self._clock = frozenset(names), clock
        self._adjusted = AdjustedResources(limiter, NO_LIMITS, names)
        self._transfers: dict[str, RequestingTransfer] = {}
        self._numbers = itertools.count()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Undo what is in effect."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await asyncio.to_thread(self._adjusted.undo)

    @contextlib.contextmanager
    def hold(self, request: ReceivedRequest) -> Iterator[None]:
        """Serve a request in this block with the resources that suffice for all."""
        name = self._start_request(request)
        try:
            yield
        finally:
            if name is not None:
                self._finish_request(name)

    def _start_request(self, request: ReceivedRequest) -> str | None:
        """Count the start of a request, and return the name by which it is finished.

        A request that names no resources, or some that cannot be read, is served with all. One of a client that is not
        authorised does not count, and has no name.
        """
        if not self._is_authorised(request):
            return None
        requested = request.headers.get(RESOURCES_HEADER.lower(), "")
        limits = parse_resources(requested).select_only(*self._names) if requested else NO_LIMITS
        transfer_name = request.headers.get(TRANSFER_HEADER.lower())
        if transfer_name is None or parse_transfer_id(transfer_name) is None:
            transfer_name, limits = f"{next(self._numbers)}", NO_LIMITS
        transfer = self._transfers.setdefault(transfer_name, RequestingTransfer(limits))
        transfer.limits, transfer.open_requests = limits, transfer.open_requests + 1
        transfer.active_s = self._clock()
        if self._task is None and limits != NO_LIMITS:
            self._task = asyncio.get_running_loop().create_task(self._follow())
        self._changed.set()
        return transfer_name

    def _finish_request(self, name: str) -> None:
        transfer = self._transfers[name]
        transfer.open_requests -= 1
        transfer.active_s = self._clock()
        if not transfer.open_requests and parse_transfer_id(name) is None:
            del self._transfers[name]
        self._changed.set()

    def combine(self) -> Limits:
        """Return the limits that suffice for every transfer in progress: of each resource the most requested."""
        now_s = self._clock()
        for name, each in tuple(self._transfers.items()):
            if not each.open_requests and each.active_s < now_s - LIVENESS_S:
                del self._transfers[name]
        live = [
            each.limits
            for name, each in self._transfers.items()
            if parse_transfer_id(name) is not None or each.active_s <= now_s - SETTLING_S
        ]
        most: dict[str, float] = {}
        for name in self._names if live else ():
            values = [limits.select_known().get(name) for limits in live]
            if None not in values:
                most[name] = max(value for value in values if value is not None)
        return Limits(**most)  # type: ignore[arg-type]  # keys are field names

    async def _follow(self) -> None:
        """Apply what is requested, until all limits are lifted and no transfer has any."""
        try:
            while True:
                self._changed.clear()
                limits = self.combine()
                await asyncio.to_thread(self._adjusted.adjust, limits)
                if limits == NO_LIMITS and all(each.limits == NO_LIMITS for each in self._transfers.values()):
                    return
                await asyncio.sleep(SETTLING_S)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LIVENESS_S):
                        await self._changed.wait()
        finally:
            self._task = None
