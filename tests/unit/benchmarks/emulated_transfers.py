"""Transfers over the emulated path in model time, without a socket or a clock."""

from typing import TYPE_CHECKING

from benchmarks.emulation.model import PathModel
from benchmarks.support.direction import Direction
from tradewind.units import KIB

if TYPE_CHECKING:
    from benchmarks.emulation.flow import Flow


class Sender:
    """Writes as fast as the flow takes it, and notes what arrived and when."""

    def __init__(self, path: PathModel, size_bytes: int) -> None:
        self.path = path
        self.left_bytes = size_bytes
        self.received = bytearray()
        self.ended_at_s: float | None = None
        self.first_at_s: float | None = None
        self.flow: Flow

    def start(self, direction: Direction, now_s: float = 0.0) -> None:
        self.flow = self.path.connect(now_s, up=self, down=self)[direction]
        self._fill(now_s)

    def arrive(self, data: bytearray) -> None:
        now_s = self.path.now_s
        self.first_at_s = now_s if self.first_at_s is None else self.first_at_s
        self.received += data
        if not data:
            self.ended_at_s = now_s

    def make_room(self) -> None:
        self._fill(self.path.now_s)

    def _fill(self, now_s: float) -> None:
        more = True
        while more and self.left_bytes:
            block = bytes(min(self.left_bytes, 64 * KIB))
            self.left_bytes -= len(block)
            more = self.flow.write(block, now_s)
        if not self.left_bytes:
            self.flow.end(now_s)


class TimedPath(PathModel):
    """Runs the events one by one and knows the model time."""

    now_s = 0.0

    def run(self) -> None:
        while (next_s := self.events.next_s) is not None:
            self.now_s = next_s
            self.events.run_until(next_s)
