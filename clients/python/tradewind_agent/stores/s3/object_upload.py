"""The upload of one object: in one PUT, or in parts that survive a broken run.

Each body goes with its CRC-32, which the store compares. Parts of an earlier run are found in the store itself; those
whose MD5 sums are those of the file here are reused.
"""

import asyncio
import mimetypes
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from tradewind_agent.engine.file_transfer import TransferHost
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.http.request_head import make_request_head
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.origin.limits import LOAD_STATUSES
from tradewind_agent.engine.upload import FileUpload
from tradewind_agent.engine.upload_exchange import FileSlice, UploadExchange
from tradewind_agent.errors import FileFault, RefusedByServer, UnusableSource
from tradewind_agent.stores.s3.body_sums import sum_range
from tradewind_agent.stores.s3.bucket_pages import StoredObject
from tradewind_agent.stores.s3.multipart import (
    LARGEST_SINGLE_BYTES,
    PARTS_A_PAGE,
    Division,
    StoredPart,
    choose_part_bytes,
    find_upload_id,
    is_completed,
    make_subresource,
    parse_parts,
    parse_upload_id,
    write_completion,
)
from tradewind_agent.stores.s3.object_requests import Document, ObjectExchange, UploadStep
from tradewind_agent.stores.s3.refusals import explain_refusal, find_error_code
from tradewind_agent.system_errors import explain_os_error

Result = TypeVar("Result")

_OK, _FORBIDDEN, _BROKEN = 200, 403, 500
_BUSY = frozenset({429, 503})
_SUMMED_AT_ONCE_BYTES = 64 * 1024
"""Bodies up to this size are summed in the event loop."""

_SUMMED_BEFORE = 4
"""Parts that are summed before their turn."""

_MOST_RESTARTS = 1
_SUM_HEADER = "x-amz-checksum-crc32"

_PASSING = frozenset({"RequestTimeout", "BadDigest", "InternalError", "OperationAborted"})
"""Codes of refusals that may pass, whatever their status."""


class ObjectUpload(FileUpload):
    """The upload of one file to a bucket.

    ``bucket`` : where the bucket is requested; ``key`` : of the object; ``stored`` : the object that has this key now.
    """

    form = "object"

    def __init__(self, job: UploadJob, host: TransferHost, bucket: Url, key: str, stored: StoredObject | None) -> None:
        super().__init__(job, host)
        self._bucket, self._key, self._stored = bucket, key, stored
        self._division = Division(job.size_bytes, choose_part_bytes(job.size_bytes))
        self._step = UploadStep.PUT
        self._store_id = ""  # of the upload in parts
        self._to_send: list[int] = []  # numbers of parts, the next one last
        self._etags: dict[int, str] = {}
        self._sums: dict[int, str] = {}
        self._is_summing = False
        self._listed: list[StoredPart] = []
        self._marker: str | None = None
        self._restarts = 0
        self._reason = ""  # why it fails, once it does

    # Dealing.

    @property
    def has_undealt(self) -> bool:
        if self.is_over or self.is_waiting or self._preparing:
            return False
        return self._to_send[-1] in self._sums if self._to_send else not self._in_flight

    def take(self, streams: int, most_bytes: int) -> UploadExchange | None:  # noqa: ARG002 -- parts have a size of their own
        if self._fd is None:
            if self._is_there():
                self._finish(skipped=True)
                return None
            if not self._open():
                return None
            if self.job.size_bytes > (self._division.part_bytes if streams > 1 else LARGEST_SINGLE_BYTES):
                self._step = UploadStep.FIND
            elif not self._sum_object():
                return None
        if not self.has_undealt:
            return None
        if self._step is UploadStep.PART and self._to_send:
            return self._send_part(self._to_send.pop())
        return self._make_request()

    def _is_there(self) -> bool:
        """Return whether the store has the file: an object of its size, stored since its last change."""
        stored, changed_s = self._stored, self.job.modified_at_ns / 1e9
        if stored is None or stored.size_bytes != self.job.size_bytes or stored.modified_at is None:
            return False
        if self.host.options.checksum:
            return sum_range(self.job.source, 0, self.job.size_bytes)[1] == stored.etag
        return stored.modified_at.timestamp() >= changed_s

    def _sum_object(self) -> bool:
        """Sum a file that goes in one request, a large one in a thread; return whether it is done."""
        if self.job.size_bytes <= _SUMMED_AT_ONCE_BYTES:
            self._sums[1] = sum_range(self.job.source, 0, self.job.size_bytes)[0]
            return True
        self._preparing = True
        self._run_then(lambda: sum_range(self.job.source, 0, self.job.size_bytes), self._note_sum)
        return False

    def _note_sum(self, sums: tuple[str, str]) -> None:
        self._preparing = False
        self._sums[1] = sums[0]
        self.host.make_available(self)

    def _run_then(self, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Run work that reads the file in a thread, then go on with what it returns; the file fails if it cannot."""

        def go_on(outcome: asyncio.Future[object]) -> None:
            if outcome.cancelled() or self.is_over:
                return
            if (error := outcome.exception()) is not None:
                reason = explain_os_error(error) if isinstance(error, OSError) else error
                self.give_up(f"cannot read {self.job.source}: {reason}")
            else:
                then(cast("Result", outcome.result()))

        self.host.run_blocking(work).add_done_callback(go_on)

    # Parts.

    def _begin_parts(self, store_id: str, reused: Mapping[int, str]) -> None:
        """Send the parts that the store does not have."""
        self._step, self._store_id, self._etags = UploadStep.PART, store_id, dict(reused)
        self._to_send = [number for number in range(self._division.count, 0, -1) if number not in reused]
        for number in reused:
            first, length = self._division.get_range(number)
            self._received.add(first, first + length - 1)
        self._sum_next_parts()
        self.host.make_available(self)

    def _sum_next_parts(self) -> None:
        """Sum the next parts while those before them are sent."""
        unsummed = [number for number in self._to_send[-_SUMMED_BEFORE:] if number not in self._sums]
        if not unsummed or self._is_summing:
            return
        self._is_summing, number = True, unsummed[-1]

        def note(sums: tuple[str, str]) -> None:
            self._is_summing, self._sums[number] = False, sums[0]
            self._sum_next_parts()
            self.host.make_available(self)

        first, length = self._division.get_range(number)
        self._run_then(lambda: sum_range(self.job.source, first, length), note)

    def _reuse_parts(self, store_id: str, listed: Sequence[StoredPart]) -> None:
        """Reuse the parts of an earlier run that are those of this file, and send the others."""

        def compare() -> dict[int, str]:
            reused = {}
            for part in listed:
                first, length = self._division.get_range(part.number)
                crc, tag = sum_range(self.job.source, first, length) if part.size_bytes == length > 0 else ("", "")
                if tag == part.etag:
                    reused[part.number], self._sums[part.number] = tag, crc
            return reused

        self._preparing = True

        def begin(reused: dict[int, str]) -> None:
            self._preparing = False
            self._begin_parts(store_id, reused)

        self._run_then(compare, begin)

    # Requests.

    def _make_request(self) -> ObjectExchange:
        """Return the only request of a step."""
        place = self.url
        query: dict[str, str]
        match self._step:
            case UploadStep.PUT:
                body = FileSlice(self, 0, self.job.size_bytes - 1)
                return self._send_step("PUT", place, body, self._describe() | {_SUM_HEADER: self._sums[1]})
            case UploadStep.FIND:
                query = {"uploads": "", "prefix": self._key, "encoding-type": "url", "max-uploads": "100"}
                place = self._bucket
            case UploadStep.LIST:
                query = {"uploadId": self._store_id, "max-parts": str(PARTS_A_PAGE)}
                query |= {"part-number-marker": self._marker} if self._marker else {}
            case UploadStep.ABORT:
                return self._send_step("DELETE", make_subresource(place, {"uploadId": self._store_id}), None, {})
            case UploadStep.BEGIN:
                place = make_subresource(place, {"uploads": ""})
                return self._send_step("POST", place, None, self._describe() | {"x-amz-checksum-algorithm": "CRC32"})
            case _:
                place = make_subresource(place, {"uploadId": self._store_id})
                joined = Document(write_completion(self._etags, self._sums))
                return self._send_step("POST", place, joined, {"Content-Type": "application/xml"}, step=UploadStep.JOIN)
        return self._send_step("GET", make_subresource(place, query), None, {})

    def _describe(self) -> dict[str, str]:
        """Return what the store is to know of the object."""
        kind = mimetypes.guess_type(self.job.source.name, strict=False)[0]
        return {"Content-Type": kind or "application/octet-stream"}

    def _send_part(self, number: int) -> ObjectExchange:
        first, length = self._division.get_range(number)
        place = make_subresource(self.url, {"partNumber": str(number), "uploadId": self._store_id})
        body = FileSlice(self, first, first + length - 1)
        self._sum_next_parts()
        return self._send_step("PUT", place, body, {_SUM_HEADER: self._sums[number]}, number=number)

    def _send_step(
        self,
        method: str,
        place: Url,
        body: FileSlice | Document | None,
        headers: dict[str, str],
        *,
        step: UploadStep | None = None,
        number: int = 0,
    ) -> ObjectExchange:
        if method in ("PUT", "POST"):
            headers["Content-Length"] = str(0 if body is None else body.remaining_bytes)
        request = make_request_head(method, place, self.host.options, headers)
        exchange = ObjectExchange(self, self.url, request, body, step=step or self._step, number=number)
        self._in_flight.add(exchange)
        return exchange

    # Answers.

    def handle_answer(self, exchange: UploadExchange, head: ResponseHead) -> None:
        assert isinstance(exchange, ObjectExchange)
        self._in_flight.discard(exchange)
        if self.is_over:
            return
        if self._reason:
            self._go_on_aborting(exchange)
            return
        if head.status != _OK:
            self._refuse_step(exchange, head)
            return
        try:
            self._go_on_from(exchange, head)
        except UnusableSource as error:
            self._take_back(exchange)
            self.fault(FileFault(str(error)))
        if self.has_undealt:
            self.host.make_available(self)

    def _go_on_from(self, exchange: ObjectExchange, head: ResponseHead) -> None:
        """Go on from a step that is done."""
        url, document = self.url, exchange.answer
        match exchange.step:
            case UploadStep.PUT:
                self._finish()
            case UploadStep.FIND:
                self._store_id = find_upload_id(url, document, self._key) or ""
                self._step = UploadStep.LIST if self._store_id else UploadStep.BEGIN
            case UploadStep.LIST:
                parts, self._marker = parse_parts(url, document)
                self._listed += parts
                if self._marker is None:
                    self._reuse_parts(self._store_id, self._listed)
            case UploadStep.BEGIN:
                self._begin_parts(parse_upload_id(url, document), {})
            case UploadStep.PART:
                first, length = self._division.get_range(exchange.number)
                self._etags[exchange.number] = head.headers.get("etag", "")
                self._received.add(first, first + length - 1)
                self.note_progress()
            case UploadStep.JOIN:
                if not is_completed(url, document):
                    raise UnusableSource(explain_refusal(head.status_line, find_error_code(url, document)))
                self._finish()

    def _refuse_step(self, exchange: ObjectExchange, head: ResponseHead) -> None:
        """Handle a refusal; without the list of earlier uploads the file is sent from its beginning."""
        code = find_error_code(self.url, exchange.answer)
        self._take_back(exchange)
        if exchange.step in (UploadStep.FIND, UploadStep.LIST) and head.status not in _BUSY:
            self._step, self._store_id = UploadStep.BEGIN, ""
            self.host.make_available(self)
        elif code == "NoSuchUpload" and self._restarts < _MOST_RESTARTS:
            self._restart()
        elif head.status in LOAD_STATUSES and not (head.status == _FORBIDDEN and code):
            self.refuse(exchange, head)
        else:
            reason, passes = explain_refusal(head.status_line, code), code in _PASSING or head.status >= _BROKEN
            self.fault(RefusedByServer(reason, retryable=passes, status=head.status))

    def _restart(self) -> None:
        """Begin another upload: somebody has ended this one."""
        self._restarts += 1
        self._step, self._store_id, self._to_send, self._received = UploadStep.BEGIN, "", [], RangeSet()
        self.host.make_available(self)

    def _take_back(self, exchange: ObjectExchange) -> None:
        """Note that a request was not done."""
        if exchange.step is UploadStep.PART and self._step is UploadStep.PART:
            self._to_send.append(exchange.number)

    def handle_loss(self, exchange: UploadExchange, fault: FileFault | None) -> None:
        assert isinstance(exchange, ObjectExchange)
        self._in_flight.discard(exchange)
        if self.is_over:
            return
        if self._reason:
            self._go_on_aborting(exchange)
            return
        self._take_back(exchange)
        if (counted := self.count_loss(fault)) is not None:
            self.fault(counted)
        if self.has_undealt:
            self.host.make_available(self)

    def give_up(self, reason: str) -> None:
        """Fail the file, once the store was asked to forget its parts; where it cannot be, the next run finds them."""
        if self.is_over or self._reason:
            return
        if not self._store_id:
            super().give_up(reason)
            return
        self._reason, self._step, self._to_send = reason, UploadStep.ABORT, []
        self.is_waiting = self._preparing = False
        self.host.make_available(self)

    def _go_on_aborting(self, exchange: ObjectExchange) -> None:
        """Fail the file after the request that aborts its upload, which waits for those in flight."""
        if exchange.step is UploadStep.ABORT:
            super().give_up(self._reason)
        elif self.has_undealt:
            self.host.make_available(self)
