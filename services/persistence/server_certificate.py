"""Find out why a database's certificate is refused: libpq does not distinguish an expired one from a foreign one."""

import contextlib
import socket
import ssl
from collections.abc import Mapping

import psycopg
from sqlalchemy.exc import DBAPIError

SSL_REQUEST = bytes.fromhex("0000000804d2162f")
"""Requests TLS of a PostgreSQL server; it answers ``S`` if it has it."""

EXPIRED = 10  # X509_V_ERR_CERT_HAS_EXPIRED of OpenSSL
TIMEOUT_S = 2.0


def has_expired(error: BaseException | None) -> bool:
    """Return whether a connection failed for a certificate, and the server's certificate has expired."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if not isinstance(cause, psycopg.OperationalError) or cause.pgconn is None or "certificate" not in str(cause):
        return False
    values = {option.keyword.decode(): (option.val or b"").decode() for option in cause.pgconn.info}
    return any(_has_expired(host, port, values) for host, port in _list_servers(values))


def _list_servers(values: Mapping[str, str]) -> list[tuple[str, int]]:
    hosts, ports = values["host"].split(","), values["port"].split(",")
    return [(host, int(ports[min(n, len(ports) - 1)])) for n, host in enumerate(hosts) if not host.startswith("/")]


def _has_expired(host: str, port: int, values: Mapping[str, str]) -> bool:
    with contextlib.suppress(OSError):  # an unreadable file of authorities raises it too
        context = ssl.create_default_context(cafile=_find_authorities(values["sslrootcert"]))
        context.check_hostname = False  # another reason, which libpq reports
        with socket.create_connection((host, port), timeout=TIMEOUT_S) as plain:
            plain.sendall(SSL_REQUEST)
            if plain.recv(1) != b"S":
                return False
            try:
                context.wrap_socket(plain).close()
            except ssl.SSLCertVerificationError as refused:
                return refused.verify_code == EXPIRED
    return False


def _find_authorities(root: str) -> str | None:
    return None if root in ("", "system") else root
