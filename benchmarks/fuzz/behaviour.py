"""How a server behaves that the engine meets: drawn well or badly, but never so that nobody could tell.

A server may cut bodies, forget pipelined requests or change a file between two ranges. It does not do what no client
can notice, such as giving two versions one strong ETag, or ending a body early whose length nobody knows.
"""

from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Self


class Ranges(Enum):
    HONOURED = "206 with the bytes asked for"
    IGNORED = "200 with all of them"
    SHORT = "206 with fewer bytes than asked for"
    SHIFTED = "206 with bytes from elsewhere, which it says"
    REFUSED = "416"


class Pipelining(Enum):
    IN_ORDER = "every request is answered, in order"
    FORGOTTEN = "requests behind the first are forgotten"
    REVERSED = "answers come in the opposite order"
    CLOSED = "the connection ends after the first answer"


class Framing(Enum):
    LENGTH = "Content-Length"
    CHUNKED = "chunks"
    UNTIL_CLOSE = "the end of the connection"


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a server behaves; chances are of each request.

    ``cut``, ``dropped`` : that a body ends early, that the connection ends before the answer.
    ``failing`` : the status that a request gets instead of an answer, and its chance.
    ``most_connections`` : beyond them connections get ``refusal``, a status, or are closed (0).
    ``most_requests`` : after them a connection is closed.
    ``redirects`` : each file is behind a redirect, whose target is good for ``target_uses`` requests.
    """

    ranges: Ranges
    pipelining: Pipelining
    framing: Framing
    cut: float
    dropped: float
    failing: tuple[int, float]
    most_connections: int | None
    refusal: int
    most_requests: int | None
    delay_s: float
    redirects: bool
    target_uses: int

    @classmethod
    def draw(cls, draw: Random) -> Self:
        """Draw a behaviour: a third of all servers do nothing wrong."""
        is_calm = draw.random() < 1 / 3
        chance = 0.0 if is_calm else draw.choice([0.0, 0.02, 0.1, 0.3])
        odd_ranges = [Ranges.HONOURED, Ranges.IGNORED] if is_calm else list(Ranges)
        odd_pipelining = [Pipelining.IN_ORDER] if is_calm else list(Pipelining)
        return cls(
            ranges=draw.choice([Ranges.HONOURED, *odd_ranges]),
            pipelining=draw.choice([Pipelining.IN_ORDER, *odd_pipelining]),
            framing=draw.choice([Framing.LENGTH, Framing.LENGTH, Framing.CHUNKED, Framing.UNTIL_CLOSE]),
            cut=draw.choice([0.0, chance]),
            dropped=draw.choice([0.0, chance]),
            failing=(draw.choice([403, 404, 429, 500, 503]), draw.choice([0.0, chance])),
            most_connections=None if is_calm else draw.choice([None, None, 1, 2, 3]),
            refusal=draw.choice([0, 403, 429, 503]),
            most_requests=draw.choice([None, None, 1, 2, 5]),
            delay_s=draw.choice([0.0, 0.0, 0.001, 0.005]),
            redirects=draw.random() < 1 / 4,
            target_uses=draw.choice([1, 2, 1000]),
        )

    @property
    def is_calm(self) -> bool:
        """Return whether every file of it can be fetched without a retry."""
        return (
            self.cut == self.dropped == self.failing[1] == 0
            and self.most_connections is None
            and self.ranges in (Ranges.HONOURED, Ranges.IGNORED)
            and self.pipelining is Pipelining.IN_ORDER
            and (not self.redirects or self.target_uses >= 1000)
        )
