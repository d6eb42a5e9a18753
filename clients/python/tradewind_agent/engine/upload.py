"""Upload of one file: whole, or in parts that a receiver of ours joins and that survive a broken transfer.

Parts are ``PUT`` with ``Content-Range`` and ``Tradewind-Upload``; ``HEAD`` with the same id shows what has arrived. Any
other server gets the file in one PUT.
"""

import os
import re
from asyncio import Future
from collections.abc import Callable
from functools import partial
from hashlib import file_digest
from time import monotonic

from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.http.http1 import REDIRECTS, ResponseHead
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.local.checksums import compute_checksum
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.local.regular_file import open_regular_file
from tradewind_agent.engine.skipping import SkipDecision, judge_stored
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.engine.upload_exchange import FileSlice, UploadExchange, make_upload_id, shows_new_file
from tradewind_agent.errors import FileFault
from tradewind_agent.system_errors import explain_os_error

_OK, _CREATED, _ACCEPTED, _NO_CONTENT, _NOT_FOUND = 200, 201, 202, 204, 404
_STORED = frozenset({_OK, _CREATED, _NO_CONTENT})
_FOLDER_MISSING = frozenset({_NOT_FOUND, 409})
"""Answers of WebDAV servers to a file whose folder is not there (RFC 4918 §9.7.1)."""

_MOST_QUESTIONS = 2
"""Unanswered questions after which a file is sent whole: some servers never answer HEAD."""

_RECEIVED_RANGE = re.compile(r"\s*(\d+)-(\d+)\s*")


class FileUpload(FileTransfer):
    """The upload of one file: the bytes that the receiver has confirmed, and those still to be dealt."""

    job: UploadJob
    form: str = ""
    """Form in which the bytes are sent; see `make_upload_id`."""

    def __init__(self, job: UploadJob, host: TransferHost) -> None:
        super().__init__(job, job.destination, host)
        self._fd: int | None = None
        self._upload_id = ""
        self._digest: str | None = None
        self._decision = SkipDecision.SEND
        self._is_there = False
        self._received = RangeSet()
        self._undealt = RangeSet([(0, job.size_bytes - 1)])
        self._in_flight: set[UploadExchange] = set()
        self._preparing = False
        self._in_parts: bool | None = None  # None: not decided; False: in one request
        self._must_ask = False
        self._unanswered = 0
        self._has_sent = False  # bytes of it, in this run
        self._put_at_s = 0.0
        self._has_sent_all_at_s: float | None = None
        self._has_folder = False

    @property
    def size_bytes(self) -> int:
        return self.job.size_bytes

    @property
    def remaining_bytes(self) -> int:
        if self.is_over:
            return 0
        under_way = sum(exchange.moved_bytes for exchange in self._in_flight)
        return max(self.job.size_bytes - self._received.total_bytes - under_way, 0)

    @property
    def has_undealt(self) -> bool:
        if self.is_over or self.is_waiting or self._preparing:
            return False
        return bool(self._undealt) or not self._in_flight

    def take(self, streams: int, most_bytes: int) -> UploadExchange | None:
        if (self._fd is None and not self._open()) or not self.has_undealt:
            return None
        length = self.choose_range_length(self._undealt, streams, most_bytes)
        if self._in_parts is None:
            self._in_parts = self._must_ask = length < self.job.size_bytes
        if self._in_parts and not self._must_ask and self._undealt:
            return self._put_part(*self._undealt.take(length))
        return None if self._in_flight else self._make_only_request()

    def _make_only_request(self) -> UploadExchange:
        """Return a request that must be the only one of the file."""
        if self._must_ask:
            return self._ask_received()
        if self._in_parts:  # all are confirmed, but not the file: sending a part again makes the receiver confirm it
            return self._put_part(self.job.size_bytes - 1, self.job.size_bytes - 1)
        return self._put_full_file() if self._has_sent_all_at_s is None else self._send("HEAD", {}, None)

    # The source.

    def _open(self) -> bool:
        """Open the source, and return whether it is ready; with checksums a thread computes its sum first."""
        try:
            self._fd = open_regular_file(self.job.source)
            found = os.fstat(self._fd)
            hides_size = not found.st_size and os.pread(self._fd, 1, 0)  # as in /proc
        except OSError as error:
            self.give_up(f"cannot read {self.job.source}: {explain_os_error(error)}")
            return False
        if hides_size or not self._is_as_listed(found):
            self.give_up(
                f"{self.job.source} {'does not tell its size' if hides_size else 'has changed since it was listed'}"
            )
            return False
        self._upload_id = make_upload_id(self.job, found, self.form)
        options = self.host.options
        self._decision = judge_stored(self.job.stored, found, options.skip, checksum=options.checksum)
        if self._decision is SkipDecision.SKIP:
            self._finish(skipped=True)
            return False
        if options.checksum and not self.form:
            self._preparing = True
            self.host.run_blocking(self._sum).add_done_callback(self._on_summed)
        return not self._preparing

    def _sum(self) -> None:
        """Compute the sum that the receiver compares, unless the file that is there has the sum of this one."""
        known = None if self.job.stored is None else self.job.stored.checksum
        if self._decision is SkipDecision.COMPARE and known is not None:
            self._is_there = compute_checksum(self.job.source, known.algorithm) == known
        if not self._is_there:
            with os.fdopen(open_regular_file(self.job.source), "rb") as source:
                self._digest = file_digest(source, "sha256").hexdigest()

    def _on_summed(self, outcome: Future[object]) -> None:
        if outcome.cancelled():
            return
        self._preparing = False
        if (error := outcome.exception()) is not None:
            reason = explain_os_error(error) if isinstance(error, OSError) else error
            self.give_up(f"cannot read {self.job.source}: {reason}")
        elif self._is_there:
            self._finish(skipped=True)
        else:
            self.host.make_available(self)

    def read_at(self, position: int, length: int) -> bytes:
        fd = self._require_source()
        try:
            block = os.pread(fd, length, position)
        except OSError as error:
            self.give_up(f"cannot read {self.job.source}: {explain_os_error(error)}")
            raise FileFault("the source cannot be read") from error
        self._check_source(fd, len(block))
        return block

    def send_at(self, position: int, length: int, socket_fd: int) -> int:
        fd = self._require_source()
        sent_bytes = os.sendfile(socket_fd, fd, position, length)
        self._check_source(fd, sent_bytes)
        return sent_bytes

    def _require_source(self) -> int:
        if self.is_over or self._fd is None:
            raise FileFault("not to be sent any more")
        return self._fd

    def _check_source(self, fd: int, nbytes: int) -> None:
        """Count bytes that were taken from the source, if it still is as it was listed."""
        if not nbytes:
            self.give_up(f"{self.job.source} became shorter while it was sent")
            raise FileFault("the source became shorter")
        if not self._is_as_listed(os.fstat(fd)):
            self._give_up_changed()
            raise FileFault("the source changed")
        self.host.note_moved(self, nbytes)

    def _give_up_changed(self) -> None:
        self.give_up(f"{self.job.source} changed while it was sent; copy it again when it is at rest")

    def _has_changed_on_the_way(self, sent: FileSlice) -> bool:
        """Return whether bytes that the kernel sent may be others than those that were checked when they left."""
        return sent.follows_kernel and self._fd is not None and not self._is_as_listed(os.fstat(self._fd))

    def _is_as_listed(self, found: os.stat_result) -> bool:
        return (found.st_size, found.st_mtime_ns) == (self.job.size_bytes, self.job.modified_at_ns)

    # Requests.

    def _ask_received(self) -> UploadExchange:
        return self._send("HEAD", {"Tradewind-Upload": self._upload_id}, None)

    def _put_full_file(self) -> UploadExchange:
        self._undealt = RangeSet()
        self._put_at_s = monotonic()
        body = self._make_slice(0, self.job.size_bytes - 1)
        return self._send("PUT", {"Content-Length": str(self.job.size_bytes)}, body)

    def _put_part(self, first: int, last: int) -> UploadExchange:
        headers = {
            "Content-Length": str(last - first + 1),
            "Content-Range": f"bytes {first}-{last}/{self.job.size_bytes}",
            "Tradewind-Upload": self._upload_id,
        }
        return self._send("PUT", headers, self._make_slice(first, last))

    def _make_slice(self, first: int, last: int) -> FileSlice:
        """Return bytes of the file as a body."""
        return FileSlice(self, first, last)

    def _send(self, method: str, headers: dict[str, str], body: FileSlice | None) -> UploadExchange:
        if self._digest is not None and body is not None:
            headers["Tradewind-Sha256"] = self._digest
        if body is not None:
            headers |= self._describe_time()
        is_full = body is not None and not self._in_parts
        exchange = UploadExchange(self, self.url, self.request(method, headers), body, is_full=is_full)
        self._in_flight.add(exchange)
        return exchange

    def _describe_time(self) -> dict[str, str]:
        """Return the time of the file for servers that store it, such as ownCloud, Nextcloud and serve-files."""
        return {"X-OC-Mtime": str(self.job.modified_at_ns // 1_000_000_000)}

    # Answers.

    def handle_answer(self, exchange: UploadExchange, head: ResponseHead) -> None:
        self._in_flight.discard(exchange)
        self.learn_cookies(exchange, head)
        if self.is_over:
            return
        if head.status in REDIRECTS:
            self._undealt = self._find_missing()
            self.redirect(head)
        elif exchange.sent is None and not self._in_parts and self._has_sent_all_at_s is not None:
            self._judge_stored(head, self._has_sent_all_at_s)
        elif exchange.sent is None:
            self._learn_received(head)
        elif self._has_changed_on_the_way(exchange.sent):
            self._give_up_changed()
        elif head.status == _ACCEPTED and self._in_parts:
            self._confirm(exchange.sent)
        elif head.status in _STORED:
            self._finish_stored(exchange.sent, head)
        elif head.status in _FOLDER_MISSING and not self._in_parts and not self._has_folder:
            self._make_folder(exchange, head)
        else:
            self._undealt = self._find_missing()
            self.refuse(exchange, head)

    def _learn_received(self, head: ResponseHead) -> None:
        """Learn which bytes have arrived; a server that is not ours does not understand the query."""
        self._must_ask = False
        ours = "tradewind-received" in head.headers or head.headers.get("server", "").startswith("tradewind")
        if head.headers.get("tradewind-complete") == "true":
            self._finish(skipped=not self._has_sent)
            return
        if head.status == _NO_CONTENT and ours:
            ranges = (_RECEIVED_RANGE.fullmatch(each) for each in head.headers["tradewind-received"].split(","))
            self._received = RangeSet((int(each[1]), int(each[2])) for each in ranges if each is not None)
        elif head.status == _NOT_FOUND and ours:
            self._received = RangeSet()
        else:
            self._in_parts = False
        self._undealt = self._find_missing()
        self.host.make_available(self)

    def _judge_stored(self, head: ResponseHead, started_at_s: float) -> None:
        """Judge whether the server has stored the file that was sent to it, though it has not said so."""
        self._has_sent_all_at_s = None
        now_s = monotonic()
        if shows_new_file(head, self.job, now_s - started_at_s, now_s - self.host.options.made_at_s):
            self._finish()
            return
        self._undealt = self._find_missing()
        self.host.make_available(self)

    def _make_folder(self, exchange: UploadExchange, head: ResponseHead) -> None:
        """Make the folder of the file on the server, as WebDAV has it, then send it again."""
        self._has_folder = self._preparing = True
        self._undealt = self._find_missing()
        self.host.make_remote_folder(self.url, partial(self._go_on, exchange, head))

    def _go_on(self, exchange: UploadExchange, head: ResponseHead, refusal: str) -> None:
        """Send the file again, unless its folder could not be made."""
        self._preparing = False
        if refusal and not self._return_to_first_url(exchange, head):
            self.give_up(f"the server answered {head.status_line}: {refusal}")
        else:
            self.host.make_available(self)

    def _confirm(self, sent: FileSlice) -> None:
        self._received.add(sent.first, sent.last)
        self._has_sent = True
        self.note_progress()
        if self.has_undealt:
            self.host.make_available(self)

    def _finish_stored(self, sent: FileSlice, head: ResponseHead) -> None:
        """Finish a file that the server has stored, provided that all of it was sent."""
        if sent.remaining_bytes:
            self._undealt = self._find_missing()
            self.fault(FileFault(f"the server answered {head.status_line} before it had all bytes"))
            return
        self._received.add(sent.first, sent.last)
        if self._received.covers(self.job.size_bytes):
            self._finish()
        elif self._in_parts and self._find_missing():  # or the answers to other parts are lost
            self._must_ask = True
            self.fault(FileFault("the server took a part for the whole file; it does not know uploads in parts"))

    def _finish(self, *, skipped: bool = False) -> None:
        self.is_over = True
        self._close()
        self.host.note_done(self, skipped=skipped)

    def handle_loss(self, exchange: UploadExchange, fault: FileFault | None) -> None:
        self._in_flight.discard(exchange)
        if self.is_over:
            return
        self._undealt = self._find_missing()
        if exchange.sent is None and fault is not None:
            self._note_unanswered()
        if self._in_parts and exchange.moved_bytes:
            self._must_ask = self._has_sent = True  # part of it may have arrived
        if not self._in_parts and exchange.sent is not None and not exchange.sent.remaining_bytes:
            self._has_sent_all_at_s = self._put_at_s  # all of it may have
        if (counted := self.count_loss(fault)) is not None:
            self.fault(counted)
        if self.has_undealt:
            self.host.make_available(self)

    def _note_unanswered(self) -> None:
        """Note that a question had no answer; after some, do without."""
        self._unanswered += 1
        if self._unanswered >= _MOST_QUESTIONS:
            self._must_ask, self._in_parts, self._has_sent_all_at_s = False, False, None

    def _find_missing(self) -> RangeSet:
        """Return the ranges that are neither confirmed nor in flight."""
        taken = RangeSet(self._received)
        for exchange in self._in_flight:
            if exchange.sent is not None:
                taken.add(exchange.sent.first, exchange.sent.last)
        return taken.find_missing(self.job.size_bytes)

    def checkpoint(self) -> None:
        """Do nothing: the receiver has the journal."""

    def make_closer(self) -> Callable[[], None]:
        return self._close

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
