"""Proof that a server keeps pipelined requests apart, before anything is published that depends on it.

A server may forget requests that arrive behind another one, or answer them in another order. The answers then belong to
other names than the client takes them for. So a server first gets a few requests together on an idle connection, each
with an answer of its own, and nothing else until all of them are answered. That proves as many requests in flight as
were sent; a deeper pipeline is tried in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.exchange import Exchange, Payload, ReceiveGate
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.errors import FileFault, PipeliningRefused

_OK, _CREATED, _NO_CONTENT, _PARTIAL = 200, 201, 204, 206
_STORED = frozenset({_OK, _CREATED, _NO_CONTENT})
_RETRIED_LATER = frozenset({403, 408, 421, 425, 429, 500, 502, 503, 504, 509})

FIRST_PATIENCE_S = 5.0
"""How long a trial waits for its first byte. Giving up early costs speed alone: the files are requested one by one."""

BETWEEN_ANSWERS_S = 2.0
"""Silence between two answers of a trial that means that the server has forgotten the rest."""


class ExpectedAnswer(Protocol):
    """What is known of an answer in advance."""

    def is_met_by(self, head: ResponseHead) -> bool | None:
        """Return whether ``head`` is such an answer; ``None`` where it says nothing, like an error status."""

    def differs_from(self, other: "ExpectedAnswer") -> bool:
        """Return whether no answer can meet both, of a server that honours ranges."""

    def may_be_confused_with(self, other: "ExpectedAnswer") -> bool:
        """Return whether an answer may look like both, of a server that sends whole files instead of ranges."""


class ExpectedFile(NamedTuple):
    """A file of known size: all of it (200), or the bytes up to ``last`` by a ``Range`` header (206)."""

    size_bytes: int
    last: int | None = None

    def is_met_by(self, head: ResponseHead) -> bool | None:
        if head.status == _PARTIAL:
            got = head.content_range
            return got is not None and (got.first, got.last, got.total) == (0, self.last, self.size_bytes)
        if head.status == _OK:
            length = head.content_length
            return None if length is None else length == self.size_bytes and self.last is None
        return None

    def differs_from(self, other: ExpectedAnswer) -> bool:
        return self != other

    def may_be_confused_with(self, other: ExpectedAnswer) -> bool:
        return isinstance(other, ExpectedFile) and other.size_bytes == self.size_bytes


@dataclass(frozen=True, slots=True)
class ExpectedStored:
    """The answer to the upload of a full file. All such answers look the same, and their order does not matter."""

    def is_met_by(self, head: ResponseHead) -> bool | None:
        return True if head.status in _STORED else None

    def differs_from(self, _other: ExpectedAnswer) -> bool:
        return True

    def may_be_confused_with(self, _other: ExpectedAnswer) -> bool:
        return True


class PipelinedExchange(Exchange, Protocol):
    """A request for (a part of) a file, to be sent to ``origin``.

    Attributes
    ----------
    expected_answer : what is known of the answer in advance; ``None`` where nothing distinguishes it.
    """

    origin: Origin
    expected_answer: ExpectedAnswer | None

    @property
    def can_be_followed(self) -> bool:
        """Return whether requests may be sent behind this one before it is answered."""

    def set_apart(self, others: Sequence[ExpectedAnswer]) -> bool:
        """Change the request, if necessary, so that its answer differs from all ``others``; whether it does."""

    def may_follow(self, before: "PipelinedExchange", *, has_ranges: bool) -> bool:
        """Return whether neither of the two answers can pass for the other; the request may be changed for that.

        ``has_ranges`` : whether the server honours them, as far as is known.
        """

    def on_unproved(self) -> None:
        """Discard the answer, which may be another request's, and send the request again."""


class TrialVerdict(Enum):
    """The result of a trial."""

    PROVED = "every request was answered, in order"
    REFUSED = "an answer was missing, or was another request's"
    OPEN = "errors or a closed connection: nothing is shown"


class PipelineTrial:
    """Requests that are sent together to see whether the server answers all of them in order.

    Parameters
    ----------
    limit : most members.
    on_verdict : is called once, with the verdict and the number of members; not of a trial of one.
    """

    def __init__(self, limit: int, on_verdict: Callable[[TrialVerdict, int], None]) -> None:
        self.limit = limit
        self.is_open = True
        self.members: list[TrialExchange] = []
        self._on_verdict = on_verdict
        self._verdict: TrialVerdict | None = None
        self._is_clear = True

    @property
    def is_running(self) -> bool:
        """Return whether several requests are under way and the verdict is still to come."""
        return len(self.members) > 1 and self._verdict is None

    def close(self) -> None:
        """Accept no more members: the requests leave now."""
        self.is_open = False

    def can_take(self, exchange: PipelinedExchange) -> bool:
        """Return whether ``exchange`` can be a member; its request may be changed to set it apart from the others."""
        if not self.is_open or len(self.members) >= self.limit:
            return False
        if not self.members:
            return True
        known = [expected for member in self.members if (expected := member.inner.expected_answer) is not None]
        return len(known) == len(self.members) and exchange.set_apart(known)

    def add(self, exchange: PipelinedExchange) -> "TrialExchange":
        member = TrialExchange(exchange, self)
        self.members.append(member)
        return member

    def may_confuse(self, member: "TrialExchange") -> bool:
        """Return whether the answer of another member may pass for the one of ``member``."""
        expected = member.inner.expected_answer
        others = (other.inner.expected_answer for other in self.members if other is not member)
        return expected is not None and any(
            other is not None and expected.may_be_confused_with(other) for other in others
        )

    def note_unclear(self) -> None:
        """Note an answer that says nothing about the order."""
        self._is_clear = False

    def settle(self) -> None:
        """Pass the verdict once every member is finished."""
        if self.is_running and all(member.is_finished for member in self.members):
            self.end(TrialVerdict.PROVED if self._is_clear else TrialVerdict.OPEN)

    def end(self, verdict: TrialVerdict) -> None:
        """Confirm the answers that were held, or have their files requested again."""
        if not self.is_running:
            return
        self._verdict = verdict
        held = [member for member in self.members if member.is_held]
        for member in held:
            member.release(confirmed=verdict is TrialVerdict.PROVED)
        self._on_verdict(verdict, len(self.members))


class TrialExchange:
    """A member of a trial; stands between the connection and the request."""

    def __init__(self, inner: PipelinedExchange, trial: PipelineTrial) -> None:
        self.inner = inner
        self.request = inner.request
        self.payload: Payload | None = inner.payload
        self.is_finished = self.is_held = False
        self._trial = trial
        self._passed_on = False

    @property
    def receive_gate(self) -> ReceiveGate | None:
        return self.inner.receive_gate

    def on_head(self, head: ResponseHead) -> None:
        self._trial.close()
        if self._trial.is_running:
            expected = self.inner.expected_answer
            fits = expected.is_met_by(head) if expected is not None else None
            if fits is False:
                raise PipeliningRefused("an answer that belongs to another request")
            if fits is None:
                self._trial.note_unclear()
                self._passed_on = head.status in _RETRIED_LATER
            else:
                self._passed_on = True
                self.is_held = self._trial.may_confuse(self)
        else:
            self._passed_on = True
        if self._passed_on:
            self.inner.on_head(head)

    def on_data(self, data: memoryview) -> None:
        if self._passed_on:
            self.inner.on_data(data)

    def on_end(self) -> None:
        self.is_finished = True
        if not self.is_held:
            if self._passed_on:
                self.inner.on_end()
            else:
                self.inner.on_lost(None)
        self._trial.settle()

    def on_lost(self, fault: FileFault | None) -> None:
        self._trial.close()
        if self._trial.is_running:
            refused = isinstance(fault, PipeliningRefused)
            self._trial.end(TrialVerdict.REFUSED if refused else TrialVerdict.OPEN)
        if self.is_held:
            self.is_held = False
            self.inner.on_unproved()
        else:
            self.inner.on_lost(None if isinstance(fault, PipeliningRefused) else fault)

    def release(self, *, confirmed: bool) -> None:
        """End the hold: the answer is this file's, or may be another's. One that is still coming is lost later."""
        if not self.is_finished:
            return
        self.is_held = False
        if confirmed:
            self.inner.on_end()
        else:
            self.inner.on_unproved()


class CheckedExchange:
    """A request behind others, where pipelining is proved; an answer that contradicts its name ends that."""

    def __init__(self, inner: PipelinedExchange) -> None:
        self._inner = inner
        self.request = inner.request
        self.payload: Payload | None = inner.payload

    @property
    def receive_gate(self) -> ReceiveGate | None:
        return self._inner.receive_gate

    def on_head(self, head: ResponseHead) -> None:
        expected = self._inner.expected_answer
        if expected is not None and expected.is_met_by(head) is False:
            raise PipeliningRefused("an answer that contradicts what is known of its file")
        self._inner.on_head(head)

    def on_data(self, data: memoryview) -> None:
        self._inner.on_data(data)

    def on_end(self) -> None:
        self._inner.on_end()

    def on_lost(self, fault: FileFault | None) -> None:
        self._inner.on_lost(None if isinstance(fault, PipeliningRefused) else fault)
