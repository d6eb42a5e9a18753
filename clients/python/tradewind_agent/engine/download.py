"""Download of one file: byte ranges dealt to any number of connections, checked, stored, published when complete."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tradewind.units import format_count
from tradewind_agent.engine.file_transfer import FileTransfer, TransferHost, share_bytes
from tradewind_agent.engine.http1 import REDIRECTS, ResponseHead
from tradewind_agent.engine.jobs import DownloadJob, SizeTrust
from tradewind_agent.engine.local_copy import LocalState, is_here, look_at
from tradewind_agent.engine.pipelining import ExpectedFile
from tradewind_agent.engine.publishing import Publication, sha256_of
from tradewind_agent.engine.range_read import RangeRead, Settlement
from tradewind_agent.engine.ranges import RangeSet
from tradewind_agent.engine.storage import Identity, PartFile
from tradewind_agent.errors import FileFault, MalformedResponse, StorageFailed

_OK, _PARTIAL, _RANGE_NOT_SATISFIABLE = 200, 206, 416


class Unwanted(FileFault):
    """The answer is for a file that is over, or for an outdated version of it: its connection is not kept."""


class FileDownload(FileTransfer):
    """State of one file: what is received, what is still to be dealt, and which version of it this is."""

    job: DownloadJob

    def __init__(self, job: DownloadJob, host: TransferHost) -> None:
        super().__init__(job, job.source, host)
        self._identity = Identity(_trusted_size(job), job.etag, None)
        self._part = PartFile(job.destination)
        self._received = RangeSet()
        self._undealt = RangeSet()
        self._reads: set[RangeRead] = set()
        self._local: LocalState | None = None
        self._opened = False
        self._publishing = False
        self._sole: RangeRead | None = None  # carries the whole file, where ranges do not work
        self._digest = job.sha256
        self._generation = 0
        self._even_share = (0, 0)  # streams, bytes
        self._unsynced_bytes = 0

    # What is left to do.

    @property
    def size_bytes(self) -> int | None:
        return self._identity.size_bytes if self._identity.size_bytes is not None else self.job.size_bytes

    @property
    def remaining_bytes(self) -> int:
        if self.over:
            return 0
        arrived = self._received.total_bytes + sum(read.moved_bytes for read in self._reads)
        return max((self.size_bytes or 0) - arrived, 0)

    @property
    def has_undealt(self) -> bool:
        if self.over or self.waiting or self._publishing or self._sole is not None:
            return False
        return bool(self._undealt) or not self._opened or not self._reads

    def take(self, streams: int, most_bytes: int) -> RangeRead | None:
        if not self._opened:
            self._open()
        if not self.has_undealt:
            return None
        if self._local is not None:
            return None if self._reads else self._ask(0, 0, peek=True)
        size = self._identity.size_bytes
        if not self.traits.ranges:
            return None if self._reads else self._ask(0, None if size is None else size - 1)
        if size is None:
            return None if self._reads else self._ask(0, most_bytes - 1, ranged=self.job.size_bytes != 0)
        if not self._undealt:
            return None
        return self._ask(*self._undealt.take(self._next_length(streams, most_bytes)))

    def _next_length(self, streams: int, most_bytes: int) -> int:
        undealt = self._undealt.total_bytes
        if self._even_share[0] != streams:
            self._even_share = (streams, -(-undealt // streams))
        return share_bytes(undealt, self._even_share[1], streams, most_bytes)

    def _ask(self, first: int, last: int | None, *, ranged: bool = True, peek: bool = False) -> RangeRead:
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        is_whole = first == 0 and last is not None and self._identity.size_bytes == last + 1 and not self._received
        if ranged and self.traits.ranges and not is_whole:
            headers["Range"] = f"bytes={first}-{last}"
            if self._received and self._identity.validator is not None and not peek:
                headers["If-Range"] = self._identity.validator
        if self.host.options.checksum and self._digest is None:
            headers["Want-Repr-Digest"] = "sha-256=10"
        request = self.request("GET", headers)
        expected = ExpectedFile(last + 1, ranged=False) if is_whole and last is not None and not peek else None
        read = RangeRead(
            self,
            self.url.origin,
            request,
            first,
            last,
            generation=self._generation,
            peek=peek,
            expected_answer=expected,
        )
        if "Range" not in headers:
            self._undealt = RangeSet()
        self._reads.add(read)
        return read

    # What is here already.

    def _open(self) -> None:
        self._opened = True
        self._local, self._received, identity = look_at(self.job, self._identity, self._part)
        self._identity = identity.completed_by(self._identity)
        if self._identity.size_bytes is not None:
            self._undealt = self._received.missing_of(self._identity.size_bytes)
        if self._local is LocalState.CURRENT:
            self.over = True
            self.host.done(self, skipped=True)

    def _compare_local(self) -> None:
        """A peek has told the version on the server: keep what is here, or go on and fetch."""
        state, self._local = self._local, None
        size = self._identity.size_bytes
        if self._generation == 0 and state is LocalState.PRESENT and is_here(self.job, self._identity):
            self.over = True
            self.host.done(self, skipped=True)
        elif size is not None and self._received.covers(size) and state is LocalState.RECEIVED:
            self._publish()
        else:
            self.host.available(self)

    # What comes back.

    def judge(self, read: RangeRead, head: ResponseHead) -> Settlement | None:
        if self.over or read.generation != self._generation:
            raise Unwanted("not wanted any more")
        if head.status == _PARTIAL:
            return self._judge_part(read, head)
        if head.status == _OK:
            return self._judge_whole(read, head)
        if head.status in REDIRECTS:
            return partial(self.redirect, head)
        if head.status == _RANGE_NOT_SATISFIABLE and read.ranged:
            return partial(self._resize, head)
        return partial(self.refuse, read, head)

    def _judge_part(self, read: RangeRead, head: ResponseHead) -> Settlement | None:
        got = head.content_range
        if got is None or (last_bytes := read.answered_by(got)) is None:
            return partial(self._go_without_ranges, "an answer to another range than was asked for")
        last, total = last_bytes
        was_unknown = self._identity.size_bytes is None
        self._learn(head, total)
        if read.peek:
            return self._compare_local
        asked_last, read.last = read.last, last
        self._undealt.add(last + 1, total - 1 if was_unknown or asked_last is None else asked_last)
        if self._undealt:
            self.host.available(self)
        return None

    def _judge_whole(self, read: RangeRead, head: ResponseHead) -> Settlement | None:
        total = head.content_length
        self._learn(head, total)
        covers_all = total is not None and read.last is not None and read.first == 0 and total <= read.last + 1
        if read.ranged and not covers_all:
            self.traits.ranges = False
        if read.peek:
            return self._compare_local
        if self._sole is not None:
            raise Unwanted("the whole file is on its way already")
        self._sole = read
        self._undealt = RangeSet()
        read.first = read.position = 0
        read.last = total - 1 if total is not None else None
        return None

    def _learn(self, head: ResponseHead, size_bytes: int | None) -> None:
        """Note size and version that the server tells; another version than before starts the file afresh."""
        told = Identity(size_bytes, head.headers.get("etag"), head.headers.get("last-modified"))
        if self.job.size_trust is SizeTrust.BINDING and size_bytes not in (None, self.job.size_bytes):
            self.give_up(f"the server has {format_count(size_bytes, 'byte')}, the manifest says {self.job.size_bytes}")
            raise Unwanted("not the file that was wanted")
        if self._identity.contradicts(told):
            self._restart(told)
            raise Unwanted("another version of the file than before")
        self._identity = told.completed_by(self._identity)
        if self.host.options.checksum and self._digest is None:
            self._digest = sha256_of(head.headers.get("repr-digest", ""))

    def _restart(self, told: Identity) -> None:
        """Forget everything received: the file on the server is another one now."""
        self._generation += 1
        self._identity = told
        self._part.discard()
        self._received, self._undealt = RangeSet(), RangeSet()
        self._reads.clear()
        self._sole = self._local = None
        if told.size_bytes is not None:
            self._undealt.add(0, told.size_bytes - 1)
        self._progressed = False  # a file that changes all the time shall not be fetched for ever
        self.fault(FileFault("the file changed on the server while it was fetched"))

    def _resize(self, head: ResponseHead) -> None:
        """416: the file is shorter than we thought, or the server does not do this range."""
        total = head.content_range.total if head.content_range is not None else None
        if total is None or total == self._identity.size_bytes:
            self._go_without_ranges("the server refused the range (416)")
        elif total == 0 and self._identity.size_bytes is None and self.job.size_trust is not SizeTrust.BINDING:
            self._identity = replace(self._identity, size_bytes=0)
            self._publish()
        else:
            self._restart(Identity(total))

    def _go_without_ranges(self, reason: str) -> None:
        self.traits.ranges = False
        self.fault(MalformedResponse(reason))

    # Bytes.

    def store(self, read: RangeRead, data: memoryview | bytes) -> None:
        if self.over or read.generation != self._generation:
            raise Unwanted("not wanted any more")
        try:
            self._part.write(read.position, data)
        except StorageFailed as error:
            self.host.stop(error)
            raise Unwanted("nothing can be stored") from error
        except FileFault as fault:
            self.give_up(str(fault))
            raise Unwanted("cannot be stored") from fault
        read.position += len(data)
        self._unsynced_bytes += len(data)
        self.host.moved(self, len(data))

    def read_complete(self, read: RangeRead) -> None:
        if read.last is None:
            self._identity = replace(self._identity, size_bytes=read.position)
        elif read.position <= read.last:
            self.read_lost(read, MalformedResponse("the body was shorter than announced"))
            return
        self._settle_read(read)
        size = self._identity.size_bytes
        if size is not None and self._received.covers(size) and not self._publishing and not self.over:
            self._publish()

    def forget(self, read: RangeRead) -> None:
        """Drop what a read of the whole file has brought, and what it told: all of it may be another file's."""
        if read.generation == self._generation and not self.over:
            self._identity = Identity(_trusted_size(self.job), self.job.etag, None)
            self._digest = self.job.sha256

    def read_lost(self, read: RangeRead, fault: FileFault | None) -> None:
        self._settle_read(read)
        if fault is not None:
            self.fault(fault)
        if self.has_undealt:
            self.host.available(self)

    def read_refused(self, read: RangeRead, settle: Settlement) -> None:
        self._settle_read(read)
        settle()

    def _settle_read(self, read: RangeRead) -> None:
        """Keep what a read brought and hand back the rest to be dealt again."""
        if read not in self._reads:
            return  # of an outdated version
        self._reads.discard(read)
        if read is self._sole:
            self._sole = None
        if not read.peek:
            known_bytes = self._received.total_bytes
            self._received.add(read.first, read.position - 1)
            if self._received.total_bytes > known_bytes:
                self.progressed()
        if self._identity.size_bytes is not None:
            self._undealt = self._missing()

    def _missing(self) -> RangeSet:
        """What nobody has received or been asked for."""
        assert self._identity.size_bytes is not None
        spoken_for = RangeSet(self._received)
        for read in self._reads:
            if not read.peek and read.last is not None:
                spoken_for.add(read.first, read.last)
        return spoken_for.missing_of(self._identity.size_bytes)

    # Safely on disk.

    def checkpoint(self) -> None:
        if self._unsynced_bytes < self.host.options.checkpoint_bytes or self._publishing or self.over:
            return
        self._unsynced_bytes = 0
        self.host.in_background(partial(self._part.checkpoint, self._identity, self._arrived()))

    def _arrived(self) -> RangeSet:
        arrived = RangeSet(self._received)
        for read in self._reads:
            if not read.is_unproved:
                arrived.add(read.first, read.position - 1)
        return arrived

    def _publish(self) -> None:
        self._publishing = True
        self.host.publish(Publication(self._part, self._identity, self._digest), self._published)

    def _published(self, error: BaseException | None) -> None:
        if isinstance(error, StorageFailed):
            self.host.stop(error)
        elif error is not None:
            self.give_up(str(error))
        else:
            self.over = True
            self.host.done(self)

    def closing(self) -> Callable[[], None]:
        return partial(self._part.leave, self._identity, self._arrived())


def _trusted_size(job: DownloadJob) -> int | None:
    """The size to plan ranges by; an empty file is asked for like one of unknown size."""
    return None if job.size_trust is SizeTrust.ROUNDED else job.size_bytes or None
