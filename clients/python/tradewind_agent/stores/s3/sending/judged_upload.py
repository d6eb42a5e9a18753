"""Whether an object store has what was sent: by sums and tags in its answers, or else by the size of the object."""

from tradewind.units import format_count
from tradewind_agent.engine.checked_upload import find_stored_bytes
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.local.stated_checksums import find_tagged_checksum, has_encryption
from tradewind_agent.errors import FileFault, UnusableSource
from tradewind_agent.stores.s3.refusals import explain_refusal, find_error_code
from tradewind_agent.stores.s3.sending.divided_upload import OTHER_BYTES, SUM_HEADER, DividedUpload
from tradewind_agent.stores.s3.sending.multipart import (
    compute_joined_sum,
    compute_joined_tag,
    find_joined_sum,
    find_joined_tag,
    is_completed,
)
from tradewind_agent.stores.s3.sending.object_requests import UploadStep

_MISSING = frozenset({404, 410})


class JudgedUpload(DividedUpload):
    """An upload whose answers are judged."""

    _has_local_source = True
    _success = ""  # status of the answer that says too little

    def _judge_completion(self, head: ResponseHead, document: bytes) -> None:
        """Go on from an answer to the joining of parts; it may be an error, or state the sum of other parts."""
        if not is_completed(self.url, document):
            raise UnusableSource(explain_refusal(head.status_line, find_error_code(self.url, document)))
        stated_sum, tag = find_joined_sum(self.url, document), compute_joined_tag(self._etags)
        if stated_sum not in (None, compute_joined_sum(self._sums)):
            self.give_up(OTHER_BYTES)
        elif stated_sum is None and (tag is None or find_joined_tag(self.url, document) != tag):
            self._look_at_object(head)
        else:
            self._finish_joined()

    def _require_sum(self, head: ResponseHead, sent: str) -> None:
        """See that the store has what was sent, where it says so.

        Raises
        ------
        UnusableSource
        """
        if head.headers.get(SUM_HEADER, sent) != sent:
            raise UnusableSource(OTHER_BYTES)

    def _finish_put(self, head: ResponseHead) -> None:
        """Finish an object that is stored; where the store states no sum of it, its tag is compared if it is one."""
        if not head.headers.get("etag") and SUM_HEADER not in head.headers:
            self._look_at_object(head)
            return
        tagged = find_tagged_checksum(head.headers)
        is_encrypted = has_encryption(head.headers)  # the tag may be a sum of what is encrypted
        if tagged is None or is_encrypted or SUM_HEADER in head.headers or not self._has_local_source:
            self._finish()
            return
        self._preparing = True

        def go_on(tag: str | None) -> None:
            self._preparing = False
            if tag == f'"{tagged.digest.hex()}"':
                self._finish()
            else:
                self.fault(FileFault(OTHER_BYTES))
                self._go_on_if_undealt()

        self._run_then(self._compute_tag, go_on)

    def _look_at_object(self, success: ResponseHead) -> None:
        """Look at the object: an answer without sum and tag may be that of a gateway that has stored nothing."""
        self._success, self._step = success.status_line, UploadStep.LOOK
        self.host.make_available(self)

    def _judge_stored_object(self, head: ResponseHead) -> None:
        """Finish unless the object is missing or of another size; where the store does not say, its answer counts."""
        stored_bytes = find_stored_bytes(head)
        if head.status in _MISSING:
            self.fault(FileFault(f"the store answered {self._success}, and does not have the object"))
        elif stored_bytes not in (None, self.job.size_bytes):
            has = f"the store has {format_count(stored_bytes or 0, 'byte')} of {self.job.size_bytes}"
            self.fault(FileFault(f"{has}, though it answered {self._success}"))
        else:
            self._finish_joined()

    def _finish_joined(self) -> None:
        if not self._is_adopted:
            self._finish()
        else:
            self._step = UploadStep.VERIFY
            self.host.make_available(self)

    def _go_on_if_undealt(self) -> None:
        if self.has_undealt:
            self.host.make_available(self)
