"""Opening connections: directly, through an HTTP proxy, and with TLS."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from ipaddress import ip_address

from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.connection import Connection
from tradewind_agent.engine.http.http1 import RequestHead, ResponseHead
from tradewind_agent.engine.http.proxy import Proxy
from tradewind_agent.engine.http.response_reader import ResponseReader
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import ConnectionFault, FileFault
from tradewind_agent.system_errors import explain_os_error

_HAPPY_EYEBALLS_DELAY_S = 0.25  # RFC 8305 §8
_OK = 200

_NO_TLS = frozenset({"WRONG_VERSION_NUMBER", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"})
"""How releases of OpenSSL call an answer that is text, such as the 400 of a server that speaks plain http."""


async def dial(
    origin: Origin,
    make: Callable[[], Connection],
    options: EngineOptions,
) -> Connection:
    """Open a connection to ``origin`` that is ready for requests.

    Raises
    ------
    ConnectionFault : refused, unreachable, unknown host, TLS or proxy failure, or too slow; not retryable where the
        name is not known, the certificate not trusted, or the server speaks plain http.
    """
    proxy, timeout_s = options.proxies.find_proxy(origin), options.connect_timeout_s
    where = f"{origin.host}:{origin.port}" if proxy is None else str(proxy)
    if proxy is not None and proxy.fault is not None:
        raise ConnectionFault(proxy.fault, retryable=False)
    try:
        async with asyncio.timeout(timeout_s):
            if proxy is None:
                connection = await _connect_directly(origin, make, options)
            elif proxy.is_socks:
                connection = await _connect_by_socks(proxy, origin, make, options)
            else:
                connection = await _connect_by_proxy(proxy, origin, make, options)
    except TimeoutError:
        reason = f"no connection to {where} within {timeout_s:g} s"
        raise ConnectionFault(reason, before_answer=True) from None
    except ssl.SSLCertVerificationError as error:
        why = error.verify_message
        reason = f"the certificate of {origin.host} is not trusted ({why}); name its authority by --ca-file"
        raise ConnectionFault(reason, retryable=False) from error
    except UnicodeError as error:
        raise ConnectionFault(f"{origin.host!r} is no host name: {error}", retryable=False) from error
    except OSError as error:
        raise _explain_failed_connection(error, origin, where) from error
    if options.congestion_control is not None:
        connection.set_congestion_control(options.congestion_control)
    return connection


def _explain_failed_connection(error: OSError, origin: Origin, where: str) -> ConnectionFault:
    """Return the fault of a connection that was not made; it is final where another try would end in the same way."""
    if isinstance(error, ssl.SSLError) and error.reason in _NO_TLS:
        reason = f"{origin.host}:{origin.port} speaks no TLS; write the address with http:// in place of https://"
        return ConnectionFault(reason, retryable=False)
    unknown_name = isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN
    reason = f"cannot connect to {where}: {explain_os_error(error)}"
    return ConnectionFault(reason, retryable=not unknown_name, before_answer=not unknown_name)


async def _connect_directly(origin: Origin, make: Callable[[], Connection], options: EngineOptions) -> Connection:
    loop = asyncio.get_running_loop()
    tls = options.tls_in_use if origin.is_secure else None
    early = options.early.take(origin) if options.early is not None else None
    if early is not None:
        name = origin.host if origin.is_secure else None
        _, connection = await loop.create_connection(make, sock=early, ssl=tls, server_hostname=name)
        return connection
    _, connection = await loop.create_connection(
        make,
        origin.host,
        origin.port,
        ssl=tls,
        happy_eyeballs_delay=None if _is_address(origin.host) else _HAPPY_EYEBALLS_DELAY_S,
    )
    return connection


def _is_address(host: str) -> bool:
    """Return whether there is only one address to try."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


async def _connect_by_socks(
    proxy: Proxy, origin: Origin, make: Callable[[], Connection], options: EngineOptions
) -> Connection:
    """Connect through a SOCKS proxy, which passes bytes on as they are."""
    from python_socks import ProxyError, ProxyType  # noqa: PLC0415 — few need it
    from python_socks.async_.asyncio import Proxy as SocksProxy  # noqa: PLC0415

    login = proxy.login
    socks = SocksProxy(
        ProxyType.SOCKS4 if proxy.scheme.startswith("socks4") else ProxyType.SOCKS5,
        proxy.host,
        proxy.port,
        username=login.username if login is not None else None,
        password=login.password if login is not None else None,
        rdns=proxy.resolves_names,
    )
    try:
        made = await socks.connect(origin.host, origin.port, timeout=options.connect_timeout_s)
    except ProxyError as error:
        raise ConnectionFault(f"the {proxy} refused the connection: {error}") from error
    tls = options.tls_in_use if origin.is_secure else None
    name = origin.host if origin.is_secure else None
    _, connection = await asyncio.get_running_loop().create_connection(make, sock=made, ssl=tls, server_hostname=name)
    return connection


async def _connect_by_proxy(
    proxy: Proxy, origin: Origin, make: Callable[[], Connection], options: EngineOptions
) -> Connection:
    """Connect to the proxy; http then uses absolute URIs, https a CONNECT tunnel."""
    loop = asyncio.get_running_loop()
    if not origin.is_secure:
        _, connection = await loop.create_connection(make, proxy.host, proxy.port)
        return connection
    transport, tunnel = await loop.create_connection(lambda: _Tunnel(origin, proxy), proxy.host, proxy.port)
    try:
        await tunnel.established
        connection = make()
        secured = await loop.start_tls(transport, connection, options.tls_in_use, server_hostname=origin.host)
    except BaseException:
        transport.abort()
        raise
    if secured is None:
        raise ConnectionFault("the proxy closed the tunnel")
    connection.connection_made(secured)
    return connection


class _Tunnel(asyncio.Protocol):
    """A CONNECT request to a proxy; ``established`` is done when the proxy accepts it."""

    def __init__(self, origin: Origin, proxy: Proxy) -> None:
        self.established: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reader = ResponseReader(self)
        authority = f"[{origin.host}]:{origin.port}" if ":" in origin.host else f"{origin.host}:{origin.port}"
        self._request = RequestHead("CONNECT", authority, {"Host": authority, **proxy.build_headers()})

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(self._request.encode())

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(memoryview(data))
        except FileFault as fault:
            self._settle(fault)

    def connection_lost(self, error: Exception | None) -> None:
        self._settle(ConnectionFault(f"the proxy dropped the connection{f': {error}' if error else ''}"))

    def on_head(self, head: ResponseHead) -> bool:
        refused = ConnectionFault(f"the proxy refused the tunnel: {head.status_line}", retryable=False)
        self._settle(None if head.status == _OK else refused)
        self._reader.close()
        return False

    def on_data(self, data: memoryview) -> None:
        """Ignore the body of a refusal."""

    def on_end(self) -> None:
        """Do nothing: the head alone decides."""

    def _settle(self, fault: FileFault | None) -> None:
        if self.established.done():
            return
        if fault is None:
            self.established.set_result(None)
        else:
            self.established.set_exception(fault)
