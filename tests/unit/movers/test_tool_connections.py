"""Connections of another process, by inode: a socket of this test stands for the tool's."""

import os
import socket

import pytest

from tradewind_agent.engine.http.tcp_info import TcpInfo, read_tcp_info
from tradewind_agent.movers.wrap.socket_diagnosis import EstablishedConnection, list_established_connections
from tradewind_agent.movers.wrap.tool_connections import ToolConnections


@pytest.fixture
def pair():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            yield accepted, client


def of(connection):
    """What the kernel tells of a socket by its inode."""
    inode = os.fstat(connection.fileno()).st_ino
    return next((each for each in list_established_connections() if each.inode == inode), None)


def test_connection_statistics_from_outside_equal_those_of_the_owner(pair):
    sender, receiver = pair
    sender.sendall(b"x" * 100_000)
    assert receiver.recv(100_000, socket.MSG_WAITALL) == b"x" * 100_000
    seen, own = of(sender), read_tcp_info(sender)
    assert (seen.local_port, seen.remote_port) == (sender.getsockname()[1], receiver.getsockname()[1])
    for info in (seen.info, own):  # what was sent twice counts twice
        assert info.sent_bytes - info.retransmitted_bytes == 100_000
    assert seen.info.min_rtt_s == own.min_rtt_s
    assert of(receiver).info.received_packets == read_tcp_info(receiver).received_packets > 0


def has(family):
    """Whether this kernel has sockets of the family; that an interface has an address of it is not needed."""
    try:
        socket.socket(family).close()
    except OSError:
        return False
    return True


LOCALHOST = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::ffff:127.0.0.1"}


@pytest.mark.parametrize("family", tuple(filter(has, LOCALHOST)), ids=str)
def test_a_connection_is_seen_whatever_the_family_of_its_socket(family):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(family) as client:
        client.connect((LOCALHOST[family], server.getsockname()[1]))
        assert of(client).remote_port == server.getsockname()[1]


class Kernel:
    """Tells of connections whose inode is that of a socket of this process."""

    def __init__(self):
        self.connections, self.now_s, self.spent_s = {}, 0.0, 0.0
        self.look_costs_s = 0.0

    def __call__(self):
        self.spent_s += self.look_costs_s
        return list(self.connections.values())

    def clock_s(self):
        return self.now_s

    def cpu_s(self):
        return self.spent_s


@pytest.fixture
def kernel():
    return Kernel()


@pytest.fixture
def tool(kernel):
    found = ToolConnections(receiving=True, connections=kernel, clock_s=kernel.clock_s, cpu_s=kernel.cpu_s)
    found.note_started(os.getpid(), own_port=9999)
    return found


def poll(kernel, tool, at_s):
    kernel.now_s = at_s
    tool.poll()


def test_bytes_and_losses_of_closed_connections_still_count(kernel, tool, pair):
    inode = os.fstat(pair[1].fileno()).st_ino

    def seen(cookie, received, packets, overtaken, port=80):
        info = TcpInfo(
            receive_rtt_s=0.05, min_rtt_s=0.04, received_bytes=received, received_packets=packets,
            out_of_order_packets=overtaken,
        )  # fmt: skip
        kernel.connections[cookie] = EstablishedConnection(cookie, inode, port, 80, info)

    seen(1, 100_000, 100, 0)
    poll(kernel, tool, 1.0)
    seen(1, 200_000, 200, 5)  # five packets of a round trip overtook one
    poll(kernel, tool, 2.0)
    del kernel.connections[1]
    seen(2, 50_000, 50, 0)
    seen(3, 7, 1, 0, port=9999)  # our orders to the tool
    poll(kernel, tool, 3.0)
    path, open_ = tool.sample()
    assert (path.rtt_s, path.min_rtt_s, open_) == (0.05, 0.04, 1)
    assert path.retransmitted_bytes == 1000
    assert path.sent_bytes == 250_000 + 1000


def test_connections_of_others_are_left_out(kernel, tool):
    kernel.connections[1] = EstablishedConnection(1, 1, 1234, 80, TcpInfo(rtt_s=1.0, received_bytes=5))
    poll(kernel, tool, 1.0)
    path, open_ = tool.sample()
    assert (path.rtt_s, path.sent_bytes, open_) == (None, 0, 0)


def test_failed_poll_is_ignored_and_next_one_works(kernel, tool):
    def refuse():
        raise PermissionError

    tool._connections = refuse
    poll(kernel, tool, 1.0)
    assert tool.sample()[1] == 0


def test_expensive_polls_become_rarer(kernel, tool, pair):
    inode = os.fstat(pair[1].fileno()).st_ino
    kernel.look_costs_s = 0.1  # 5 s may pass until the next one, by the share that looks may cost
    seen = []
    for second in range(1, 12):
        kernel.connections[1] = EstablishedConnection(1, inode, 1234, 80, TcpInfo(received_bytes=second))
        poll(kernel, tool, float(second))
        seen.append(tool.sample()[0].sent_bytes)
    assert seen == [1] * 5 + [6] * 5 + [11]
