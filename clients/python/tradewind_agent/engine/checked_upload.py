"""Uploads to servers of others, whose word alone is not always enough: HEAD shows what was stored.

A form to log in, a gateway or a proxy may answer a PUT with success and store nothing, or less than was sent.
"""

import json
import os
from asyncio import Future
from functools import partial

from tradewind.units import MIB, format_count
from tradewind_agent.engine.http.http1 import REDIRECTS, ResponseHead
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.local.checksums import Checksum, compute_checksum
from tradewind_agent.engine.local.stated_checksums import find_stated_checksum, find_stored_checksum
from tradewind_agent.engine.remote.media_types import HTML_TYPES, is_page_name, parse_media_type
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.engine.upload import FileUpload
from tradewind_agent.engine.upload_exchange import FileSlice, UploadExchange
from tradewind_agent.errors import FileFault

_OK = 200
_MISSING = frozenset({404, 410})
_ELSEWHERE = frozenset({301, 302, 303})
"""Redirects by which a server may send a browser to a form; 307 and 308 send the upload itself, as to a pool."""

_MARKS_OF_FORMS = (b"<form", b'type="password', b"type=password")
_NO_ERRORS = frozenset({"", "0", "200", "201", "false", "no", "no error", "no errors", "none", "null", "ok", "success"})
_FRESH = {"Cache-Control": "no-cache"}

_DIRECTORY_BUCKET = "--x-s3"
"""The end of the names of Amazon's directory buckets, whose tags look like sums and are none."""

_LARGE_BYTES = 64 * MIB
"""Of files from this size on what was stored is looked at: the question takes no time next to the file."""

_MOST_QUESTIONS = 2
"""Questions without an answer after which the server's word counts."""


class CheckedUpload(FileUpload):
    """The upload of one file, checked where the answer is doubtful, the file is large, or checksums are compared.

    The first file of an origin is checked as well: a server that stores nothing does so from the beginning.
    """

    def __init__(self, job: UploadJob, host: TransferHost) -> None:
        super().__init__(job, host)
        self._success: ResponseHead | None = None  # that the server has answered, and that is being checked
        self._answer_start = b""
        self._answer: bytes | None = None
        self._was_sent_elsewhere = False
        self._is_false = self._states_error = False  # more likely than not
        self._lost_questions = 0

    def _make_only_request(self) -> UploadExchange:
        return super()._make_only_request() if self._success is None else self._send("HEAD", _FRESH, None)

    def _finish_stored(self, sent: FileSlice, head: ResponseHead) -> None:
        if sent.remaining_bytes or self._in_parts:
            super()._finish_stored(sent, head)
        elif (stated := self._find_stored_checksum(head)) is not None:
            self._compare_stored(stated, sent, head)
        elif self._must_check(head):
            self._question(head)
        else:
            super()._finish_stored(sent, head)

    def _find_stored_checksum(self, head: ResponseHead) -> Checksum | None:
        is_directory_bucket = _DIRECTORY_BUCKET in str(self.url)
        return find_stored_checksum(head.headers, self._answer, has_sum_tags=not is_directory_bucket)

    def _compare_stored(self, stated: Checksum, sent: FileSlice, head: ResponseHead) -> None:
        """Finish if the sum that the server states of what it has stored is that of the file."""
        self._preparing = True

        def go_on(outcome: Future[object]) -> None:
            self._preparing = False
            if self.is_over or outcome.cancelled():
                return
            error = outcome.exception()
            if error is not None or not self._is_as_listed(os.fstat(self._require_source())):
                self._give_up_changed()
            elif outcome.result() != stated:
                self.give_up(
                    f"the server has other bytes than were sent, though it answered {head.status_line}: "
                    f"it states {stated}, and the file has {outcome.result()}"
                )
            else:
                self.traits.shows_uploads = True
                super(CheckedUpload, self)._finish_stored(sent, head)

        compute = partial(compute_checksum, self.job.source, stated.algorithm)
        self.host.run_blocking(compute).add_done_callback(go_on)

    def _question(self, success: ResponseHead) -> None:
        """Have the server show what it has stored."""
        self._success = success
        self.url, self._redirects = self._first_url, 0
        self._undealt = self._find_missing()
        self.host.make_available(self)

    def _must_check(self, head: ResponseHead) -> bool:
        is_form = any(mark in self._answer_start.lower() for mark in _MARKS_OF_FORMS)
        self._states_error = head.status == _OK and _states_error(self._answer or b"")
        is_login = head.status == _OK and self._is_page(head) and is_form
        self._is_false = self._was_sent_elsewhere or self._states_error or is_login
        is_ours = head.headers.get("server", "").startswith("tradewind")
        is_large = self.job.size_bytes >= _LARGE_BYTES
        is_worth_it = self.host.options.checksum or is_large or not self.traits.shows_uploads
        return self._is_false or (is_worth_it and not is_ours)

    def _is_page(self, head: ResponseHead) -> bool:
        is_html = parse_media_type(head.headers.get("content-type", "")) in HTML_TYPES
        return is_html and not is_page_name(self._first_url.name)

    def handle_answer(self, exchange: UploadExchange, head: ResponseHead) -> None:
        if self._success is None or exchange.sent is not None or self.is_over or head.status in REDIRECTS:
            self._was_sent_elsewhere |= exchange.sent is not None and head.status in _ELSEWHERE
            self._answer_start, self._answer = exchange.answer_start, exchange.answer
            super().handle_answer(exchange, head)
            return
        self._in_flight.discard(exchange)
        self.learn_cookies(exchange, head)
        self._judge(self._success, head)

    def _judge(self, success: ResponseHead, stored: ResponseHead) -> None:
        """Judge a success by what the server has now; where it does not say, the success counts."""
        size = self.job.size_bytes
        stored_bytes = find_stored_bytes(stored)
        if self._is_false and (stored.status in _MISSING or (stored_bytes != size and self._is_page(stored))):
            claim = f"the server answered {success.status_line}"
            advice = f": {self._answer_start[:200]!r}" if self._states_error else "; does it ask for a login?"
            self.give_up(f"{claim}, and does not have the file{advice}")
        elif stored_bytes in (None, size) and not self._has_other_sum(stored):
            self._believe(is_unseen=stored.status in _MISSING)
        elif stored_bytes in (None, size):
            self.give_up(f"the server has other bytes than were sent, though it answered {success.status_line}")
        else:  # or an older version is shown for a while: the question is repeated, not the file
            has = f"the server has {format_count(stored_bytes, 'byte')} of {size}"
            self.fault(FileFault(f"{has}, though it answered {success.status_line}"))

    def _has_other_sum(self, stored: ResponseHead) -> bool:
        """Return whether the server states another SHA-256 than the file has, as far as both are known."""
        stated = find_stated_checksum(stored.headers, is_full=True, has_content=False)
        if stated is None or stated.algorithm != "sha256" or self._digest is None:
            return False
        return stated.digest.hex() != self._digest

    def handle_loss(self, exchange: UploadExchange, fault: FileFault | None) -> None:
        if self._success is None or exchange.sent is not None or self.is_over:
            super().handle_loss(exchange, fault)
            return
        self._in_flight.discard(exchange)
        self._lost_questions += fault is not None
        if self._lost_questions >= _MOST_QUESTIONS:
            self._believe(is_unseen=True)
        else:
            self.host.make_available(self)

    def _believe(self, *, is_unseen: bool) -> None:
        """Finish the file: the server has shown it, or shows no more than its success."""
        if is_unseen:
            self.host.options.unseen.add(self._first_url)
        self.traits.shows_uploads = True
        self._finish()


def _states_error(answer: bytes) -> bool:
    """Return whether a document says that the request has failed, as programs do that answer 200 all the same."""
    if not answer.lstrip().startswith(b"{"):
        return False
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    failed = any(document.get(name) is False for name in ("success", "ok"))
    named = any(_names_error(document.get(name)) for name in ("error", "errors"))
    return failed or named or document.get("status") in ("error", "fail", "failed")


def _names_error(value: object) -> bool:
    """Return whether the value of ``error`` is one: programs also write there that there was none."""
    if isinstance(value, dict) and "code" in value:
        value = value["code"]
    return bool(value) and str(value).strip().rstrip(".!").lower() not in _NO_ERRORS


def find_stored_bytes(head: ResponseHead) -> int | None:
    """Return the size that an answer to HEAD states.

    ``None`` too for what a cache has stored, and for 0 of a program, which does not say when that was written.
    """
    if head.status != _OK or head.codings or "age" in head.headers:
        return None
    return head.content_length if head.content_length or "last-modified" in head.headers else None
