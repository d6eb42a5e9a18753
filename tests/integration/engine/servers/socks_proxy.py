"""A small SOCKS5 proxy without logins (RFC 1928): CONNECT alone."""

import asyncio

from tests.integration.engine.servers.http_proxy import pump
from tests.integration.engine.servers.stream_server import StreamServer

_BY_NAME = 3


class SocksProxy(StreamServer):
    """Remembers the hosts that were named; whichever is named, it goes to ``upstream``."""

    def __init__(self, upstream: str, *, refuse: bool = False) -> None:
        self.names: list[str] = []
        self._upstream = upstream
        self._refuse = refuse

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there: asyncio.StreamWriter | None = None
        try:
            await reader.readexactly((await reader.readexactly(2))[1])
            writer.write(b"\5\0")
            _, _, _, kind = await reader.readexactly(4)
            length = (await reader.readexactly(1))[0] if kind == _BY_NAME else 4
            self.names.append((await reader.readexactly(length)).decode("latin-1"))
            await reader.readexactly(2)
            writer.write(b"\5" + (b"\2" if self._refuse else b"\0") + b"\0\1" + bytes(6))
            await writer.drain()
            if not self._refuse:
                host, _, port = self._upstream.rpartition(":")
                back, there = await asyncio.open_connection(host, int(port))
                await asyncio.gather(pump(reader, there), pump(back, writer))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            for each in (writer, there):
                if each is not None:
                    each.close() if self._refuse else each.transport.abort()
