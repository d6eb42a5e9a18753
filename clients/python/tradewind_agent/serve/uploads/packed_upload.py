"""The body of an upload that comes packed, as the plain bytes of the file."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from tradewind_agent.compression.wire_names import CODECS_HEADER, PACKED_CODING
from tradewind_agent.serve.body import RequestBody
from tradewind_agent.serve.messages import Header, ReceivedRequest, RequestRefused

if TYPE_CHECKING:
    from tradewind_agent.compression.unpacking import Unpacker


class PackedBody:
    """Blocks of the plain bytes, each checked before it is given out; has what receivers use of a `RequestBody`."""

    def __init__(self, body: RequestBody, unpacker: "Unpacker") -> None:
        self.declared_bytes: int | None = None
        self._body = body
        self._unpacker = unpacker

    async def read_blocks(self) -> AsyncIterator[bytes]:
        """Yield the plain blocks until the stream has ended.

        Raises
        ------
        BodyCutOff : after all blocks that did arrive.
        RequestRefused : 422 where the stream is damaged, 415 where this host has no such codec.
        """
        from tradewind_agent.compression.codecs import CodecMissing, UnpackFailed  # noqa: PLC0415 -- see `unpacked`

        try:
            async for data in self._body.read_blocks():
                for block in self._unpacker.feed(data):
                    yield await asyncio.to_thread(self._unpacker.unpack_block, block)
            self._unpacker.end()
        except UnpackFailed as damage:
            raise RequestRefused(HTTPStatus.UNPROCESSABLE_ENTITY, f"{damage}; send it again") from damage
        except CodecMissing as missing:
            raise RequestRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, str(missing)) from missing

    async def discard(self) -> None:
        """Read the rest and forget it."""
        await self._body.discard()


def unpack_request(request: ReceivedRequest) -> ReceivedRequest:
    """Return the request with the body that its coding says; the unpackers are loaded when the first comes.

    Raises
    ------
    RequestRefused : 415 for another coding.
    """
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding == "identity":
        return request
    if coding != PACKED_CODING:
        raise RequestRefused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"the bytes of the file themselves are taken, or {PACKED_CODING}; not {coding}",
            *make_packing_fields(),
        )
    from tradewind_agent.compression.unpacking import Unpacker  # noqa: PLC0415

    return replace(request, body=cast("RequestBody", PackedBody(request.body, Unpacker())))


def make_packing_fields() -> tuple[Header, ...]:
    """Return the fields that list the codecs of uploads and downloads."""
    from tradewind_agent.compression.codecs import list_available_codecs  # noqa: PLC0415

    return (("Accept-Encoding", PACKED_CODING), (CODECS_HEADER, ",".join(sorted(list_available_codecs()))))
