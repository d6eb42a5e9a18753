"""PUT, and HEAD of an upload: files arrive in one request or in parts, and never appear incomplete."""

import asyncio
import os
import re
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from http import HTTPStatus

from tradewind.units import MIB
from tradewind_agent.compression.wire_names import CODECS_HEADER
from tradewind_agent.serve.body import BodyCutOff, RequestBody
from tradewind_agent.serve.folder import ServedFolder, format_path, is_file, is_folder, make_refusal
from tradewind_agent.serve.messages import ReceivedRequest, RequestRefused, Response, build_json_response
from tradewind_agent.serve.options import ServerLimits
from tradewind_agent.serve.ranges import parse_content_range
from tradewind_agent.serve.uploads.new_folder import make_requested_folder
from tradewind_agent.serve.uploads.packed_upload import PackedBody, make_packing_fields, unpack_request
from tradewind_agent.serve.uploads.quota import StorageQuota, check_free_space
from tradewind_agent.serve.uploads.single_request import SingleRequestFile
from tradewind_agent.serve.uploads.stated_sums import BodySums, StatedSum, parse_content_sums, parse_file_sums
from tradewind_agent.serve.uploads.unfinished import UnfinishedFile
from tradewind_agent.serve.uploads.uploads import OpenUploads
from tradewind_agent.serve.validators import check_conditions, make_etag

WRITE_BLOCK_BYTES = MIB  # what is gathered before a thread writes it
MAX_RANGES_IN_HEADER = 256  # a longer field would exceed what clients read; the rest is sent again
MAX_ID_CHARACTERS = 256
_SECONDS = re.compile(r"-?[0-9]{1,11}(\.[0-9]*)?")


class Receiver:
    """Writes uploads into a served folder."""

    def __init__(self, folder: ServedFolder, uploads: OpenUploads, space: StorageQuota, limits: ServerLimits) -> None:
        self._folder, self._uploads, self._space, self._limits = folder, uploads, space, limits

    async def answer_put(self, request: ReceivedRequest, segments: Sequence[str]) -> Response:
        """Take a file or a part of one.

        Raises
        ------
        RequestRefused : 400, 403, 409, 411, 412, 413, 415, 422, 507.
        BodyCutOff : the client went away; what arrived of a part that is not packed is kept.
        """
        if request.target.partition("?")[0].endswith("/"):
            raise RequestRefused(HTTPStatus.CONFLICT, "the name of a folder is no name of a file; leave out the last /")
        if request.body.declared_bytes == 0 and "content-length" not in request.headers:
            raise RequestRefused(HTTPStatus.LENGTH_REQUIRED, "Content-Length is needed, 0 for an empty file")
        request = unpack_request(request)
        _check_size(request.body.declared_bytes, self._limits.max_body_bytes)
        if request.headers.get("content-range") is None:
            return await self._take_single(request, segments)
        if isinstance(request.body, PackedBody):
            return await self._take_packed(request, segments)
        return await self._take_part(request, segments)

    async def answer_delete(self, request: ReceivedRequest, segments: Sequence[str]) -> Response:
        """Remove a file; a link is removed, not what it leads to, and a folder is not.

        Raises
        ------
        RequestRefused : 403, 404, 409, 412.
        """
        async with self._open_target(segments, create=False) as (folder, name):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if is_folder(status) or request.target.partition("?")[0].endswith("/"):
                raise RequestRefused(HTTPStatus.CONFLICT, "it is a folder; name the files in it")
            if not (is_file(status) or stat.S_ISLNK(status.st_mode)):
                raise RequestRefused(HTTPStatus.CONFLICT, "it is a device, pipe or socket, which stays")
            if check_conditions(request.headers, make_etag(status), status.st_mtime) is not None:
                raise RequestRefused(HTTPStatus.PRECONDITION_FAILED, "the file is not the one that the condition names")
            os.unlink(name, dir_fd=folder)
            self._space.release(status.st_size)
            await asyncio.to_thread(os.fsync, folder)
        return Response(HTTPStatus.NO_CONTENT)

    async def answer_mkcol(self, request: ReceivedRequest, segments: Sequence[str]) -> Response:
        """Make a folder; see `make_requested_folder`."""
        return await make_requested_folder(self._folder, self._space, request, segments)

    async def answer_status(self, request: ReceivedRequest, segments: Sequence[str]) -> Response:
        """Return the received ranges, for a client that resumes; a client that lists its codecs gets ours.

        Raises
        ------
        RequestRefused : 404 when nothing is known of it.
        """
        offered = make_packing_fields() if CODECS_HEADER.lower() in request.headers else ()
        try:
            answer = await self._find_status(request, segments)
        except RequestRefused as refused:
            raise RequestRefused(refused.status, refused.detail, *refused.headers, *offered) from refused
        return replace(answer, headers=[*answer.headers, *offered])

    async def _find_status(self, request: ReceivedRequest, segments: Sequence[str]) -> Response:
        upload_id = _parse_upload_id(request)
        async with self._open_target(segments, create=False) as (folder, name):
            if (known := self._uploads.find_finished(folder, name, upload_id)) is not None:
                headers = [("Tradewind-Received", f"0-{known.total_bytes - 1}"), ("Tradewind-Complete", "true")]
                return Response(HTTPStatus.NO_CONTENT, headers)
            with self._uploads.open_upload(folder, name, upload_id, None) as upload:
                if upload is None:
                    raise RequestRefused(HTTPStatus.NOT_FOUND, "no such upload; begin with any part")
                ranges = list(upload.received)[:MAX_RANGES_IN_HEADER]
                received = ",".join(f"{first}-{last}" for first, last in ranges)
                return Response(HTTPStatus.NO_CONTENT, [("Tradewind-Received", received)])

    @asynccontextmanager
    async def _open_target(self, segments: Sequence[str], *, create: bool) -> AsyncIterator[tuple[int, str]]:
        """Return the open folder that a file goes to, and its name there.

        Failures of the file system become refusals.
        """
        if not segments:
            raise RequestRefused(HTTPStatus.CONFLICT, "name a file below the folder")
        with ExitStack() as opened:
            try:
                folder = opened.enter_context(self._folder.open_folder(segments[:-1]))
            except RequestRefused as refused:
                if not create or refused.status is not HTTPStatus.NOT_FOUND:
                    raise
                await asyncio.to_thread(self._folder.make_folders, segments[:-1], self._space.reserve_folder)
                folder = opened.enter_context(self._folder.open_folder(segments[:-1]))
            try:
                if create:
                    self._uploads.sweep(folder)
                yield folder, segments[-1]
            except OSError as error:
                raise make_refusal(error) from error

    async def _take_single(self, request: ReceivedRequest, segments: Sequence[str]) -> Response:
        declared_bytes = request.body.declared_bytes
        _check_size(declared_bytes, self._limits.max_file_bytes)
        async with self._open_target(segments, create=True) as (folder, name):
            _check_replacement(request, folder, name)
            size_bytes = await self._write_single(request, folder, name, declared_bytes)
            return _make_created_response(folder, name, segments, [[0, size_bytes - 1]] if size_bytes else [])

    async def _take_packed(self, request: ReceivedRequest, segments: Sequence[str]) -> Response:
        """Return an upload that comes packed.

        Only the end of its stream proves it, so nothing is kept of one without.
        """
        upload_id = _parse_upload_id(request)
        first, last, total_bytes = parse_content_range(request.headers["content-range"])
        _check_size(total_bytes, self._limits.max_file_bytes)
        if last - first + 1 != total_bytes:
            raise RequestRefused(
                HTTPStatus.BAD_REQUEST, "a packed upload is a full file: Content-Range must name all of it"
            )
        async with self._open_target(segments, create=True) as (folder, name):
            _check_replacement(request, folder, name)
            if self._uploads.find_finished(folder, name, upload_id) is not None:
                await request.body.discard()
            else:
                await self._write_single(request, folder, name, total_bytes)
                self._uploads.remember(folder, name, upload_id, total_bytes)
            return _make_created_response(folder, name, segments, [[0, total_bytes - 1]])

    async def _write_single(self, request: ReceivedRequest, folder: int, name: str, total_bytes: int | None) -> int:
        """Take a body as the file ``name``, of ``total_bytes`` where that is known; or leave nothing of it.

        Returns
        -------
        Its size.
        """
        is_packed = isinstance(request.body, PackedBody)
        # Of a packed file only the sums count that are certainly of the file, and not of its coding.
        stated, modified_at_s = _parse_sums(request, is_packed=is_packed), _parse_modified_at_s(request)
        reserved_bytes = total_bytes or 0
        check_free_space(folder, reserved_bytes)
        self._space.reserve(reserved_bytes)
        try:
            file = SingleRequestFile(folder, name, BodySums(stated, request.headers.get("trailer", "")))
        except BaseException:
            self._space.release(reserved_bytes)
            raise
        try:
            async for blocks in _group_blocks(
                request.body, self._limits.max_body_bytes if total_bytes is None else total_bytes
            ):
                size_bytes = file.size_bytes + sum(len(block) for block in blocks)
                _check_size(size_bytes, self._limits.max_file_bytes)
                if size_bytes > reserved_bytes:  # chunked: its length shows only now
                    self._space.resize(reserved_bytes, size_bytes)
                    reserved_bytes = size_bytes
                await file.append(blocks)
            if total_bytes not in (None, file.size_bytes):
                raise RequestRefused(HTTPStatus.BAD_REQUEST, f"the body has {file.size_bytes} of {total_bytes} bytes")
            trailing = [] if is_packed else _parse_trailing_sums(request.body)
            # Another upload may have taken the name meanwhile.
            await file.finish(modified_at_s, trailing, partial(_check_replacement, request, folder, name))
        finally:
            file.discard()
            if not file.is_published:
                self._space.release(reserved_bytes)
            elif file.replaced_bytes is not None:
                self._space.release(file.replaced_bytes)
        return file.size_bytes

    async def _take_part(self, request: ReceivedRequest, segments: Sequence[str]) -> Response:
        upload_id, modified_at_s = _parse_upload_id(request), _parse_modified_at_s(request)
        of_file, of_part = parse_file_sums(request.headers), parse_content_sums(request.headers)
        first, last, total_bytes = parse_content_range(request.headers["content-range"])
        _check_size(total_bytes, self._limits.max_file_bytes)
        if request.body.declared_bytes not in (None, last - first + 1):
            raise RequestRefused(HTTPStatus.BAD_REQUEST, "Content-Length is not the length of the Content-Range")
        async with self._open_target(segments, create=True) as (folder, name):
            _check_replacement(request, folder, name)
            if (known := self._uploads.find_finished(folder, name, upload_id)) is not None:
                await request.body.discard()
                return _make_created_response(folder, name, segments, [[0, known.total_bytes - 1]])
            with self._uploads.open_upload(folder, name, upload_id, total_bytes) as upload:
                assert upload is not None  # it was started if necessary
                upload.require_sums(of_file)
                await self._write_part(upload, request.body, first, last, of_part)
                if not upload.is_complete:
                    state = {"received": upload.received.convert_to_lists(), "complete": False}
                    return build_json_response(HTTPStatus.ACCEPTED, state)
                check = partial(_check_replacement, request, folder, name)
                await self._uploads.finish(folder, upload, upload_id, modified_at_s, check)
                return _make_created_response(folder, name, segments, upload.received.convert_to_lists())

    async def _write_part(
        self, upload: UnfinishedFile, body: RequestBody, first: int, last: int, stated: Sequence[StatedSum]
    ) -> None:
        """Write the body to its place as it comes; what has come stays when the client breaks off.

        The last bytes are only written if the part has the sums that are stated of it: it is never complete without.
        """
        position, sums = first, BodySums(stated)
        async for blocks in _group_blocks(body, last - first + 1):
            sums.update(blocks)
            if position + sum(len(block) for block in blocks) == last + 1:
                _require_part(upload, sums)
            position += await upload.write(blocks, position, sync_every_bytes=self._limits.sync_every_bytes)
        if position != last + 1:
            raise RequestRefused(HTTPStatus.BAD_REQUEST, f"the body has {position - first} of {last - first + 1} bytes")


async def _group_blocks(body: RequestBody, limit_bytes: int | None) -> AsyncIterator[list[bytes]]:
    """Yield the blocks of a body, in groups worth a write; the last group comes even when the body is then cut off."""
    group: list[bytes] = []
    size_bytes = total_bytes = 0
    blocks = body.read_blocks()
    while True:
        try:
            block = await anext(blocks, None)
        except BodyCutOff:
            if group:
                yield group
            raise
        if block is None:
            break
        size_bytes += len(block)
        total_bytes += len(block)
        _check_size(total_bytes, limit_bytes)
        group.append(block)
        if size_bytes >= WRITE_BLOCK_BYTES:
            yield group
            group, size_bytes = [], 0
    if group:
        yield group


def _make_created_response(folder: int, name: str, segments: Sequence[str], received: list[list[int]]) -> Response:
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    headers = (("ETag", make_etag(status)), ("Location", format_path(segments)))
    return build_json_response(HTTPStatus.CREATED, {"received": received, "complete": True}, *headers)


def _check_replacement(request: ReceivedRequest, folder: int, name: str) -> None:
    """See that the name may be written: no folder stands there, and conditions on the file there hold."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        if "if-match" in request.headers:
            raise RequestRefused(HTTPStatus.PRECONDITION_FAILED, "there is no such file yet") from None
        return
    if is_folder(status) or request.target.partition("?")[0].endswith("/"):
        raise RequestRefused(HTTPStatus.CONFLICT, "a folder stands where the file should go")
    if _is_special(folder, name):
        raise RequestRefused(HTTPStatus.CONFLICT, "a device, pipe or socket stands where the file should go")
    if check_conditions(request.headers, make_etag(status), status.st_mtime) is not None:
        raise RequestRefused(HTTPStatus.PRECONDITION_FAILED, "the file there is not the one that the condition names")


def _is_special(folder: int, name: str) -> bool:
    """Return whether a name is, or leads to, what is neither file nor folder: a file must not replace it."""
    try:
        status = os.stat(name, dir_fd=folder)
    except OSError:
        return False  # a link that leads nowhere
    return not is_file(status) and not is_folder(status)


def _check_size(size_bytes: int | None, limit_bytes: int | None) -> None:
    if size_bytes is not None and limit_bytes is not None and size_bytes > limit_bytes:
        raise RequestRefused(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{size_bytes} bytes; at most {limit_bytes} are taken"
        )


def _parse_upload_id(request: ReceivedRequest) -> str:
    upload_id = request.headers.get("tradewind-upload", "")
    if not 0 < len(upload_id) <= MAX_ID_CHARACTERS:
        raise RequestRefused(
            HTTPStatus.BAD_REQUEST, f"parts need Tradewind-Upload, an id of 1 to {MAX_ID_CHARACTERS} characters"
        )
    return upload_id


def _parse_sums(request: ReceivedRequest, *, is_packed: bool) -> Sequence[StatedSum]:
    """Return the sums that are stated of a file that comes in one request."""
    if not is_packed:
        return [*parse_file_sums(request.headers), *parse_content_sums(request.headers)]
    of_file = ("tradewind-sha256", "oc-checksum")
    return parse_file_sums({field: request.headers[field] for field in of_file if field in request.headers})


def _parse_trailing_sums(body: RequestBody) -> Sequence[StatedSum]:
    return [*parse_file_sums(body.trailer), *parse_content_sums(body.trailer)]


def _require_part(upload: UnfinishedFile, sums: BodySums) -> None:
    """See that a part has its sums; where it has not, all is dropped, as wrong bytes of it are stored already."""
    try:
        sums.require()
    except RequestRefused as refusal:
        upload.drop(refusal)
        raise


def _parse_modified_at_s(request: ReceivedRequest) -> int | None:
    """Return the time that the file is to have, whole POSIX seconds, as ownCloud takes it."""
    text = request.headers.get("x-oc-mtime")
    if text is not None and _SECONDS.fullmatch(text) is None:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, "X-OC-Mtime must be a number of seconds since 1970")
    return None if text is None else int(text.partition(".")[0])
