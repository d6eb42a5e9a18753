"""One GET of a file that may come encoded, and the handling of its answer."""

from collections.abc import Callable

from tradewind_agent.compression.packed.received_stream import ReceivedStream
from tradewind_agent.engine.http.exchange import ReceiveGate
from tradewind_agent.engine.range_read import RangeRead
from tradewind_agent.engine.sent_alone import SentAlone
from tradewind_agent.errors import FileFault


class PackedRead(SentAlone, RangeRead):
    """A request for a file from byte ``first`` on; nothing is sent behind it, nor it behind others.

    Attributes
    ----------
    stream : what takes the bytes of an encoded answer; ``None`` where it comes as it is.
    wire_bytes, uncounted_bytes : received bytes of the body; those among them that no stored block accounts for yet.
    on_over : called once when the answer is over.
    """

    stream: ReceivedStream | None = None
    wire_bytes = uncounted_bytes = 0
    on_over: Callable[[], None] = staticmethod(lambda: None)

    @property
    def receive_gate(self) -> ReceiveGate | None:  # type: ignore[override]
        return self.stream

    def on_data(self, data: memoryview) -> None:
        self.wire_bytes += len(data)
        self.uncounted_bytes += len(data)
        if self.stream is None:
            super().on_data(data)
        else:
            self.stream.feed(bytes(data))

    def on_end(self) -> None:
        self.on_over()
        if self.stream is None:
            super().on_end()
        else:
            self.stream.finish()

    def on_lost(self, fault: FileFault | None) -> None:
        self.on_over()
        if self.stream is None:
            super().on_lost(fault)
        else:
            self.stream.lose(fault)
