"""A receiver that follows a script: it takes segments, acknowledges those that the script names, and lets all others be
lost.

It stands behind a TUN device, in a network of its own that ends with it; the sender is a socket of this kernel. What
the sender does after losses thus depends on the acknowledgements it gets, not on how busy the machine is.
"""

import ctypes
import fcntl
import select
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from benchmarks.transport.origin import read_tcp_state

LEAST_TIMEOUT_S = 1
"""Far longer than this process waits for a processor, so that it causes no timeout."""

_PATIENCE_S = 30.0
_SENDER, _RECEIVER, _PORT = "10.78.0.1", "10.78.0.2", 9000
_SENDERS_BUFFER_BYTES = 16 << 20

_DEVICE = "script0"
_TUN = Path("/dev/net/tun")
_CLONE_NEWNET = 0x40000000
_SO_SNDBUFFORCE = 32
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
"""Constants of linux/sched.h, asm-generic/socket.h and linux/if_tun.h."""

_SYN, _ACK, _ECE = 0x02, 0x10, 0x40
_TOO_LARGE = 3, 4
"""ICMP's type and code: fragmentation needed, and larger than the path takes."""

_HEAD_BYTES = 20
_MOST_BYTES = 1 << 16
_NUMBERS = 1 << 32
"""Number of sequence numbers, which wrap around."""


class ScriptedReceiver:
    """One connection whose receiver follows the test; made by `start_scripted_receiver`. Segments are numbered from 0.

    Attributes
    ----------
    sender : the socket at the other end; it never blocks.
    """

    def __init__(self, tun: BinaryIO, sender: socket.socket, segment_bytes: int, *, marks: bool = False) -> None:
        self._tun, self.sender, self._segment_bytes = tun, sender, segment_bytes
        self._first = 0
        sender.setblocking(False)
        sender.connect_ex((_RECEIVER, _PORT))
        self._port, begin, _ = self._read_packet()
        self._first = (begin + 1) % _NUMBERS
        # The largest segment, selective acknowledgements, windows in units of 2^7 bytes; padding.
        options = struct.pack("!BBHBBBBBBBB", 2, 4, segment_bytes, 4, 2, 3, 3, 7, 1, 1, 1)
        self._send(_SYN | _ACK | (_ECE if marks else 0), 0, options)
        self._read_packet()
        self._send(_ACK, 0)  # its window has the unit, which the handshake's had not

    def take(self, count: int) -> list[int]:
        """Return the numbers of the next ``count`` segments that are sent."""
        taken: list[int] = []
        while len(taken) < count:
            _, sequence, data_bytes = self._read_packet()
            if data_bytes:
                taken.append((sequence - self._first) % _NUMBERS // self._segment_bytes)
        return taken

    def acknowledge(self, missing: float, arrived: range = range(0), *, marked: bool = False) -> dict[str, int]:
        """Acknowledge all before ``missing`` and those of ``arrived``; return the sender's state after it.

        ``missing`` : may lie within a segment, where one that was not full ends. ``marked`` : whether one of them had a
        congestion mark.
        """
        edges = [self._compute_sequence(segment) for segment in (arrived.start, arrived.stop)]
        self._send(
            _ACK | (_ECE if marked else 0), missing, struct.pack("!BBBBII", 1, 1, 5, 10, *edges) if arrived else b""
        )
        return read_tcp_state(self.sender)

    def refuse(self, segment: int, mtu_bytes: int) -> dict[str, int]:
        """Report that the path takes no packet as large as this segment's; return the sender's state after it."""
        sent = _make_packet(_SENDER, _RECEIVER, socket.IPPROTO_TCP, bytes(self._segment_bytes + _HEAD_BYTES))[
            :_HEAD_BYTES
        ]
        sent += struct.pack("!HHI", self._port, _PORT, self._compute_sequence(segment))
        message = _set_checksum(struct.pack("!BBHHH", *_TOO_LARGE, 0, 0, mtu_bytes) + sent, 2)
        self._tun.write(_make_packet(_RECEIVER, _SENDER, socket.IPPROTO_ICMP, message))
        return read_tcp_state(self.sender)

    def _compute_sequence(self, segment: float) -> int:
        return (self._first + int(self._segment_bytes * segment)) % _NUMBERS

    def _read_packet(self) -> tuple[int, int, int]:
        """Return port, sequence number and bytes of data of the next packet that is sent."""
        packet = b"\0"
        while packet[0] >> 4 != 4:  # IPv6 looks for neighbours
            if not select.select([self._tun], [], [], _PATIENCE_S)[0]:
                raise TimeoutError(f"nothing was sent for {_PATIENCE_S:g} s: {read_tcp_state(self.sender)}")
            packet = self._tun.read(_MOST_BYTES)
        port, _, sequence = struct.unpack_from("!HHI", packet, _HEAD_BYTES)
        return port, sequence, len(packet) - _HEAD_BYTES - 4 * (packet[_HEAD_BYTES + 12] >> 4)

    def _send(self, flags: int, missing: float, options: bytes = b"") -> None:
        words, own = (_HEAD_BYTES + len(options)) // 4, 0 if flags & _SYN else 1
        acknowledged = self._compute_sequence(missing)
        head = struct.pack("!HHIIBBHHH", _PORT, self._port, own, acknowledged, words << 4, flags, 0xFFFF, 0, 0)
        # The checksum covers the addresses, too.
        outside = struct.pack(
            "!4s4sHH", *_encode_addresses(_RECEIVER, _SENDER), socket.IPPROTO_TCP, len(head + options)
        )
        checked = _set_checksum(outside + head + options, len(outside) + 16)[len(outside) :]
        self._tun.write(_make_packet(_RECEIVER, _SENDER, socket.IPPROTO_TCP, checked))


@contextmanager
def start_scripted_receiver(
    congestion_control: str, *, segment_bytes: int = 1000, marks: bool = False, keeps_window: bool = False
) -> Iterator[ScriptedReceiver]:
    """Open a new connection from a sender with this congestion control, which does not probe for a lost tail.

    Parameters
    ----------
    marks : whether both ends use congestion marks (ECN).
    keeps_window : whether the sender's system keeps windows over idle times.
    """
    with ExitStack() as ends:
        with _enter_own_network():
            sender = ends.enter_context(socket.socket())
            tun = ends.enter_context(_TUN.open("r+b", buffering=0))
            fcntl.ioctl(tun, _TUNSETIFF, struct.pack("16sH22x", _DEVICE.encode(), _IFF_TUN | _IFF_NO_PI))
            for arguments in (
                f"addr add {_SENDER}/24 dev {_DEVICE}",
                f"link set {_DEVICE} mtu {segment_bytes + 2 * _HEAD_BYTES} up",
                f"route add {_RECEIVER} dev {_DEVICE} rto_min {LEAST_TIMEOUT_S}s",
            ):
                subprocess.run(["ip", *arguments.split()], check=True)
            for name, value in (
                ("tcp_early_retrans", 0),
                ("tcp_ecn", int(marks)),
                ("tcp_slow_start_after_idle", int(not keeps_window)),
            ):
                Path(f"/proc/sys/net/ipv4/{name}").write_text(f"{value}", encoding="ascii")
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, _SENDERS_BUFFER_BYTES)
        # Closing drops what is under way, and does not hold congestion control and network for minutes.
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        yield ScriptedReceiver(tun, sender, segment_bytes, marks=marks)


@contextmanager
def _enter_own_network() -> Iterator[None]:
    """Open everything in the block in a new network namespace, which ends with the last of it."""
    kernel = ctypes.CDLL(None, use_errno=True)
    with Path("/proc/thread-self/ns/net").open("rb") as outside:
        if kernel.unshare(_CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "no network namespace")
        try:
            yield
        finally:
            if kernel.setns(outside.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "cannot return to the earlier network")


def _encode_addresses(source: str, destination: str) -> tuple[bytes, bytes]:
    return socket.inet_aton(source), socket.inet_aton(destination)


def _make_packet(source: str, destination: str, protocol: int, data: bytes) -> bytes:
    """Return an IPv4 packet that must not be fragmented."""
    lengths = 0x45, 0, _HEAD_BYTES + len(data), 0, 0x4000, 64, protocol, 0
    return _set_checksum(struct.pack("!BBHHHBBH4s4s", *lengths, *_encode_addresses(source, destination)), 10) + data


def _set_checksum(octets: bytes, place: int) -> bytes:
    """Return the octets with the Internet's checksum (RFC 1071) at ``place``, which was 0."""
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return octets[:place] + struct.pack("!H", total ^ 0xFFFF) + octets[place + 2 :]
