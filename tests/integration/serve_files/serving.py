"""A server of a folder in a thread of its own, and a client that shows what is on the wire."""

import asyncio
import hashlib
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tradewind_agent.serve import Server, serve

DEADLINE_S = 30.0


@contextmanager
def event_loop() -> Iterator[Callable[[Awaitable[Any]], Any]]:
    """An event loop in a thread; the value runs an awaitable in it and gives its result."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield lambda awaitable: asyncio.run_coroutine_threadsafe(awaitable, loop).result(DEADLINE_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


@contextmanager
def serving(root: Path, **options: Any) -> Iterator[Server]:
    with event_loop() as run:
        server = run(serve(root, **options))
        try:
            yield server
        finally:
            run(server.close(grace_s=1.0))


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection: bytes out, answers in, in order."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    def send(self, method: str, target: str, body: bytes | None = None, /, **headers: str) -> None:
        """Write a request; underscores in the names of header fields stand for hyphens."""
        fields = {"Host": "test"} | ({} if body is None else {"Content-Length": str(len(body))})
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self.socket.sendall(f"{method} {target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + (body or b""))

    def receive(self, *, bodiless: bool = False) -> Answer:
        status_line = self._file.readline()
        if not status_line:
            raise ConnectionError("the server closed the connection")
        headers = {}
        while (line := self._file.readline()) not in (b"\r\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        length = int(headers.get("content-length", 0))
        return Answer(int(status_line.split()[1]), headers, b"" if bodiless else self.read(length))

    def read(self, count: int) -> bytes:
        """The next bytes as they come."""
        data = self._file.read(count)
        if len(data) < count:
            raise ConnectionError(f"{len(data)} bytes of {count}")
        return data

    def ask(self, method: str, target: str, body: bytes | None = None, /, **headers: str) -> Answer:
        self.send(method, target, body, **headers)
        return self.receive(bodiless=method == "HEAD")

    def is_closed(self) -> bool:
        """Whether the server ends the connection without another byte."""
        try:
            return self._file.read(1) == b""
        except ConnectionResetError:
            return True


def ask(port: int, method: str, target: str, body: bytes | None = None, /, **headers: str) -> Answer:
    """One request on a connection of its own."""
    with Wire(port) as wire:
        return wire.ask(method, target, body, **headers)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
