"""One direction of one connection: a sender's buffer and window, and the receiver at the far end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from benchmarks.emulation.profile import SEGMENT_BYTES
from benchmarks.emulation.window import CongestionWindow
from tradewind.units import KIB

SEND_BUFFER_BYTES = 256 * KIB


@dataclass(slots=True)
class Piece:
    """Bytes of one flow on the path; a piece without bytes marks the end of the stream."""

    flow: "Flow"
    data: bytearray
    sent_s: float
    lost: bool

    @property
    def size_bytes(self) -> int:
        return len(self.data)


class Ends(Protocol):
    """The two ends of a flow."""

    def arrive(self, data: bytearray) -> None:
        """Take bytes that have reached the receiver; no bytes mark the end of the stream."""

    def make_room(self) -> None:
        """Tell the sender that its buffer has room again."""


class Flow:
    """Bytes from a sender to a receiver, sent as fast as the window allows.

    Parameters
    ----------
    chunk_bytes : largest piece.
    ready_s : end of the handshake, model time; nothing is sent before.
    transmit : puts a piece on the path; ``acknowledge`` is called when the receiver's answer is back.
    schedule : runs an action at a model time.
    """

    def __init__(
        self,
        number: int,
        window: CongestionWindow,
        ends: Ends,
        *,
        chunk_bytes: int,
        ready_s: float,
        transmit: Callable[[Piece, float], None],
        schedule: Callable[[float, Callable[[float], None]], None],
    ) -> None:
        self.number = number
        self.window = window
        self.ends = ends
        self.last_arrival_s = 0.0
        self._chunk_bytes = chunk_bytes
        self._ready_s = ready_s
        self._transmit, self._at = transmit, schedule
        self._backlog = bytearray()
        self._in_flight_bytes = 0
        self._window_limits = False
        self._ending = self._awaiting_room = False
        self._withheld: list[Piece] | None = None

    def write(self, data: bytes, now_s: float) -> bool:
        """Take bytes that the sender wrote; return False when it must wait for ``make_room`` before writing more."""
        if self._in_flight_bytes == 0 and not self._backlog:
            self.window.restart_if_idle(now_s)
        self._backlog += data
        self._send_when_ready(now_s)
        self._awaiting_room = len(self._backlog) >= SEND_BUFFER_BYTES
        return not self._awaiting_room

    def end(self, now_s: float) -> None:
        """Send the end of the stream, after the sender has closed its direction."""
        self._ending = True
        self._send_when_ready(now_s)

    def withhold_acknowledgements(self) -> None:
        """Close the receiver's window: it does not read."""
        if self._withheld is None:
            self._withheld = []

    def release_acknowledgements(self, now_s: float) -> None:
        withheld, self._withheld = self._withheld or [], None
        for piece in withheld:
            self.acknowledge(piece, now_s)

    def acknowledge(self, piece: Piece, now_s: float) -> None:
        """Handle the receiver's answer to a piece, which is back at the sender."""
        if self._withheld is not None:
            self._withheld.append(piece)
            return
        self._in_flight_bytes -= piece.size_bytes
        if piece.lost:
            self.window.lose(now_s)
        else:
            self.window.acknowledge(
                piece.size_bytes, sent_s=piece.sent_s, now_s=now_s, was_limiting=self._window_limits
            )
        self._send(now_s)

    def _send_when_ready(self, now_s: float) -> None:
        if now_s < self._ready_s:
            self._at(self._ready_s, self._send)
        else:
            self._send(now_s)

    def _send(self, now_s: float) -> None:
        window_bytes = int(self.window.bytes)
        # Send at least a quarter of a window at a time, which gives few large pieces and avoids the silly window
        # syndrome.
        worthwhile_bytes = min(self._chunk_bytes, max(SEGMENT_BYTES, window_bytes // 4))
        while self._backlog:
            room_bytes = window_bytes - self._in_flight_bytes
            if room_bytes < min(len(self._backlog), worthwhile_bytes):
                self._window_limits = True
                return
            self._put_on_path(min(room_bytes, len(self._backlog), self._chunk_bytes), now_s)
        # In slow start Linux also grows a window that was at least half used.
        self._window_limits = 2 * self._in_flight_bytes >= window_bytes
        if self._ending:
            self._ending = False
            self._transmit(Piece(self, bytearray(), now_s, lost=False), now_s)

    def _put_on_path(self, count: int, now_s: float) -> None:
        data = self._backlog[:count]
        del self._backlog[:count]
        self._in_flight_bytes += count
        self._transmit(Piece(self, data, now_s, lost=self.window.send(count, now_s)), now_s)
        if self._awaiting_room and len(self._backlog) < SEND_BUFFER_BYTES // 2:
            self._awaiting_room = False
            self.ends.make_room()
