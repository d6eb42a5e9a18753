"""Losses as a receiver can tell them: by the packets that arrive out of order until the lost one is there."""

import pytest

from tradewind_agent.engine.http.receiver_loss import ReceiverLoss
from tradewind_agent.engine.http.tcp_info import TcpInfo

PACKET_BYTES = 1448
RTT_S = 0.06


def look(packets: int, out_of_order: int) -> TcpInfo:
    return TcpInfo(
        rtt_s=0.5,
        receive_rtt_s=RTT_S,
        received_bytes=packets * PACKET_BYTES,
        received_packets=packets,
        out_of_order_packets=out_of_order,
    )


@pytest.mark.parametrize("looks", [1, 7, 100])
def test_each_loss_puts_one_round_trip_of_packets_out_of_order_however_often_one_looks(looks):
    rate, losses, duration_s = 2000.0, 8, 10.0
    loss = ReceiverLoss(opened_s=3.0)
    for i in range(1, looks + 1):
        share = i / looks
        info = look(round(rate * duration_s * share), round(losses * rate * RTT_S * share))
        loss.count_losses(info, 3.0 + duration_s * share)
    assert loss.lost_packets == pytest.approx(losses, rel=0.02)
    assert loss.compute_lost_bytes(info) == pytest.approx(losses * PACKET_BYTES, rel=0.02)


def test_with_less_than_a_packet_a_round_trip_no_more_is_lost_than_overtaken():
    loss = ReceiverLoss(opened_s=0.0)
    loss.count_losses(look(20, 3), 60.0)
    assert loss.lost_packets == 3


def test_missing_kernel_values_count_as_zero():
    loss = ReceiverLoss(opened_s=0.0)
    loss.count_losses(TcpInfo(receive_rtt_s=RTT_S), 1.0)
    assert loss.compute_lost_bytes(TcpInfo()) == 0
