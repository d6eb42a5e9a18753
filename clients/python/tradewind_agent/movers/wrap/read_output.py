"""A tool's output as it comes: to who reads what was moved from it, and to the user."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

_CHUNK_BYTES = 1 << 16
_REST_S = 1.0
"""How long to wait for the rest of the output after the tool's end: a program that it has left behind may hold it."""


class OutputPipes:
    """The pipes of one process, each with what reads it and where the user sees it."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def add(self, stream: asyncio.StreamReader | None, read: Callable[[bytes], bytes] | None, to: int) -> None:
        """Read a stream to its end; no stream is none to be read."""
        if stream is not None and read is not None:
            self._tasks.append(asyncio.create_task(_forward(stream, read, to)))

    async def finish(self) -> None:
        """Wait for the rest of the output."""
        if not self._tasks:
            return
        _, waiting = await asyncio.wait(self._tasks, timeout=_REST_S)
        for task in waiting:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task


async def _forward(stream: asyncio.StreamReader, read: Callable[[bytes], bytes], to: int) -> None:
    try:
        while chunk := await stream.read(_CHUNK_BYTES):
            await asyncio.to_thread(_show, read(chunk), to)
    finally:
        _show(read(b""), to)


def _show(text: bytes, to: int) -> None:
    """Write a text to the user; who has closed the other end does not want it."""
    with suppress(OSError):
        while text:
            text = text[os.write(to, text) :]
