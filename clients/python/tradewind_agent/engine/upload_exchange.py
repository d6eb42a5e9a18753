"""Requests of an upload: the query for received bytes, and PUTs of a file or a part of it."""

import os
import socket
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Protocol

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.exchange import Payload, ReceiveGate
from tradewind_agent.engine.http.http1 import RequestHead, ResponseHead
from tradewind_agent.engine.http.retry import parse_http_date
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.origin.limits import SendContext
from tradewind_agent.engine.origin.pipelining import ExpectedAnswer, ExpectedStored, PipelinedExchange
from tradewind_agent.errors import FileFault, MalformedResponse

_OK = 200
_CLOCK_STEP_S = 2.0
"""HTTP dates are whole seconds, and some file systems keep even ones."""

_LONGEST_ANSWER_BYTES = 256 * 1024
_LOOKED_AT_BYTES = 16 * 1024

_READ_LAST_BYTES = 64 * 1024
"""The end of a file that is read here, and its state checked, before it leaves: a receiver must not get a complete body
of a file that changed on its way. Smaller files cost no less by the kernel."""


def make_upload_id(job: UploadJob, found: os.stat_result, form: str = "") -> str:
    """Return the id of the upload of an open source file, the same in every run while its bytes are unchanged.

    Size and time can be set, and hosts may have files of one name: inode, last change of any kind and host tell such
    files apart, whose parts must not meet in one file. ``form`` : in which the bytes are sent.
    """
    at = (socket.gethostname(), str(job.source.resolve()), found.st_dev, found.st_ino)
    version = (job.size_bytes, job.modified_at_ns, found.st_ctime_ns)
    return sha256(repr((*at, *version, form)).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def shows_new_file(head: ResponseHead, job: UploadJob, elapsed_s: float, run_s: float) -> bool:
    """Return whether an answer to HEAD shows a file of this size, written within ``elapsed_s`` by its clock.

    ``run_s`` : since the run has started. A file that was there before, and was as new then, says nothing: such a
    server states the time of its answer.
    """
    now, written = (parse_http_date(head.headers.get(name, "")) for name in ("date", "last-modified"))
    if now is None or written is None or (now - written).total_seconds() > elapsed_s + _CLOCK_STEP_S:
        return False
    before = job.stored.modified_at if job.stored is not None else None
    if before is not None and (now - before).total_seconds() <= run_s + _CLOCK_STEP_S:
        return False
    return head.status == _OK and head.content_length == job.size_bytes


class SliceSource(Protocol):
    """The open file that slices are of; both methods raise `FileFault` where it is not as it was listed."""

    def read_at(self, position: int, length: int) -> bytes:
        """Return bytes for a request in flight, whose length has been announced."""

    def send_at(self, position: int, length: int, socket_fd: int) -> int:
        """Have the kernel send bytes to a socket, and return how many."""


class FileSlice:
    """Bytes ``first`` to ``last`` of a source file, read or sent by the kernel as the connection takes them.

    ``follows_kernel`` : whether the kernel has sent some: those may still change while they are on their way.
    """

    def __init__(self, source: SliceSource, first: int, last: int) -> None:
        self._source = source
        self.first = first
        self.last = last
        self.position = first
        self.follows_kernel = False

    @property
    def remaining_bytes(self) -> int:
        return self.last + 1 - self.position

    @property
    def is_finished(self) -> bool:
        return not self.remaining_bytes

    def call_when_ready(self, wake: Callable[[], None]) -> None:
        """Call ``wake``: a file has bytes at all times."""
        wake()

    def read(self, most_bytes: int) -> bytes:
        block = self._source.read_at(self.position, min(most_bytes, self.remaining_bytes))
        self.position += len(block)
        return block

    @property
    def file_body(self) -> "FileSlice | None":
        return self if self.remaining_bytes > _READ_LAST_BYTES else None

    @property
    def kernel_bytes(self) -> int:
        return self.remaining_bytes - _READ_LAST_BYTES

    def send_by_kernel(self, socket_fd: int, most_bytes: int) -> int:
        sent_bytes = self._source.send_at(self.position, most_bytes, socket_fd)
        self.position += sent_bytes
        self.follows_kernel = True
        return sent_bytes


class SendingFile(Protocol):
    """The file that a request belongs to. A protocol, because uploads are the layer above."""

    def handle_answer(self, exchange: "UploadExchange", head: ResponseHead) -> None:
        """Handle a complete answer."""

    def handle_loss(self, exchange: "UploadExchange", fault: FileFault | None) -> None:
        """Handle a request without an answer."""


class UploadExchange:
    """One request of an upload; a query has no payload.

    Attributes
    ----------
    sent : the bytes of the file that go with it.
    answer_start : the beginning of the answer's body.
    expected_answer : set for a full file.
    """

    payload: Payload | None
    receive_gate: ReceiveGate | None = None

    def __init__(
        self, file: SendingFile, url: Url, request: RequestHead, sent: FileSlice | None, *, is_full: bool
    ) -> None:
        self.file = file
        self.url = url
        self.origin = url.origin
        self.request = request
        self.sent = sent
        self.payload = sent
        self.expected_answer: ExpectedAnswer | None = ExpectedStored() if is_full else None
        self.send_context: SendContext | None = None
        self._head: ResponseHead | None = None
        self._answer_bytes = 0
        self.answer_start = b""

    @property
    def moved_bytes(self) -> int:
        return self.sent.position - self.sent.first if self.sent is not None else 0

    @property
    def expected_bytes(self) -> int:
        return self.sent.remaining_bytes if self.sent is not None else 0

    @property
    def can_be_followed(self) -> bool:
        """Return false for a query: the end of an answer to HEAD is only known when nothing follows it."""
        return self.sent is not None

    @property
    def can_be_divided(self) -> bool:
        return False

    def set_apart(self, others: Sequence[ExpectedAnswer]) -> bool:
        expected = self.expected_answer
        return expected is not None and all(expected.differs_from(other) for other in others)

    def may_follow(self, _before: PipelinedExchange, *, has_ranges: bool) -> bool:  # noqa: ARG002 -- asks for none
        return True

    @property
    def answer(self) -> bytes | None:
        """Return the body of the answer; ``None`` for a longer one than is looked at."""
        return self.answer_start if self._answer_bytes == len(self.answer_start) else None

    def on_head(self, head: ResponseHead) -> None:
        self._head = head

    def on_data(self, data: memoryview) -> None:
        self._answer_bytes += len(data)
        self.answer_start += bytes(data[: _LOOKED_AT_BYTES - len(self.answer_start)])
        if self._answer_bytes > _LONGEST_ANSWER_BYTES:
            raise MalformedResponse("an answer to an upload that does not end")

    def on_end(self) -> None:
        assert self._head is not None
        self.file.handle_answer(self, self._head)

    def on_lost(self, fault: FileFault | None) -> None:
        self.file.handle_loss(self, fault)

    def on_unproved(self) -> None:
        self.file.handle_loss(self, None)
