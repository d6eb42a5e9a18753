"""A server that stores what is PUT, as WebDAV servers do: in folders that exist, or are made by MKCOL."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
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
    ``lists`` : it answers PROPFIND.
    ``keep`` : what is stored of a file, by its path and bytes; ``None`` for nothing.
    ``head_s`` : before its answers to HEAD; ``head_refusal`` : its answer to all of them.
    ``hidden_looks`` : so many HEAD of each file find nothing.
    ``listed`` : bytes of files by which its lists differ from what it has.
    """

    wait_s: float = 0.0
    head_s: float = 0.0
    head_refusal: str = ""
    hidden_looks: int = 0
    looks: Counter[str] = field(default_factory=Counter)
    silent: int = 0
    fields: Mapping[str, str | None] = field(default_factory=dict)
    missing: str = "409 Conflict"
    mkcol: str | None = None
    appearing: bool = False
    lists: bool = False
    keep: Callable[[str, bytes], bytes | None] = lambda _, body: body
    listed: Mapping[str, int | None] = field(default_factory=dict)
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
                content = self._list(asked.target) if status.startswith("207") else b""
                fields |= {"Content-Length": len(content)} if content else {}
                lines = (f"{name}: {value}\r\n" for name, value in fields.items())
                writer.write(f"HTTP/1.1 {status}\r\n{''.join(lines)}\r\n".encode() + content)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, method: str, path: str, body: bytes) -> tuple[str, dict[str, object]] | None:
        """The status and fields of an answer; ``None`` drops the connection."""
        nothing: dict[str, object] = {"Content-Length": 0}
        if method == "HEAD":
            await asyncio.sleep(self.head_s)
            self.looks[path] += 1
            if self.head_refusal:
                return self.head_refusal, nothing
        has_folder = path.rstrip("/").rpartition("/")[0] + "/" in self.folders
        if method == "MKCOL" and has_folder and self.mkcol is None:
            self.folders.add(path)
            return "201 Created", nothing
        if method == "MKCOL":
            self.folders |= {path} if self.appearing else set()
            return self.mkcol or "409 Conflict", nothing
        if method == "PROPFIND" and path in self.folders and self.lists:
            return "207 Multi-Status", {"Content-Type": "application/xml"}
        if method == "HEAD" and path in self.folders:
            return "200 OK", nothing
        if method == "HEAD" and path in self.files and self.looks[path] > self.hidden_looks:
            now = formatdate(usegmt=True)
            fields = {"Content-Length": len(self.files[path]), "Date": now, "Last-Modified": now, **self.fields}
            return "200 OK", {name: value for name, value in fields.items() if value is not None}
        if method != "PUT":
            return "404 Not Found", nothing
        if not has_folder:
            return self.missing, nothing
        kept = self.keep(path, body)
        self.files |= {} if kept is None else {path: kept}
        await asyncio.sleep(self.wait_s)
        self.silent -= 1
        return None if self.silent >= 0 else ("201 Created", nothing)

    def _list(self, folder: str) -> bytes:
        sizes = {path: len(body) for path, body in self.files.items()} | self.listed
        resources = "".join(
            f"<D:response><D:href>{path}</D:href><D:propstat><D:prop><D:getcontentlength>{size}</D:getcontentlength>"
            "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
            for path, size in sizes.items()
            if path.rpartition("/")[0] + "/" == folder and size is not None
        )
        return f'<?xml version="1.0"?><D:multistatus xmlns:D="DAV:">{resources}</D:multistatus>'.encode()
