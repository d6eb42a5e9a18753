"""A small forward proxy: CONNECT tunnels and absolute URIs."""

import asyncio
from typing import Self
from urllib.parse import urlsplit


class HttpProxy:
    """Remembers the first line and the Proxy-Authorization of every request."""

    def __init__(self, *, refuse: bool = False) -> None:
        self.requests: list[str] = []
        self.authorizations: set[str | None] = set()
        self._refuse = refuse
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: asyncio.StreamWriter | None = None
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split("\r\n")[0].split(" ")
            if self._refuse:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                await writer.drain()
                return
            host, port = self._destination(method, target)
            back, upstream = await asyncio.open_connection(host, port)
            self._note(head)
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream.write(self._forwarded(head))
            await asyncio.gather(
                self._pump(reader, upstream, rewrite=method != "CONNECT"), self._pump(back, writer, rewrite=False)
            )
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            for each in (writer, upstream):
                if each is not None:
                    each.transport.abort()

    def _destination(self, method: str, target: str) -> tuple[str, int]:
        parts = urlsplit(target if method != "CONNECT" else f"//{target}")
        return parts.hostname or "", parts.port or 80

    def _note(self, head: str) -> None:
        lines = head.split("\r\n")
        self.requests.append(lines[0])
        given = [line.partition(": ")[2] for line in lines if line.lower().startswith("proxy-authorization:")]
        self.authorizations.add(given[0] if given else None)

    def _forwarded(self, head: str) -> bytes:
        """The request with its target in origin form."""
        method, target, rest = head.split(" ", 2)
        return f"{method} {urlsplit(target).path} {rest}".encode("latin-1")

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, rewrite: bool) -> None:
        while True:
            if rewrite:
                try:
                    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                except asyncio.IncompleteReadError:
                    break
                self._note(head)
                writer.write(self._forwarded(head))
            elif block := await reader.read(65536):
                writer.write(block)
            else:
                break
            await writer.drain()
        writer.write_eof()
