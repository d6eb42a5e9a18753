"""What the kernel's program makes of rounds and of a lost segment, told to it acknowledgement by acknowledgement."""

import time
from dataclasses import dataclass

from benchmarks.papers.catalogue import Facts
from benchmarks.papers.trial import Yard
from benchmarks.transport.installed import install_fld_tcp
from benchmarks.transport.origin import read_tcp_state
from benchmarks.transport.scripted_receiver import ScriptedReceiver, start_scripted_receiver
from benchmarks.wan.runs import Row
from tradewind.connections.rounds import INITIAL_WINDOW_SEGMENTS

ROUNDS = 2
"""Without loss, before one of the next round's segments is lost."""

LONGEST_S = 0.02
"""Of a trial: three times what it takes on a quiet machine (0.5 to 6 ms), a fiftieth of the sender's least timeout. One
that was held up for longer may have met the sender's clocks, of which it is to know nothing."""


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
    def sort(self) -> str:
        return "losses"

    def conditions(self, facts: Facts) -> str:  # noqa: ARG002 -- the receiver's acknowledgements decide all
        return f"{ROUNDS} rounds"

    def measured(self, yard: Yard) -> Row:  # noqa: ARG002 -- no path, no time, no chance
        with install_fld_tcp(), start_scripted_receiver(self.control, segment_bytes=self.segment_bytes) as told:
            began_s = time.monotonic()
            row = self._of(told)
            return row | {"disturbed": held_up(time.monotonic() - began_s)}

    def _of(self, told: ScriptedReceiver) -> Row:
        """``windows`` after each round, ``before`` and ``after`` the loss, and those ``sent_again``; segments."""
        windows, sent, window = list[int](), 0, INITIAL_WINDOW_SEGMENTS
        for _ in range(ROUNDS):
            self._send(told, window)
            sent += window
            window = told.acknowledge(sent)["window_segments"]
            windows.append(window)
        self._send(told, window)
        told.acknowledge(sent, range(sent + 1, sent + window // 2))
        told.take(1)  # the lost one, sent again
        told.acknowledge(sent, range(sent + 1, sent + window))
        after = told.acknowledge(sent + window)["window_segments"]
        return {
            "windows": windows,
            "acknowledged_bytes": sent * self.segment_bytes,
            "before": window,
            "after": after,
            "sent_again": read_tcp_state(told.sender)["retransmitted_segments"],
        }

    def _send(self, told: ScriptedReceiver, segments: int) -> None:
        size = segments * self.segment_bytes
        if told.sender.send(bytes(size)) != size:
            raise BlockingIOError(f"{size} bytes do not fit into the sender's buffer")
        told.take(segments)


def held_up(lasted_s: float) -> str | None:
    """What was wrong with the machine during a trial of this length; ``None`` where it was quick enough."""
    if lasted_s <= LONGEST_S:
        return None
    return f"it took {1e3 * lasted_s:.0f} ms between acknowledgements; {1e3 * LONGEST_S:.0f} ms are tolerable"
