import socket
import struct

from tradewind_agent.engine.http.tcp_info import TcpInfo, decode_tcp_info, read_tcp_info
from tradewind_agent.engine.path_sample import PathSampler, SettledRtt


def test_live_connection_has_round_trip_and_bytes():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        with peer:
            peer.sendall(b"x" * 1000)
            assert client.recv(1000, socket.MSG_WAITALL) == b"x" * 1000
            told, heard = read_tcp_info(peer), read_tcp_info(client)
    assert told.sent_bytes == 1000
    assert told.retransmitted_bytes == 0
    assert told.rtt_s is not None
    assert 0 < told.rtt_s < 1
    assert told.min_rtt_s is not None
    assert heard.received_bytes in (1000, 1001)  # the kernel counts the SYN on some versions


def test_older_kernel_has_fewer_values():
    answer = bytearray(104)
    struct.pack_into("=I", answer, 68, 2500)
    assert decode_tcp_info(bytes(answer)) == TcpInfo(rtt_s=0.0025)


def test_round_trip_without_a_sample_is_unknown():
    answer = bytearray(240)
    struct.pack_into("=I", answer, 148, 0xFFFFFFFF)
    assert decode_tcp_info(bytes(answer)).min_rtt_s is None
    assert decode_tcp_info(b"") == TcpInfo()


def test_closed_socket_has_no_values():
    connection = socket.socket()
    connection.close()
    assert read_tcp_info(connection) == TcpInfo()


def test_totals_outlive_connections():
    sampler = PathSampler()
    sampler.add_closed(TcpInfo(rtt_s=0.3, min_rtt_s=0.1, sent_bytes=100, retransmitted_bytes=5))
    live = [TcpInfo(rtt_s=0.2, min_rtt_s=0.15, sent_bytes=10, retransmitted_bytes=1), TcpInfo()]
    seen = sampler.sample(live, [0.5, 0.4], receiving=False)
    assert (seen.rtt_s, seen.min_rtt_s) == (0.2, 0.1)
    assert (seen.sent_bytes, seen.retransmitted_bytes) == (110, 6)
    assert seen.min_first_byte_s == 0.4
    assert sampler.sample([], [], receiving=False).min_first_byte_s == 0.4


def test_a_download_counts_what_arrives_and_what_is_estimated_to_be_lost():
    sampler = PathSampler()
    sampler.add_closed(TcpInfo(sent_bytes=100, received_bytes=5000, lost_bytes=50))
    seen = sampler.sample([TcpInfo(sent_bytes=10, received_bytes=1000), TcpInfo()], [], receiving=True)
    assert (seen.sent_bytes, seen.retransmitted_bytes) == (6050, 50)


class Clock:
    """A clock that goes on by a quarter of a second each time."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        self.now_s += 0.25
        return self.now_s


def settled_after(rtts_s, clock=None):
    settled = SettledRtt(clock or Clock())
    for rtt_s in rtts_s:
        settled.add(rtt_s)
    return settled.find_s()


def test_round_trips_settle_where_half_of_them_are_those_of_an_empty_queue():
    empty = [0.15 + 1e-5 * (i % 7) for i in range(10)]
    assert settled_after([0.08, 0.17, *empty, 0.19, 0.204, 0.18, 0.16, 0.2, 0.21]) == 0.15


def test_round_trips_behind_a_queue_do_not_settle():
    assert settled_after([0.15 + 0.003 * (7 * i % 20) for i in range(20)]) is None


def test_few_samples_or_those_of_an_idle_connection_say_nothing():
    assert settled_after([0.15 + 1e-6 * i for i in range(7)]) is None
    assert settled_after([0.15] * 20) is None


def test_samples_before_the_last_tick_are_forgotten():
    empty, behind_a_queue = [0.15 + 1e-6 * i for i in range(20)], [0.15 + 0.003 * (7 * i % 20) for i in range(20)]
    assert settled_after([*empty, *behind_a_queue]) is None


def test_samples_of_one_moment_count_once():
    moments = iter([0.25 * i + extra for i in range(6) for extra in (0.0, 0.01, 0.02)])
    assert settled_after([0.15 + 1e-6 * i for i in range(18)], lambda: next(moments)) is None
