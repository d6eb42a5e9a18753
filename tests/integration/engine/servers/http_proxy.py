"""A small forward proxy: CONNECT tunnels and absolute URIs."""

import asyncio
from urllib.parse import urlsplit

from tests.integration.engine.servers.stream_server import RequestHead, StreamServer, read_head


class HttpProxy(StreamServer):
    """Remembers the first line and the Proxy-Authorization of every request."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.requests: list[str] = []
        self.authorizations: set[str | None] = set()
        self._refuse = refuse

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: asyncio.StreamWriter | None = None
        try:
            head = await read_head(reader)
            if head is None:
                return
            if self._refuse:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                return
            tunnel = head.method == "CONNECT"
            to = urlsplit(f"//{head.target}" if tunnel else head.target)
            back, upstream = await asyncio.open_connection(to.hostname, to.port or 80)
            self._note(head)
            if tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                there = pump(reader, upstream)
            else:
                upstream.write(_in_origin_form(head))
                there = self._pump_requests(reader, upstream)
            await asyncio.gather(there, pump(back, writer))
        except ConnectionError:
            pass
        finally:
            for each in (writer, upstream):
                if each is not None:
                    each.transport.abort()

    def _note(self, head: RequestHead) -> None:
        self.requests.append(head.line)
        self.authorizations.add(head.headers.get("proxy-authorization"))

    async def _pump_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (head := await read_head(reader)) is not None:
            self._note(head)
            writer.write(_in_origin_form(head))
            await writer.drain()
        writer.write_eof()


def _in_origin_form(head: RequestHead) -> bytes:
    return head.with_target(urlsplit(head.target).path)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(65536):
        writer.write(block)
        await writer.drain()
    writer.write_eof()
