"""The path of the compression benchmark: what it carries arrives, not before its rate and round trip allow."""

import socket
import time
from urllib.request import Request, urlopen

import pytest

from benchmarks.compression.slow_path import ROUND_TRIP_S, run_slow_path
from tests.integration.serve_files.serving import serving


@pytest.fixture
def origin(tmp_path):
    (tmp_path / "byte").write_bytes(b"!")
    (tmp_path / "file").write_bytes(bytes(range(256)) * 800)
    with serving(tmp_path, writable=True) as server:
        yield server


def taken(url, data=None):
    begun_s = time.monotonic()
    with urlopen(Request(url, data, method="GET" if data is None else "PUT")) as answer:
        received = answer.read()
    return received, time.monotonic() - begun_s


def test_a_byte_waits_for_the_handshake_and_for_its_own_round_trip(origin):
    with run_slow_path(origin.port, 1e6) as url:
        received, took_s = taken(f"{url}byte")
    assert received == b"!"
    assert took_s >= 2 * ROUND_TRIP_S


def test_bytes_of_both_directions_wait_for_their_rate(origin, tmp_path):
    sent = bytes(range(256)) * 800
    least_s = 2 * ROUND_TRIP_S + (len(sent) - 65536) / 1e6  # what two sockets hold was never waited for
    with run_slow_path(origin.port, 1e6) as url:
        received, down_s = taken(f"{url}file")
        _, up_s = taken(f"{url}up", sent)
    assert received == sent == (tmp_path / "up").read_bytes()
    assert min(down_s, up_s) >= least_s


def test_early_data_does_not_pass_before_handshake(origin):
    sent = bytes(50_000)
    with run_slow_path(origin.port, 1e6) as url:
        _, took_s = taken(f"{url}up", sent)
    assert took_s >= 2 * ROUND_TRIP_S + len(sent) / 1e6


def test_a_sender_feels_that_its_receiver_is_gone():
    with (
        socket.create_server(("127.0.0.1", 0)) as gone,
        run_slow_path(gone.getsockname()[1], 1e6) as url,
        socket.create_connection(("127.0.0.1", int(url.rstrip("/").rpartition(":")[2])), timeout=30) as sender,
    ):
        sender.sendall(b"x")
        receiver, _ = gone.accept()
        receiver.close()
        with pytest.raises(ConnectionError):
            sender.sendall(bytes(10**7))
