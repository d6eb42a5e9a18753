"""The pool of channels: as many as the plan says, dealt work breadth first, reshaped while it runs."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from tradewind_agent.engine.address import Origin
from tradewind_agent.engine.channels import deal_channels
from tradewind_agent.engine.chunks import Channel, TransferChunk
from tradewind_agent.engine.connection import Connection
from tradewind_agent.engine.dial import dial
from tradewind_agent.engine.lane import Lane
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.path_sample import PathSampler
from tradewind_agent.engine.rate_limit import RateLimit
from tradewind_agent.engine.tcp_info import TcpInfo
from tradewind_agent.engine.traits import OriginTraits

RETIRING_S = 1.0
"""A connection in excess may finish what it was asked for; after that long it is closed. On a crowded path a few
megabytes take a minute, in which those who suffer from so many connections would go on suffering."""


class ChannelPool:
    """Lanes of all chunks.

    Lanes that a change of plan frees go on in other channels with what they have in flight; only those in excess
    retire, after their last answer or `RETIRING_S`. So there are never more connections than the larger of the old and
    the new plan.
    """

    def __init__(self, options: EngineOptions, crash: Callable[[BaseException], None]) -> None:
        self.options = options
        self.crash = crash
        self.chunks: Sequence[TransferChunk] = ()
        self.sampler = PathSampler()
        self._traits: dict[Origin, OriginTraits] = {}
        self._loop = asyncio.get_running_loop()
        self.rate_limit = RateLimit(options.rate_bytes_per_s, self._loop)
        self._retiring: set[Lane] = set()
        self._dealing_soon = False
        self._shut = False

    def traits_of(self, origin: Origin) -> OriginTraits:
        return self._traits.setdefault(origin, OriginTraits())

    @property
    def lanes(self) -> Iterator[Lane]:
        return chain((lane for chunk in self.chunks for lane in chunk.lanes), self._retiring)

    # Shape.

    def _reshape(self) -> None:
        """Bring channels and lanes to what plans and files left ask for now."""
        dealt = deal_channels([chunk.demand() for chunk in self.chunks])
        for chunk, count in zip(self.chunks, dealt, strict=True):
            self._shrink(chunk, count)
        free = sorted(self._retiring, key=lambda lane: (lane.outstanding, not lane.connected))
        spares = iter(free)
        for chunk, count in zip(self.chunks, dealt, strict=True):
            self._grow(chunk, count, spares)
        for lane in tuple(self._retiring):
            self._retire_if_idle(lane)

    def _shrink(self, chunk: TransferChunk, channels: int) -> None:
        """Let go of channels beyond their number, idle ones first, and of lanes beyond the parallelism."""
        surplus = len(chunk.channels) - channels
        if surplus > 0:
            for channel in sorted(chunk.channels, key=lambda channel: not channel.is_idle)[:surplus]:
                chunk.channels.remove(channel)
                channel.hand_back()
                self._free(channel, 0)
        for channel in chunk.channels:
            self._free(channel, chunk.parallelism)

    def _free(self, channel: Channel, keep: int) -> None:
        channel.lanes.sort(key=lambda lane: -lane.outstanding)
        for lane in channel.lanes[keep:]:
            lane.move_to(None)
            self._retiring.add(lane)
            self._loop.call_later(RETIRING_S, self._dismiss, lane)
        del channel.lanes[keep:]

    def _grow(self, chunk: TransferChunk, channels: int, spares: Iterator[Lane]) -> None:
        while len(chunk.channels) < channels:
            chunk.channels.append(Channel(chunk))
        for channel in chunk.channels:
            while len(channel.lanes) < chunk.parallelism:
                lane = next(spares, None)
                if lane is None:
                    lane = Lane(self, channel)
                else:
                    self._retiring.discard(lane)
                    lane.move_to(channel)
                channel.lanes.append(lane)

    def _retire_if_idle(self, lane: Lane) -> None:
        if lane in self._retiring and not lane.outstanding:
            self._retiring.discard(lane)
            lane.retire()

    def _dismiss(self, lane: Lane) -> None:
        if lane in self._retiring and not self._shut:
            lane.dismiss()

    # Work.

    def deal_soon(self) -> None:
        """Deal channels and work anew, once for all that happens in this turn of the loop."""
        if not self._dealing_soon and not self._shut:
            self._dealing_soon = True
            self._loop.call_soon(self._deal)

    def _deal(self) -> None:
        """Breadth first: lanes with the fewest requests come first, and each channel's first lane before its second."""
        self._dealing_soon = False
        if self._shut:
            return
        self._reshape()
        rows = [
            (lane.outstanding, row, position, lane)
            for chunk in self.chunks
            for position, channel in enumerate(chunk.channels)
            for row, lane in enumerate(channel.lanes)
        ]
        hungry = [lane for *_, lane in sorted(rows, key=lambda entry: entry[:3])]
        while hungry:
            hungry = [lane for lane in hungry if self._deal_one(lane)]

    def _deal_one(self, lane: Lane) -> bool:
        if self._shut or lane.channel is None or not lane.has_room():
            return False
        exchange = lane.channel.next_exchange(lane)
        if exchange is None:
            return False
        lane.give(exchange)
        return True

    def ready(self, lane: Lane) -> None:
        if lane.channel is None:
            self._retire_if_idle(lane)
            return
        while self._deal_one(lane):
            pass

    def dial(self, origin: Origin, lane: Lane) -> "asyncio.Task[Connection]":
        assert lane.channel is not None
        buffer = lane.channel.chunk.buffer
        return self._loop.create_task(
            dial(
                origin,
                lambda: Connection(lane, buffer, self.rate_limit, idle_timeout_s=self.options.idle_timeout_s),
                self.options,
            )
        )

    def closed(self, last_info: TcpInfo) -> None:
        self.sampler.closed(last_info)

    async def shut(self) -> None:
        """Close every connection and wait until they are."""
        self._shut = True
        await asyncio.gather(*(lane.shut() for lane in tuple(self.lanes)))
        self.rate_limit.close()
