"""The congestion control of single sockets; the system's default stays what it is."""

import errno
import os
import socket
from collections.abc import Iterable


def choose_congestion_control(sockets: Iterable[socket.socket], congestion_control: str) -> str | None:
    """Set the congestion control of sockets; connections that a listening socket accepts inherit it.

    Return the reason, in one line, if the kernel refuses: the sockets then use the system's.
    """
    option = getattr(socket, "TCP_CONGESTION", None)
    if option is None:
        return f"this system does not let a socket choose {congestion_control}"
    for each in sockets:
        try:
            each.setsockopt(socket.IPPROTO_TCP, option, congestion_control.encode())
        except OSError as failure:
            return f"the kernel refuses {congestion_control}: {_explain_failure(failure)}"
    return None


def read_congestion_control(congestion_control: str | None) -> str | None:
    """Return the congestion control of a socket after this choice; ``None`` if the system does not report it."""
    option = getattr(socket, "TCP_CONGESTION", None)
    if option is None:
        return None
    with socket.socket() as probe:
        if congestion_control is not None:
            choose_congestion_control([probe], congestion_control)
        return probe.getsockopt(socket.IPPROTO_TCP, option, _LONGEST_NAME_BYTES).rstrip(b"\0").decode()


_LONGEST_NAME_BYTES = 16
"""TCP_CA_NAME_MAX of Linux."""


def _explain_failure(failure: OSError) -> str:
    match failure.errno:
        case errno.ENOENT:
            return "it has none of this name; `tradewind transport install` brings fld_tcp"
        case errno.EPERM:
            return "it is not in net.ipv4.tcp_allowed_congestion_control, so that it takes root"
        case number:
            return os.strerror(number or 0)
