"""The base of downloads and uploads of one file: dealt out in requests, retried within bounds."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from time import monotonic

from tradewind_agent.engine.access_advice import advise_on_access
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import RequestHead, ResponseHead
from tradewind_agent.engine.http.request_head import make_request_head
from tradewind_agent.engine.http.retry import make_refusal
from tradewind_agent.engine.jobs import Job
from tradewind_agent.engine.local.ranges import RangeSet, compute_range_length
from tradewind_agent.engine.origin.limits import (
    AMBIGUOUS_STATUSES,
    BUSY_STATUSES,
    LOAD_STATUSES,
    TOO_MANY_REQUESTS,
    OriginLimits,
)
from tradewind_agent.engine.origin.traits import OriginTraits
from tradewind_agent.engine.transfer_host import FileExchange, TransferHost
from tradewind_agent.errors import (
    ConnectionFault,
    FileFault,
    FolderFound,
    RefusedByServer,
    UnusableSource,
)

EXPIRED_STATUSES = frozenset({400, 401, 403, 404, 410})
"""Statuses by which servers refuse signed addresses that have expired."""
_FORBIDDEN = 403
_MOST_REFUSALS = 3
"""Refusals of a file among others before it is requested alone, and alone before it fails."""
_MOST_EXTRA_TRIES = 6
"""Additional tries of a file, while its origin serves others, before it is requested alone."""
_LONGEST_REFUSED_S = 300.0
"""Time for which a file is requested again that others were refused like, while none is served."""
_MOST_FREE_LOSSES = 32
"""Times that a request may be lost behind an answered one before that counts as a fault of the file."""


class FileTransfer(ABC):
    """One file in transfer.

    Attributes
    ----------
    url : address of the next request; it follows redirects.
    is_over : done or failed; bytes that still arrive are discarded.
    is_placed : in a queue or with a channel.
    progress : bytes received, or requests that the origin has confirmed.
    is_waiting : waiting for the next try; nothing can be dealt.
    used_part_bytes : size of the parts in which a store got it; ``None`` for a file that did not go in such parts.
    has_retryable_fault : it has failed, and may succeed later.
    is_forbidden : it has failed because the server refuses it to this user.
    """

    used_part_bytes: int | None = None
    has_retryable_fault = False
    is_forbidden = False

    def __init__(self, job: Job, url: Url, host: TransferHost) -> None:
        self.job = job
        self.url = url
        self._first_url = url
        self._has_returned = False
        self.host = host
        self.is_over = False
        self.is_waiting = False
        self.is_placed = False
        self._tries = 0
        self._redirects = 0
        self._progressed = False
        self.progress = 0
        self._refusals = self._extra_tries = self._refusals_alone = self._free_losses = 0
        self._others_progress, self._even_share = 0, (0, 0)  # progress; streams and bytes
        self._refused_since_s = 0.0
        self._passing_refusals = 0

    @abstractmethod
    def take(self, streams: int, most_bytes: int) -> FileExchange | None:
        """Return the next request, of at most ``most_bytes`` where the file can be split over ``streams``.

        Or nothing now.
        """

    @property
    @abstractmethod
    def has_undealt(self) -> bool:
        """Return whether `take` may return a request."""

    @property
    @abstractmethod
    def size_bytes(self) -> int | None:
        """Return the size if it is known, rounded or not."""

    @property
    @abstractmethod
    def remaining_bytes(self) -> int:
        """Return the bytes still to be moved, as far as they are known."""

    @property
    def is_summed_in_order(self) -> bool:
        """Return whether a sum of the file follows its bytes, so that ranges are to be dealt close together."""
        return False

    @abstractmethod
    def make_closer(self) -> Callable[[], None]:
        """Return a function, to be run in a thread, that closes local files and keeps what another run can resume."""

    @abstractmethod
    def checkpoint(self) -> None:
        """Make the moved bytes survive a crash."""

    @property
    def limits(self) -> OriginLimits:
        return self.host.get_limits(self.url.origin)

    @property
    def traits(self) -> OriginTraits:
        return self.host.get_traits(self.url.origin)

    def request(self, method: str, headers: Mapping[str, str]) -> RequestHead:
        """Return a request to where the file is now."""
        return make_request_head(method, self.url, self.host.options, headers)

    def choose_range_length(self, undealt: RangeSet, streams: int, most_bytes: int) -> int:
        """Return the length of the next range to deal."""
        if self._even_share[0] != streams:
            self._even_share = (streams, -(-undealt.total_bytes // streams))
        return compute_range_length(undealt.total_bytes, self._even_share[1], streams, most_bytes)

    def note_progress(self) -> None:
        """Note that more of the file is stored than ever before: a later fault counts tries from 1."""
        self._progressed = True
        self._has_returned = False
        self.note_served()

    def note_served(self) -> None:
        """Note that the origin serves this file."""
        self._refusals = self._extra_tries = self._refusals_alone = self._free_losses = 0
        self.limits.note_served(self)
        if self._passing_refusals:
            self.limits.note_passed(self._passing_refusals)
            self._passing_refusals = 0
        self.count_progress(1)

    def count_progress(self, amount: int) -> None:
        """Count what the origin has served, for this file and for all."""
        self.progress += amount
        self.limits.progress += amount

    def refuse(self, exchange: FileExchange, head: ResponseHead, reason: str | None = None) -> None:
        """Handle an error status, which may mean this file, the load of the origin, or an address that has expired.

        ``reason`` : that the server states; then what may mean load or the file means the file.
        """
        self.limits.note_answer()
        if self._return_to_first_url(exchange, head):
            self.host.make_available(self)
            return
        options, sent, limits = self.host.options, exchange.send_context, self.limits
        advice = advise_on_access(head.status, head.headers, exchange.url, options)
        fault = make_refusal(head, options.retry, reason=reason, advice=advice)
        means_file = head.status not in LOAD_STATUSES or (reason is not None and head.status in AMBIGUOUS_STATUSES)
        if not options.retry.permits(fault.retry_after_s):
            self._obey_long_wait(fault)
        elif means_file or sent is None or self.is_over:
            self.fault(fault)
        elif limits.was_alone(sent):
            if head.status != TOO_MANY_REQUESTS:
                self._refusals_alone += 1
                limits.note_forbidden(self)
            if head.status in BUSY_STATUSES:
                limits.note_busy_alone()
            self.fault(fault)
        else:
            self._refusals += 1
            is_suspect = head.status in AMBIGUOUS_STATUSES and (
                not limits.is_load_proven or self._refusals >= _MOST_REFUSALS
            )
            if self._refusals <= _MOST_REFUSALS or head.status not in AMBIGUOUS_STATUSES:
                limits.note_refused_file(self, sent, self.host.count_connections_in_use(self.url.origin), head.status)
            if is_suspect and not self.is_waiting:
                self.is_waiting = True
                self.host.retry_alone(self)
            else:
                fault.retryable = True
                self.fault(fault)

    def _obey_long_wait(self, fault: RefusedByServer) -> None:
        """Do not come back within the wait: a rate limit is about all files, another refusal about this one."""
        if fault.status == TOO_MANY_REQUESTS:
            self.host.stop(fault)
        else:
            self.give_up(str(fault))

    def _is_refused_under_load(self, fault: FileFault) -> bool:
        """Return whether others were served since this file was refused last, by a refusal that may mean load."""
        is_load_status = isinstance(fault, RefusedByServer) and fault.status in LOAD_STATUSES
        # Some servers cut one connection too many in the middle of a body.
        by_load = isinstance(fault, ConnectionFault) or is_load_status
        others = self.limits.progress - self.progress
        is_served, self._others_progress = others > self._others_progress, others
        return by_load and is_served

    def count_loss(self, fault: FileFault | None) -> FileFault | None:
        """Return the fault of a lost request: one that was nobody's becomes one when it goes on without end."""
        if fault is None:
            self._free_losses += 1
            if self._free_losses > _MOST_FREE_LOSSES:
                return ConnectionFault("connections are closed again and again before an answer", before_answer=True)
        return fault

    def fault(self, fault: FileFault) -> None:
        """Retry later, or fail the file. Faults while it waits already count as the same one."""
        if self.is_over or self.is_waiting:
            return
        if isinstance(fault, ConnectionFault) and fault.retryable and self.limits.is_unreachable:
            self.has_retryable_fault = True
            self.host.give_up_origin(self.url.origin, fault)
            return
        if self._progressed:
            self._tries, self._progressed = 0, False
        self._tries += 1
        policy = self.host.options.retry
        if isinstance(fault, ConnectionFault) and fault.is_silence:
            self.limits.note_silence(self)
            if self._tries > 1 and self.limits.is_silent(policy.most_tries):
                self._give_up_origin(fault)
                return
        under_load = self._is_refused_under_load(fault)
        most_tries = self._count_most_tries(fault, under_load=under_load)
        if fault.retryable and under_load and self._tries >= most_tries and self._refusals_alone < _MOST_REFUSALS:
            self._tries -= 1
            self._extra_tries += 1
            is_rate = isinstance(fault, RefusedByServer) and fault.status == TOO_MANY_REQUESTS
            if self._extra_tries > _MOST_EXTRA_TRIES and not is_rate:
                self.is_waiting, self._extra_tries = True, 0
                self.host.retry_alone(self)
                return
        if fault.retryable and self._tries < most_tries:
            self.is_waiting = True
            counted = min(self._tries, policy.most_tries)
            self.host.make_available_later(self, policy.wait_s(counted, self.host.options.rng, fault.retry_after_s))
            return
        self.has_retryable_fault = fault.retryable
        self.is_forbidden = isinstance(fault, RefusedByServer) and fault.status == _FORBIDDEN
        self.give_up(str(fault) if self._tries == 1 else f"{fault} (tried {self._tries} times)")

    def _give_up_origin(self, fault: ConnectionFault) -> None:
        """End all files of an origin that has answered none of many requests."""
        count, origin = self.limits.silences, self.url.origin
        reason = f"{origin} has answered none of the last {count} requests ({fault})"
        self.has_retryable_fault = True
        self.host.give_up_origin(origin, ConnectionFault(reason, is_silence=True))

    def _count_most_tries(self, fault: FileFault, *, under_load: bool) -> int:
        """Return the tries after which the file fails; more where the origin refuses others as often and serves them.

        It may take as long as others are served, and a while longer.
        """
        least = self.host.options.retry.most_tries
        if not isinstance(fault, RefusedByServer) or fault.status in AMBIGUOUS_STATUSES or not fault.retryable:
            return least
        self._passing_refusals += 1
        now_s = monotonic()
        if self._tries == 1 or under_load:
            self._refused_since_s = now_s
        is_late = now_s - self._refused_since_s >= _LONGEST_REFUSED_S
        return least if is_late else self.limits.count_worthwhile_tries(least)

    def redirect(self, head: ResponseHead) -> None:
        """Follow a redirect; credentials are not sent to another host."""
        self._redirects += 1
        if self._redirects > (most := self.host.options.most_redirects):
            self.give_up(f"more than {most} redirects")
            return
        if not head.location:
            self.give_up(f"the server answered {head.status_line} without saying where to")
            return
        try:
            place = self.url.join(head.location)
        except UnusableSource as error:
            self.give_up(f"redirected to nowhere: {error}")
            return
        if place.is_folder_of(self.url):
            self.give_up(str(FolderFound()))
            return
        self.url = place
        self.host.make_available(self)

    def _return_to_first_url(self, exchange: FileExchange, head: ResponseHead) -> bool:
        """Return to the first address where the target of a redirect refuses, and whether that was done.

        Signed addresses are good for a while, or once. Without progress in between it is done once.
        """
        if head.status not in EXPIRED_STATUSES:
            return False
        if exchange.url != self.url:  # it has gone elsewhere since
            return True
        if exchange.url == self._first_url or self._has_returned:
            return False
        self._has_returned = True
        self.url, self._redirects = self._first_url, 0
        return True

    def plan_parts(self, part_bytes: int | None) -> None:  # noqa: B027 -- most files go in no such parts
        """Plan parts of this size, where the file goes in parts and has not started; ``None`` for the usual size."""

    def learn_cookies(self, exchange: FileExchange, head: ResponseHead) -> None:
        self.limits.note_answer()
        if head.set_cookies:
            self.host.options.cookies.store(exchange.url, head.set_cookies)

    def give_up(self, reason: str) -> None:
        """Fail the file; another run can resume it."""
        if not self.is_over:
            self.is_over = True
            self.host.note_failure(self, reason)
            self.host.run_in_background(self.make_closer())
