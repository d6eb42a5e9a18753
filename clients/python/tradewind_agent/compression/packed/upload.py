"""Upload of one file as one packed stream: only its end proves it, so no part of a failed try is retained."""

import os
from asyncio import Future
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from functools import partial
from typing import BinaryIO

from tradewind.compression.codecs import Codec
from tradewind_agent.compression.codecs import list_available_codecs, list_common_codecs
from tradewind_agent.compression.options import PackedOutcome, PackingOptions
from tradewind_agent.compression.packed.packed_payload import PackedPayload
from tradewind_agent.compression.packed.packing_host import PackingHost
from tradewind_agent.compression.packing import PackedFile
from tradewind_agent.compression.sampling import FileSample
from tradewind_agent.compression.wire_names import CODECS_HEADER, PACKED_CODING
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import REDIRECTS, RequestHead, ResponseHead
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.origin.limits import LOAD_STATUSES
from tradewind_agent.engine.sent_alone import SentAlone
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.engine.upload import FileUpload
from tradewind_agent.engine.upload_exchange import UploadExchange
from tradewind_agent.errors import AgentError, FileFault
from tradewind_agent.system_errors import explain_os_error

_STORED = frozenset({200, 201, 204})
_NO_CONTENT, _NOT_FOUND = 204, 404
_LEAST_SERVER_ERROR, _NOT_IMPLEMENTED = 500, 501


class PackedPut(SentAlone, UploadExchange):
    """The request that carries a packed file; nothing is sent behind it, nor it behind others."""

    def __init__(
        self, file: "PackedUpload", url: Url, request: RequestHead, body: PackedPayload, on_over: Callable[[], None]
    ) -> None:
        super().__init__(file, url, request, None, is_full=False)
        self.payload = self.body = body
        self._on_over = on_over

    @property
    def moved_bytes(self) -> int:
        return self.body.plain_bytes

    def on_end(self) -> None:
        self._close()
        super().on_end()

    def on_lost(self, fault: FileFault | None) -> None:
        """Handle the loss; where the status has come the file is there, whatever becomes of the rest of the answer."""
        self._close()
        if self._head is not None and self._head.status in _STORED:
            super().on_end()
        else:
            super().on_lost(fault)

    def _close(self) -> None:
        self.body.close()
        self._on_over()


class PackedUpload(FileUpload):
    """The upload of one file: a query whether it is there, then the packed file."""

    form = "packed"

    def __init__(self, job: UploadJob, host: TransferHost, packing: PackingOptions, packing_host: PackingHost) -> None:
        super().__init__(job, host)
        self._packing, self._packing_host = packing, packing_host
        self._packed: tuple[PackedFile, BinaryIO] | None = None
        self._sampling: ThreadFuture[FileSample] | None = None
        self._perhaps_stored: PackedFile | None = None  # sent in full, but not answered
        self._is_packed = True  # as long as the server has not shown otherwise

    @property
    def has_undealt(self) -> bool:
        if not self._is_packed:
            return super().has_undealt
        return not (self.is_over or self.is_waiting or self._preparing or self._in_flight)

    def take(self, streams: int, most_bytes: int) -> UploadExchange | None:
        if not self._is_packed:
            return super().take(streams, most_bytes)
        if (self._fd is None and not self._open()) or not self.has_undealt:
            return None
        if self._packed is None:
            self._start_sampling()
            headers = {CODECS_HEADER: ",".join(sorted(list_available_codecs()))}
            return self._send("HEAD", {"Tradewind-Upload": self._upload_id, **headers}, None)
        return self._put_packed(*self._packed) if self._packing_host.slots.acquire(self) else None

    def _start_sampling(self) -> None:
        """Sample the file while the receiver answers."""
        if self._sampling is None and self._packing.needs_sample and self._fd is not None:
            descriptor = os.dup(self._fd)
            self._sampling = self._packing_host.streams.submit(self._packing.sample, descriptor)
            self._sampling.add_done_callback(lambda _: os.close(descriptor))

    def _put_packed(self, packed: PackedFile, source: BinaryIO) -> PackedPut:
        self._packed = None
        packed.files_at_once = max(self._packing_host.slots.in_use, 1)
        headers = {
            "Content-Encoding": PACKED_CODING,
            "Content-Range": f"bytes 0-{self.job.size_bytes - 1}/{self.job.size_bytes}",
            "Transfer-Encoding": "chunked",
            "Tradewind-Upload": self._upload_id,
            **self._describe_time(),
        }
        body = PackedPayload(packed, source, self._packing_host.streams, self._note_sent)
        put = PackedPut(self, self.url, self.request("PUT", headers), body, self._packing_host.slots.release)
        self._in_flight.add(put)
        return put

    def _note_sent(self, plain_bytes: int, packed_bytes: int) -> None:
        self.host.note_moved(self, plain_bytes)
        self._packing_host.count_moved(self, plain_bytes, packed_bytes)

    # Answers.

    def handle_answer(self, exchange: UploadExchange, head: ResponseHead) -> None:
        if not self._is_packed:
            super().handle_answer(exchange, head)
            return
        self._in_flight.discard(exchange)
        self.learn_cookies(exchange, head)
        if isinstance(exchange, PackedPut):
            self._judge_put(exchange, head)
        elif not self.is_over:
            self._judge_query(exchange, head)

    def _judge_query(self, query: UploadExchange, head: ResponseHead) -> None:
        is_from_receiver = head.headers.get("server", "").startswith("tradewind")
        if head.headers.get("tradewind-complete") == "true":
            self._finish_complete()
        elif head.status in REDIRECTS:
            self.redirect(head)
        elif is_from_receiver and head.status in (_NO_CONTENT, _NOT_FOUND):
            self._learn_codecs(head)
        elif is_from_receiver or self._is_from_front(query, head.status):
            self.refuse(query, head)
        elif self._packing.mode.is_adaptive:
            self._send_plain()
        else:
            self.give_up("the server takes no packed uploads")

    def _is_from_front(self, query: UploadExchange, status: int) -> bool:
        """Return whether something in front of the receiver may refuse in its place: later it may pass on."""
        is_failing = status >= _LEAST_SERVER_ERROR and status != _NOT_IMPLEMENTED
        return status in LOAD_STATUSES or is_failing or query.url != self._first_url

    def _finish_complete(self) -> None:
        """Finish a file that the receiver has: stored before this run, or from a request whose answer was lost."""
        packed = self._perhaps_stored
        if packed is not None:
            self._note_sent(self.job.size_bytes, packed.work.packed_bytes)
            self._packing_host.note_file(self.job, PackedOutcome(work=packed.work, sample=packed.sample))
        self._finish(skipped=packed is None)

    def _send_plain(self) -> None:
        """Send the file as it is: the server is none of ours, and nobody has requested a codec."""
        super()._close()
        self._is_packed, self.form = False, FileUpload.form
        self.host.make_available(self)

    def _learn_codecs(self, head: ResponseHead) -> None:
        """Open the file as a packed stream, in a thread: it may be sampled first."""
        names = head.headers.get(CODECS_HEADER.lower())
        if names is None:
            self.give_up("the server takes no uploads; start it with --writable")
            return
        assert self._fd is not None
        source = os.fdopen(os.dup(self._fd), "rb")  # of its own: a thread may read it when this upload is over
        codecs = self._packing.find_codecs() or list_common_codecs(names)
        self._preparing = True
        self._packing_host.run(partial(self._open_packed, source, codecs), partial(self._on_opened, source))

    def _open_packed(self, source: BinaryIO, codecs: frozenset[Codec]) -> PackedFile:
        status = os.fstat(source.fileno())
        if not self._is_as_listed(status):
            raise FileFault(f"{self.job.source} has changed since it was listed", retryable=False)
        return self._packing.open_packed_file(source.fileno(), status, codecs, self._sampling)

    def _on_opened(self, source: BinaryIO, opening: "Future[PackedFile]") -> None:
        self._preparing = False
        error = opening.exception()
        if error is not None or self.is_over:
            source.close()
        if isinstance(error, OSError):
            self.give_up(f"cannot read {self.job.source}: {explain_os_error(error)}")
        elif isinstance(error, AgentError):
            self.give_up(str(error))
        elif error is not None:
            self.give_up(f"cannot be packed: {error!r}")
        elif not self.is_over:
            self._packed = opening.result(), source
            self.host.make_available(self)

    def _judge_put(self, put: PackedPut, head: ResponseHead) -> None:
        packed = put.body.packed
        if head.status in _STORED and not self.is_over and packed.failure is None:
            self._packing_host.note_file(self.job, PackedOutcome(work=packed.work, sample=packed.sample))
            self._finish()
            return
        self._take_back(put)
        if self.is_over:
            return
        if packed.failure is not None:
            self.fault(packed.failure)
        elif head.status in REDIRECTS:
            self.redirect(head)
        else:
            self.refuse(put, head)

    def handle_loss(self, exchange: UploadExchange, fault: FileFault | None) -> None:
        if not self._is_packed:
            super().handle_loss(exchange, fault)
            return
        self._in_flight.discard(exchange)
        if isinstance(exchange, PackedPut):
            self._take_back(exchange)
            fault = exchange.body.packed.failure or fault
            if exchange.body.is_finished:
                self._perhaps_stored = exchange.body.packed
        if self.is_over:
            return
        if (counted := self.count_loss(fault)) is not None:
            self.fault(counted)
        if self.has_undealt:
            self.host.make_available(self)

    def _close(self) -> None:
        super()._close()
        if self._packed is not None:
            self._packed[1].close()
            self._packed = None

    def _take_back(self, put: PackedPut) -> None:
        """Count what was sent as still to be moved: the receiver retains no part of a packed file."""
        self.host.note_moved(self, -put.body.plain_bytes)
        self._packing_host.count_moved(self, -put.body.plain_bytes, 0)
