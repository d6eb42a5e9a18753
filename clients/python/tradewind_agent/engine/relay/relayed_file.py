"""One file on its way from one server to another: the units of it that are here, and its two legs."""

from asyncio import Future
from collections.abc import Callable, Iterable, Mapping
from typing import cast

from tradewind_agent.engine.jobs import RelayJob
from tradewind_agent.engine.local.checksums import Checksum
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.relay.buffers import BufferPool, UnitBuffer
from tradewind_agent.engine.relay.legs import ReadingLeg, RelayOwner, SendingLeg
from tradewind_agent.engine.relay.receivers import RelayReceiver
from tradewind_agent.engine.relay.unit_sums import FileSums, UnitSums
from tradewind_agent.engine.relay.units import Units
from tradewind_agent.errors import FileFault, StorageFailed

_SUMMED_AT_ONCE_BYTES = 64 * 1024
"""Units up to this size are summed in the event loop."""

_STREAMED_UNITS = 2
"""Units that a file may hold while its only request is under way, whatever other files hold: it could not end else."""


class RelayedFile:
    """The units of one file, numbered from 1, from their request until the receiver has confirmed them.

    Attributes
    ----------
    units : how it is divided, once its size is known.
    described : what the source says about the file, for the receiver.
    validator : strong, of the version that is relayed; ``None`` where the source names none.
    most_units : how many of its first units may be requested; ``None`` without a limit.
    is_ended : done, skipped or failed; its bytes are gone.
    is_streaming : a request that takes units one after the other is under way.
    tries : how often the file was started before.
    """

    def __init__(
        self, job: RelayJob, owner: RelayOwner, receiver: RelayReceiver, buffers: BufferPool, *, tries: int = 0
    ) -> None:
        self.job, self.receiver, self.tries = job, receiver, tries
        self.reading: ReadingLeg
        self.sending: SendingLeg | None = None
        self.units = Units(None, 0)
        self.described: Mapping[str, str] = {}
        self.validator: str | None = None
        self.most_units: int | None = 1
        self.is_streaming = False
        self.sums: dict[int, UnitSums] = {}
        self._owner, self._buffers = owner, buffers
        self._buffered: dict[int, UnitBuffer] = {}
        self._complete: set[int] = set()  # received; those with sums may be sent
        self._stated: Checksum | None = None
        self._file_sums: FileSums | None = None
        self._summed = 0
        self.is_ended = self._begins_again = False
        self._wakes: list[Callable[[], None]] = []

    # Units.

    def set_size(self, size_bytes: int | None) -> None:
        """Divide the file, whose size is now known, or known to be known only at its end."""
        self.units = Units(size_bytes, 0 if size_bytes is None else self.receiver.choose_unit_bytes(size_bytes))

    @property
    def remaining_bytes(self) -> int:
        if self.sending is not None:
            return self.sending.remaining_bytes
        return self.units.size_bytes or self.job.size_bytes or 0

    # Reading.

    def may_request(self, position: int) -> bool:
        """Return whether the unit of ``position`` has a buffer or may have one."""
        number = self.units.find_unit(position)
        if number in self._buffered:
            return True
        if self.is_streaming and len(self._buffered) < _STREAMED_UNITS:
            return True
        return (self.most_units is None or number <= self.most_units) and self._buffers.has_room(
            self.units.measure(number)
        )

    @property
    def may_stream_on(self) -> bool:
        """Return whether a source that sends all units in one answer may go on.

        Where the receiver has not started, it may: the units wait in temporary files, for else files that wait for the
        source and files that wait for the receiver could keep each other waiting.
        """
        if len(self._buffered) < _STREAMED_UNITS or self._buffers.has_room(self.units.unit_bytes):
            return True
        return not self.is_streaming and self.most_units is not None

    def call_when_room(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` when that may have changed."""
        self._wakes.append(wake)
        self._buffers.call_when_room(self._wake)

    def _wake(self) -> None:
        wakes, self._wakes = self._wakes, []
        for wake in wakes:
            wake()

    def allow_all_units(self) -> None:
        """Let units be requested as there is room: the receiver takes each by itself."""
        self.most_units = None
        self._wake()

    def note_streaming(self, *, is_streaming: bool) -> None:
        """Note that the only request of the file is under way, or has ended."""
        self.is_streaming = is_streaming
        self._wake()

    def write(self, position: int, data: memoryview | bytes) -> None:
        """Store received bytes; those of units that have been handed on are known already.

        Raises
        ------
        StorageFailed, FileFault : no room for temporary files.
        """
        if self.is_ended:
            raise FileFault("not to be stored any more")
        while len(data):
            number = self.units.find_unit(position)
            first = self.units.get_first(number)
            length = min(len(data), first + self.units.unit_bytes - position) if self.units.is_divided else len(data)
            if number not in self._complete:
                if number not in self._buffered:
                    self._buffered[number] = self._buffers.make_buffer(self.units.measure(number))
                self._buffered[number].write(position - first, data[:length])
            position, data = position + length, data[length:]

    def reserve(self, position: int) -> None:
        """Take a buffer for the unit of ``position``.

        Raises
        ------
        StorageFailed, FileFault
        """
        number = self.units.find_unit(position)
        if number not in self._buffered and number not in self._complete and not self.is_ended:
            self._buffered[number] = self._buffers.make_buffer(self.units.measure(number))

    def discard(self) -> None:
        """Discard all bytes, and what was said of them, before anything is sent."""
        units, self._buffered = self._buffered, {}
        self._complete.clear()
        self.described, self.validator, self._stated, self._file_sums = {}, None, None, None
        for buffer in units.values():
            buffer.close()

    @property
    def has_handed_on(self) -> bool:
        """Return whether the receiver may know anything of the file: its bytes, or which version it is."""
        return bool(self._complete) or self.sending is not None

    def note_answer(self, described: Mapping[str, str], validator: str | None, stated: Checksum | None) -> None:
        """Note what the first accepted answer says of the file."""
        if self._file_sums is None:
            self.described, self.validator = described, validator
            self._stated, self._file_sums = stated, FileSums(stated)
            if self.units.is_divided:
                self._start_sending()

    def note_received(self, received: RangeSet) -> None:
        """Hand on units that are complete by now."""
        for number in sorted(self._buffered.keys() - self._complete):
            first, last = self.units.get_range(number)
            if received.holds(first, last):
                self._complete.add(number)
        self._sum_next()

    def note_all_read(self, size_bytes: int) -> None:
        """Hand on the last units, such as the only one of a file whose length only its end shows."""
        if self.units.size_bytes is None:
            self.units = Units(size_bytes, size_bytes)
        if not self.units.is_divided:
            self.reserve(0)
        self._complete |= self._buffered.keys()
        self._sum_next()

    def skip(self, numbers: Iterable[int]) -> bool:
        """Leave out units that the receiver has; return whether that may be done.

        It may not where only the bytes of all units show that the file is the one that its source has stated a sum of.
        A receiver that compares SHA-256 sums does so itself.
        """
        assert self._file_sums is not None
        if self._file_sums.stated is not None and self.stated_sha256 is None:
            return False
        self._file_sums = FileSums(None)
        for number in numbers:
            self._complete.add(number)
            self.release(number)
        return True

    @property
    def stated_sha256(self) -> str | None:
        """Return the SHA-256 sum that the source states, hex."""
        is_stated = self._stated is not None and self._stated.algorithm == "sha256"
        return self._stated.digest.hex() if self._stated is not None and is_stated else None

    # Sums.

    def _sum_next(self) -> None:
        """Sum the next complete unit; in order where the source has stated a sum of the file."""
        if self._summed or self.is_ended:
            return
        if self._file_sums is None:
            self._file_sums = FileSums(None)
        candidates = sorted((self._complete & self._buffered.keys()) - self.sums.keys())
        if not candidates or (self._file_sums.stated is not None and candidates[0] != len(self.sums) + 1):
            return
        number, sums = candidates[0], self._file_sums
        buffer = self._buffered[number]
        self._summed = number
        length = self.units.measure(number)
        if length is not None and length <= _SUMMED_AT_ONCE_BYTES:
            try:
                self._note_sums(number, sums.sum_unit(buffer.read_blocks()))
            except (StorageFailed, FileFault) as error:
                self.fail(str(error))
            return

        def note(outcome: Future[object]) -> None:
            error = None if outcome.cancelled() else outcome.exception()
            if outcome.cancelled() or self.is_ended:
                return
            if error is not None:
                self.fail(str(error))
            else:
                self._note_sums(number, cast("UnitSums", outcome.result()))

        self.reading.host.run_blocking(lambda: sums.sum_unit(buffer.read_blocks())).add_done_callback(note)

    def _note_sums(self, number: int, sums: UnitSums) -> None:
        assert self._file_sums is not None
        self._summed = 0
        self.sums[number] = sums
        is_last = len(self.sums) == self.units.count
        if is_last and (difference := self._file_sums.find_difference()) is not None:
            self.fail(difference)
            return
        if self.sending is None:
            self._start_sending()
        assert self.sending is not None
        if not self.sending.is_over:
            self.sending.note_unit_ready(number)
        self._wake()
        self._sum_next()

    # Sending.

    def _start_sending(self) -> None:
        if self.sending is None and not self.is_ended:
            self.sending = self._owner.start_sending(self)

    def is_ready(self, number: int) -> bool:
        """Return whether a unit can be sent."""
        return number in self.sums and number in self._buffered

    def list_ready(self) -> list[int]:
        """Return the numbers of the units that can be sent."""
        return [number for number in sorted(self._buffered) if number in self.sums]

    def is_gone(self, number: int) -> bool:
        """Return whether a unit was here, and is no more."""
        return number in self._complete and number not in self._buffered

    def read(self, position: int, length: int) -> bytes:
        """Return bytes of a unit that can be sent.

        Raises
        ------
        FileFault : the file has failed.
        """
        number = self.units.find_unit(position)
        if self.is_ended or number not in self._buffered:
            raise FileFault("not to be sent any more")
        return self._buffered[number].read(position - self.units.get_first(number), length)

    def release(self, number: int) -> None:
        """Free a unit that the receiver has."""
        if (buffer := self._buffered.pop(number, None)) is not None:
            buffer.close()
            self._wake()

    # The end.

    def note_skipped(self, ranges: RangeSet) -> None:
        """Note that the receiver has some ranges, which need not be requested."""
        self.reading.note_skipped(ranges)

    def skip_if_there(self) -> bool:
        """Finish a file that the receiver has; return whether it does."""
        if not self.receiver.is_there(self.job, self.reading.host.options):
            return False
        self.is_ended = self.reading.is_over = True
        self._owner.note_sent(self, skipped=True)
        return True

    def fail(self, reason: str) -> None:
        """Fail the file: nothing of it gets its name."""
        self._end(reason)

    def begin_again(self, reason: str) -> None:
        """End this try without giving the file its name, and start another one."""
        self._begins_again = not self.is_ended
        self._end(reason)

    def _end(self, reason: str) -> None:
        if self.is_ended:
            return
        self.is_ended = self.reading.is_over = True
        self._wake()
        if self.sending is not None and not self.sending.is_over:
            self.sending.give_up(reason)  # then `note_sending_failed` is called, maybe after it was aborted
        else:
            self._conclude(reason)

    def note_sending_failed(self, reason: str) -> None:
        """Note that the sending leg has ended without success."""
        self.is_ended = self.reading.is_over = True
        self._conclude(reason)

    def note_sending_done(self, *, skipped: bool) -> None:
        """Note that the receiver has the file under its name."""
        self.is_ended = self.reading.is_over = True
        self.close()
        self._owner.note_sent(self, skipped=skipped)

    def _conclude(self, reason: str) -> None:
        self.close()
        if self._begins_again:
            self._owner.send_again(self, reason)
        else:
            self._owner.note_failed(self, reason)

    def close(self) -> None:
        """Free everything."""
        self.is_ended = True
        units, self._buffered = self._buffered, {}
        for buffer in units.values():
            buffer.close()
        self._wake()
