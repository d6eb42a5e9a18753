"""Download of one file: byte ranges over any number of connections, checked, stored, published when complete."""

from functools import partial
from time import monotonic

from tradewind.units import format_count
from tradewind_agent.engine.http.http1 import FULL_ANSWERS, REDIRECTS, ResponseHead
from tradewind_agent.engine.jobs import DownloadJob, SizeTrust
from tradewind_agent.engine.local.file_version import FileVersion
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.local_copy import LocalState
from tradewind_agent.engine.local.ranged_download import RangedDownload
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.local.stated_checksums import CHECKSUM_REQUEST
from tradewind_agent.engine.range_read import OnAnswerEnd, RangeRead
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.errors import FileFault, MalformedResponse, StorageFailed

_PARTIAL, _RANGE_NOT_SATISFIABLE = 206, 416


def _ignore_part() -> None:
    """Ignore a part without a strong validator: the file has been requested again."""


class UnwantedAnswer(FileFault):
    """An answer for a finished file or an outdated version; its connection is closed."""


class FileDownload(RangedDownload):
    """The download of one file: its received and undealt ranges, and the version that they belong to."""

    def __init__(self, job: DownloadJob, host: TransferHost) -> None:
        super().__init__(job, host)
        self._reads: set[RangeRead] = set()
        self._sole_read: RangeRead | None = None  # carries the full file, where ranges do not work
        self._most_received_bytes = 0

    # Requests.

    @property
    def size_bytes(self) -> int | None:
        return self._version.size_bytes if self._version.size_bytes is not None else self.job.size_bytes

    @property
    def remaining_bytes(self) -> int:
        if self.is_over:
            return 0
        arrived = self._received.total_bytes + sum(read.moved_bytes for read in self._reads)
        return max((self.size_bytes or 0) - arrived, 0)

    @property
    def has_undealt(self) -> bool:
        if self.is_over or self.is_waiting or self._publishing or self._comparing or self._sole_read is not None:
            return False
        return bool(self._undealt) or not self._opened or not self._reads

    def take(self, streams: int, most_bytes: int) -> RangeRead | None:
        if not self._opened:
            self._open()
        if not self.has_undealt:
            return None
        if self._local is not None:
            return None if self._reads else self._make_read(0, 0, peek=True)
        size = self._version.size_bytes
        if self._version.in_one_answer or not self._has_ranges:
            return None if self._reads else self._make_single_read(size)
        if size is None:
            return None if self._reads else self._make_read(0, most_bytes - 1, ranged=self.job.size_bytes != 0)
        if not self._undealt:
            # An empty file has no range that could be missing, also after an answer with bytes that it must not have.
            return None if self._reads or size else self._make_read(0, -1)
        return self._make_read(*self._undealt.take(self.choose_range_length(self._undealt, streams, most_bytes)))

    def _make_single_read(self, size_bytes: int | None) -> RangeRead:
        """Request all missing bytes at once; behind the received ones where the version has a validator."""
        last = None if size_bytes is None else size_bytes - 1
        if last is None or self._version.validator is None or not self._has_ranges or not self._undealt:
            return self._make_read(0, last, ranged=False)
        first, self._undealt = next(iter(self._undealt)).first, RangeSet()
        return self._make_read(first, last)

    def _make_read(self, first: int, last: int | None, *, ranged: bool = True, peek: bool = False) -> RangeRead:
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        is_full = first == 0 and last is not None and self._version.size_bytes == last + 1 and not self._received
        if ranged and self._has_ranges and not is_full:
            headers["Range"] = f"bytes={first}-{last}"
            if self._received and self._version.validator is not None and not peek:
                headers["If-Range"] = self._version.validator
        if self.host.options.checksum and self._version.checksum is None:
            headers |= CHECKSUM_REQUEST
        request = self.request("GET", headers)
        read = RangeRead(
            self,
            self.url,
            request,
            first,
            last,
            generation=self._generation,
            size_bytes=self._version.size_bytes,
            peek=peek,
            is_full=is_full and not peek,
        )
        read.permits_range = self._permits_range
        if "Range" not in headers:
            self._undealt = RangeSet()
        self._reads.add(read)
        return read

    def may_divide(self, read: RangeRead) -> bool:
        is_entire = read is self._sole_read or self._version.in_one_answer
        return read in self._reads and not is_entire and self._version.validator is not None

    # Answers.

    def judge(self, read: RangeRead, head: ResponseHead) -> OnAnswerEnd | None:
        self.learn_cookies(read, head)
        if self.is_over or read.generation != self._generation:
            raise UnwantedAnswer("not wanted any more")
        if self._shows_no_file(read, head):
            return partial(self._refuse_read, read, head)
        if head.status == _PARTIAL:
            return self._judge_part(read, head)
        if head.status in FULL_ANSWERS:
            return self._judge_full_answer(read, head)
        if head.status in REDIRECTS:
            return partial(self.redirect, head)
        if head.status == _RANGE_NOT_SATISFIABLE and read.ranged:
            return partial(self._resize, head)
        return partial(self._refuse_read, read, head)

    def _judge_part(self, read: RangeRead, head: ResponseHead) -> OnAnswerEnd | None:
        got = head.content_range
        if got is None or (last_bytes := read.match_answer(got)) is None:
            return partial(self._go_without_ranges, "an answer to another range than was asked for")
        last, total = last_bytes
        if head.content_length == total > last + 1 - read.first:
            return partial(self._go_without_ranges, "the entire file for a part of it")
        was_unknown = self._version.size_bytes is None
        answered = self._learn_version(head, total)
        self._note_part(read)
        if read.peek:
            return self._compare_local
        is_all = read.first == 0 and last == total - 1
        if not (is_all or read.ranged or self._has_ranges):  # the rest would never come
            return partial(self.fault, MalformedResponse("a part, though the entire file was requested"))
        if not self._match_parts(answered, is_all=is_all):
            return _ignore_part
        requested_last, read.last = read.last, last
        self._undealt.add(last + 1, total - 1 if was_unknown or requested_last is None else requested_last)
        if self._undealt:
            self.host.make_available(self)
        return None

    def _match_parts(self, answered: FileIdentity, *, is_all: bool) -> bool:
        """Return whether a part may stand in one file with all other bytes of it: a strong validator says that they
        belong together (RFC 9110 §15.3.7.3); without one, only a single answer does.
        """
        if not is_all and answered.validator is None:
            if self._version.in_one_answer:
                raise MalformedResponse("a part where the whole file was asked for")
            self._version.in_one_answer = True
            self._forget(answered)
            self.host.make_available(self)
            return False
        self._version.validator = answered.validator
        return True

    def _judge_full_answer(self, read: RangeRead, head: ResponseHead) -> OnAnswerEnd | None:
        total = head.content_length
        answered = self._learn_version(head, total, is_full=not read.peek)
        self._note_full_answer(read, head, answered)
        covers_all = total is not None and read.last is not None and read.first == 0 and total <= read.last + 1
        if read.ranged and not covers_all and "If-Range" not in read.request.headers:
            self.traits.ranges = False
        if read.peek:
            return self._compare_local
        if self._sole_read is not None:
            raise UnwantedAnswer("the whole file is on its way already")
        self._accept_full_answer(read, answered)
        read.least_bytes = self.job.least_bytes if head.until_close else 0
        return None

    def _accept_full_answer(self, read: RangeRead, answered: FileIdentity) -> None:
        """Take the full file from this answer; other answers are ignored from now on."""
        if self._version.validator is None or answered.validator != self._version.validator:
            self._received = RangeSet()
        self._generation += 1
        read.generation = self._generation
        self._reads = {read}
        self._sole_read, self._undealt = read, RangeSet()
        self._discard_sum()
        self._version.validator = answered.validator
        read.first = read.position = 0
        read.last = None
        if (required_bytes := self._version.required_bytes) is not None:
            read.last, self._version.size_bytes = required_bytes - 1, required_bytes

    def _learn_version(self, head: ResponseHead, size_bytes: int | None, *, is_full: bool = False) -> FileIdentity:
        """Note and return the size and version of an answer; another version restarts the download."""
        answered = FileIdentity.from_answer(head.headers, size_bytes)
        if self._version.note_changed_page(head, size_bytes, monotonic() - self.host.options.made_at_s):
            self._restart(answered)
            raise UnwantedAnswer("a page that has changed, or another one")
        if (objection := self._version.find_objection(head, size_bytes)) is not None:
            self.give_up(objection)
            raise UnwantedAnswer("not the file that was wanted")
        is_different = self._version.is_different(answered, is_full=is_full)
        if is_different and not (is_full and self._version.in_one_answer):
            self._restart(answered)
            raise UnwantedAnswer("another version of the file than before")
        self._version.learn(answered, head, is_different=is_different)
        return answered

    def _restart(self, answered: FileIdentity) -> None:
        """Restart the download: the file on the server has changed."""
        self._version.count_change()
        self._forget(answered)
        self._progressed = False  # a file that keeps changing must not be fetched for ever
        self.fault(FileFault("the file changed on the server while it was fetched"))

    def _forget(self, answered: FileIdentity) -> None:
        """Discard all received bytes."""
        self._generation += 1
        self._version.forget(answered)
        try:
            self._discard()
        except StorageFailed as error:
            self.host.stop(error)
        except FileFault as fault:  # another run writes it
            self.give_up(str(fault))
        self._received, self._undealt = RangeSet(), RangeSet()
        self._unsynced_bytes = 0
        self._discard_sum()
        self._reads.clear()
        self._sole_read = None
        self._local = LocalState.PRESENT if self._must_compare_times else None
        if answered.size_bytes is not None:
            self._undealt.add(0, answered.size_bytes - 1)

    def _resize(self, head: ResponseHead) -> None:
        """Handle status 416: the file is shorter than expected, or the server has no ranges."""
        total = head.content_range.total if head.content_range is not None else None
        if total is None or total == self._version.size_bytes:
            self._go_without_ranges("the server refused the range (416)")
        elif total == 0 and self._version.size_bytes is None and self.job.size_trust is not SizeTrust.BINDING:
            self._version.size_bytes = 0
            self._publish()
        else:
            self._restart(FileIdentity(total))

    # Bytes.

    def store(self, read: RangeRead, data: memoryview | bytes) -> None:
        if self.is_over or read.generation != self._generation:
            raise UnwantedAnswer("not wanted any more")
        try:
            self._write(read.position, data)
        except StorageFailed as error:
            self.host.stop(error)
            raise UnwantedAnswer("nothing can be stored") from error
        except FileFault as fault:
            self.give_up(str(fault))
            raise UnwantedAnswer("cannot be stored") from fault
        if self._version.start is not None:
            self._version.note_start(read.position, data)
        read.position += len(data)
        self.limits.note_answer()
        self._note_written(len(data))
        self.host.note_moved(self, len(data))

    def _write(self, position: int, data: memoryview | bytes) -> None:
        """Store bytes of the file; see `PartFile.write`."""
        self._part.write(position, data)

    def _discard(self) -> None:
        """Discard all stored bytes; see `PartFile.discard`."""
        self._part.discard()

    def read_complete(self, read: RangeRead) -> None:
        if read not in self._reads:
            return  # of an outdated version
        end = read.least_bytes if read.last is None else read.last + 1
        if read.position < end:
            due, came = format_count(end - read.first, "byte"), read.position - read.first
            self.read_lost(read, MalformedResponse(f"the body ended after {came} of {due}"))
            return
        if read.last is None:
            self._version.size_bytes = read.position
        self._settle_read(read)
        if self._is_all_received and not self._publishing and not self.is_over:
            self._publish()
        elif self.has_undealt:  # what another read has lost could not be dealt while this one was on its way
            self.host.make_available(self)

    def read_unproved(self, read: RangeRead) -> None:
        if read in self._reads:
            self._version = FileVersion(self.job)
            self._forget(self._version.identity)
            if (fault := self.count_loss(None)) is not None:
                self.fault(fault)
            self.host.make_available(self)

    def read_lost(self, read: RangeRead, fault: FileFault | None) -> None:
        if read not in self._reads:
            return  # a read of an outdated version says nothing about this one
        self._settle_read(read)
        if self._handle_lost_range(read, fault):
            return
        if fault is None:
            self._even_share = (0, 0)  # what was given up goes to all streams that are idle
        if (counted := self.count_loss(fault)) is not None:
            self.fault(counted)
            self._retry_without_range(read, self._find_loss(read, fault))
        if self.has_undealt:
            self.host.make_available(self)

    def read_refused(self, read: RangeRead, settle: OnAnswerEnd) -> None:
        if read in self._reads:
            self._settle_read(read)
            settle()

    def _settle_read(self, read: RangeRead) -> None:
        """Keep the bytes of a finished read, and return the rest to be dealt again."""
        self._reads.discard(read)
        if read is self._sole_read:
            self._sole_read = None
        if not read.peek:
            self._received.add(read.first, read.position - 1)
        if self._version.validator is None and not self._is_all_received:
            self._received = RangeSet()  # without a validator nothing can be appended
        self._check_sum()
        if self._version.size_bytes is not None:
            self._undealt = self._find_missing()
        if self._received.total_bytes > self._most_received_bytes:
            self._most_received_bytes = self._received.total_bytes
            self.note_progress()

    def _find_missing(self) -> RangeSet:
        """Return the ranges neither received nor requested."""
        assert self._version.size_bytes is not None
        taken = RangeSet(self._received)
        for read in self._reads:
            if not read.peek and read.last is not None:
                taken.add(read.first, read.last)
        return taken.find_missing(self._version.size_bytes)

    # On disk.

    def _find_arrived(self) -> RangeSet:
        arrived = RangeSet(self._received)
        for read in self._reads:
            arrived.add(read.first, read.position - 1)
        return arrived

    @property
    def _unbroken_bytes(self) -> int:
        if self._sole_read is not None:  # it writes also what was here before
            return self._sole_read.position
        return self._find_arrived().unbroken_bytes
