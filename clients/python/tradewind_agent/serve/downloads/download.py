"""GET and HEAD: files, ranges of files and folder indexes."""

import asyncio
import mimetypes
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from typing import TypeVar

from tradewind_agent.serve.downloads.index import list_folder, make_html_index, make_json_index
from tradewind_agent.serve.downloads.packed_download import (
    answer_packed,
    make_sample_fields,
    wants_packing,
    wants_sample,
)
from tradewind_agent.serve.downloads.packing_slots import PackingSlots
from tradewind_agent.serve.downloads.sums import FileSums, wants_sum
from tradewind_agent.serve.folder import ServedFolder, format_path, is_file, is_folder
from tradewind_agent.serve.messages import (
    FileSpan,
    PackedSpan,
    ReceivedRequest,
    RequestRefused,
    Response,
    build_json_response,
    format_http_date,
)
from tradewind_agent.serve.ranges import parse_range
from tradewind_agent.serve.validators import check_conditions, does_range_apply, make_etag

_Result = TypeVar("_Result")


async def answer_download(
    folder: ServedFolder, request: ReceivedRequest, segments: Sequence[str], slots: PackingSlots, sums: FileSums
) -> Response:
    """Return the file or index at ``segments``; for HEAD the caller drops the body.

    Raises
    ------
    RequestRefused : 403, 404, 412, 416.
    """
    descriptor = folder.open_path(segments)
    try:
        status = os.fstat(descriptor)
        if is_folder(status):
            response = await _answer_folder(folder, request, segments, descriptor)
        else:
            is_summed = is_file(status) and wants_sum(request, status)
            digest = await _run_in_thread(partial(sums.build_header, descriptor, status)) if is_summed else []
            requested = request, segments[-1], descriptor, status, slots
            # What is to be packed is sampled first, which takes a while.
            if wants_packing(request, status) or wants_sample(request, status):
                response = await _run_in_thread(partial(_answer_file, *requested))
            else:
                response = _answer_file(*requested)
            response.headers.extend(digest)
    except BaseException:
        os.close(descriptor)
        raise
    if not isinstance(response.body, FileSpan | PackedSpan):
        os.close(descriptor)
    return response


async def _run_in_thread(make: Callable[[], _Result]) -> _Result:
    """Return what ``make`` returns.

    The file stays open as long as it is read, and an acquired slot is released.
    """
    making = asyncio.ensure_future(asyncio.to_thread(make))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        await asyncio.wait([making])
        made = None if making.exception() is not None else making.result()
        if isinstance(made, Response) and isinstance(made.body, PackedSpan):
            made.body.on_close()
        raise


def _answer_file(
    request: ReceivedRequest, name: str, descriptor: int, status: os.stat_result, slots: PackingSlots
) -> Response:
    if not is_file(status):
        raise RequestRefused(HTTPStatus.FORBIDDEN, "not a regular file")
    if request.target.partition("?")[0].endswith("/"):
        raise RequestRefused(HTTPStatus.NOT_FOUND, "a file is not a folder; leave out the last /")
    etag = make_etag(status)
    headers = [("ETag", etag), ("Last-Modified", format_http_date(status.st_mtime)), ("Accept-Ranges", "bytes")]
    refused = check_conditions(request.headers, etag, status.st_mtime)
    if refused is HTTPStatus.NOT_MODIFIED:
        return Response(HTTPStatus.NOT_MODIFIED, headers)
    if refused is not None:
        raise RequestRefused(refused, "the file is not the one that the condition names")
    if wants_packing(request, status) and slots.try_acquire():
        return answer_packed(request, descriptor, status, headers, slots)
    if wants_sample(request, status):
        headers += make_sample_fields(request, descriptor, slots)
    headers.append(("Content-Type", mimetypes.guess_type(name)[0] or "application/octet-stream"))
    requested = None
    # HEAD: a range is defined for GET alone (RFC 9110, 14.2).
    if request.method == "GET" and does_range_apply(request.headers, etag, status, time.time()):
        requested = parse_range(request.headers.get("range"), status.st_size)
    if requested is None:
        return Response(HTTPStatus.OK, headers, FileSpan(descriptor, 0, status.st_size, status))
    first, last = requested
    headers.append(("Content-Range", f"bytes {first}-{last}/{status.st_size}"))
    return Response(HTTPStatus.PARTIAL_CONTENT, headers, FileSpan(descriptor, first, last - first + 1, status))


async def _answer_folder(
    folder: ServedFolder, request: ReceivedRequest, segments: Sequence[str], descriptor: int
) -> Response:
    path = format_path(segments)
    requested_path, _, query = request.target.partition("?")
    if segments and not requested_path.endswith("/"):
        location = path + "/" + (f"?{query}" if query else "")
        return Response(HTTPStatus.MOVED_PERMANENTLY, [("Location", location)])
    entries = await asyncio.to_thread(list_folder, folder, descriptor, segments)
    if "application/json" in request.headers.get("accept", ""):
        return build_json_response(HTTPStatus.OK, make_json_index(entries), ("Vary", "Accept"))
    title = "/" + "".join(f"{name}/" for name in segments)
    headers = [("Content-Type", "text/html; charset=utf-8"), ("Vary", "Accept")]
    return Response(HTTPStatus.OK, headers, make_html_index(title, entries))
