"""What goes wrong between clients and servers, one class a kind."""

import asyncio
import gzip
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from tests.integration.engine.matrix.front import Fault, Front, Reply, Request

SHORT_S, SILENCE_S = 0.15, 1.0


class FewAtOnce(Fault):
    """Refuses files beyond so many at a time."""

    def __init__(self, status: str, most: int = 2) -> None:
        self.status, self.most = status, most
        self._now = 0

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if self._now >= self.most:
            front.faults += 1
            return Reply(self.status, {"Content-Length": "4"}, b"busy")
        self._now += 1
        try:
            await asyncio.sleep(0.01)  # the time that the server takes for a file
            return await front.pass_on(request)
        finally:
            self._now -= 1


class FewConnections(Fault):
    """Resets connections beyond two."""

    most_connections = 2


class SomeFail(Fault):
    """Answers every third request by an error that passes."""

    def __init__(self, status: str, **fields: str) -> None:
        self._reply = Reply(status, {"Content-Length": "4"}, b"oops").with_fields(**fields)

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if request.number % 3 == 0:
            front.faults += 1
            return self._reply
        return await front.pass_on(request)


class RateLimited(Fault):
    """Answers 429 for a while after a number of requests, and says until when."""

    def __init__(self, *, as_date: bool) -> None:
        self._as_date = as_date
        self._until_s: float | None = None

    async def answer(self, request: Request, front: Front) -> Reply | None:
        now_s = asyncio.get_running_loop().time()
        if request.number >= 4 and self._until_s is None:
            self._until_s = now_s + 1.0
        if self._until_s is not None and now_s < self._until_s:
            front.faults += 1
            until = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)  # a date has no fractions
            after = until if self._as_date else "1"
            return Reply("429 Too Many Requests", {"Content-Length": "0", "Retry-After": after})
        return await front.pass_on(request)


class Dropped(Fault):
    """Ends every third connection instead of an answer: what was asked for is done or not."""

    def __init__(self, *, is_done: bool) -> None:
        self._is_done = is_done

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if request.number % 3:
            return await front.pass_on(request)
        front.faults += 1
        if self._is_done:
            await front.pass_on(request)
        return None


class Cut(Fault):
    """Ends every third body half way, or falls silent there."""

    def __init__(self, *, is_silent: bool = False) -> None:
        self._is_silent = is_silent

    async def answer(self, request: Request, front: Front) -> Reply | None:
        reply = await front.pass_on(request)
        if request.number % 3 or len(reply.body) < 2:
            return reply
        front.faults += 1
        return replace(reply, sent_bytes=len(reply.body) // 2, is_silent=self._is_silent)


class Late(Fault):
    """Takes its time before each answer, as a server that computes."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        front.faults += 1
        await asyncio.sleep(SHORT_S)
        return await front.pass_on(request)


class SilentOnce(Fault):
    """Never answers the third request."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if request.number == 3:
            front.faults += 1
            await asyncio.Event().wait()
        return await front.pass_on(request)


class HeadHangs(Fault):
    """Never answers HEAD."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if request.head.method == "HEAD":
            front.faults += 1
            await asyncio.Event().wait()
        return await front.pass_on(request)


class OneAnswer(Fault):
    """Closes each connection after an answer, without saying so."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        front.faults += 1
        reply = await front.pass_on(request)
        return replace(reply, sent_bytes=len(reply.body))


class NoRanges(Fault):
    """Ignores ranges."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        front.faults += 1
        reply = await front.pass_on(request.without("range", "if-range"))
        return reply.with_fields(accept_ranges=None)


class RefusedRanges(Fault):
    """Refuses each range by 416."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if "range" in request.head.headers:
            front.faults += 1
            return Reply("416 Range Not Satisfiable", {"Content-Length": "0"})
        return await front.pass_on(request)


class ShiftedRanges(Fault):
    """Answers each range by a later one, as its answer says."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        reply = await front.pass_on(request)
        span = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", reply.fields.get("Content-Range", ""), re.IGNORECASE)
        if span is None or int(span[2]) - int(span[1]) < 2:
            return reply
        front.faults += 1
        first, last, size = int(span[1]) + 1, int(span[2]), span[3]
        shifted = reply.with_fields(content_range=f"bytes {first}-{last}/{size}", content_length=str(last - first + 1))
        return replace(shifted, body=reply.body[1:])


class OddTags(Fault):
    """Names each answer otherwise: by a weak tag, or one that no other answer has."""

    def __init__(self, form: str) -> None:
        self._form = form

    async def answer(self, request: Request, front: Front) -> Reply | None:
        front.faults += 1
        reply = await front.pass_on(request.without("if-range"))
        return reply.with_fields(etag=self._form.format(number=request.number), last_modified=None)


class Packed(Fault):
    """Packs one file that nobody wanted packed."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        reply = await front.pass_on(request.without("range", "if-range"))
        if request.name != ODD_NAME or not reply.body:
            return await front.pass_on(request)
        front.faults += 1
        body = gzip.compress(reply.body, mtime=0)  # every answer is the same
        return replace(reply.with_fields(content_encoding="gzip", content_length=str(len(body))), body=body)


class Truncated(Fault):
    """Ends one file early, every time."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if request.name != ODD_NAME or request.head.method == "HEAD":
            return await front.pass_on(request)
        front.faults += 1
        reply = await front.pass_on(request.without("range", "if-range"))
        return replace(reply.with_fields(accept_ranges=None), sent_bytes=len(reply.body) // 2)


class Refused(Fault):
    """Refuses one file, every time."""

    def __init__(self, status: str) -> None:
        self._reply = Reply(status, {"Content-Length": "2"}, b"no")

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if request.name == ODD_NAME:
            front.faults += 1
            return self._reply
        return await front.pass_on(request)


class SignedOnce(Fault):
    """Redirects each request to an address that is good once."""

    def __init__(self) -> None:
        self._good: set[str] = set()

    async def answer(self, request: Request, front: Front) -> Reply | None:
        place, _, signature = request.head.target.partition("?signature=")
        if signature in self._good:
            self._good.discard(signature)
            return await front.pass_on(replace(request, head=replace(request.head, target=place)))
        front.faults += 1
        if signature:
            return Reply("403 Forbidden", {"Content-Length": "0"})
        self._good.add(str(request.number))
        return Reply("302 Found", {"Content-Length": "0", "Location": f"{place}?signature={request.number}"})


class CookieNeeded(Fault):
    """Answers only who brings the cookie that its redirect sets."""

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if "session=1" in request.head.headers.get("cookie", ""):
            return await front.pass_on(request)
        front.faults += 1
        fields = {"Content-Length": "0", "Location": request.head.target, "Set-Cookie": "session=1; Path=/"}
        return Reply("302 Found", fields)


class Changing(Fault):
    """Changes one file after its first answer."""

    def __init__(self) -> None:
        self._answers: Counter[str] = Counter()

    async def answer(self, request: Request, front: Front) -> Reply | None:
        if request.name != ODD_NAME or request.head.method == "HEAD":
            return await front.pass_on(request)
        self._answers[request.name] += 1
        if self._answers[request.name] == 1:
            return await front.pass_on(request)
        front.faults += 1
        reply = await front.pass_on(request.without("range", "if-range"))
        changed = reply.with_fields(etag='"changed"', last_modified=None, accept_ranges=None)
        return replace(changed, body=turn(reply.body))


def turn(content: bytes) -> bytes:
    """The content that a file of this content changes to."""
    return content[::-1]


ODD_NAME = "odd.bin"
"""The file that alone meets some faults."""
