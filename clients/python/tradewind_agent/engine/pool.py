"""The pool of channels: as many as the plan says, supplied with work breadth first, reshaped while it runs."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from tradewind_agent.engine.dealing.channels import count_spare_streams, deal_channels, limit_demands
from tradewind_agent.engine.dealing.chunks import Channel, TransferChunk
from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.connection import Connection
from tradewind_agent.engine.http.dial import dial
from tradewind_agent.engine.http.rate_limit import RateLimit
from tradewind_agent.engine.http.tcp_info import TcpInfo
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.origin.book import NOTHING_KNOWN, OriginRecord, PermittedConnections
from tradewind_agent.engine.origin.limits import OriginLimits, SendContext
from tradewind_agent.engine.origin.solo_tests import SoloTests
from tradewind_agent.engine.origin.traits import OriginTraits
from tradewind_agent.engine.path_sample import PathSampler
from tradewind_agent.engine.request_pipeline import RequestPipeline

_LOOK_AGAIN_S = 0.5
"""How often idle pipelines look for a part of what others are slow to fetch."""
RETIREMENT_S = 1.0
"""Time that a connection in excess has to finish its requests before it is closed. On a congested path a few megabytes
take a minute, in which too many connections would keep the path congested."""


class ChannelPool:
    """The pipelines of all chunks.

    A pipeline that a change of plan frees moves to another channel with its requests in flight. Only pipelines in
    excess retire, after their last answer or `RETIREMENT_S`. So there are never more connections than the larger of the
    old and the new plan has.
    """

    def __init__(
        self, options: EngineOptions, crash: Callable[[BaseException], None], is_storage_behind: Callable[[], bool]
    ) -> None:
        self.options = options
        self.crash = crash
        self._is_storage_behind = is_storage_behind
        self.chunks: Sequence[TransferChunk] = ()
        self.sampler = PathSampler()
        self._traits: dict[Origin, OriginTraits] = {}
        self._limits: dict[Origin, OriginLimits] = {}
        self._tests: dict[Origin, SoloTests] = {}
        self._loop = asyncio.get_running_loop()
        self.rate_limit = RateLimit(options.rate_bytes_per_s, self._loop)
        self._retiring: set[RequestPipeline] = set()
        self._dealing_soon = False
        self._later: asyncio.TimerHandle | None = None
        self._shut = False

    def get_traits(self, origin: Origin) -> OriginTraits:
        if (traits := self._traits.get(origin)) is None:
            failed_before = self._read_record(origin).pipelining_failed_at_s is not None
            traits = self._traits[origin] = OriginTraits(pipelining=not failed_before)
        return traits

    # What origins permit.

    def get_limits(self, origin: Origin) -> OriginLimits:
        if (limits := self._limits.get(origin)) is None:
            limits = self._limits[origin] = OriginLimits(self._loop.time, self._read_record(origin).permitted)
        return limits

    def _read_record(self, origin: Origin) -> OriginRecord:
        """Return what earlier runs have learned of an origin."""
        book = self.options.origins
        return NOTHING_KNOWN if book is None else book.read(origin, self.options.credentials)

    def remember_origins(self) -> None:
        """Store what this run has learned of its origins for the next one."""
        if self.options.origins is None:
            return
        learned = {
            origin: OriginRecord(limits.get_known_limit(), self.get_traits(origin).pipelining_failed_at_s)
            for origin, limits in self._limits.items()
        }
        if found := {origin: record for origin, record in learned.items() if record != NOTHING_KNOWN}:
            self.options.origins.write(found, self.options.credentials)

    def list_known_limits(self) -> Mapping[Origin, PermittedConnections]:
        """Return the permitted connections of origins that have refused more, with the time of the last refusal."""
        found = ((origin, limits.get_known_limit()) for origin, limits in self._limits.items())
        return {origin: known for origin, known in found if known is not None}

    @property
    def permitted(self) -> dict[Origin, int]:
        """Return the permitted simultaneous connections of origins that have refused more."""
        found = ((origin, limits.permitted) for origin, limits in self._limits.items())
        return {origin: permitted for origin, permitted in found if permitted is not None}

    @property
    def most_streams(self) -> int | None:
        """Return the connections that the origins with work permit together.

        ``None`` where one of them has no limit.
        """
        permitted = self.permitted
        if not permitted:
            return None
        working = {pipeline.origin for pipeline in self.pipelines if pipeline.is_busy and pipeline.origin is not None}
        working = working.union(*(chunk.list_waiting_origins() for chunk in self.chunks)) or set(permitted)
        return None if working - permitted.keys() else sum(permitted[origin] for origin in working)

    def count_connections_in_use(self, origin: Origin) -> int:
        count = 0  # by plain loops, since every request counts them
        for chunk in self.chunks:
            for channel in chunk.channels:
                for pipeline in channel.pipelines:
                    count += pipeline.is_busy and pipeline.origin == origin
        return count + sum(pipeline.is_busy and pipeline.origin == origin for pipeline in self._retiring)

    def admits(self, origin: Origin, pipeline: RequestPipeline) -> bool:
        limits = self.get_limits(origin)
        if limits.is_held or (origin in self._tests and self._tests[origin].blocks_others):
            return False
        if (permitted := limits.permitted) is None:
            return True
        others = [other for other in self.pipelines if other is not pipeline and other.origin == origin]
        busy = sum(other.is_busy for other in others)
        idle = [other for other in others if other.is_connected and not other.is_busy]
        while idle and busy + len(idle) >= permitted:
            idle.pop().retire()
        return busy < permitted

    def note_start(self, origin: Origin, pipeline: RequestPipeline) -> SendContext:
        in_use = self.count_connections_in_use(origin) + (pipeline.origin != origin)
        return self.get_limits(origin).note_start(id(pipeline), in_use)

    def note_refused_connection(self, pipeline: RequestPipeline, sent: SendContext) -> None:
        assert pipeline.origin is not None
        works = any(
            other.is_connected and other.has_served and other.origin == pipeline.origin
            for other in self.pipelines
            if other is not pipeline
        )
        limits = self.get_limits(pipeline.origin)
        limits.note_refused_connection(sent, self.count_connections_in_use(pipeline.origin), others_work=works)

    def hold(self, origin: Origin, wait_s: float) -> None:
        if not self.options.retry.permits(wait_s):
            return  # the refused file is not requested again
        self.get_limits(origin).hold(wait_s)
        self._loop.call_later(wait_s, self.deal_soon)

    def retry_alone(self, file: FileTransfer) -> None:
        origin = file.url.origin
        if origin not in self._tests:
            self._tests[origin] = SoloTests(self, origin, self.get_limits(origin), self._has_work)
        self._tests[origin].add(file)

    def _has_work(self, origin: Origin) -> bool:
        return any(origin in chunk.list_waiting_origins() for chunk in self.chunks)

    @property
    def pipelines(self) -> Iterator[RequestPipeline]:
        return chain((pipeline for chunk in self.chunks for pipeline in chunk.pipelines), self._retiring)

    # Shape.

    def _reshape(self) -> None:
        """Adapt channels and pipelines to the plans and the remaining files."""
        most_streams = self.most_streams
        for chunk in self.chunks:
            chunk.most_streams = most_streams
        demands = [chunk.compute_demand() for chunk in self.chunks]
        if most_streams is not None:
            demands = limit_demands(demands, most_streams)
            if self.options.early is not None:
                self.options.early.close()
        dealt = deal_channels(demands)
        spare_streams = count_spare_streams(demands, dealt)
        for chunk, count in zip(self.chunks, dealt, strict=True):
            spare_streams -= self._shrink(chunk, count, spare_streams)
        free = sorted(self._retiring, key=lambda pipeline: (pipeline.outstanding, not pipeline.is_connected))
        spares = iter(free)
        for chunk, count in zip(self.chunks, dealt, strict=True):
            self._grow(chunk, count, spares)
        self._lend(islice(spares, spare_streams))
        for pipeline in tuple(self._retiring):
            self._retire_if_idle(pipeline)

    def _shrink(self, chunk: TransferChunk, channels: int, spare_streams: int) -> int:
        """Free excess channels, idle ones first and of those unconnected ones, and pipelines beyond the parallelism.

        Up to ``spare_streams`` of these stay where they are; returns how many do.
        """
        surplus = len(chunk.channels) - channels
        if surplus > 0:
            least_used = sorted(chunk.channels, key=lambda channel: (not channel.is_idle, channel.is_connected))
            for channel in least_used[:surplus]:
                chunk.channels.remove(channel)
                channel.return_files()
                self._free(channel, 0)
        stay = 0
        for channel in chunk.channels:
            lent = min(channel.surplus, spare_streams - stay)
            self._free(channel, chunk.parallelism + lent)
            stay += lent
        return stay

    def _free(self, channel: Channel, keep: int) -> None:
        channel.pipelines.sort(key=lambda pipeline: -pipeline.outstanding)
        for pipeline in channel.pipelines[keep:]:
            pipeline.move_to(None)
            self._retiring.add(pipeline)
            self._loop.call_later(RETIREMENT_S, self._dismiss, pipeline)
        del channel.pipelines[keep:]

    def _grow(self, chunk: TransferChunk, channels: int, spares: Iterator[RequestPipeline]) -> None:
        while len(chunk.channels) < channels:
            chunk.channels.append(Channel(chunk))
        for channel in chunk.channels:
            while len(channel.pipelines) < chunk.parallelism:
                pipeline = next(spares, None)
                if pipeline is None:
                    pipeline = RequestPipeline(self, channel)
                else:
                    self._retiring.discard(pipeline)
                    pipeline.move_to(channel)
                channel.pipelines.append(pipeline)

    def _lend(self, spares: Iterable[RequestPipeline]) -> None:
        """Let connections whose channels have no file any more help where most bytes a stream are left."""
        channels = [channel for chunk in self.chunks for channel in chunk.channels]
        for pipeline in spares:
            neediest = max(channels, key=lambda each: each.shared_bytes / (len(each.pipelines) + 1), default=None)
            if neediest is None or not neediest.shared_bytes or not pipeline.is_connected:
                return
            self._retiring.discard(pipeline)
            pipeline.move_to(neediest)
            neediest.pipelines.append(pipeline)

    def _retire_if_idle(self, pipeline: RequestPipeline) -> None:
        if pipeline in self._retiring and not pipeline.outstanding:
            self._retiring.discard(pipeline)
            pipeline.retire()

    def _dismiss(self, pipeline: RequestPipeline) -> None:
        if pipeline in self._retiring and not self._shut:
            pipeline.dismiss()

    # Work.

    def deal_soon(self) -> None:
        """Deal channels and work, once for all events of this iteration of the loop."""
        if not self._dealing_soon and not self._shut:
            self._dealing_soon = True
            self._loop.call_soon(self._deal)

    def _deal_later(self) -> None:
        """Deal again after a while, if only once: a stream may become slow without any event."""
        if self._later is None and not self._shut:
            self._later = self._loop.call_later(_LOOK_AGAIN_S, self._deal_again)

    def _deal_again(self) -> None:
        self._later = None
        self.deal_soon()

    def _deal(self) -> None:
        """Deal work breadth first: to pipelines with the fewest requests, to each channel's first before its second."""
        self._dealing_soon = False
        if self._shut:
            return
        self._reshape()
        for tests in self._tests.values():
            tests.advance()
        rows = [
            (pipeline.outstanding, row, position, pipeline)
            for chunk in self.chunks
            for position, channel in enumerate(chunk.channels)
            for row, pipeline in enumerate(channel.pipelines)
        ]
        hungry = [pipeline for *_, pipeline in sorted(rows, key=lambda entry: entry[:3])]
        while hungry:
            hungry = [pipeline for pipeline in hungry if self._deal_one(pipeline)]

    def _deal_one(self, pipeline: RequestPipeline) -> bool:
        if self._shut or pipeline.channel is None or self._is_storage_behind() or not pipeline.has_room():
            return False
        try:
            exchange = pipeline.channel.take_exchange(pipeline)
        except Exception as defect:  # noqa: BLE001 -- credentials that cannot be renewed, or a defect: it must not hang
            self.crash(defect)
            return False
        if exchange is None:
            if not pipeline.outstanding and not self.rate_limit.is_set and pipeline.channel.divide_slowest(pipeline):
                self._deal_later()
            return False
        pipeline.assign(exchange)
        return True

    def note_ready(self, pipeline: RequestPipeline) -> None:
        if self._limits and (self._tests or self.permitted) and not pipeline.outstanding:
            self.deal_soon()  # another pipeline may have waited for this one
        if pipeline.channel is None:
            self._retire_if_idle(pipeline)
            return
        while self._deal_one(pipeline):
            pass

    def dial(self, origin: Origin, pipeline: RequestPipeline) -> "asyncio.Task[Connection]":
        assert pipeline.channel is not None
        buffer = pipeline.channel.buffer
        return self._loop.create_task(
            dial(
                origin,
                lambda: Connection(pipeline, buffer, self.rate_limit, self.options.patience),
                self.options,
            )
        )

    def note_closed(self, last_info: TcpInfo) -> None:
        self.sampler.add_closed(last_info)

    async def shut(self) -> None:
        """Close every connection, and wait for that."""
        self._shut = True
        if self._later is not None:
            self._later.cancel()
        for tests in self._tests.values():
            tests.close()
        await asyncio.gather(*(pipeline.shut() for pipeline in tuple(self.pipelines)))
        self.rate_limit.close()
