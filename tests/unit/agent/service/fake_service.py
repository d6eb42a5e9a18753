"""A service behind httpx's transport seam: answers as it is told and remembers what it was asked."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

import httpx
import zstandard

from tradewind_agent.service.client import Client
from tradewind_agent.service.retries import RetryPolicy

Answer = httpx.Response | Exception
BATCH_ID = UUID(int=7)


@dataclass
class Service:
    """Gives ``answers`` in turn (the last one for ever); an exception is raised as the network would."""

    answers: list[Answer] = field(default_factory=list)
    requests: list[httpx.Request] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    now_s: float = 0.0

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def wait(self, wait_s: float) -> None:
        self.waits_s.append(wait_s)
        self.now_s += wait_s

    def client(self, retries: RetryPolicy = RetryPolicy()) -> Client:  # noqa: B008 -- an immutable value
        return Client(
            "http://service.test",
            "secret-key",
            transport=httpx.MockTransport(self.handle),
            retries=retries,
            pause=self.wait,
            jitter=Random(1),
            monotonic_s=lambda: self.now_s,
        )

    @property
    def keys(self) -> list[str]:
        return [request.headers["Idempotency-Key"] for request in self.requests]

    @property
    def bodies(self) -> list[bytes]:
        decompress: Callable[[bytes], zstandard.ZstdDecompressionReader] = zstandard.ZstdDecompressor().stream_reader
        return [decompress(request.content).read() for request in self.requests]


def answering(*answers: Answer) -> Service:
    return Service(list(answers))


def receipt(accepted: int = 1, **more: object) -> httpx.Response:
    return httpx.Response(201, json={"batch_id": str(BATCH_ID), "accepted": accepted, "rejected": 0} | more)


def problem(status: int, headers: Iterable[tuple[str, str]] = (), **more: object) -> httpx.Response:
    return httpx.Response(
        status,
        json={"type": "about:blank", "status": status} | more,
        headers=[(name.encode(), value.encode("latin-1")) for name, value in headers],
    )
