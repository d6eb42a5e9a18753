"""Downloads by ranges, for as long as nothing shows that their server has none."""

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from functools import partial

from tradewind.units import MIB
from tradewind_agent.engine.file_transfer import EXPIRED_STATUSES
from tradewind_agent.engine.http.connection import DroppedBeforeAnswer
from tradewind_agent.engine.http.http1 import FULL_ANSWERS, ResponseHead
from tradewind_agent.engine.http.retry import parse_retry_after
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.stored_download import StoredDownload
from tradewind_agent.engine.origin.limits import AMBIGUOUS_STATUSES, OriginLimits
from tradewind_agent.engine.origin.range_refusals import MissingAnswer, RangeRefusals, RangeTest, Refusal
from tradewind_agent.engine.range_read import RangeRead
from tradewind_agent.engine.remote.media_types import HTML_TYPES, is_page_name, parse_media_type
from tradewind_agent.engine.remote.page_checks import is_program_name
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.errors import ConnectionFault, FileFault, MalformedResponse

_INTERNAL_ERROR, _NOT_IMPLEMENTED = 500, 501
_OTHER_REASONS = frozenset({401, 407, 408, 423, 425, 429})
"""Refusals that say their reason: a login, the load, or another request."""
_TESTED_STATUSES = (frozenset(range(400, 500)) - _OTHER_REASONS) | {_INTERNAL_ERROR, _NOT_IMPLEMENTED}

_LEAST_TRIES: dict[Refusal, int] = {_INTERNAL_ERROR: 2, MissingAnswer.DROPPED: 3, MissingAnswer.SILENT: 1}
"""Tries of a file before one without Range, of refusals that are retried anyway: they happen by chance as well."""

_UNDECIDED = frozenset({408, 425, 429, 502, 503, 504, 509})
"""Refusals of a request without Range that show nothing: the server may be overloaded."""

_LEAST_BYTES_IN_PARTS = 4 * MIB
"""Of a longer file the parts are worth one more request."""

_POLL_S = 0.05
"""How often a refused file looks whether what it waits for has happened."""

_LONGEST_WAIT_S = 0.5
"""Wait for a part of another file, which shows without a request that a refusal has another reason."""


class AnsweredWithoutRange(FileFault):
    """The file without Range, where ranges are tried once more; its connection is closed."""


class RangedDownload(StoredDownload):
    """A download whose server may refuse requests with Range in another way than by 416, or never answer them.

    Programs and filters do so. Where a server has sent no part so far, one request without Range shows whether it is
    the range that it refuses; of each server once for each kind of refusal. A final refusal waits for that. One that is
    retried is retried without Range once, so that no request is added.
    """

    def __init__(self, job: DownloadJob, host: TransferHost) -> None:
        super().__init__(job, host)
        self._test: RangeTest | None = None  # the next request, or the one in flight
        self._range_refusals: RangeRefusals  # of the server that is tested
        self._handle_refusal: Callable[[], None] | None = None  # the final one that waits for the test
        self._has_waited = False

    @abstractmethod
    def _settle_read(self, read: RangeRead) -> None:
        """Keep the bytes of a finished read, and return the rest to be dealt again."""

    @property
    def _has_ranges(self) -> bool:
        return self.traits.ranges and self._test is None

    @property
    def _permits_range(self) -> bool:
        """Return whether a Range may be added to a request, to distinguish its answer from others."""
        return self._test is None and not self.traits.range_refusals.are_final

    # Answers that are no refusals.

    def _note_part(self, read: RangeRead) -> None:
        """Note that the server has sent a part that was requested: refusals have other reasons."""
        if not read.ranged:
            return
        traits = self.host.get_traits(read.origin)
        if traits.range_refusals.note_part():
            traits.ranges = True
        self._end_test()

    def _note_full_answer(self, read: RangeRead, head: ResponseHead, answered: FileIdentity) -> None:
        """Learn from the file without Range.

        Raises
        ------
        AnsweredWithoutRange : it is to be requested in parts once more.
        """
        if read.ranged:
            self._drop_test()
            return
        traits, test = self.host.get_traits(read.origin), self._test
        states_ranges = head.headers.get("accept-ranges", "").strip().lower() == "bytes"
        if test is None:
            if states_ranges and traits.range_refusals.note_stated_ranges():
                traits.ranges = True
            return
        self._drop_test()
        self.limits.note_refused_ranges()
        if not traits.range_refusals.note_sent_without(test.refusal, states_ranges=states_ranges):
            traits.ranges = not traits.range_refusals.are_final and traits.ranges
        elif self._is_worth_parts(read, head, answered):
            self._settle_read(read)
            self.host.make_available(self)
            raise AnsweredWithoutRange("the ranges of this server are tried once more")

    def _is_worth_parts(self, read: RangeRead, head: ResponseHead, answered: FileIdentity) -> bool:
        is_long = (head.content_length or 0) > _LEAST_BYTES_IN_PARTS
        return is_long and answered.validator is not None and not read.peek

    # Refusals.

    def _refuse_read(self, read: RangeRead, head: ResponseHead) -> None:
        """Handle an error status, in the words of the store where it has any."""
        if (source := self.host.options.hooks.find_source(read.url.origin)) is not None:
            self.refuse(read, head, source.explain(read.url, head, read.refusal))
            return
        if self._test is not None and not read.ranged:
            self._end_test(shows_other_reason=head.status not in _UNDECIDED)
        elif self._may_mean_range(read, head) and self._is_left_to_test(read, head):
            return
        self.refuse(read, head)
        self._retry_without_range(read, head.status)

    def _may_mean_range(self, read: RangeRead, head: ResponseHead) -> bool:
        if not read.ranged or head.status not in _TESTED_STATUSES or parse_retry_after(head.headers) is not None:
            return False
        if head.status in EXPIRED_STATUSES and read.url != self._first_url:
            return False  # the target of a redirect, which may be good no more
        refusals = self.host.get_traits(read.origin).range_refusals
        if head.status not in AMBIGUOUS_STATUSES or refusals.suspects_range(head.status):
            return True
        return read.send_context is not None and self.limits.was_alone(read.send_context)

    def _is_left_to_test(self, read: RangeRead, head: ResponseHead) -> bool:
        return self._goes_on_without_range(read, head.status) or self._waits_for_test(read, head)

    def _goes_on_without_range(self, read: RangeRead, refusal: Refusal) -> bool:
        """Return whether the file is requested without Range at once: that is due, or is known to help."""
        traits = self.host.get_traits(read.origin)
        if self._test is None:
            if not traits.range_refusals.confirm(refusal):
                return False
            traits.ranges = False
            self.limits.note_refused_ranges()
        self.host.make_available(self)
        return True

    def _waits_for_test(self, read: RangeRead, head: ResponseHead) -> bool:
        """Have a final refusal wait for the test of its kind, by this file or another one; return whether it does."""
        refusals = self.host.get_traits(read.origin).range_refusals
        if head.status in _LEAST_TRIES or self.is_over or self.is_waiting or not refusals.may_test(head.status):
            return False
        if (test := refusals.find_test(head.status)) is not None:
            self._wait_until(lambda: not test.is_open, read, head)
            return True
        clock_s = asyncio.get_running_loop().time
        if not self._has_waited and self.host.count_connections_in_use(read.origin) > 1:
            until_s, self._has_waited = clock_s() + _LONGEST_WAIT_S, True
            self._wait_until(lambda: clock_s() >= until_s or self._is_settled(read, refusals), read, head)
            return True
        self._test, self._range_refusals = refusals.start_test(head.status, self), refusals
        self._handle_refusal = partial(self._refuse_late, read, head)
        self.host.make_available(self)
        return True

    def _is_settled(self, read: RangeRead, refusals: RangeRefusals) -> bool:
        """Return whether a part has come, or none can come any more of what was requested."""
        return refusals.has_sent_part or not self.host.count_connections_in_use(read.origin)

    def _wait_until(self, has_happened: Callable[[], bool], read: RangeRead, head: ResponseHead) -> None:
        """Handle a refusal once something has happened; nothing else of the file is requested meanwhile."""
        self.is_waiting = True
        loop = asyncio.get_running_loop()

        def look() -> None:
            if self.is_over:
                return
            if not has_happened():
                loop.call_later(_POLL_S, look)
                return
            self.is_waiting = False
            _renew_context(read, self.limits)
            self._refuse_read(read, head)

        loop.call_later(_POLL_S, look)

    def _refuse_late(self, read: RangeRead, head: ResponseHead) -> None:
        _renew_context(read, self.limits)
        self.refuse(read, head)

    def _retry_without_range(self, read: RangeRead, refusal: Refusal | None) -> None:
        """Have the next try, if there is one, be without Range where that may help."""
        if refusal is None or not read.ranged or self._test is not None or not self.is_waiting or self.is_over:
            return
        refusals = self.host.get_traits(read.origin).range_refusals
        if refusals.may_test(refusal) and self._tries >= _LEAST_TRIES.get(refusal, self._tries + 1):
            self._test, self._range_refusals = refusals.start_test(refusal, self), refusals

    def _end_test(self, *, shows_other_reason: bool = False) -> None:
        """End the test without the file, and handle the refusal that has waited for it."""
        test, self._test = self._test, None
        handle, self._handle_refusal = self._handle_refusal, None
        if test is None:
            return
        test.end()
        if shows_other_reason or handle is not None:
            self._range_refusals.note_refused_without(test.refusal)
        if handle is not None:
            handle()

    def _drop_test(self) -> None:
        """End the test: the file has come, and the refusal that has waited means nothing."""
        if self._test is not None:
            self._test.end()
        self._test = self._handle_refusal = None

    def _is_no_file(self, read: RangeRead, head: ResponseHead) -> bool:
        """Return whether an answer to the test shows nothing but that the refusal before it counts."""
        if self._handle_refusal is None or read.ranged:
            return False
        return head.status not in FULL_ANSWERS or self._is_doubtful_page(head)

    def _is_doubtful_page(self, head: ResponseHead) -> bool:
        """Return whether an answer is a web page, such as a form to log in, where the file is not named like one."""
        name = self.job.source.name
        is_page = parse_media_type(head.headers.get("content-type", "")) in HTML_TYPES
        return is_page and not (is_page_name(name) or is_program_name(name))

    def redirect(self, head: ResponseHead) -> None:
        self._end_test()
        super().redirect(head)

    def give_up(self, reason: str) -> None:
        if not self._fails_by_refusal():
            super().give_up(reason)

    def _fails_by_refusal(self) -> bool:
        """Return whether the file has failed by the refusal that waits for a test, whatever came of that."""
        if self._handle_refusal is None or self.is_over:
            return False
        self._end_test()
        return self.is_over

    # Requests without an answer.

    def _handle_lost_range(self, read: RangeRead, fault: FileFault | None) -> bool:
        """Return whether a lost request needs no other handling."""
        loss = self._find_loss(read, fault)
        if fault is None or self._test is None or read.ranged:
            return loss is not None and read.ranged and self._goes_on_without_range(read, loss)
        was_final = self._handle_refusal is not None
        self._end_test(shows_other_reason=loss is not None)
        return was_final

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


def _renew_context(read: RangeRead, limits: OriginLimits) -> None:
    """Have a refusal that has waited count as if it had just come."""
    if read.send_context is not None:
        read.send_context = read.send_context._replace(started=limits.started)
