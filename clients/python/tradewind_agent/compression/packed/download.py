"""Download of one file as a packed stream, or in a coding that any web server has; what breaks is fetched again."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from tradewind_agent.compression.codecs import UnpackFailed
from tradewind_agent.compression.options import PackedOutcome, PackingOptions
from tradewind_agent.compression.packed.decoding import Decoding, ask_in_thread, find_coding
from tradewind_agent.compression.packed.download_fields import make_packed_fields, make_packed_rest_fields
from tradewind_agent.compression.packed.packed_read import PackedRead
from tradewind_agent.compression.packed.packing_host import PackingHost
from tradewind_agent.compression.packed.received_stream import ReceivedStream, StreamLost
from tradewind_agent.compression.sampling import FileSample
from tradewind_agent.compression.totals import PackingTotals
from tradewind_agent.compression.web_codings import format_web_codings
from tradewind_agent.compression.wire_names import IDENTITY, PACKED_CODING, SIZE_HEADER
from tradewind_agent.engine.download import FileDownload, UnwantedAnswer
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.local.file_version import FileVersion
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.local.stated_checksums import CHECKSUM_REQUEST
from tradewind_agent.engine.range_read import OnAnswerEnd, RangeRead
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.errors import AgentError, FileFault, MalformedResponse, StorageFailed

_OK, _CHANGED = 200, 412


class StoredEncoded(MalformedResponse):
    """An answer in a web coding that does not hold the stored file."""


class PackedDownload(FileDownload):
    """The download of one file: packed from the first missing byte on while the server packs it, else as any other.

    Its ranges, versions, journal and publication are those of `FileDownload`.
    """

    def __init__(
        self, job: DownloadJob, host: TransferHost, packing: PackingOptions, packing_host: PackingHost
    ) -> None:
        super().__init__(job, host)
        self._packing, self._packing_host = packing, packing_host
        self._is_packed = True  # as long as the server has not shown otherwise
        self._moved_bytes = self._wire_bytes = 0
        self._decodings: list[Decoding] = []
        self._decoded_reads: dict[PackedRead, Decoding] = {}

    # Requests.

    def take(self, streams: int, most_bytes: int) -> RangeRead | None:
        if not self._opened:
            self._open()
        if not self.has_undealt:
            return None
        if not self._is_packed or self._reads or self._local is not None or not self._may_resume_packed():
            return super().take(streams, most_bytes)
        return self._make_packed_read() if self._packing_host.slots.acquire(self) else None

    def _may_resume_packed(self) -> bool:
        """Return whether what is missing is the end of a version that a strong ETag names, or everything."""
        received = next(iter(self._received), None)
        is_named = self._version.validator is not None and self._version.validator == self._version.identity.etag
        return received is None or (received.first == 0 and len(list(self._received)) == 1 and is_named)

    def _make_packed_read(self) -> PackedRead:
        received = next(iter(self._received), None)
        first, size = 0 if received is None else received.last + 1, self._version.size_bytes
        headers = {"Accept": "*/*", **make_packed_fields(self._packing, format_web_codings())}
        if first and self._version.validator is not None:
            headers |= make_packed_rest_fields(first, self._version.validator)
        if self.host.options.checksum and self._version.checksum is None:
            headers |= CHECKSUM_REQUEST
        read = PackedRead(
            self,
            self.url,
            self.request("GET", headers),
            first,
            None if size is None else size - 1,
            generation=self._generation,
            size_bytes=size,
        )
        read.on_over = self._packing_host.slots.release
        self._undealt = RangeSet()
        self._reads.add(read)
        return read

    # Answers.

    def judge(self, read: RangeRead, head: ResponseHead) -> OnAnswerEnd | None:
        if not isinstance(read, PackedRead) or head.status not in (_OK, _CHANGED):
            return super().judge(read, head)
        if self.is_over or read.generation != self._generation:
            raise UnwantedAnswer("not wanted any more")
        if head.status == _CHANGED:
            return partial(self._restart, FileIdentity())
        coding = find_coding(head)
        if coding == IDENTITY:
            return self._judge_plain(read, head)
        self.learn_cookies(read, head)
        self._learn_encoded_version(read, head, coding)
        self._start_decoding(read, coding)
        return None

    def _judge_plain(self, read: PackedRead, head: ResponseHead) -> OnAnswerEnd | None:
        """Take the file as it is; where a part of it is here already, request the rest by ranges."""
        if not read.first:
            return super().judge(read, head)
        self.learn_cookies(read, head)
        self._is_packed = False
        self._reads.discard(read)
        answered = FileIdentity.from_answer(head.headers, head.content_length)
        if answered.validator != self._version.validator:
            self._restart(answered)
        elif self._is_all_received:  # and the answer was to confirm that
            self._publish()
        else:
            if self._version.size_bytes is not None:
                self._undealt = self._find_missing()
            self.host.make_available(self)
        raise UnwantedAnswer("a part of the file is here")

    def _learn_encoded_version(self, read: PackedRead, head: ResponseHead, coding: str) -> None:
        """Note size and version; the rest of another version than that of the bytes that are here restarts the file."""
        stated = head.headers.get(SIZE_HEADER.lower(), "")
        size = int(stated) if stated.isdecimal() else self._version.required_bytes
        if (objection := self._version.find_objection(head, size, is_decoded=True)) is not None:
            self.give_up(objection)
            raise UnwantedAnswer("not the file that was requested")
        answered, is_ours = FileIdentity.from_answer(head.headers, size), coding == PACKED_CODING
        if not is_ours:  # an encoded answer does not name the version of the plain bytes
            answered = answered._replace(etag=None, has_strong_time=False)
        if read.first and (not is_ours or answered.validator != self._version.validator):
            self._restart(answered if is_ours else FileIdentity())
            raise UnwantedAnswer("another version of the file than before")
        is_different = self._version.is_different(answered, is_full=True)
        if is_different:
            self._version.forget(answered)
        self._version.learn(answered, head, is_different=is_different, is_encoded=True)
        self._version.validator = answered.validator
        read.last = None if size is None else size - 1

    def _start_decoding(self, read: PackedRead, coding: str) -> None:
        loop = asyncio.get_running_loop()

        def write(position: int, plain: bytes) -> None:
            self._part.write(position, plain)
            with suppress(RuntimeError):  # the transfer is over, and its loop closed
                loop.call_soon_threadsafe(self._note_stored, read, len(plain))

        def check() -> None:
            if not ask_in_thread(read.url, self.host.options, loop):
                raise StoredEncoded(f"it is stored as {coding}")

        size = None if read.last is None else read.last + 1
        decoding = Decoding(coding=coding, first=read.first, size_bytes=size, write=write, check=check)
        self._decoded_reads[read] = decoding
        read.stream = ReceivedStream(decoding.run, self._packing_host.streams, partial(self._on_decoded, read))

    # Bytes.

    def store(self, read: RangeRead, data: memoryview | bytes) -> None:
        super().store(read, data)
        self._moved_bytes += len(data)
        self._wire_bytes += len(data)
        self._packing_host.count_moved(self, len(data), len(data))

    def _note_stored(self, read: PackedRead, nbytes: int) -> None:
        read.position += nbytes
        self._note_written(nbytes)
        self._moved_bytes += nbytes
        self.host.note_moved(self, nbytes)
        wire_bytes, read.uncounted_bytes = read.uncounted_bytes, 0
        self._packing_host.count_moved(self, nbytes, wire_bytes)

    def _on_decoded(self, read: PackedRead, error: BaseException | None) -> None:
        """Handle the end of an encoded answer that is stored, as far as it could be decoded."""
        decoding = self._decoded_reads.pop(read)
        self._wire_bytes += read.wire_bytes
        self._decodings.append(decoding)
        if self.is_over or read not in self._reads:
            return
        if error is None:
            self.read_complete(read)
        elif isinstance(error, StreamLost):
            self.read_lost(read, error.fault)
        elif isinstance(error, StorageFailed):
            self.host.stop(error)
        elif isinstance(error, (UnpackFailed, StoredEncoded)):
            self._discard_damaged(decoding.coding, str(error))
        elif isinstance(error, FileFault):
            self.read_lost(read, error)
        else:
            self.give_up(str(error) if isinstance(error, AgentError) else f"cannot be unpacked: {error!r}")

    def _discard_damaged(self, coding: str, reason: str) -> None:
        """Fetch everything again: there is no telling which bytes are wrong. A stored file may be what was encoded."""
        self._version = FileVersion(self.job)
        self._forget(self._version.identity)
        if coding == PACKED_CODING:
            self._progressed = False
            self.fault(MalformedResponse(reason))
        else:
            self._is_packed, self._version.is_stored_encoded = False, True
            self.host.make_available(self)

    def _forget(self, answered: FileIdentity) -> None:
        super()._forget(answered)
        if self._moved_bytes:
            self.host.note_moved(self, -self._moved_bytes)
            self._packing_host.count_moved(self, -self._moved_bytes, 0)
            self._packing_host.note_restart(self.job)
        self._moved_bytes = self._wire_bytes = 0
        self._decodings.clear()

    # On disk.

    def _on_published(self, error: BaseException | None) -> None:
        if error is None:
            self._packing_host.note_file(self.job, self._build_outcome())
        super()._on_published(error)

    def _build_outcome(self) -> PackedOutcome:
        """Return what packing came to; of a file that came in several parts, the sum."""
        work, beginning, sample = PackingTotals(), b"", None
        for decoding in self._decodings:
            work.add(decoding.work)
            beginning = beginning or decoding.beginning
            sample = FileSample.parse(decoding.note, self._moved_bytes) if decoding.note else None
        # Bytes that came twice are bytes of one file still.
        work.plain_bytes = self._moved_bytes if self.size_bytes is None else min(self._moved_bytes, self.size_bytes)
        if sample is None:
            sample = self._packing.find_known_sample(self.size_bytes or 0)
        else:
            sample = replace(sample, file_bytes=self.size_bytes or 0)
        return PackedOutcome(work=work, wire_bytes=self._wire_bytes, fetched=beginning, sample=sample)

    def make_closer(self) -> Callable[[], None]:
        """Return a function that closes the part once what has come is decoded: another run can resume from it."""
        self._discard_sum()
        arrived, identity = self._find_arrived(), self._version.answered_identity
        running = [(read, read.stream, decoding) for read, decoding in self._decoded_reads.items() if read.stream]

        def close() -> None:
            for read, stream, decoding in running:
                stream.wait()
                arrived.add(read.first, read.first + decoding.stored_bytes - 1)
            self._part.close_for_resume(identity, arrived)

        return close
