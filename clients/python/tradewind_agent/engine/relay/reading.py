"""The fetching half of a relayed file: a download whose bytes are handed on instead of stored."""

from collections.abc import Callable, Mapping

from tradewind_agent.engine.download import FileDownload
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.range_read import OnAnswerEnd, RangeRead
from tradewind_agent.engine.relay.buffers import LONGEST_IN_MEMORY_BYTES
from tradewind_agent.engine.relay.legs import ReadingLeg
from tradewind_agent.engine.relay.relayed_file import RelayedFile
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.errors import FileFault, StorageFailed


class StreamGate:
    """Stops an answer that holds all units of a file while there is no room for more."""

    def __init__(self, file: RelayedFile) -> None:
        self._file = file

    @property
    def is_open(self) -> bool:
        return self._file.may_stream_on

    def call_when_open(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` when there may be room again."""
        self._file.call_when_room(wake)


class RelayReading(FileDownload, ReadingLeg):
    """The fetching half of a relayed file.

    All bytes are of one version, as those of a download are. A download begins again when the file changes; here bytes
    may have left, so that the file fails.
    """

    def __init__(self, file: RelayedFile, host: TransferHost) -> None:
        super().__init__(file.job.fetched, host)
        self._file = file
        self._must_peek = self._version.required_bytes is None
        self._waits_for_room = False

    @property
    def has_undealt(self) -> bool:
        return not self._waits_for_room and super().has_undealt

    @property
    def remaining_bytes(self) -> int:
        return 0 if self.is_over else self._file.remaining_bytes

    def may_divide(self, read: RangeRead) -> bool:  # noqa: ARG002 -- units are sent as they are divided
        return False

    def take(self, streams: int, most_bytes: int) -> RangeRead | None:  # noqa: ARG002 -- units decide
        if not self._opened:
            self._opened = True
            if self._file.skip_if_there():
                return None
            if not self._must_peek:
                self._divide()
        if not self.has_undealt:
            return None
        if self._must_peek:
            return None if self._reads else self._make_read(0, 0, peek=True)
        size = self._version.size_bytes
        is_sole = not size or self._version.in_one_answer or not self._has_ranges
        if (self._reads if is_sole else not self._undealt) or not self._reserve(0 if is_sole else self._next_position):
            return None
        if is_sole:
            return self._make_sole_read(size)
        first = self._next_position
        left_bytes = self._file.units.get_range(self._file.units.find_unit(first))[1] + 1 - first
        if left_bytes > LONGEST_IN_MEMORY_BYTES:
            left_bytes = min(left_bytes, max(most_bytes, LONGEST_IN_MEMORY_BYTES))
        return self._make_read(*self._undealt.take(left_bytes))

    @property
    def _next_position(self) -> int:
        return next(iter(self._undealt)).first

    def _divide(self) -> None:
        """Divide the file: its size is known, or can be known only at its end."""
        size = self._version.required_bytes
        self._file.set_size(size)
        if self._version.size_bytes is not None:
            self._undealt = self._received.find_missing(self._version.size_bytes)

    def _reserve(self, position: int) -> bool:
        """Return whether there is room for the next request, and take it."""
        if not self._file.may_request(position):
            self._waits_for_room = True
            self._file.call_when_room(self._go_on)
            return False
        try:
            self._file.reserve(position)
        except StorageFailed as error:
            self.host.stop(error)
            return False
        except FileFault as fault:
            self.give_up(str(fault))
            return False
        return True

    def _go_on(self) -> None:
        self._waits_for_room = False
        if self.has_undealt:
            self.host.make_available(self)

    def _make_sole_read(self, size_bytes: int | None) -> RangeRead:
        read = self._make_single_read(size_bytes)
        if self._file.units.is_divided:
            read.is_alone, read.receive_gate, read.expected_answer = True, StreamGate(self._file), None
        return read

    def note_skipped(self, ranges: RangeSet) -> None:
        """Note that the receiver has some ranges, which need not be requested."""
        for first, last in ranges:
            self._received.add(first, last)
        self._undealt = self._find_missing()
        if self._is_all_received and not self._reads and not self._publishing:
            self._publish()

    # Answers.

    def judge(self, read: RangeRead, head: ResponseHead) -> OnAnswerEnd | None:
        settle = super().judge(read, head)
        if settle is None:
            self._note_answer(head.headers)
        return settle

    def _note_answer(self, headers: Mapping[str, str]) -> None:
        source = self.host.options.hooks.find_source(self.job.source.origin)
        described = {"Content-Type": headers["content-type"]} if "content-type" in headers else {}
        if source is not None:
            described |= source.describe(self.job.source, headers)
        self._file.note_answer(described, self._version.validator, self._version.checksum)

    def _compare_local(self) -> None:
        """Go on with the size that a peek has shown."""
        self._must_peek = False
        self._divide()
        self.host.make_available(self)

    def _restart(self, answered: FileIdentity) -> None:  # noqa: ARG002 -- whichever version it is
        self.give_up("it changed since it was listed; copy it again when it is at rest")

    # Bytes.

    def _write(self, position: int, data: memoryview | bytes) -> None:
        self._file.write(position, data)

    def _discard(self) -> None:
        self._file.discard()

    def store(self, read: RangeRead, data: memoryview | bytes) -> None:
        super().store(read, data)
        if read.is_alone:
            self._file.note_received(RangeSet([(0, read.position - 1)]))

    def _settle_read(self, read: RangeRead) -> None:
        super()._settle_read(read)
        self._waits_for_room = False  # what was lost belongs to a unit that has a buffer
        if read.peek:
            return
        if self._version.validator is None and not self._is_all_received:
            if self._file.has_handed_on:
                self._file.begin_again("its source names no version of it, and its answer broke off")
            else:
                self._file.discard()
        elif self._file.units.size_bytes is not None:
            self._file.note_received(self._received)

    def read_unproved(self, read: RangeRead) -> None:
        if not self._file.has_handed_on:
            super().read_unproved(read)
        elif read in self._reads and not self._received:
            self._file.begin_again("its first answer may have been that of another file")
        elif read in self._reads:
            self._reads.discard(read)
            self._undealt, self._waits_for_room = self._find_missing(), False
            if (fault := self.count_loss(None)) is not None:
                self.fault(fault)
            self.host.make_available(self)

    def _follow(self) -> None:
        """Do nothing: units are summed as they are handed on."""

    # The end.

    def _publish(self) -> None:
        """Hand on the last unit: the file is over when the receiver has all of them."""
        if (objection := self._version.find_late_objection()) is not None:
            self.give_up(objection)
            return
        self._publishing = True
        assert self._version.size_bytes is not None
        self._file.note_all_read(self._version.size_bytes)

    def give_up(self, reason: str) -> None:
        if not self.is_over:
            self._file.fail(reason)

    def checkpoint(self) -> None:
        """Do nothing: nothing of it is here to stay."""

    def make_closer(self) -> Callable[[], None]:
        self._file.close()
        return lambda: None
