"""The kernel's measurements of a connection: round-trip time, retransmissions, bytes (Linux TCP_INFO).

Offsets are those of ``struct tcp_info`` in <linux/tcp.h>; the kernel only ever appends to it, so a shorter answer of an
older kernel lacks the last fields and is taken as far as it goes.
"""

import socket
import struct
from dataclasses import dataclass
from typing import Protocol

_LONGEST_ANSWER_BYTES = 256
_MICROSECOND_S = 1e-6
_RTT_AT = 68  # tcpi_rtt, u32, µs
_RCV_RTT_AT = 92  # tcpi_rcv_rtt, u32, µs
_BYTES_RECEIVED_AT = 128  # tcpi_bytes_received, u64
_MIN_RTT_AT = 148  # tcpi_min_rtt, u32, µs; all ones while there is no sample
_DATA_SEGS_IN_AT = 152  # tcpi_data_segs_in, u32
_BYTES_SENT_AT = 200  # tcpi_bytes_sent, u64
_BYTES_RETRANS_AT = 208  # tcpi_bytes_retrans, u64
_RCV_OOOPACK_AT = 224  # tcpi_rcv_ooopack, u32
_NO_SAMPLE = 0xFFFFFFFF


class SocketLike(Protocol):
    """The one method needed of a socket (or of asyncio's TransportSocket)."""

    def getsockopt(self, level: int, option: int, length: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """One sample of one connection; ``None`` where the kernel has no value (yet).

    ``rtt_s`` is measured by the data we send, ``receive_rtt_s`` by the data we receive. ``out_of_order_packets`` of the
    ``received_packets`` arrived after a gap. ``lost_bytes`` of those on their way to us: no figure of the kernel's, but
    an estimate of who watches the connection, see `receiver_loss`.
    """

    rtt_s: float | None = None
    min_rtt_s: float | None = None
    receive_rtt_s: float | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None
    retransmitted_bytes: int | None = None
    received_packets: int | None = None
    out_of_order_packets: int | None = None
    lost_bytes: int | None = None


def decode_tcp_info(answer: bytes) -> TcpInfo:
    """Read the kernel's answer, of any length."""

    def read_unsigned(code: str, offset: int) -> int | None:
        end = offset + struct.calcsize(code)
        return int(struct.unpack_from(code, answer, offset)[0]) if len(answer) >= end else None

    def read_seconds(offset: int) -> float | None:
        value = read_unsigned("=I", offset)
        return None if value in (None, 0, _NO_SAMPLE) else value * _MICROSECOND_S

    return TcpInfo(
        rtt_s=read_seconds(_RTT_AT),
        min_rtt_s=read_seconds(_MIN_RTT_AT),
        receive_rtt_s=read_seconds(_RCV_RTT_AT),
        received_bytes=read_unsigned("=Q", _BYTES_RECEIVED_AT),
        sent_bytes=read_unsigned("=Q", _BYTES_SENT_AT),
        retransmitted_bytes=read_unsigned("=Q", _BYTES_RETRANS_AT),
        received_packets=read_unsigned("=I", _DATA_SEGS_IN_AT),
        out_of_order_packets=read_unsigned("=I", _RCV_OOOPACK_AT),
    )


def read_tcp_info(connection: SocketLike) -> TcpInfo:
    """Read the kernel's values; all ``None`` where there is no TCP_INFO (not Linux, not TCP, already closed)."""
    option = getattr(socket, "TCP_INFO", None)
    if option is None:
        return TcpInfo()
    try:
        return decode_tcp_info(connection.getsockopt(socket.IPPROTO_TCP, option, _LONGEST_ANSWER_BYTES))
    except OSError:
        return TcpInfo()
