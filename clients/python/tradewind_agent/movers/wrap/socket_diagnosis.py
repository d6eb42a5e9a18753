"""What the kernel knows of TCP connections of other processes (Linux, sock_diag(7)): every user may ask.

Layouts are those of <linux/netlink.h>, <linux/sock_diag.h> and <linux/inet_diag.h>:

    request   nlmsghdr (16) · inet_diag_req_v2: family, protocol, extensions, 0 (4 × u8), states (u32), id (48)
    answers   nlmsghdr (16) · inet_diag_msg: family, state, timer, retrans (4 × u8), id (48), 5 × u32, the last: inode
              · attributes: length, type (2 × u16), content, each aligned to 4; type 2 is ``struct tcp_info``
    id        ports (2 × be16), addresses (2 × 16), interface (u32), cookie (u64, unique while the host runs)
"""

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tradewind_agent.engine.http.tcp_info import TcpInfo, decode_tcp_info

_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_INET_DIAG_INFO = 2
_ESTABLISHED = 1

_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_ID = struct.Struct("=4x2s2s36xQ")
_INODE_AT, _MESSAGE_BYTES = 68, 72
_ATTRIBUTE = struct.Struct("=HH")
_ANSWER_BYTES = 1 << 17
_PATIENCE_S = 1.0


@dataclass(frozen=True, slots=True)
class EstablishedConnection:
    """An established connection: ``inode`` as in ``/proc/PID/fd``, ``cookie`` never used again."""

    cookie: int
    inode: int
    local_port: int
    remote_port: int
    info: TcpInfo


def list_established_connections() -> list[EstablishedConnection]:
    """Return all of this network namespace.

    Raises
    ------
    OSError : not Linux, a kernel without it, or a sandbox that does not permit it.
    """
    family = getattr(socket, "AF_NETLINK", None)
    if family is None:
        raise OSError("only Linux shows other programs' connections")
    with socket.socket(family, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as netlink:
        netlink.settimeout(_PATIENCE_S)
        netlink.bind((0, 0))
        return [seen for version in (socket.AF_INET, socket.AF_INET6) for seen in _dump(netlink, version)]


def _dump(netlink: socket.socket, family: int) -> Iterator[EstablishedConnection]:
    extensions = 1 << (_INET_DIAG_INFO - 1)
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, extensions, 1 << _ESTABLISHED)
    length = _HEADER.size + len(request)
    netlink.send(_HEADER.pack(length, _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, family, 0) + request)
    while True:
        answer = netlink.recv(_ANSWER_BYTES)
        for kind, message in _split_messages(answer):
            if kind == _NLMSG_DONE:
                return
            if kind == _NLMSG_ERROR:
                number = -struct.unpack_from("=i", message)[0]
                raise OSError(number, os.strerror(number))
            yield _parse_connection(message)


def _split_messages(answer: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + _HEADER.size <= len(answer):
        length, kind, *_ = _HEADER.unpack_from(answer, at)
        yield kind, answer[at + _HEADER.size : at + length]
        at += _align(max(length, _HEADER.size))


def _parse_connection(message: bytes) -> EstablishedConnection:
    local, remote, cookie = _ID.unpack_from(message)
    (inode,) = struct.unpack_from("=I", message, _INODE_AT)
    info, at = b"", _MESSAGE_BYTES
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if kind == _INET_DIAG_INFO:
            info = message[at + _ATTRIBUTE.size : at + length]
        at += _align(max(length, _ATTRIBUTE.size))
    return EstablishedConnection(cookie, inode, int.from_bytes(local), int.from_bytes(remote), decode_tcp_info(info))


def _align(length: int) -> int:
    return (length + 3) & ~3
