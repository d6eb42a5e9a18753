"""TLS before a server that has none of its own: PostgreSQL, which is asked for it first, and Valkey."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.integration.certificates import Certificates

SSL_REQUEST = (8).to_bytes(4, "big") + (80_877_103).to_bytes(4, "big")
"""How a client of PostgreSQL asks for TLS; `S` is yes."""

CHUNK_BYTES = 65_536


@contextmanager
def tls_before(server: str | tuple[str, int], certificates: Certificates, *, is_postgres: bool) -> Iterator[int]:
    """The port on localhost under which a server, of an address or a socket's path, is reached by TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):  # closed
                while True:
                    caller = listening.accept()[0]
                    threading.Thread(target=handle, args=[caller], daemon=True).start()

        def handle(caller: socket.socket) -> None:
            with caller, suppress(OSError):  # a handshake that the caller gives up, too
                if is_postgres:
                    assert caller.recv(len(SSL_REQUEST), socket.MSG_WAITALL) == SSL_REQUEST
                    caller.sendall(b"S")
                with context.wrap_socket(caller, server_side=True) as safe, _connected(server) as behind:
                    back = threading.Thread(target=_copy, args=[behind, safe], daemon=True)
                    back.start()
                    _copy(safe, behind)
                    back.join()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def _connected(server: str | tuple[str, int]) -> socket.socket:
    if not isinstance(server, str):
        return socket.create_connection(server)
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(server)
    return connected


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while sent := source.recv(CHUNK_BYTES):
            target.sendall(sent)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
