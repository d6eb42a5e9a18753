"""A file packed while it is sent: the client says with what, or lets the server sample the file and choose."""

import os
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from tradewind_agent.compression.naming import (
    CODECS_HEADER,
    FROM_HEADER,
    LINE_HEADER,
    PACK_HEADER,
    PACKED_CODING,
    SIZE_HEADER,
)
from tradewind_agent.serve.messages import Header, PackedSpan, Refused, Request, Response
from tradewind_agent.serve.packed_upload import packing_offered
from tradewind_agent.serve.packing_turns import PackingTurns

if TYPE_CHECKING:
    from tradewind_agent.compression.packing import PackedFile


@dataclass(frozen=True, slots=True)
class _Asked:
    pack: str
    line_bps: float | None
    codecs: str
    first: int


def wants_packing(request: Request, status: os.stat_result) -> bool:
    """Whether a download is asked for packed, and there is something to pack."""
    return (
        request.method == "GET"
        and request.http_minor >= 1
        and PACKED_CODING in request.headers.get("accept-encoding", "")
        and "range" not in request.headers
        and status.st_size > 0
    )


def answer_packed(
    request: Request, descriptor: int, status: os.stat_result, headers: list[Header], turns: PackingTurns
) -> Response:
    """The file as a packed stream; the response owns the descriptor, and the turn that was taken.

    Raises
    ------
    Refused : 400 for fields that make no sense, 415 for a codec that one end lacks, 416 beyond the end.
    """
    try:
        return _answer(request, descriptor, status, headers, turns)
    except BaseException:
        turns.give_back()
        raise


def _answer(
    request: Request, descriptor: int, status: os.stat_result, headers: list[Header], turns: PackingTurns
) -> Response:
    asked = _read(request)
    if asked.first >= status.st_size:
        raise Refused(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, f"{FROM_HEADER} is beyond the end of the file")
    fields = [*headers, *packing_offered(), ("Content-Encoding", PACKED_CODING), (SIZE_HEADER, str(status.st_size))]
    packed = _packed(asked, descriptor, status.st_size, turns)
    span = PackedSpan(descriptor, packed.pieces(), turns.give_back)
    return Response(HTTPStatus.OK, [*fields, ("Vary", "Accept-Encoding")], span)


def _read(request: Request) -> _Asked:
    headers = request.headers
    try:
        line = headers.get(LINE_HEADER.lower())
        first = int(headers.get(FROM_HEADER.lower(), "0"))
        line_bps = None if line is None else float(line)
    except ValueError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, f"{FROM_HEADER} and {LINE_HEADER} are numbers") from error
    if first < 0 or (line_bps is not None and not 0 < line_bps < 1e16):
        raise Refused(HTTPStatus.BAD_REQUEST, f"{FROM_HEADER} and {LINE_HEADER} are above 0")
    return _Asked(headers.get(PACK_HEADER.lower(), "auto"), line_bps, headers.get(CODECS_HEADER.lower(), ""), first)


def _packed(asked: _Asked, descriptor: int, file_bytes: int, turns: PackingTurns) -> "PackedFile":
    from tradewind.errors import InvalidValue  # noqa: PLC0415 -- loaded when the first is asked for
    from tradewind_agent.compression.codecs import CodecMissing, codecs_of_both  # noqa: PLC0415
    from tradewind_agent.compression.packing import PackedFile  # noqa: PLC0415
    from tradewind_agent.compression.planning import Wish, steered  # noqa: PLC0415
    from tradewind_agent.compression.sampling import sample_descriptor  # noqa: PLC0415

    try:
        wish = Wish.parse(asked.pack)
        plan = steered(wish, sample_descriptor(descriptor), asked.line_bps, codecs_of_both(asked.codecs))
    except InvalidValue as wrong:
        raise Refused(HTTPStatus.BAD_REQUEST, f"{PACK_HEADER}: {wrong}") from wrong
    except CodecMissing as missing:
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, str(missing)) from missing
    return PackedFile(descriptor, file_bytes, plan, first=asked.first, adapt=wish.adapts, pool=turns.pool)
