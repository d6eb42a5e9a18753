"""The pool of channels: as many as the plan says, dealt work breadth first, reshaped while it runs."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from tradewind_agent.engine.channels import deal_channels, within_permitted
from tradewind_agent.engine.chunks import Channel, TransferChunk
from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.connection import Connection
from tradewind_agent.engine.http.dial import dial
from tradewind_agent.engine.http.rate_limit import RateLimit
from tradewind_agent.engine.http.tcp_info import TcpInfo
from tradewind_agent.engine.lane import Lane
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.origin.limits import OriginLimits, SentUnder
from tradewind_agent.engine.origin.solo_tests import SoloTests
from tradewind_agent.engine.origin.traits import OriginTraits
from tradewind_agent.engine.path_sample import PathSampler

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
        self._limits: dict[Origin, OriginLimits] = {}
        self._tests: dict[Origin, SoloTests] = {}
        self._loop = asyncio.get_running_loop()
        self.rate_limit = RateLimit(options.rate_bytes_per_s, self._loop)
        self._retiring: set[Lane] = set()
        self._dealing_soon = False
        self._shut = False

    def traits_of(self, origin: Origin) -> OriginTraits:
        return self._traits.setdefault(origin, OriginTraits())

    # What origins permit.

    def limits_of(self, origin: Origin) -> OriginLimits:
        if (limits := self._limits.get(origin)) is None:
            book = self.options.origins
            known = None if book is None else book.read(origin, self.options.credentials)
            limits = self._limits[origin] = OriginLimits(self._loop.time, known)
        return limits

    def remember_limits(self) -> None:
        """Note for the next run what this one has learned."""
        if self.options.origins is not None:
            found = {origin: each for origin, limits in self._limits.items() if (each := limits.to_remember())}
            if found:
                self.options.origins.write(found, self.options.credentials)

    @property
    def permitted(self) -> dict[Origin, int]:
        """Connections at once, of the origins that have refused more."""
        found = ((origin, limits.permitted) for origin, limits in self._limits.items())
        return {origin: permitted for origin, permitted in found if permitted is not None}

    @property
    def most_streams(self) -> int | None:
        """Connections that the origins with work permit together; ``None`` where one of them has no limit."""
        permitted = self.permitted
        if not permitted:
            return None
        working = {lane.origin for lane in self.lanes if lane.is_busy and lane.origin is not None}
        working = working.union(*(chunk.queue.origins() for chunk in self.chunks)) or set(permitted)
        return None if working - permitted.keys() else sum(permitted[origin] for origin in working)

    def lanes_in_use(self, origin: Origin) -> int:
        return sum(lane.is_busy and lane.origin == origin for lane in self.lanes)

    def admits(self, origin: Origin, lane: Lane) -> bool:
        limits = self.limits_of(origin)
        if limits.is_held or (origin in self._tests and self._tests[origin].bars_others):
            return False
        if (permitted := limits.permitted) is None:
            return True
        others = [other for other in self.lanes if other is not lane and other.origin == origin]
        busy = sum(other.is_busy for other in others)
        idle = [other for other in others if other.connected and not other.is_busy]
        while idle and busy + len(idle) >= permitted:
            idle.pop().retire()
        return busy < permitted

    def note_start(self, origin: Origin, lane: Lane) -> SentUnder:
        in_use = self.lanes_in_use(origin) + (lane.origin != origin)
        return self.limits_of(origin).note_start(id(lane), in_use)

    def note_refused_connection(self, lane: Lane, sent: SentUnder) -> None:
        assert lane.origin is not None
        works = any(
            other.connected and other.has_served and other.origin == lane.origin
            for other in self.lanes
            if other is not lane
        )
        limits = self.limits_of(lane.origin)
        limits.note_refused_connection(sent, self.lanes_in_use(lane.origin), others_work=works)

    def hold(self, origin: Origin, wait_s: float) -> None:
        wait_s = min(wait_s, self.options.retry.longest_wait_s)
        self.limits_of(origin).hold(wait_s)
        self._loop.call_later(wait_s, self.deal_soon)

    def test_alone(self, file: FileTransfer) -> None:
        origin = file.url.origin
        if origin not in self._tests:
            self._tests[origin] = SoloTests(self, origin, self.limits_of(origin), self._has_work)
        self._tests[origin].add(file)

    def _has_work(self, origin: Origin) -> bool:
        return any(origin in chunk.queue.origins() for chunk in self.chunks)

    @property
    def lanes(self) -> Iterator[Lane]:
        return chain((lane for chunk in self.chunks for lane in chunk.lanes), self._retiring)

    # Shape.

    def _reshape(self) -> None:
        """Bring channels and lanes to what plans and files left ask for now."""
        most_streams = self.most_streams
        for chunk in self.chunks:
            chunk.most_streams = most_streams
        demands = [chunk.demand() for chunk in self.chunks]
        if most_streams is not None:
            demands = within_permitted(demands, most_streams)
            if self.options.early is not None:
                self.options.early.close()
        dealt = deal_channels(demands)
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
        for tests in self._tests.values():
            tests.advance()
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
        if self._limits and (self._tests or self.permitted) and not lane.outstanding:
            self.deal_soon()  # another lane may have waited for this one
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
        for tests in self._tests.values():
            tests.close()
        await asyncio.gather(*(lane.shut() for lane in tuple(self.lanes)))
        self.rate_limit.close()
