"""A receiver of uploads that behaves as drawn: what it confirms is stored, under the name that it was sent to."""

import asyncio
from random import Random

from benchmarks.fuzz.behaviour import Behaviour
from benchmarks.fuzz.random_servers import RandomServer, Request, make_head, send

_CREATED, _NO_CONTENT, _NOT_FOUND = 201, 204, 404


class RandomReceiver(RandomServer):
    """Stores the body of each PUT.

    Attributes
    ----------
    stored : content by name.
    """

    def __init__(self, behaviour: Behaviour, draw: Random) -> None:
        super().__init__(behaviour, draw)
        self.stored: dict[str, bytes] = {}

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        name = request.target.rpartition("/")[2]
        if request.method != "PUT":
            content = self.stored.get(name)
            status, length = (_NOT_FOUND, 0) if content is None else (200, len(content))
            return await send(writer, make_head(status, {"Content-Length": str(length)}))
        self.stored[name] = request.body
        if self.draw.random() < self.behaviour.cut:
            return False  # it is stored, without an answer
        status = self.draw.choice([_CREATED, _NO_CONTENT])
        return await send(writer, make_head(status, {} if status == _NO_CONTENT else {"Content-Length": "0"}))
