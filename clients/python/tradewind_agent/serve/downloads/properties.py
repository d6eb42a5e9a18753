"""PROPFIND: size, time and tag of a file or of what a folder holds, as WebDAV clients ask (RFC 4918 §9.1)."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from xml.sax.saxutils import escape

from tradewind_agent.serve.downloads.index import FolderEntry, list_folder
from tradewind_agent.serve.folder import ServedFolder, format_path, is_file, is_folder
from tradewind_agent.serve.messages import ReceivedRequest, RequestRefused, Response, format_http_date
from tradewind_agent.serve.validators import make_etag

_DEPTHS = ("0", "1")
_LONGEST_BODY_BYTES = 64 * 1024
_BEGIN = '<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:">\n'
_END = "</D:multistatus>\n"


async def answer_properties(folder: ServedFolder, request: ReceivedRequest, segments: Sequence[str]) -> Response:
    """Return the properties of a file, or of a folder and, with ``Depth: 1``, of what it holds.

    The body of the request, which names properties, is ignored: there are few, and all come.

    Raises
    ------
    RequestRefused : 403 for an unbounded depth and what is no file, 404, 413.
    """
    await _discard_body(request)
    depth = request.headers.get("depth", "infinity").strip()
    if depth not in _DEPTHS:
        raise RequestRefused(HTTPStatus.FORBIDDEN, "Depth must be 0 or 1")
    descriptor = folder.open_path(segments)
    try:
        is_slashed = request.target.partition("?")[0].endswith("/")
        describe = partial(_describe, is_deep=depth == "1", is_slashed=is_slashed)
        text = await asyncio.to_thread(describe, folder, descriptor, segments)
    finally:
        os.close(descriptor)
    headers = [("Content-Type", "application/xml; charset=utf-8")]
    return Response(HTTPStatus.MULTI_STATUS, headers, text.encode())


async def _discard_body(request: ReceivedRequest) -> None:
    """Read the names of properties that the client lists, and forget them."""
    read_bytes = 0
    async for block in request.body.read_blocks():
        read_bytes += len(block)
        if read_bytes > _LONGEST_BODY_BYTES:
            raise RequestRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {_LONGEST_BODY_BYTES} bytes are read")


def _describe(
    folder: ServedFolder, descriptor: int, segments: Sequence[str], *, is_deep: bool, is_slashed: bool
) -> str:
    status = os.fstat(descriptor)
    if not (is_folder(status) or is_file(status)):
        raise RequestRefused(HTTPStatus.FORBIDDEN, "not a regular file")
    if is_slashed and not is_folder(status):
        raise RequestRefused(HTTPStatus.NOT_FOUND, "a file is not a folder; leave out the last /")
    itself = FolderEntry(
        segments[-1] if segments else "",
        is_folder=is_folder(status),
        size_bytes=status.st_size,
        modified_at=datetime.fromtimestamp(status.st_mtime, UTC),
        etag=None if is_folder(status) else make_etag(status),
    )
    answers = [_describe_entry(segments, itself)]
    if itself.is_folder and is_deep:
        answers += _describe_all(segments, list_folder(folder, descriptor, segments))
    return f"{_BEGIN}{''.join(answers)}{_END}"


def _describe_all(segments: Sequence[str], entries: Sequence[FolderEntry]) -> Iterator[str]:
    return (_describe_entry((*segments, entry.name), entry) for entry in entries if not entry.unserved)


def _describe_entry(segments: Sequence[str], entry: FolderEntry) -> str:
    path = format_path(segments)
    modified = f"<D:getlastmodified>{format_http_date(entry.modified_at.timestamp())}</D:getlastmodified>"
    if entry.is_folder:
        path = path if path.endswith("/") else path + "/"
        properties = f"<D:resourcetype><D:collection/></D:resourcetype>{modified}"
    else:
        size = f"<D:getcontentlength>{entry.size_bytes}</D:getcontentlength>"
        tag = f"<D:getetag>{escape(entry.etag or '')}</D:getetag>"
        properties = f"<D:resourcetype/>{size}{modified}{tag}"
    return (
        f"<D:response><D:href>{escape(path)}</D:href><D:propstat><D:prop>{properties}</D:prop>"
        "<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\n"
    )
