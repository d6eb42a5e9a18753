"""Losses of a connection that only receives: the sender counts what it sends again, the receiver sees packets overtake.

After a loss every packet of the next round trip arrives out of order, until the lost one has been sent again. So the
kernel's count of packets out of order, over the packets of a round trip, is the number of times that packets were lost:

lost ≈ Σ Δo / max(1, r · Δn/Δt)        o packets out of order, n packets received, r round trip

Packets lost together count once; it is how often the sender has to slow down that says how crowded the path is.
"""

from tradewind_agent.engine.http.tcp_info import TcpInfo


class ReceiverLoss:
    """An estimator that sums over samples of one connection; the more samples, the better the round trips fit."""

    def __init__(self, opened_s: float) -> None:
        self.lost_packets = 0.0
        self._seen_s = opened_s
        self._packets = 0
        self._out_of_order = 0

    def count_losses(self, info: TcpInfo, at_s: float) -> None:
        """Count the losses since the last sample; a kernel without these values counts none."""
        rtt_s = info.receive_rtt_s or info.rtt_s
        if info.received_packets is None or info.out_of_order_packets is None or rtt_s is None:
            return
        overtaken, packets = info.out_of_order_packets - self._out_of_order, info.received_packets - self._packets
        elapsed_s = at_s - self._seen_s
        if overtaken > 0 and elapsed_s > 0:
            self.lost_packets += overtaken / max(rtt_s * packets / elapsed_s, 1.0)
        self._seen_s, self._packets, self._out_of_order = at_s, info.received_packets, info.out_of_order_packets

    def compute_lost_bytes(self, info: TcpInfo) -> int:
        """Return the packets lost, in bytes at the mean size of those received."""
        if not info.received_packets or info.received_bytes is None:
            return 0
        return round(self.lost_packets * info.received_bytes / info.received_packets)
