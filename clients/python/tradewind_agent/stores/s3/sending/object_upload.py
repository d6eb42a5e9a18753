"""The upload of one object: in one PUT, or in parts that survive a broken run.

Each body goes with its CRC-32, which the store compares. Parts of an earlier run are found in the store itself; those
whose MD5 sums are those of the file here are reused.
"""

import os

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.http.request_head import make_request_head
from tradewind_agent.engine.http.sending.document import Document
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.origin.limits import BUSY_STATUSES, LOAD_STATUSES, TOO_MANY_REQUESTS
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.engine.upload_exchange import FileSlice, UploadExchange
from tradewind_agent.errors import FileFault, RefusedByServer, UnusableSource
from tradewind_agent.stores.s3.properties import has_properties, write_properties
from tradewind_agent.stores.s3.refusals import (
    explain_refusal,
    find_common_fault,
    find_error_code,
    find_error_message,
)
from tradewind_agent.stores.s3.sending.divided_upload import SUM_HEADER
from tradewind_agent.stores.s3.sending.judged_upload import JudgedUpload
from tradewind_agent.stores.s3.sending.multipart import (
    PARTS_A_PAGE,
    compute_joined_tag,
    find_upload_id,
    make_subresource,
    parse_parts,
    parse_upload_id,
    write_completion,
)
from tradewind_agent.stores.s3.sending.object_requests import ObjectExchange, UploadStep

_OK, _FORBIDDEN, _BROKEN = 200, 403, 500
_CANNOT_LIST = frozenset({403, 404, 405, 501})
_MOST_RESTARTS, _MOST_ABORTS = 3, 3
_SUM_HEADERS = "x-amz-checksum-"

_OVERLOADED = frozenset({500, 502, 504, TOO_MANY_REQUESTS}) | BUSY_STATUSES
"""Statuses of a store that does not answer now, and says nothing of an object."""

_PASSING = frozenset({"RequestTimeout", "IncompleteBody", "BadDigest", "InternalError", "OperationAborted"})
"""Codes of refusals that may pass, whatever their status."""


class ObjectUpload(JudgedUpload):
    """The upload of one file to a bucket.

    ``bucket`` : where the bucket is requested; ``key`` : of the object.
    ``sends_sums`` : the store takes the CRC-32 of bodies; else its tags alone show what it has.
    """

    def __init__(self, job: UploadJob, host: TransferHost, bucket: Url, key: str, *, sends_sums: bool = True) -> None:
        super().__init__(job, host)
        self._sends_sums = sends_sums
        self._bucket, self._key = bucket, key
        self._marker: str | None = None
        self._restarts = 0
        self._reason = ""  # why it fails, once it does
        self._aborts = 0
        self._is_divided = False

    @property
    def has_undealt(self) -> bool:
        if self.is_over or self.is_waiting or self._preparing:
            return False
        if self._to_send:
            return self._to_send[-1] in self._sums
        return not self._in_flight and not self._unproven_tags

    def take(self, streams: int, most_bytes: int) -> UploadExchange | None:  # noqa: ARG002 -- parts have a size of their own
        if self._fd is None:
            if not self._open():
                return None
            self._is_divided = self.job.size_bytes > self._division.part_bytes * self._count_parts_at_once(streams)
            if not self._begin_or_compare():
                return None
        if not self.has_undealt:
            return None
        if self._step is UploadStep.PART and self._to_send:
            return self._send_part(self._to_send.pop())
        return self._make_request()

    def _begin(self) -> bool:
        """Begin to send the file; return whether that can be done at once."""
        if self._is_divided:
            self._step = UploadStep.FIND
            self._sums.clear()
            self._open_note()
            return True
        return self._sum_object()

    def _make_request(self) -> ObjectExchange:
        """Return the only request of a step."""
        place = self.url
        query: dict[str, str]
        match self._step:
            case UploadStep.PUT:
                body = self._make_slice(0, self.job.size_bytes - 1)
                return self._send_step("PUT", place, body, self._describe() | {SUM_HEADER: self._sums[1]})
            case UploadStep.FIND:
                query = {"uploads": "", "prefix": self._key, "encoding-type": "url", "max-uploads": "100"}
                place = self._bucket
            case UploadStep.LIST:
                query = {"uploadId": self._store_id, "max-parts": str(PARTS_A_PAGE)}
                query |= {"part-number-marker": self._marker} if self._marker else {}
            case UploadStep.CHECK | UploadStep.VERIFY | UploadStep.LOOK:
                return self._send_step("HEAD", place, None, {})
            case UploadStep.ABORT:
                return self._send_step("DELETE", make_subresource(place, {"uploadId": self._store_id}), None, {})
            case UploadStep.BEGIN:
                place = make_subresource(place, {"uploads": ""})
                return self._send_step("POST", place, None, self._describe() | {"x-amz-checksum-algorithm": "CRC32"})
            case _:
                place = make_subresource(place, {"uploadId": self._store_id})
                joined = Document(write_completion(self._etags, self._sums if self._sends_sums else {}))
                return self._send_step("POST", place, joined, {"Content-Type": "application/xml"}, step=UploadStep.JOIN)
        return self._send_step("GET", make_subresource(place, query), None, {})

    def _describe(self) -> dict[str, str]:
        """Return what the store is to know of the object."""
        return write_properties(self.host.options.properties, self.job.source.name)

    def _send_part(self, number: int) -> ObjectExchange:
        first, length = self._division.get_range(number)
        place = make_subresource(self.url, {"partNumber": str(number), "uploadId": self._store_id})
        body = self._make_slice(first, first + length - 1)
        self._sum_next_parts()
        return self._send_step("PUT", place, body, {SUM_HEADER: self._sums[number]}, number=number)

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
        if not self._sends_sums:
            headers = {name: value for name, value in headers.items() if not name.startswith(_SUM_HEADERS)}
        if method in ("PUT", "POST"):
            headers["Content-Length"] = str(0 if body is None else body.remaining_bytes)
        request = make_request_head(method, place, self.host.options, headers)
        exchange = ObjectExchange(
            self, self.url, request, body, step=step or self._step, number=number, upload_id=self._store_id
        )
        self._in_flight.add(exchange)
        return exchange

    def handle_answer(self, exchange: UploadExchange, head: ResponseHead) -> None:
        assert isinstance(exchange, ObjectExchange)
        self._in_flight.discard(exchange)
        if self.is_over:
            return
        if self._reason:
            self._go_on_aborting(exchange, is_done=head.status < _BROKEN and head.status not in LOAD_STATUSES)
            return
        if exchange.upload_id != self._store_id:  # another upload has taken its place
            self._go_on_if_undealt()
            return
        if exchange.sent is not None and self._has_source_changed():
            self._give_up_changed()
            return
        if head.status != _OK:
            self._refuse_step(exchange, head)
            return
        try:
            self._require_no_error(exchange, head)
            self._go_on_from(exchange, head)
        except UnusableSource as error:
            self._take_back(exchange)
            self.fault(FileFault(str(error)))
        self._go_on_if_undealt()

    def _has_source_changed(self) -> bool:
        return not self._is_as_listed(os.fstat(self._require_source()))

    def _require_no_error(self, exchange: ObjectExchange, head: ResponseHead) -> None:
        """See that an answer of success to a body has no error document, as gateways write that answer too early.

        Raises
        ------
        UnusableSource
        """
        has_body = exchange.step in (UploadStep.PUT, UploadStep.PART)
        if has_body and (code := find_error_code(self.url, exchange.document)):
            message = find_error_message(self.url, exchange.document)
            raise UnusableSource(explain_refusal(head.status_line, code, message))

    def _go_on_from(self, exchange: ObjectExchange, head: ResponseHead) -> None:
        """Go on from a step that is done."""
        url, document = self.url, exchange.document
        match exchange.step:
            case UploadStep.PUT:
                self._require_sum(head, self._sums[1])
                self._finish_put(head)
            case UploadStep.FIND:
                self._store_id = find_upload_id(url, document, self._key, self._noted_id) or ""
                self._step = UploadStep.LIST if self._store_id else UploadStep.BEGIN
            case UploadStep.LIST:
                parts, self._marker = parse_parts(url, document)
                self._listed += parts
                if self._marker is None:
                    self._reuse_parts(self._store_id, self._listed)
            case UploadStep.BEGIN:
                self._begin_parts(parse_upload_id(url, document), {})
            case UploadStep.CHECK | UploadStep.VERIFY:
                self._judge_joined(exchange.step, head)
            case UploadStep.LOOK:
                self._judge_stored_object(head)
            case UploadStep.PART:
                self._require_sum(head, self._sums[exchange.number])
                first, length = self._division.get_range(exchange.number)
                self._etags[exchange.number] = head.headers.get("etag", "")
                self._received.add(first, first + length - 1)
                self.note_progress()
                self._compare_part(exchange.number, head)
            case UploadStep.JOIN:
                self._judge_completion(head, document)

    def _judge_joined(self, step: UploadStep, head: ResponseHead) -> None:
        """Finish if the object is what the parts become, with its properties: others may have started its upload."""
        is_joined = step is UploadStep.VERIFY or head.headers.get("etag") == compute_joined_tag(self._etags) is not None
        if is_joined and (not self._is_adopted or has_properties(head.headers, self._describe())):
            self._finish()
        else:
            self._restart()

    def _refuse_step(self, exchange: ObjectExchange, head: ResponseHead) -> None:
        """Handle a refusal; a store that lists no unfinished uploads gets the file from its beginning."""
        code = find_error_code(self.url, exchange.document)
        if not (exchange.step is UploadStep.BEGIN and head.status in LOAD_STATUSES):  # it has started nothing
            self._take_back(exchange)
        if exchange.step in (UploadStep.FIND, UploadStep.LIST) and head.status in _CANNOT_LIST:
            self._step, self._store_id = UploadStep.BEGIN, ""
            self.host.make_available(self)
        elif code == "NoSuchUpload" and exchange.step is UploadStep.JOIN:
            self._step = UploadStep.CHECK
            self.host.make_available(self)
        elif exchange.step is UploadStep.LOOK and head.status not in _OVERLOADED:
            self._judge_stored_object(head)
        elif exchange.step in (UploadStep.CHECK, UploadStep.VERIFY) or self._is_upload_unusable(exchange, code):
            self._restart()
        elif head.status in LOAD_STATUSES and not (head.status == _FORBIDDEN and code):
            self.refuse(exchange, head)
        elif common := self._find_common_fault(head, code, find_error_message(self.url, exchange.document)):
            self.host.stop(RefusedByServer(common, retryable=False, status=head.status))
        else:
            reason = explain_refusal(head.status_line, code, find_error_message(self.url, exchange.document))
            passes = code in _PASSING or head.status >= _BROKEN
            self.fault(RefusedByServer(reason, retryable=passes, status=head.status))

    def _find_common_fault(self, head: ResponseHead, code: str, message: str) -> str:
        has_properties = not self.host.options.properties.is_usual
        return find_common_fault(head.status_line, code, message, has_properties=has_properties)

    def _is_upload_unusable(self, exchange: ObjectExchange, code: str) -> bool:
        """Return whether another upload has to be made: this one has ended, or takes no parts with such sums."""
        has_ended = code == "NoSuchUpload" and exchange.step is not UploadStep.BEGIN
        return has_ended or (self._is_adopted and exchange.step is UploadStep.PART and code == "InvalidRequest")

    def _restart(self) -> None:
        """Begin another upload: somebody has ended this one."""
        self._restarts += 1
        if self._restarts > _MOST_RESTARTS:
            self.give_up("its upload in parts is ended again and again by somebody else")
            return
        self._is_adopted = False
        self._step, self._store_id, self._to_send, self._received = UploadStep.BEGIN, "", [], RangeSet()
        self._unproven_tags.clear()
        self.host.make_available(self)

    def _take_back(self, exchange: ObjectExchange) -> None:
        """Note that a request was not done."""
        if exchange.step is UploadStep.PART and self._step is UploadStep.PART:
            self._to_send.append(exchange.number)
        elif exchange.step is UploadStep.BEGIN and self._step is UploadStep.BEGIN:
            self._step, self._may_have_started = UploadStep.FIND, True  # then its id is found there

    def handle_loss(self, exchange: UploadExchange, fault: FileFault | None) -> None:
        assert isinstance(exchange, ObjectExchange)
        self._in_flight.discard(exchange)
        if self.is_over:
            return
        if self._reason:
            self._go_on_aborting(exchange, is_done=False)
            return
        if exchange.upload_id == self._store_id:
            self._take_back(exchange)
            if (counted := self.count_loss(fault)) is not None:
                self.fault(counted)
        self._go_on_if_undealt()

    def give_up(self, reason: str) -> None:
        """Fail the file, once the store was asked to forget what this run has sent of it."""
        if self.is_over or self._reason:
            return
        if not self._store_id or (self._is_adopted and self._store_id != self._noted_id):
            super().give_up(reason)
            return
        self._reason, self._step, self._to_send = reason, UploadStep.ABORT, []
        self.is_waiting = self._preparing = False
        self.host.make_available(self)

    def _go_on_aborting(self, exchange: ObjectExchange, *, is_done: bool) -> None:
        """Fail the file after the request that aborts its upload, which waits for those in flight."""
        self._aborts += exchange.step is UploadStep.ABORT
        if exchange.step is UploadStep.ABORT and is_done:
            self._has_ended_upload = True
            super().give_up(self._reason)
        elif self._aborts >= _MOST_ABORTS:
            super().give_up(f"{self._reason}; its parts are still in the store")
        else:
            self._go_on_if_undealt()
