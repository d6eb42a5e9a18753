"""Copies of objects that the store makes itself: by one request, or of a large object part by part.

Each request names the version that was listed, so that no copy is of two. The answer may be 200 and say an error in its
body, which a store sends after it has kept the connection alive by blanks.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from tradewind.units import MIB
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.jobs import RelayJob, UploadJob
from tradewind_agent.engine.relay.legs import Instead, ServerCopy
from tradewind_agent.engine.remote.xml_index import parse_xml
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.engine.upload_exchange import UploadExchange
from tradewind_agent.errors import RefusedByServer, UnusableSource
from tradewind_agent.stores.s3.address import S3Address
from tradewind_agent.stores.s3.object_source import describe_object
from tradewind_agent.stores.s3.refusals import explain_refusal, find_error_code
from tradewind_agent.stores.s3.sending.multipart import (
    LARGEST_SINGLE_BYTES,
    MOST_PARTS,
    Division,
    StoredPart,
    make_subresource,
)
from tradewind_agent.stores.s3.sending.object_requests import ObjectExchange, UploadStep
from tradewind_agent.stores.s3.sending.object_upload import ObjectUpload

_LEAST_PART_BYTES = 512 * MIB
"""The store moves the bytes: parts are for its time limits, not for the path."""

_OK, _FORBIDDEN, _NOT_ALLOWED, _CHANGED, _NOT_IMPLEMENTED = 200, 403, 405, 412, 501
_CANNOT_COPY = frozenset({_NOT_ALLOWED, _NOT_IMPLEMENTED})


class NoCopyMade(Exception):
    """The store has taken the request for something else than a copy."""


class ObjectCopy(ObjectUpload, ServerCopy):
    """The copy of one object within a store.

    ``source`` : bucket and key. ``is_there`` : whether the store has the copy already.
    """

    form = "copied"

    def __init__(
        self, job: RelayJob, host: TransferHost, bucket: Url, key: str, source: S3Address, *, is_there: bool
    ) -> None:
        assert job.size_bytes is not None
        upload = UploadJob(
            source=Path(job.fetched.destination),
            destination=job.destination,
            size_bytes=job.size_bytes,
            modified_at_ns=0,
        )
        super().__init__(upload, host, bucket, key)
        self._relay = job
        self._is_there = is_there
        self._division = Division(job.size_bytes, max(_LEAST_PART_BYTES, -(-job.size_bytes // MOST_PARTS)))
        self._step = UploadStep.DESCRIBE if job.size_bytes > LARGEST_SINGLE_BYTES else UploadStep.PUT
        if self._step is UploadStep.DESCRIBE:
            self.url = job.source
        self._described: Mapping[str, str] = {}
        self._copy_fields = {
            "x-amz-copy-source": quote(f"/{source.bucket}/{source.key}", safe="/", errors="surrogateescape"),
            "x-amz-copy-source-if-match": job.fetched.etag or "",
        }

    def plan_parts(self, part_bytes: int | None) -> None:
        """Do nothing: the store moves the bytes."""

    @property
    def has_undealt(self) -> bool:
        if self.is_over or self.is_waiting:
            return False
        return bool(self._to_send) or not self._in_flight

    def take(self, streams: int, most_bytes: int) -> UploadExchange | None:  # noqa: ARG002 -- the store moves the bytes
        if self._is_there:
            self._finish(skipped=True)
        if not self.has_undealt:
            return None
        if self._step is UploadStep.PART and self._to_send:
            return self._send_part(self._to_send.pop())
        match self._step:
            case UploadStep.PUT:
                return self._send_step("PUT", self.url, None, dict(self._copy_fields))
            case UploadStep.DESCRIBE:
                return self._send_step("HEAD", self.url, None, {})
            case UploadStep.BEGIN:
                return self._send_step("POST", make_subresource(self.url, {"uploads": ""}), None, self._describe())
            case _:
                return self._make_request()

    def _send_part(self, number: int) -> ObjectExchange:
        first, length = self._division.get_range(number)
        place = make_subresource(self.url, {"partNumber": str(number), "uploadId": self._store_id})
        fields = self._copy_fields | {"x-amz-copy-source-range": f"bytes={first}-{first + length - 1}"}
        return self._send_step("PUT", place, None, fields, number=number)

    def _describe(self) -> dict[str, str]:
        return dict(self._described)

    def _sum_next_parts(self) -> None:
        """Do nothing: no byte of the object is here."""

    def _reuse_parts(self, store_id: str, listed: Sequence[StoredPart]) -> None:
        """Use an upload of this run, which has no parts yet."""
        if listed:
            self._step, self._store_id = UploadStep.BEGIN, ""
            self.host.make_available(self)
        else:
            self._begin_parts(store_id, {})

    def _give_up_changed(self) -> None:
        self.give_up("it changed since it was listed; copy it again when it is at rest")

    def _has_source_changed(self) -> bool:
        """Return false: the store compares the version."""
        return False

    def _go_on_from(self, exchange: ObjectExchange, head: ResponseHead) -> None:
        if exchange.step is UploadStep.DESCRIBE:
            tag = self._relay.fetched.etag
            if head.content_length != self.job.size_bytes or (tag is not None and head.headers.get("etag") != tag):
                self._give_up_changed()
                return
            self._described = describe_object(head.headers)
            self._step, self.url = UploadStep.BEGIN, self.job.destination
        elif exchange.step is UploadStep.PUT:
            tag = self._read_result(exchange)
            self.host.note_moved(self, self.job.size_bytes)
            if tag == self._relay.fetched.etag:
                self._finish()
            else:
                self._look_at_object(head)
        elif exchange.step is UploadStep.PART:
            tag = self._read_result(exchange)
            first, length = self._division.get_range(exchange.number)
            self._etags[exchange.number] = tag
            self._received.add(first, first + length - 1)
            self.host.note_moved(self, length)
            self.note_progress()
        else:
            super()._go_on_from(exchange, head)

    def _read_result(self, exchange: ObjectExchange) -> str:
        """Return the tag of a copy or of a part of it.

        Raises
        ------
        NoCopyMade : the answer is none to a copy.
        UnusableSource : the store has failed in the middle of its answer.
        """
        try:
            root = parse_xml(self.url, exchange.document)
        except UnusableSource as error:
            raise NoCopyMade(str(error)) from error
        if root.tag == "Error":
            raise UnusableSource(explain_refusal("200 OK", root.findtext("Code") or "an error"))
        if root.tag not in ("CopyObjectResult", "CopyPartResult"):
            raise NoCopyMade(f"the answer is a {root.tag}")
        return root.findtext("ETag") or ""

    def handle_answer(self, exchange: UploadExchange, head: ResponseHead) -> None:
        assert isinstance(exchange, ObjectExchange)
        try:
            super().handle_answer(exchange, head)
        except NoCopyMade as error:
            self._relay_instead(str(error), holds_for_all=True)

    def _refuse_step(self, exchange: ObjectExchange, head: ResponseHead) -> None:
        code = find_error_code(self.url, exchange.document)
        is_copy = exchange.step in (UploadStep.PUT, UploadStep.PART)
        if exchange.step is UploadStep.LOOK:
            super()._refuse_step(exchange, head)
        elif head.status == _CHANGED:
            self._give_up_changed()
        elif head.status in _CANNOT_COPY or (is_copy and head.status == _FORBIDDEN and code == "AccessDenied"):
            reason = explain_refusal(head.status_line, "" if code == "AccessDenied" else code)
            self._relay_instead(reason, holds_for_all=head.status in _CANNOT_COPY)
        elif exchange.step is UploadStep.DESCRIBE:
            self.fault(RefusedByServer(f"its metadata cannot be read: {head.status_line}", status=head.status))
        else:
            super()._refuse_step(exchange, head)

    def _relay_instead(self, reason: str, *, holds_for_all: bool) -> None:
        self.instead = Instead(reason, holds_for_all=holds_for_all)
        self.give_up(reason)
