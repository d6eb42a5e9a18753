"""Cores and frequency of this server while clients request less than all: applied, and undone when they are gone.

A client names them in a header of each request of its transfer. They are requests, not commands: while any other
transfer is served that has not requested as little, the server keeps what that one needs.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from tradewind_agent.resources.adjusting import AdjustedResources
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import NO_LIMITS, Limits
from tradewind_agent.serve.messages import ReceivedRequest
from tradewind_agent.serve.transfer_meters import LIVENESS_S
from tradewind_agent.session.transfer_naming import (
    RESOURCES_HEADER,
    TRANSFER_HEADER,
    TRANSFERS_PATH,
    parse_resources,
    parse_transfer_id,
)

SETTLING_S = 0.5
"""Least time between two changes, and the time that requests without a transfer last before they lift limits: a
client's own look-ups are shorter."""

_LOG = logging.getLogger(__name__)


ResourceHold: TypeAlias = Callable[[ReceivedRequest, str], contextlib.AbstractContextManager[object]]


@dataclass(slots=True)
class RequestingTransfer:
    """What a transfer requests, or a host whose requests name no transfer: it requests all.

    ``since_s`` : start of its requests, which follow each other within `SETTLING_S`. ``active_s`` : when the last one
    started or ended.
    """

    limits: Limits
    is_named: bool
    since_s: float
    active_s: float
    open_requests: int = 0

    def counts_at(self, now_s: float) -> bool:
        """Return whether it is more than a look-up."""
        return self.is_named or (now_s if self.open_requests else self.active_s) - self.since_s >= SETTLING_S


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
        self._lowest_hz = min(limiter.list_frequencies_hz(), default=0.0)
        self._transfers: dict[str, RequestingTransfer] = {}
        self._forgotten_s = clock()
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
    def hold(self, request: ReceivedRequest, peer: str) -> Iterator[None]:
        """Serve a request of ``peer``, ``address:port``, in this block with the resources that suffice for all."""
        name = self._start_request(request, peer.rpartition(":")[0])
        try:
            yield
        finally:
            if name is not None:
                self._finish_request(name)

    def _start_request(self, request: ReceivedRequest, host: str) -> str | None:
        """Count the start of a request, and return the name by which it is finished.

        A request that names no resources, or some that cannot be read, is served with all. One of a client that is not
        authorised, or one about a transfer, does not count and has no name. The look-ups of a host before its transfer
        are the transfer's own.
        """
        if request.target.startswith(TRANSFERS_PATH) or not self._is_authorised(request):
            return None  # a query about a transfer moves nothing
        now_s = self._clock()
        if now_s >= self._forgotten_s + LIVENESS_S:
            self._forget_silent(now_s)
        named = request.headers.get(TRANSFER_HEADER.lower(), "")
        is_named = parse_transfer_id(named) is not None
        limits, name = (self._read_limits(request), named) if is_named else (NO_LIMITS, f"of {host}")
        if is_named and name not in self._transfers:
            look_ups = self._transfers.get(f"of {host}")
            if look_ups is not None and not look_ups.open_requests:
                del self._transfers[f"of {host}"]
        transfer = self._transfers.setdefault(name, RequestingTransfer(limits, is_named, now_s, now_s))
        if not transfer.open_requests and now_s - transfer.active_s > SETTLING_S and not transfer.counts_at(now_s):
            transfer.since_s = now_s
        transfer.limits, transfer.open_requests = limits, transfer.open_requests + 1
        transfer.active_s = now_s
        if self._task is None and limits != NO_LIMITS:
            self._task = asyncio.get_running_loop().create_task(self._follow())
        self._changed.set()
        return name

    def _read_limits(self, request: ReceivedRequest) -> Limits:
        """Return what a request names of the accepted resources; no frequency is below the processor's lowest."""
        limits = parse_resources(request.headers.get(RESOURCES_HEADER.lower(), "")).select_only(*self._names)
        if limits.frequency_hz is None:
            return limits
        return replace(limits, frequency_hz=max(limits.frequency_hz, self._lowest_hz))

    def _finish_request(self, name: str) -> None:
        transfer = self._transfers[name]
        transfer.open_requests -= 1
        transfer.active_s = self._clock()
        self._changed.set()

    def _forget_silent(self, now_s: float) -> None:
        self._forgotten_s = now_s
        for name, each in tuple(self._transfers.items()):
            if not each.open_requests and each.active_s < now_s - LIVENESS_S:
                del self._transfers[name]

    def combine(self) -> Limits:
        """Return the limits that suffice for every transfer in progress: of each resource the most requested."""
        now_s = self._clock()
        self._forget_silent(now_s)
        live = [each.limits for each in self._transfers.values() if each.counts_at(now_s)]
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
                limits, now_s = self.combine(), self._clock()
                settling = [
                    each for each in self._transfers.values() if each.open_requests and not each.counts_at(now_s)
                ]
                await self._apply(limits)
                if limits == NO_LIMITS and all(each.limits == NO_LIMITS for each in self._transfers.values()):
                    return
                await asyncio.sleep(SETTLING_S)
                if settling:
                    continue  # those that are still open count by now
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LIVENESS_S):
                        await self._changed.wait()
        finally:
            self._task = None

    async def _apply(self, limits: Limits) -> None:
        known = self._adjusted.advice
        await asyncio.to_thread(self._adjusted.adjust, limits)
        for advice in self._adjusted.advice[len(known) :]:
            _LOG.warning("clients request resources that this host refuses: %s", advice)
