"""One GET of a file or a range of it, and the handling of its answer."""

from collections.abc import Callable, Sequence
from typing import Protocol

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.exchange import Payload, ReceiveGate
from tradewind_agent.engine.http.http1 import FULL_ANSWERS, ContentRange, RequestHead, ResponseHead
from tradewind_agent.engine.origin.limits import SendContext
from tradewind_agent.engine.origin.pipelining import ExpectedAnswer, ExpectedFile, PipelinedExchange
from tradewind_agent.errors import ConnectionFault, FileFault, MalformedResponse, PipeliningRefused

_LONGEST_UNWANTED_BODY_BYTES = 256 * 1024
"""An error page up to this size is read to its end to keep the connection; a longer one costs the connection."""

_LONGEST_REFUSAL_BYTES = 16 * 1024
"""Of an error page this much is held, about: documents that say why a request was refused are shorter."""

OnAnswerEnd = Callable[[], None]
"""Called at the end of an answer whose bytes are not used."""


class ReadingFile(Protocol):
    """The file that a read belongs to. A protocol, because downloads are the layer above."""

    def judge(self, read: "RangeRead", head: ResponseHead) -> OnAnswerEnd | None:
        """Judge an answer's head; ``None`` means that its body is stored."""

    def may_divide(self, read: "RangeRead") -> bool:
        """Return whether the rest of this read may be fetched by several others."""

    def store(self, read: "RangeRead", data: memoryview) -> None: ...

    def read_complete(self, read: "RangeRead") -> None: ...

    def read_lost(self, read: "RangeRead", fault: FileFault | None) -> None: ...

    def read_refused(self, read: "RangeRead", settle: OnAnswerEnd) -> None: ...

    def read_unproved(self, read: "RangeRead") -> None:
        """Discard all bytes: they may be those of another file."""


class RangeRead:
    """A request for bytes ``first`` to ``last``; ``last`` is ``None`` while the end is unknown.

    Attributes
    ----------
    position : offset of the next received byte.
    least_bytes : minimum length of a body that only the end of the connection ends.
    ranged : whether the request has a Range header.
    peek : the request is for one byte, to learn size and version; nothing is stored.
    generation : version of the file this read belongs to.
    size_bytes : of the entire file, where it is known.
    expected_answer : set for a full file of known size.
    refusal : the beginning of the body of an answer that carries no bytes of the file.
    permits_range : whether a Range may be added, to distinguish its answer from others.
    is_alone : its bytes are used before its end, so that it takes part in no trial and shares its connection with none.
    """

    payload: Payload | None = None
    receive_gate: ReceiveGate | None = None

    def __init__(
        self,
        file: ReadingFile,
        url: Url,
        request: RequestHead,
        first: int,
        last: int | None,
        *,
        generation: int,
        size_bytes: int | None,
        peek: bool = False,
        is_full: bool = False,
    ) -> None:
        self.file = file
        self.url = url
        self.origin = url.origin
        self.request = request
        self.first = first
        self.last = last
        self.least_bytes = 0
        self.is_alone = False
        self.permits_range = True
        self.position = first
        self.ranged = "Range" in request.headers
        self.peek = peek
        self.generation = generation
        self.size_bytes = size_bytes
        self.expected_answer: ExpectedAnswer | None = (
            ExpectedFile(size_bytes) if is_full and size_bytes is not None else None
        )
        self.send_context: SendContext | None = None
        self._settle: OnAnswerEnd | None = None
        self._requires_part = False
        self._unwanted_bytes = 0
        self.refusal = b""

    @property
    def moved_bytes(self) -> int:
        return self.position - self.first

    @property
    def expected_bytes(self) -> int:
        return self.last + 1 - self.position if self.last is not None else 0

    @property
    def can_be_followed(self) -> bool:
        return not self.is_alone

    @property
    def can_be_divided(self) -> bool:
        return self.ranged and not self.peek and self.file.may_divide(self)

    def match_answer(self, got: ContentRange) -> tuple[int, int] | None:
        """Return the last byte and total size of a partial answer; ``None`` if it is not the requested part.

        The server may send fewer bytes than requested, from the same start.
        """
        if got.first != self.first or got.last is None or got.total is None or self.last is None:
            return None
        return (got.last, got.total) if self.first <= got.last <= self.last and got.last < got.total else None

    def set_apart(self, others: Sequence[ExpectedAnswer]) -> bool:
        """Make the answer distinct: where two files have this size, request all but the last bytes of one."""
        expected = self.expected_answer
        if self.is_alone or not self.permits_range or not isinstance(expected, ExpectedFile):
            return False
        size = expected.size_bytes
        shorter = (ExpectedFile(size, last) for last in range(size - 1, max(size - len(others) - 2, -1), -1))
        for candidate in (expected, *shorter):
            if all(candidate.differs_from(other) for other in others):
                self._expect(candidate)
                return True
        return False

    def may_follow(self, before: PipelinedExchange, *, has_ranges: bool) -> bool:
        if self.is_alone or not isinstance(before, RangeRead):
            return False
        if before.file is self.file:
            return True
        if self.size_bytes is None or before.size_bytes is None:
            return False
        return self.size_bytes != before.size_bytes or (has_ranges and self._differs_by_range(before))

    def _differs_by_range(self, before: "RangeRead") -> bool:
        """Return whether the ranges of two files of one size tell the answers apart."""
        if self.expected_answer is not None and before.expected_answer is not None:
            return self.set_apart([before.expected_answer])
        is_other_part = (self.first, self.last) != (before.first, before.last)
        return is_other_part and self.require_part() and before.require_part()

    def require_part(self) -> bool:
        """Accept no whole file for a part from now on; return whether the answer is known by its range."""
        self._requires_part = self.ranged and self.expected_answer is None
        return self.ranged or self.expected_answer is not None

    def _expect(self, answer: ExpectedFile) -> None:
        """Change the request so that ``answer`` is its answer."""
        if answer != self.expected_answer:
            headers = {**self.request.headers, "Range": f"bytes=0-{answer.last}"}
            self.request = RequestHead(self.request.method, self.request.target, headers)
            self.ranged, self.expected_answer = True, answer

    def on_head(self, head: ResponseHead) -> None:
        if self._requires_part and head.status in FULL_ANSWERS:
            raise PipeliningRefused("a whole file, maybe another one, where a part was requested")
        self._settle = self.file.judge(self, head)

    def on_data(self, data: memoryview) -> None:
        if self._settle is None:
            if self.last is not None and self.position + len(data) > self.last + 1:
                self.position = self.first  # a server that sends too much may have sent wrong bytes
                raise MalformedResponse("more bytes than were announced")
            self.file.store(self, data)
            return
        self._unwanted_bytes += len(data)
        if len(self.refusal) < _LONGEST_REFUSAL_BYTES:
            self.refusal += data
        if self._unwanted_bytes > _LONGEST_UNWANTED_BODY_BYTES:
            raise MalformedResponse("a long body that is not wanted")

    def on_end(self) -> None:
        if self._settle is not None:
            self.file.read_refused(self, self._settle)
        else:
            self.file.read_complete(self)

    def on_lost(self, fault: FileFault | None) -> None:
        if self._settle is not None:
            self.file.read_refused(self, self._settle)
        elif isinstance(fault, ConnectionFault) and self.last is not None and self.first <= self.last < self.position:
            self.file.read_complete(self)  # every byte is here; how the server has ended says nothing of them
        else:
            self.file.read_lost(self, fault)

    def on_unproved(self) -> None:
        self.file.read_unproved(self)
