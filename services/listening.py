"""Where the API listens, and which proxies it trusts."""

import socket
from contextlib import ExitStack
from ipaddress import ip_network

from tradewind.errors import InvalidValue

MAX_PORT = 65_535


def bind_shared_socket(host: str, port: int) -> socket.socket:
    """Return a socket of a port that other processes may listen on too; it listens when the server does.

    Raises
    ------
    InvalidValue : the system refuses it; its field is the variable's name.
    """
    try:
        ((family, kind, protocol, _, address), *_) = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no name"
        raise InvalidValue("TRADEWIND_HOST", f"no address of {host}: {reason}") from None
    with ExitStack() as unless_bound:
        try:
            made = unless_bound.enter_context(socket.socket(family, kind, protocol))
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            made.bind(address)
        except OSError as error:  # a host without IPv6 refuses the socket itself
            raise InvalidValue("TRADEWIND_HOST", f"cannot listen on {host}, port {port}: {error.strerror}") from None
        unless_bound.pop_all()
    return made


def parse_proxies(text: str) -> str:
    """Return addresses and networks by commas, as uvicorn takes them; it would ignore what it does not understand.

    Raises
    ------
    ValueError : what is wrong.
    """
    found = [each for part in text.split(",") if (each := part.strip())]
    for each in found:
        try:
            everybody = each == "*" or ip_network(each).prefixlen == 0
        except ValueError as wrong:
            raise ValueError(f"must be addresses or networks by commas, but {wrong}") from None
        if everybody:
            raise ValueError(
                f"{each} would have everybody believed who says that others ask; name the proxies' networks"
            )
    return ",".join(found)
