"""Downloads by ranges, for as long as nothing shows that their server has none."""

from abc import abstractmethod
from mimetypes import guess_type

from tradewind.units import KIB, MIB
from tradewind_agent.engine.file_transfer import EXPIRED_STATUSES
from tradewind_agent.engine.http.http1 import FULL_ANSWERS, ResponseHead
from tradewind_agent.engine.http.retry import parse_retry_after
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.stored_download import StoredDownload
from tradewind_agent.engine.origin.limits import AMBIGUOUS_STATUSES
from tradewind_agent.engine.origin.range_refusals import MissingAnswer, Refusal
from tradewind_agent.engine.range_read import RangeRead
from tradewind_agent.engine.remote.media_types import ERROR_TYPES, MESSAGE_TYPES, is_page_name, parse_media_type
from tradewind_agent.engine.remote.page_checks import is_program_name
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.errors import ConnectionFault, DroppedBeforeAnswer, FileFault, MalformedResponse

_INTERNAL_ERROR, _NOT_IMPLEMENTED = 500, 501
_OTHER_REASONS = frozenset({401, 407, 408, 423, 425, 429})
"""Refusals that say their reason: a login, the load, or another request."""
_FINAL = (frozenset(range(400, 500)) - _OTHER_REASONS) | {_NOT_IMPLEMENTED}

_LEAST_TRIES: dict[Refusal, int] = {_INTERNAL_ERROR: 2, MissingAnswer.DROPPED: 3, MissingAnswer.SILENT: 1}
"""Tries of a file before one without Range, of refusals that are retried anyway: they happen by chance as well."""

_UNDECIDED = frozenset({408, 425, 429, 502, 503, 504, 509})
"""Refusals of a request without Range that show nothing: the server may be overloaded."""

_LONGEST_MESSAGE_BYTES = 64 * KIB

_LEAST_BYTES_IN_PARTS = 4 * MIB
"""Of a longer file the parts are worth one more request."""


class AnsweredWithoutRange(FileFault):
    """The file without Range, where ranges are tried once more; its connection is closed."""


class RangedDownload(StoredDownload):
    """A download whose server may refuse requests with Range in another way than by 416, or never answer them.

    Programs and filters do so. Where a server has sent no part so far, a request without Range shows whether it is the
    range that it refuses. A final refusal waits for that. One that is retried is retried without Range once, so that no
    request is added. A kind of refusal that a file has met without Range as well is tested no more.
    """

    def __init__(self, job: DownloadJob, host: TransferHost) -> None:
        super().__init__(job, host)
        self._tested: Refusal | None = None  # by the next request, or the one in flight, which is without Range
        self._refused: tuple[RangeRead, ResponseHead] | None = None  # what counts if the test shows no file

    @property
    def _is_testing(self) -> bool:
        """Return whether the next request is without Range to test that; a part of another file ends the test."""
        return self._tested is not None and not self.traits.range_refusals.has_sent_part

    @property
    def _has_ranges(self) -> bool:
        """Return whether the next request may have a Range."""
        return self.traits.ranges and not self._is_testing

    @property
    def _permits_range(self) -> bool:
        """Return whether a Range may be added to a request, to distinguish its answer from others."""
        return not (self._is_testing or self.traits.range_refusals.are_final)

    def _note_part(self, read: RangeRead) -> None:
        """Note that the server has sent a part that was requested: refusals have other reasons."""
        if read.ranged:
            traits = self.host.get_traits(read.origin)
            traits.ranges |= traits.range_refusals.note_part()
            self._tested = self._refused = None

    @abstractmethod
    def _settle_read(self, read: RangeRead) -> None:
        """Keep the bytes of a finished read, and return the rest to be dealt again."""

    def _note_full_answer(self, read: RangeRead, head: ResponseHead, answered: FileIdentity) -> None:
        """Learn from the file, if it came without Range after a refusal.

        Raises
        ------
        AnsweredWithoutRange : the refusal may have been chance, and the file is long: its parts are requested.
        """
        tested, self._tested, self._refused = self._tested, None, None
        if tested is not None and not read.ranged:
            traits = self.host.get_traits(read.origin)
            states_ranges = head.headers.get("accept-ranges", "").strip().lower() == "bytes"
            traits.range_refusals.note_sent_without(tested, self.limits.started, states_ranges=states_ranges)
            traits.ranges &= not traits.range_refusals.are_final
            self.limits.note_refused_ranges()
            is_long = (head.content_length or 0) > _LEAST_BYTES_IN_PARTS and answered.validator is not None
            if is_long and traits.ranges and not read.peek:
                self._settle_read(read)
                self.host.make_available(self)
                raise AnsweredWithoutRange("the ranges of this server are tried once more")

    def _refuse_read(self, read: RangeRead, head: ResponseHead) -> None:
        """Handle an error status, in the words of the store where it has any."""
        source = self.host.options.hooks.find_source(read.url.origin)
        if source is not None:
            self.refuse(read, head, source.explain(read.url, head, read.refusal))
        elif self._goes_on_without_range(read, head) or self._end_test(read, head.status not in _UNDECIDED):
            return
        elif head.status in FULL_ANSWERS:
            self.fault(MalformedResponse("a page or a message in place of the file"))
        else:
            self.refuse(read, head)
            self._retry_without_range(read, head.status)

    def _goes_on_without_range(self, read: RangeRead, head: ResponseHead) -> bool:
        """Request the file without Range where a final refusal may be due to it; return whether it is requested so."""
        refusals = self.host.get_traits(read.origin).range_refusals
        if not read.ranged or self.is_over or not self._may_mean_range(read, head):
            return False
        if not self._is_due_to_range(read, head.status):
            if self.is_waiting or head.status not in _FINAL or not refusals.may_test(head.status):
                return False
            self._tested, self._refused = head.status, (read, head)
        self.host.make_available(self)
        return True

    def _is_due_to_range(self, read: RangeRead, refusal: Refusal) -> bool:
        """Return whether that is known, or about to be tested: the next request is without, and the refusal is over."""
        traits = self.host.get_traits(read.origin)
        request = self.limits.started if read.send_context is None else read.send_context.started
        if self._tested is None and traits.range_refusals.confirm(refusal, request):
            traits.ranges = False
            self.limits.note_refused_ranges()
        return not self._has_ranges

    def _may_mean_range(self, read: RangeRead, head: ResponseHead) -> bool:
        is_tested = head.status in _FINAL or head.status in _LEAST_TRIES
        if not is_tested or parse_retry_after(head.headers) is not None:
            return False
        if head.status in EXPIRED_STATUSES and read.url != self._first_url:
            return False  # the target of a redirect, which may be good no more
        if head.status not in AMBIGUOUS_STATUSES or self._tested is not None:
            return True
        return read.send_context is not None and self.limits.was_alone(read.send_context)

    def _retry_without_range(self, read: RangeRead, refusal: Refusal | None) -> None:
        """Have the next try, if there is one, be without Range where that may help."""
        if refusal is None or not read.ranged or not self.is_waiting or self.is_over:
            return
        refusals = self.host.get_traits(read.origin).range_refusals
        if refusals.may_test(refusal) and self._tries >= _LEAST_TRIES.get(refusal, self._tries + 1):
            self._tested = refusal

    def _end_test(self, read: RangeRead, is_decided: bool) -> bool:
        """End the test if this was its request, without the file; return whether the refusal before it counts."""
        if self._tested is None or read.ranged:
            return False
        tested, self._tested = self._tested, None
        refused, self._refused = self._refused, None
        if is_decided:
            self.host.get_traits(read.origin).range_refusals.note_refused_without(tested)
        if refused is None:
            return False
        before, head = refused
        if before.send_context is not None:  # as if it had just come
            before.send_context = before.send_context._replace(started=self.limits.started)
        self.refuse(before, head)
        return True

    def _shows_no_file(self, read: RangeRead, head: ResponseHead) -> bool:
        """Return whether an answer to the test is not the file: then the final refusal before it counts."""
        if self._tested is None or read.ranged:
            return False
        if head.status in FULL_ANSWERS:
            return self._may_be_message(head)
        return self._refused is not None

    def _may_be_message(self, head: ResponseHead) -> bool:
        """Return whether an answer may be a page or a message about the file, which is not named like one."""
        name, kind = self.job.source.name, parse_media_type(head.headers.get("content-type", ""))
        if kind in ERROR_TYPES:
            return not (is_page_name(name) or is_program_name(name))
        is_short = (head.content_length or 0) <= _LONGEST_MESSAGE_BYTES
        return kind in MESSAGE_TYPES and is_short and guess_type(name)[0] not in MESSAGE_TYPES

    def redirect(self, head: ResponseHead) -> None:
        self._tested = self._refused = None
        super().redirect(head)

    def _handle_lost_range(self, read: RangeRead, fault: FileFault | None) -> bool:
        """Return whether a lost request needs no other handling."""
        loss = self._find_loss(read, fault)
        if fault is None or not read.ranged:
            return fault is not None and self._end_test(read, loss is not None)
        if loss is None or not self._is_due_to_range(read, loss):
            return False
        self.host.make_available(self)
        return True

    def _find_loss(self, read: RangeRead, fault: FileFault | None) -> MissingAnswer | None:
        """Return how an answer was missing, which may be due to the range; ``None`` where it is something else."""
        if self.host.options.hooks.find_source(read.url.origin) is not None:
            return None
        if isinstance(fault, ConnectionFault) and fault.is_silence:
            return MissingAnswer.SILENT
        return MissingAnswer.DROPPED if isinstance(fault, DroppedBeforeAnswer) else None

    def _go_without_ranges(self, reason: str) -> None:
        self.traits.ranges = False
        self.fault(MalformedResponse(reason))
