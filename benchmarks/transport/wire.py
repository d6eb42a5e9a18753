"""A program that captures what a host sends: it prints each data segment of TCP until it is stopped.

    python -m benchmarks.transport.wire DEVICE

It prints ``watching`` once it captures, then a line a segment: seconds (of the kernel, as the packet left), port of the
sender, port of the receiver, sequence number, bytes of data.
"""

import signal
import socket
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_ANY_PROTOCOL = 0x0003
_OUTGOING = 4
_TCP = 6
_HEAD_BYTES = 128
_BUFFER_BYTES = 32 << 20
_TIMESTAMP_NS = 35
"""SO_TIMESTAMPNS of asm-generic/socket.h."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One data segment as it left."""

    at_s: float
    source_port: int
    destination_port: int
    sequence: int
    data_bytes: int


def split_into_rounds(segments: Iterable[Segment], rtt_s: float) -> list[int]:
    """Return the bytes of each round of a flow: a pause of more than half a round trip ends one.

    Rounds are visible only where a window is sent in less than that, so on a path with bandwidth to spare.
    """
    sums: list[int] = []
    last_s = float("-inf")
    for segment in segments:
        if segment.at_s - last_s > rtt_s / 2:
            sums.append(0)
        sums[-1] += segment.data_bytes
        last_s = segment.at_s
    return sums


def parse_segments(lines: Iterable[str]) -> list[Segment]:
    """Parse what the program wrote."""
    rows = (line.split() for line in lines)
    return [Segment(float(row[0]), int(row[1]), int(row[2]), int(row[3]), int(row[4])) for row in rows if len(row) == 5]


def _parse_segment(packet: bytes, length: int) -> tuple[int, int, int, int] | None:
    """Return ports, sequence number and bytes of data of an IPv4 packet; ``None`` where it carries no TCP data."""
    if packet[0] >> 4 != 4 or packet[9] != _TCP:
        return None
    head = 4 * (packet[0] & 0x0F)
    source, destination, sequence = struct.unpack_from("!HHI", packet, head)
    data = length - head - 4 * (packet[head + 12] >> 4)
    return (source, destination, sequence, data) if data > 0 else None


def capture_segments(device: str) -> None:
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ANY_PROTOCOL)) as tap:
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER_BYTES)
        tap.setsockopt(socket.SOL_SOCKET, _TIMESTAMP_NS, 1)
        tap.bind((device, _ANY_PROTOCOL))

        def stop(*_: object) -> None:
            tap.setblocking(False)  # what has left already is still written down

        signal.signal(signal.SIGTERM, stop)
        sys.stdout.write("watching\n")
        sys.stdout.flush()
        while True:
            try:
                packet, extra, _, sender = tap.recvmsg(_HEAD_BYTES, 64)
            except BlockingIOError:
                return
            if sender[2] != _OUTGOING:
                continue
            segment = _parse_segment(packet, struct.unpack_from("!H", packet, 2)[0])
            if segment is not None:
                seconds, nanoseconds = struct.unpack("=qq", extra[0][2][:16])
                sys.stdout.write(f"{seconds}.{nanoseconds:09d} {' '.join(map(str, segment))}\n")


def main(argv: Sequence[str]) -> int:
    capture_segments(*argv)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
