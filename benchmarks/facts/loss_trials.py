"""What the kernel's program makes of rounds and of a lost segment, told to it acknowledgement by acknowledgement."""

from dataclasses import dataclass

from benchmarks.facts.catalogue import Facts
from benchmarks.facts.trial import Yard
from benchmarks.transport.installed import fld_tcp_installed
from benchmarks.transport.told_receiver import Told, receiver
from benchmarks.wan.runs import Row
from tradewind.connections.rounds import INITIAL_WINDOW_SEGMENTS

ROUNDS = 2
"""Without loss, before one of the next round's segments is lost."""


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
        with fld_tcp_installed(), receiver(self.control, segment_bytes=self.segment_bytes) as told:
            return self._of(told)

    def _of(self, told: Told) -> Row:
        """``windows`` after each round, ``before`` and ``after`` the loss; segments."""
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
            "disturbed": None,
        }

    def _send(self, told: Told, segments: int) -> None:
        size = segments * self.segment_bytes
        if told.sender.send(bytes(size)) != size:
            raise BlockingIOError(f"{size} bytes do not fit into the sender's buffer")
        told.take(segments)
