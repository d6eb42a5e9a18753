"""How long a connection may be silent, and how a peer that is gone is distinguished from one that takes its time.

A server may fetch a file from tape, or make it first: minutes pass before an answer begins. A path that is dead, or a
middlebox that has forgotten the connection, is noticed by the kernel meanwhile, which asks the peer now and then.
"""

import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

STORED_BYTES_PER_S = 10e6
"""Rate at which a receiver may take in a body after its last byte: it sums, assembles or uploads it once more."""

_LONGER_BEHIND_ANSWERS = 3

_PROBES = 3


@dataclass(frozen=True, slots=True)
class Patience:
    """The longest silences, s: until an answer begins, in the middle of a body, and until HEAD is answered.

    A copy can do without an answer to HEAD, which some servers never give.
    """

    answer_s: float
    idle_s: float
    question_s: float

    def limit_question_s(self, *, has_answered: bool) -> float:
        """Return the longest wait for HEAD; longer behind other answers: the server may still store what was sent."""
        return self.question_s * (_LONGER_BEHIND_ANSWERS if has_answered else 1)


class SocketLike(Protocol):
    """The one method needed of a socket (or of asyncio's TransportSocket)."""

    def setsockopt(self, level: int, option: int, value: int, /) -> None: ...


def detect_dead_peer(connection: SocketLike, within_s: float) -> None:
    """Have the kernel end a connection whose peer has confirmed nothing for so long, while it waits or sends."""
    each_s = max(int(within_s / (1 + _PROBES)), 1)
    options = [
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *(
            (socket.IPPROTO_TCP, option, value)
            for name, value in (
                ("TCP_KEEPIDLE", each_s),
                ("TCP_KEEPINTVL", each_s),
                ("TCP_KEEPCNT", _PROBES),
                ("TCP_USER_TIMEOUT", max(int(within_s * 1000), 1000)),
            )
            if (option := getattr(socket, name, None)) is not None
        ),
    ]
    with suppress(OSError):  # no TCP, as in a test, or a system without the option: the limits of silence remain
        for level, option, value in options:
            connection.setsockopt(level, option, value)
