"""A server that stores what is PUT, as WebDAV servers do: in folders that exist, or are made by MKCOL."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate

from tests.integration.engine.servers.stream_server import StreamServer, read_head


@dataclass(eq=False)
class Store(StreamServer):
    """Stores files and remembers the methods of its requests.

    ``wait_s`` : between the last byte of a file and the answer.
    ``silent`` : so many PUT are stored and then dropped without an answer.
    ``fields`` : of answers to HEAD, in place of its own; ``None`` leaves one out.
    ``missing`` : status for a file whose folder is not there; ``mkcol`` : status where folders cannot be made.
    ``appearing`` : a folder that is asked for is there from then on, whatever the answer.
    """

    wait_s: float = 0.0
    silent: int = 0
    fields: Mapping[str, str | None] = field(default_factory=dict)
    missing: str = "409 Conflict"
    mkcol: str | None = None
    appearing: bool = False
    folders: set[str] = field(default_factory=lambda: {"/"})
    files: dict[str, bytes] = field(default_factory=dict)
    methods: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await read_head(reader)) is not None:
                body = await reader.readexactly(int(asked.headers.get("content-length", 0)))
                self.methods.append(asked.method)
                answer = await self._answer(asked.method, asked.target, body)
                if answer is None:
                    break
                status, fields = answer
                lines = (f"{name}: {value}\r\n" for name, value in fields.items())
                writer.write(f"HTTP/1.1 {status}\r\n{''.join(lines)}\r\n".encode())
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, method: str, path: str, body: bytes) -> tuple[str, dict[str, object]] | None:
        """The status and fields of an answer; ``None`` drops the connection."""
        nothing: dict[str, object] = {"Content-Length": 0}
        has_folder = path.rstrip("/").rpartition("/")[0] + "/" in self.folders
        if method == "MKCOL" and has_folder and self.mkcol is None:
            self.folders.add(path)
            return "201 Created", nothing
        if method == "MKCOL":
            self.folders |= {path} if self.appearing else set()
            return self.mkcol or "409 Conflict", nothing
        if method == "HEAD" and path in self.folders:
            return "200 OK", nothing
        if method == "HEAD" and path in self.files:
            now = formatdate(usegmt=True)
            fields = {"Content-Length": len(self.files[path]), "Date": now, "Last-Modified": now, **self.fields}
            return "200 OK", {name: value for name, value in fields.items() if value is not None}
        if method != "PUT":
            return "404 Not Found", nothing
        if not has_folder:
            return self.missing, nothing
        self.files[path] = body
        await asyncio.sleep(self.wait_s)
        self.silent -= 1
        return None if self.silent >= 0 else ("201 Created", nothing)
