"""The request pipeline of a connection: it connects when work is dealt to it, and again after a close."""

import asyncio
from collections import deque
from contextlib import suppress
from typing import Protocol

from tradewind_agent.engine.dealing.depth_control import DepthControl
from tradewind_agent.engine.dealing.stream_rate import StreamRate
from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.connection import Connection, ReceiveBuffer
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.http.retry import parse_retry_after
from tradewind_agent.engine.http.tcp_info import TcpInfo
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.origin.limits import LOAD_STATUSES, OriginLimits, SendContext
from tradewind_agent.engine.origin.traits import OriginTraits
from tradewind_agent.engine.transfer_host import FileExchange
from tradewind_agent.errors import FileFault

_BUSY = frozenset({429, 503, 509})


class ExchangeSource(Protocol):
    """A channel, as the pipelines that serve it see it.

    A protocol, because channels own pipelines: their layer is above this one.
    """

    @property
    def pipelining(self) -> int:
        """Return the planned number of requests in flight on a connection."""

    @property
    def buffer(self) -> ReceiveBuffer:
        """Return the I/O block that connections of the chunk receive into."""

    @property
    def bytes_per_pipeline(self) -> float:
        """Return an even share of the chunk's remaining bytes."""

    def compute_time_left_s(self) -> float:
        """Return how long the chunk's remaining bytes take at its present rate."""

    def take_exchange(self, pipeline: "RequestPipeline") -> FileExchange | None:
        """Return the next request for ``pipeline``; ``None`` where nothing is left to request."""

    def divide_slowest(self, idle: "RequestPipeline") -> bool:
        """Have ``idle``, for which nothing is left, fetch a part of what another pipeline is slow to fetch.

        Returns whether others are still busy, so that this may be of use later.
        """


class PipelineHost(Protocol):
    """The pool, as its pipelines see it.

    A protocol, because the pool owns pipelines: its layer is above this one.
    """

    options: EngineOptions

    def admits(self, origin: Origin, pipeline: "RequestPipeline") -> bool:
        """Return whether the origin permits this pipeline to send it a request now."""

    def note_start(self, origin: Origin, pipeline: "RequestPipeline") -> SendContext:
        """Count a request that is about to be sent."""

    def note_refused_connection(self, pipeline: "RequestPipeline", sent: SendContext) -> None:
        """Note that the origin has refused the connection of this pipeline."""

    def hold(self, origin: Origin, wait_s: float) -> None:
        """Send the origin no request for ``wait_s``: it has asked for that."""

    def dial(self, origin: Origin, pipeline: "RequestPipeline") -> "asyncio.Task[Connection]": ...

    def get_traits(self, origin: Origin) -> OriginTraits: ...

    def get_limits(self, origin: Origin) -> OriginLimits: ...

    def note_ready(self, pipeline: "RequestPipeline") -> None:
        """Give the pipeline more work, or retire it: it has room, or nothing left to do."""

    def deal_soon(self) -> None:
        """Deal work to all pipelines, once those that connect in this iteration of the loop have sent a request."""

    def crash(self, error: BaseException) -> None:
        """End the transfer with a defect instead of waiting for ever."""

    def note_closed(self, last_info: TcpInfo) -> None:
        """Note that a connection is gone."""


class RequestPipeline:
    """One connection at a time, with the requests dealt to it.

    Attributes
    ----------
    channel : the source of its requests; ``None`` once the pipeline is to retire.
    has_served : whether the current connection has carried an answer that is no refusal.
    """

    def __init__(self, host: PipelineHost, channel: ExchangeSource) -> None:
        self.channel: ExchangeSource | None = channel
        self.connection: Connection | None = None
        self.origin: Origin | None = None
        self.has_served = False
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._outstanding: deque[FileExchange] = deque()
        self._dialling: asyncio.Task[Connection] | None = None
        self._back_off_timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._is_cautious = False
        self._depth = DepthControl(host.deal_soon)
        self._rate = StreamRate()
        self._idle_since = self._loop.time()
        self._is_shut = False

    @property
    def outstanding(self) -> int:
        """Return the number of requests dealt to this pipeline and not answered in full."""
        return len(self._outstanding)

    @property
    def is_busy(self) -> bool:
        """Return whether requests are in flight, or it connects for one."""
        return bool(self._outstanding) or self._dialling is not None

    @property
    def is_connected(self) -> bool:
        return self.connection is not None and self.connection.is_open

    def has_room(self) -> bool:
        """Return whether window, requested bytes and the server's limits permit one more request."""
        if self.channel is None or self._back_off_timer is not None or self._is_shut or self._depth.held is not None:
            return False
        if not self._outstanding:
            return self.connection is None or self.connection.is_open
        if self.connection is not None and not self.connection.is_open:
            return False
        count, window = len(self._outstanding), self._compute_window(self.channel)
        return (
            self._depth.has_room(count, window, self._traits, self.connection)
            and self._may_request_more(self._outstanding[-1], self.channel)
            and self._depth.may_follow(count, self._traits, self.connection)
        )

    def _may_request_more(self, last: FileExchange, channel: ExchangeSource) -> bool:
        if self._is_cautious or not last.can_be_followed:
            return False
        most_bytes = self._rate.compute_requested_bytes(
            channel.compute_time_left_s(), channel.bytes_per_pipeline, is_divisible=last.can_be_divided
        )
        return sum(exchange.expected_bytes for exchange in self._outstanding) < most_bytes

    def _compute_window(self, channel: ExchangeSource) -> int:
        answered = 0 if self.connection is None else self.connection.answered
        return self._traits.compute_window(channel.pipelining, answered)

    @property
    def _traits(self) -> OriginTraits:
        assert self.origin is not None
        return self._host.get_traits(self.origin)

    def compute_range_bytes(self, *, in_order: bool = False) -> int:
        """Return the length of the next range; ``in_order`` : its bytes are used in their order."""
        return self._rate.compute_range_bytes(in_order=in_order)

    @property
    def divisible_bytes(self) -> int:
        """Return the bytes that its requests have left to move; 0 where the rest cannot be divided."""
        if not all(each.can_be_divided for each in self._outstanding):
            return 0
        return sum(exchange.expected_bytes for exchange in self._outstanding)

    def compute_time_left_s(self) -> float:
        """Return how long what is in flight will take at its rate so far; 0 where that is not known yet, or the rest
        cannot be divided.
        """
        left_bytes = self.divisible_bytes if self.is_connected else 0
        if not left_bytes:
            return 0.0
        lasted_s = self._loop.time() - self._idle_since
        return self._rate.compute_time_left_s(self._outstanding[0].moved_bytes, lasted_s, left_bytes)

    def can_serve(self, origin: Origin) -> bool:
        """Return whether a request to ``origin`` can be sent now: it permits that, and no other origin is in use."""
        return (not self._outstanding or self.origin == origin) and self._host.admits(origin, self)

    def assign(self, exchange: FileExchange) -> None:
        """Assign one request to this pipeline; `has_room` and `can_serve` must hold."""
        if not self._outstanding:
            self._idle_since = self._loop.time()
        self._outstanding.append(exchange)
        exchange.send_context = self._host.note_start(exchange.origin, self)
        if self.connection is not None and self.origin == exchange.origin:
            self._send(self.connection, exchange)
        elif self._dialling is None:
            self.retire()
            self.origin = exchange.origin
            self._dialling = self._host.dial(exchange.origin, self)
            self._dialling.add_done_callback(self._on_dialled)

    def _send(self, connection: Connection, exchange: FileExchange) -> None:
        window = 1 if self._is_cautious or self.channel is None else self._compute_window(self.channel)
        before = self._outstanding[-2] if len(self._outstanding) > 1 else None
        self._depth.send(
            connection, exchange, before, self._traits, window=window, round_trip_s=self._rate.round_trip_s
        )

    def _on_dialled(self, task: "asyncio.Task[Connection]") -> None:
        self._dialling = None
        if task.cancelled():
            self._lose(None)
        elif (error := task.exception()) is not None:
            self._back_off()
            if not isinstance(error, FileFault):
                self._host.crash(error)
                return
            if error.retryable:
                self._note_refused_connection()
            self._lose(error)
        else:
            self.connection = task.result()
            self.has_served = False
            self.move_to(self.channel)
            self._idle_since = self._loop.time()
            waiting, self._outstanding = self._outstanding, deque()
            while waiting and self._depth.held is None:
                self._outstanding.append(exchange := waiting.popleft())
                self._send(self.connection, exchange)
            for exchange in waiting:
                exchange.on_lost(None)
            self._host.deal_soon()

    def _note_refused_connection(self) -> None:
        sent = self._outstanding[0].send_context if self._outstanding else None
        if sent is not None:
            self._host.note_refused_connection(self, sent)

    def _lose(self, fault: FileFault | None) -> None:
        lost, self._outstanding = self._outstanding, deque()
        for position, exchange in enumerate(lost):
            exchange.on_lost(fault if position == 0 else None)
        self._host.note_ready(self)

    def _back_off(self, requested_s: float | None = None) -> None:
        """Take no work for a while, longer each time: the server is unreachable or overloaded."""
        if self._back_off_timer is not None:
            return
        self._failures += 1
        wait_s = self._host.options.retry.wait_s(self._failures, self._host.options.rng, requested_s)
        self._back_off_timer = self._loop.call_later(wait_s, self._wake)

    def _wake(self) -> None:
        self._back_off_timer = None
        self._host.note_ready(self)

    # Called by the connection.

    def on_answered(self, connection: Connection, head: ResponseHead) -> None:
        exchange = self._outstanding.popleft()
        self._is_cautious = False
        now = self._loop.time()
        self._rate.measure(exchange.moved_bytes, now - self._idle_since)
        self._idle_since = now
        if head.status in LOAD_STATUSES:
            self._is_cautious = True
            if wait_s := parse_retry_after(head.headers):
                self._host.hold(exchange.origin, wait_s)
        if head.status in _BUSY:
            self._back_off(parse_retry_after(head.headers))
        elif head.status not in LOAD_STATUSES:
            self._failures = 0
            self.has_served = True
        if connection.first_byte_s is not None:
            self._rate.round_trip_s = connection.first_byte_s
        assert self.origin is not None
        self._host.get_traits(self.origin).note_answer(connection.answered, keep_alive=head.keep_alive)
        if not connection.in_flight and connection.is_open and (held := self._depth.take_held()) is not None:
            self._send(connection, held)
        if not self._outstanding and self._traits.should_close(connection.answered):
            connection.abort()
        elif connection.is_open:
            self._host.note_ready(self)

    def on_closed(self, connection: Connection, last_info: TcpInfo) -> None:
        self._host.note_closed(last_info)
        if connection is not self.connection:
            return  # replaced by one to another origin
        self.connection = None
        if connection.was_refused and not self._is_shut:
            self._note_refused_connection()
        # A server that closes with requests unread resets the connection, at the cost of the last bytes that it sent
        # (RFC 9112 §9.6): the next connection goes one request at a time until it has an answer.
        self._is_cautious = bool(self._outstanding)
        # A server that resets each connection after some bytes does serve: longer waits would not help.
        has_moved = self._is_cautious and self._outstanding[0].payload is None and self._outstanding[0].moved_bytes > 0
        self._outstanding.clear()
        self._depth.reset()
        if self.origin is not None and connection.pipelining_failed:
            self._traits.note_pipelining_failure()
        if self.origin is not None and connection.was_spent:
            self._traits.note_close(connection.answered)
        if has_moved:
            self._failures = 0
        if not connection.answered and not self._is_shut:
            self._back_off()
        self._host.note_ready(self)

    def on_defect(self, error: Exception) -> None:
        self._host.crash(error)

    def retire(self) -> None:
        """Close the idle connection, and cancel the back-off."""
        if self._back_off_timer is not None:
            self._back_off_timer.cancel()
            self._back_off_timer = None
        connection, self.connection = self.connection, None
        if connection is not None:
            if self.origin is not None:
                self._host.get_limits(self.origin).note_closed()
            connection.abort()

    def dismiss(self) -> None:
        """Close the connection with requests in flight, where the rest of their files can be requested again."""
        if self.connection is None or self.origin is None or not self._host.get_traits(self.origin).ranges:
            return
        if all(exchange.payload is None for exchange in self._outstanding):
            self.connection.dismiss()

    def move_to(self, channel: ExchangeSource | None) -> None:
        """Serve another channel from the next request on."""
        self.channel = channel
        if channel is not None and self.connection is not None:
            self.connection.buffer = channel.buffer

    async def shut(self) -> None:
        """Close the connection; exchanges in flight get `on_lost`."""
        self._is_shut = True
        self.channel = None
        if self._back_off_timer is not None:
            self._back_off_timer.cancel()
        if self._dialling is not None:
            self._dialling.cancel()
            with suppress(FileFault, asyncio.CancelledError):
                self.connection = await self._dialling
        if self.connection is not None:
            closed = self.connection.closed
            self.connection.abort()
            await closed
