"""Files packed while they are sent: the client names the codec, or lets the server sample the file and choose."""

import os
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from tradewind_agent.compression.wire_names import (
    AT_ONCE_HEADER,
    CODECS_HEADER,
    EXPECTED_HEADER,
    FROM_HEADER,
    LINE_HEADER,
    PACK_HEADER,
    PACKED_CODING,
    SAMPLE_HEADER,
    SIZE_HEADER,
    TRIED_HEADER,
)
from tradewind_agent.serve.downloads.packing_slots import PackingSlots
from tradewind_agent.serve.messages import Header, PackedSpan, ReceivedRequest, RequestRefused, Response
from tradewind_agent.serve.uploads.packed_upload import make_packing_fields

if TYPE_CHECKING:
    from tradewind_agent.compression.packing import PackedFile
    from tradewind_agent.compression.sampling import FileSample

MIN_LINE_BPS, MAX_LINE_BPS = 1.0, 1e16
"""Plausible rates of a path that a client may state, bit/s."""

MAX_AT_ONCE = 1000
"""Downloads that a client may say it has at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PackRequest:
    pack: str
    line_bps: float | None
    codecs: str
    first: int
    expected: str
    at_once: int


def wants_packing(request: ReceivedRequest, status: os.stat_result) -> bool:
    """Return whether a packed download is requested of a file that is not empty."""
    return (
        request.method == "GET"
        and request.http_minor >= 1
        and PACKED_CODING in request.headers.get("accept-encoding", "")
        and "range" not in request.headers
        and status.st_size > 0
    )


def answer_packed(
    request: ReceivedRequest, descriptor: int, status: os.stat_result, headers: list[Header], slots: PackingSlots
) -> Response:
    """Return the file as a packed stream; the response owns the descriptor, and the slot that was acquired.

    Raises
    ------
    RequestRefused : 400 for fields that make no sense, 415 for a codec that one end lacks, 416 beyond the end.
    """
    try:
        return _make_response(request, descriptor, status, headers, slots)
    except BaseException:
        slots.release()
        raise


def _make_response(
    request: ReceivedRequest, descriptor: int, status: os.stat_result, headers: list[Header], slots: PackingSlots
) -> Response:
    pack_request = _parse_request(request)
    if pack_request.first >= status.st_size:
        raise RequestRefused(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, f"{FROM_HEADER} is beyond the end of the file")
    fields = [*headers, *make_packing_fields(), ("Content-Encoding", PACKED_CODING), (SIZE_HEADER, str(status.st_size))]
    packed = _open_packed_file(pack_request, descriptor, status, slots)
    span = PackedSpan(descriptor, packed.encode_pieces(), slots.release)
    return Response(HTTPStatus.OK, [*fields, ("Vary", "Accept-Encoding")], span)


def _parse_request(request: ReceivedRequest) -> _PackRequest:
    headers = request.headers
    try:
        first = int(headers.get(FROM_HEADER.lower(), "0"))
        at_once = int(headers.get(AT_ONCE_HEADER.lower(), "1"))
    except ValueError as error:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, f"{FROM_HEADER} and {AT_ONCE_HEADER} are whole numbers") from error
    if first < 0 or not 0 < at_once <= MAX_AT_ONCE:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, f"{FROM_HEADER} and {AT_ONCE_HEADER} are above 0")
    return _PackRequest(
        pack=headers.get(PACK_HEADER.lower(), "auto"),
        line_bps=_parse_line_bps(request),
        codecs=headers.get(CODECS_HEADER.lower(), ""),
        first=first,
        expected=headers.get(EXPECTED_HEADER.lower(), ""),
        at_once=at_once,
    )


def _parse_line_bps(request: ReceivedRequest) -> float | None:
    text = request.headers.get(LINE_HEADER.lower())
    try:
        line_bps = None if text is None else float(text)
    except ValueError as error:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, f"{LINE_HEADER} is a number") from error
    if line_bps is not None and not MIN_LINE_BPS <= line_bps <= MAX_LINE_BPS:
        raise RequestRefused(
            HTTPStatus.BAD_REQUEST, f"{LINE_HEADER} is from {MIN_LINE_BPS:g} to {MAX_LINE_BPS:g}, in bit/s"
        )
    return line_bps


def _open_packed_file(
    request: _PackRequest, descriptor: int, status: os.stat_result, slots: PackingSlots
) -> "PackedFile":
    from tradewind.compression.steering import Steering  # noqa: PLC0415 -- all of these are loaded with the first
    from tradewind.errors import InvalidValue  # noqa: PLC0415
    from tradewind_agent.compression.codecs import CodecMissing, list_common_codecs  # noqa: PLC0415
    from tradewind_agent.compression.packing import PackedFile  # noqa: PLC0415
    from tradewind_agent.compression.planning import (  # noqa: PLC0415
        PackingMode,
        find_quick_setting,
        parse_speeds,
        plan_by_sample,
        plan_steering,
    )
    from tradewind_agent.compression.sampling import sample_descriptor  # noqa: PLC0415

    try:
        mode = PackingMode.parse(request.pack)
        codecs, expected = list_common_codecs(request.codecs), parse_speeds(request.expected)
        # A client that states expectations has seen a sample already.
        is_unseen = mode.is_adaptive and not expected
        quick = find_quick_setting(codecs) if is_unseen else None
        sample = sample_descriptor(descriptor, request.line_bps) if is_unseen and quick is None else None
        if expected and not any(setting.codec in codecs for setting in expected):
            raise RequestRefused(HTTPStatus.BAD_REQUEST, f"{EXPECTED_HEADER} names no codec that both ends have")
        if quick is None:
            plan, make_plan = plan_steering(mode, sample, request.line_bps, codecs, expected=expected), None
        else:
            plan = Steering(expected={}, line_bps=request.line_bps, setting=quick)
            make_plan = partial(plan_by_sample, mode=mode, line_bps=request.line_bps, codecs=codecs)
    except InvalidValue as wrong:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, f"{PACK_HEADER} or {EXPECTED_HEADER}: {wrong}") from wrong
    except CodecMissing as missing:
        raise RequestRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, str(missing)) from missing
    return PackedFile(
        descriptor,
        status,
        plan,
        first=request.first,
        adapt=mode.is_adaptive,
        pool=slots.pool,
        at_once=request.at_once,
        sample=sample,
        samples_late=sample is None and make_plan is None and not mode.is_raw and not expected,
        make_plan=make_plan,
        sends_sample=True,
    )


def wants_sample(request: ReceivedRequest, status: os.stat_result) -> bool:
    """Return whether the request asks for a sample of a file instead of the file."""
    return (
        request.method == "HEAD" and PACKED_CODING in request.headers.get("accept-encoding", "") and status.st_size > 0
    )


def make_sample_fields(request: ReceivedRequest, descriptor: int, slots: PackingSlots) -> list[Header]:
    """Return the fields with a sample of the file and the codecs of this host; none while every packing slot is in use.

    A client that lists its codecs also gets trials of the most promising ones on its path, unless others are being
    tried.

    Raises
    ------
    RequestRefused : 400 for a rate that makes no sense.
    """
    from tradewind_agent.compression.sampling import sample_descriptor  # noqa: PLC0415

    line_bps = _parse_line_bps(request)
    if not slots.try_acquire():
        return []
    try:
        sample = sample_descriptor(descriptor, line_bps)
    finally:
        slots.release()
    fields = [*make_packing_fields(), (SAMPLE_HEADER, sample.format())]
    if not slots.trials.acquire(blocking=False):  # side by side they would measure each other
        return fields
    try:
        return [*fields, *_make_trial_fields(sample, request.headers.get(CODECS_HEADER.lower(), ""), line_bps)]
    finally:
        slots.trials.release()


def _make_trial_fields(sample: "FileSample", their_codecs: str, line_bps: float | None) -> list[Header]:
    from tradewind.compression.advice import DEFAULT_LINE_BPS  # noqa: PLC0415
    from tradewind_agent.compression.codecs import list_common_codecs  # noqa: PLC0415
    from tradewind_agent.compression.planning import format_speeds  # noqa: PLC0415
    from tradewind_agent.compression.trials import try_worthwhile_settings  # noqa: PLC0415

    codecs = list_common_codecs(their_codecs)
    if not codecs or not sample.file_bytes:
        return []
    tried = try_worthwhile_settings(sample, sample.file_bytes, line_bps or DEFAULT_LINE_BPS, codecs)
    return [(TRIED_HEADER, format_speeds(tried))] if tried else []
