"""One HTTP/1.1 connection: requests out (pipelined), responses in their order, bodies both ways, an idle deadline.

Everything happens in callbacks of the event loop; received bytes land in a buffer that the connections of a chunk
share, because each takes what it was given before the loop goes on.
"""

import asyncio
from collections import deque
from dataclasses import replace
from ssl import SSLError
from typing import Protocol

from tradewind_agent.engine.http.exchange import Exchange
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.http.patience import STORED_BYTES_PER_S, Patience, detect_dead_peer
from tradewind_agent.engine.http.patient_loop import find_patient_loop
from tradewind_agent.engine.http.rate_limit import RateLimit
from tradewind_agent.engine.http.receiver_loss import ReceiverLoss
from tradewind_agent.engine.http.response_reader import ResponseReader
from tradewind_agent.engine.http.sending.request_writer import RequestWriter
from tradewind_agent.engine.http.tcp_info import TcpInfo, read_tcp_info
from tradewind_agent.errors import ConnectionFault, DroppedBeforeAnswer, FileFault, PipeliningRefused
from tradewind_agent.transport.choosing import choose_congestion_control


class ReceiveBuffer:
    """The I/O block: one reusable buffer, which may change its size between two reads."""

    def __init__(self, size_bytes: int) -> None:
        self.resize(size_bytes)

    def resize(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.view = memoryview(bytearray(size_bytes))


class ConnectionOwner(Protocol):
    """The receiver of a connection's events."""

    def on_answered(self, connection: "Connection", head: ResponseHead) -> None:
        """Handle a complete exchange: the connection can take another."""

    def on_closed(self, connection: "Connection", last_info: TcpInfo) -> None:
        """Handle a closed connection; every exchange on it is complete or got `on_lost`."""

    def on_defect(self, error: Exception) -> None:
        """Handle a defect of this program, met while an exchange was lost."""


class Connection(asyncio.BufferedProtocol):
    """An open connection to an origin (or its proxy).

    Attributes
    ----------
    buffer : where bytes are received; may be another one between two reads.
    answered : responses completed on this connection.
    was_refused, was_spent : the server closed it with a request in flight and without notice, before its first answer,
        or after some.
    pipelining_failed : the server fell silent on requests sent behind others, or mixed their answers.
    first_byte_s : time from a request on the idle connection to its first byte back: a round trip and the server's
        processing; ``None`` before the first.
    """

    def __init__(
        self, owner: ConnectionOwner, buffer: ReceiveBuffer, rate_limit: RateLimit, patience: Patience
    ) -> None:
        self._owner, self._rate_limit, self._patience = owner, rate_limit, patience
        self.buffer = buffer
        self._loop = asyncio.get_running_loop()
        self._patient_loop = find_patient_loop()
        self._reader = ResponseReader(self)
        self._transport: asyncio.Transport | None = None
        self._in_flight: deque[Exchange] = deque()
        self._writer = RequestWriter(self, rate_limit)
        self._outbox = self._writer.queue
        self._waits_for_gate = False
        self._head: ResponseHead | None = None
        self._fault: FileFault | None = None
        self._dismissed = self._was_announced = self.was_refused = self.was_spent = False
        self._active_at = self._loop.time()
        self._loss = ReceiverLoss(self._active_at)
        self._deadline: asyncio.TimerHandle | None = None
        self._requested_at: float | None = None
        self.answered = 0
        self.pipelining_failed = False
        self._silence_limit_s: tuple[float, float] | None = None
        self._sent_body_bytes = 0
        self.first_byte_s: float | None = None
        self.closed = self._loop.create_future()

    @property
    def in_flight(self) -> int:
        """Return the requests sent or waiting to be sent whose answer is not complete."""
        return len(self._in_flight)

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def sample_tcp_info(self) -> TcpInfo:
        sock = self._transport.get_extra_info("socket") if self._transport is not None else None
        if sock is None:
            return TcpInfo()
        info = read_tcp_info(sock)
        self._loss.count_losses(info, self._loop.time())
        return replace(info, lost_bytes=self._loss.compute_lost_bytes(info))

    def set_congestion_control(self, congestion_control: str) -> None:
        """Set another congestion control than the system's, where the kernel has it."""
        sock = self._transport.get_extra_info("socket") if self._transport is not None else None
        if sock is not None:
            choose_congestion_control([sock], congestion_control)

    def send(self, exchange: Exchange) -> None:
        """Queue a request behind those in flight and write as much as the socket takes."""
        if not self._in_flight:
            self._active_at = self._requested_at = self._loop.time()
        self._in_flight.append(exchange)
        self._writer.add(exchange)
        if exchange.request.method == "HEAD":
            self._watch_again()  # its limit is shorter than that of what was sent before
        else:
            self._watch()

    def limit_silence(self, first_s: float, between_s: float) -> None:
        """Limit the wait for the start of the next answer, and for each answer after it."""
        longest_s = self._patience.answer_s
        self._silence_limit_s = (min(first_s, longest_s), min(between_s, longest_s))
        self._watch_again()

    def lift_silence_limit(self) -> None:
        """Restore the usual limit of silence."""
        self._silence_limit_s = None

    def abort(self, fault: FileFault | None = None) -> None:
        """Close now. Exchanges in flight get `on_lost` when the socket is closed, the first of them with ``fault``."""
        if self._transport is None or self._transport.is_closing():
            return
        self._fault = fault
        self._reader.close()
        self._transport.abort()

    def dismiss(self) -> None:
        """Close now and return the requests in flight without a fault: fewer connections are needed."""
        self._dismissed = True
        self.abort()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._writer.start(transport)
        if (sock := transport.get_extra_info("socket")) is not None:
            detect_dead_peer(sock, self._patience.idle_s)

    def get_buffer(self, _sizehint: int) -> memoryview:
        return self.buffer.view[: self._rate_limit.compute_allowance(self, self.buffer.size_bytes)]

    def buffer_updated(self, nbytes: int) -> None:
        now = self._loop.time()
        was_in_head, answers = self._reader.is_in_head, len(self._in_flight)
        if not was_in_head:
            self._active_at = now
        if self._requested_at is not None:
            self.first_byte_s = now - self._requested_at
            self._requested_at = None
        try:
            self._reader.feed(self.buffer.view[:nbytes])
        except FileFault as fault:
            self.abort(fault)
        is_answer = was_in_head and not self._reader.is_in_head  # more bytes of a head that does not end are no answer
        if is_answer or len(self._in_flight) < answers:
            self._active_at = now
        if self._patient_loop is not None and nbytes >= self.buffer.size_bytes:
            self._patient_loop.hurry()
        self._wait_for_gate()
        if self._rate_limit.count_moved(self, nbytes) and self._transport is not None:
            self._transport.pause_reading()
            self._rate_limit.wait(self)

    def _wait_for_gate(self) -> None:
        """Stop reading while what was received last waits to be processed."""
        gate = self._in_flight[0].receive_gate if self._in_flight else None
        if gate is not None and not gate.is_open and self._transport is not None and not self._waits_for_gate:
            self._waits_for_gate = True
            self._transport.pause_reading()
            gate.call_when_open(self._on_gate_open)

    def _on_gate_open(self) -> None:
        self._waits_for_gate = False
        self._active_at = self._loop.time()
        if self._transport is not None and not self._rate_limit.is_held(self):
            self._transport.resume_reading()

    def eof_received(self) -> bool:
        if self._was_cut_in_tls():
            self._fault = ConnectionFault("the connection was cut, which TLS would have announced of an end")
        else:
            self._reader.note_eof()
        return False

    def _was_cut_in_tls(self) -> bool:
        """Return whether the end came without the notice of TLS: anybody on the way can feign that (RFC 9112 §9.8)."""
        tls = self._transport.get_extra_info("ssl_object") if self._transport is not None else None
        if tls is None or self._head is None or not self._head.until_close or self._has_sent_body():
            return False
        try:
            return bool(tls.read(1))
        except SSLError:
            return True

    def _has_sent_body(self) -> bool:
        """Return whether the answer is to an upload: its head alone counts, and many servers end without a notice."""
        return bool(self._in_flight) and self._in_flight[0].payload is not None

    def pause_writing(self) -> None:
        self._writer.pause()

    def resume_writing(self) -> None:
        self._active_at = self._loop.time()
        self._writer.resume()

    def resume(self) -> None:
        """Resume: the rate limit has bytes again. How long an answer waited says nothing of the path."""
        self._active_at = self._loop.time()
        self._requested_at = None
        if self._transport is not None and not self._waits_for_gate:
            self._transport.resume_reading()
        self._writer.write_soon()

    def connection_lost(self, error: Exception | None) -> None:
        self._rate_limit.forget(self)
        info = self.sample_tcp_info()
        self._reader.close()
        if self._deadline is not None:
            self._deadline.cancel()
        self._writer.close()
        lost, self._in_flight = self._in_flight, deque()
        if not self.closed.done():  # one who waited for it may have been cancelled, and it with them
            self.closed.set_result(None)
        gone = self._fault is None and not self._dismissed and not self._was_announced
        is_unanswered = gone and bool(lost) and self._head is None
        self.was_refused, self.was_spent = is_unanswered and not self.answered, is_unanswered and bool(self.answered)
        for position, exchange in enumerate(lost):
            try:
                exchange.on_lost(self._find_fault(error) if position == 0 else None)
            except Exception as defect:  # noqa: BLE001 -- it must not keep the others waiting
                self._owner.on_defect(defect)
        self._owner.on_closed(self, info)

    def _find_fault(self, error: Exception | None) -> FileFault | None:
        """Return why the first unanswered request failed; nobody's fault if the server closes after earlier answers."""
        if isinstance(self._fault, PipeliningRefused):
            self.pipelining_failed = True
        if self._fault is not None or self._dismissed:
            return self._fault
        if self._head is None and self.answered:
            return None
        why = f": {error}" if error else ""
        if self._head is None:
            return DroppedBeforeAnswer(f"connection dropped before an answer{why}", before_answer=True)
        return ConnectionFault(f"connection dropped in the middle of the body{why}")

    # Called by the response reader.

    def on_head(self, head: ResponseHead) -> bool:
        if not self._in_flight:
            raise ConnectionFault("an answer that was not asked for")
        if self.answered and self._outbox.unsent_heads >= len(self._in_flight):
            self.dismiss()  # it answers an earlier request once more, and the next one has not left yet
            return False
        self._head = head
        self._in_flight[0].on_head(head)
        return self._in_flight[0].request.method != "HEAD"

    def on_data(self, data: memoryview) -> None:
        self._in_flight[0].on_data(data)

    def on_end(self) -> None:
        head, self._head = self._head, None
        assert head is not None
        self.answered += 1
        exchange = self._in_flight.popleft()
        self._sent_body_bytes = 0
        if self._silence_limit_s is not None:
            self._silence_limit_s = (self._silence_limit_s[1], self._silence_limit_s[1])
            self._watch_again()
        answered_early = exchange.payload is not None and exchange.payload in self._outbox
        exchange.on_end()
        if not head.keep_alive or answered_early:  # the rest of an early refused body is not worth sending
            self._close_behind_last_answer()
        self._owner.on_answered(self, head)

    def _close_behind_last_answer(self) -> None:
        assert self._transport is not None
        self._was_announced = True
        self._reader.close()
        self._transport.abort()

    # Called by the writer.

    @property
    def block_bytes(self) -> int:
        return self.buffer.size_bytes

    def note_sent(self, body_bytes: int) -> None:
        self._active_at = self._loop.time()
        self._sent_body_bytes += body_bytes

    # Deadlines.

    def _watch_again(self) -> None:
        """Watch with the limit that holds now."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._watch()

    def _watch(self) -> None:
        if self._deadline is None:
            next_look_s = self._compute_next_look_s(self._longest_silence_s)
            self._deadline = self._loop.call_later(next_look_s, self._check_deadline)

    @property
    def _longest_silence_s(self) -> float:
        """Return how long to wait: in the middle of a body, where silence says nothing of requests behind it, or for
        an answer.
        """
        if self._head is not None or self._outbox.payload is not None:
            return self._patience.idle_s
        if self._silence_limit_s is not None:
            return self._silence_limit_s[0]
        if self._in_flight[0].request.method == "HEAD":
            return self._patience.limit_question_s(has_answered=bool(self.answered))
        return self._patience.answer_s + self._sent_body_bytes / STORED_BYTES_PER_S

    def _compute_next_look_s(self, left_s: float) -> float:
        """Return when to look again: which limit holds may change in between."""
        return min(left_s, self._patience.idle_s, *(self._silence_limit_s or ()))

    def _check_deadline(self) -> None:
        self._deadline = None
        if not self._in_flight:
            return
        longest_s = self._longest_silence_s
        left_s = self._active_at + longest_s - self._loop.time()
        if self._rate_limit.is_held(self) or self._outbox.waits_for_payload or self._waits_for_gate:
            left_s = longest_s  # it is not the other end that is silent
        if left_s > 0:
            self._deadline = self._loop.call_later(self._compute_next_look_s(left_s), self._check_deadline)
            return
        reason = f"nothing received for {longest_s:g} s"
        if self._silence_limit_s is not None and self._head is None:
            self.abort(PipeliningRefused(reason))
            return
        self.pipelining_failed = self._head is None and self.answered > 0
        is_silence = self._head is None and self._in_flight[0].request.method != "HEAD"  # which some never answer
        self.abort(ConnectionFault(reason, is_silence=is_silence))
