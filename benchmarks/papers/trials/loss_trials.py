"""Windows of the kernel's program over rounds and after a lost segment, with scripted acknowledgements."""

import time
from dataclasses import dataclass

from benchmarks.papers.catalogue import Claims
from benchmarks.papers.trial import TrialSite
from benchmarks.transport.installed import install_fld_tcp
from benchmarks.transport.origin import read_tcp_state
from benchmarks.transport.scripted_receiver import ScriptedReceiver, start_scripted_receiver
from benchmarks.wan.runs import Row
from tradewind.connections.rounds import INITIAL_WINDOW_SEGMENTS

ROUNDS = 2
"""Rounds without loss, before one of the next round's segments is lost."""

LONGEST_S = 0.02
"""Longest time of a trial: three times what it takes on a quiet machine (0.5 to 6 ms), a fiftieth of the sender's least
timeout.

One that was held up for longer may have met the sender's clocks, on which it must not depend.
"""


@dataclass(frozen=True, slots=True)
class Loss:
    """The first segment of a round is lost, all others of it arrive.

    ``segment_bytes`` : small ones make a short flow of the rounds, large ones a long one.
    """

    control: str
    segment_bytes: int

    @property
    def name(self) -> str:
        return f"a loss after {ROUNDS} rounds by {self.control}, segments of {self.segment_bytes} bytes"

    @property
    def source_part(self) -> str:
        return "losses"

    def describe_conditions(self, claims: Claims) -> str:  # noqa: ARG002 -- the receiver's acknowledgements decide all
        return f"{ROUNDS} rounds"

    def measure(self, yard: TrialSite) -> Row:  # noqa: ARG002 -- no path, no time, no chance
        with install_fld_tcp(), start_scripted_receiver(self.control, segment_bytes=self.segment_bytes) as receiver:
            started_s = time.monotonic()
            row = self._measure_loss(receiver)
            return row | {"disturbed": find_hold_up(time.monotonic() - started_s)}

    def _measure_loss(self, receiver: ScriptedReceiver) -> Row:
        """Return ``windows`` after each round, ``before`` and ``after`` the loss, and the segments ``sent_again``."""
        windows, sent, window = list[int](), 0, INITIAL_WINDOW_SEGMENTS
        for _ in range(ROUNDS):
            self._send(receiver, window)
            sent += window
            window = receiver.acknowledge(sent)["window_segments"]
            windows.append(window)
        self._send(receiver, window)
        receiver.acknowledge(sent, range(sent + 1, sent + window // 2))
        receiver.take(1)  # the lost one, sent again
        receiver.acknowledge(sent, range(sent + 1, sent + window))
        after = receiver.acknowledge(sent + window)["window_segments"]
        return {
            "windows": windows,
            "acknowledged_bytes": sent * self.segment_bytes,
            "before": window,
            "after": after,
            "sent_again": read_tcp_state(receiver.sender)["retransmitted_segments"],
        }

    def _send(self, receiver: ScriptedReceiver, segments: int) -> None:
        size = segments * self.segment_bytes
        if receiver.sender.send(bytes(size)) != size:
            raise BlockingIOError(f"{size} bytes do not fit into the sender's buffer")
        receiver.take(segments)


def find_hold_up(lasted_s: float) -> str | None:
    """Return what disturbed a trial of this length; ``None`` where it was quick enough."""
    if lasted_s <= LONGEST_S:
        return None
    return f"it took {1e3 * lasted_s:.0f} ms between acknowledgements; {1e3 * LONGEST_S:.0f} ms are tolerable"
