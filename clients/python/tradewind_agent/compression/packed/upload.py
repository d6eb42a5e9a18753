"""Upload of one file as one packed stream: only its end proves it, so no part of a failed try is kept."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPResponse
from typing import NamedTuple

from tradewind.compression.codecs import Codec
from tradewind_agent.compression.codecs import list_available_codecs, list_common_codecs
from tradewind_agent.compression.options import PackedOutcome, PackingOptions
from tradewind_agent.compression.packed.blocking_http import (
    CONNECTION_ERRORS,
    make_connection_fault,
    make_refusal,
    send_head,
)
from tradewind_agent.compression.packed.connection_pool import BorrowedConnection, ConnectionPool
from tradewind_agent.compression.wire_names import CODECS_HEADER, PACKED_CODING
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.origin.limits import LOAD_STATUSES
from tradewind_agent.engine.upload_exchange import make_upload_id
from tradewind_agent.errors import FileFault
from tradewind_agent.system_errors import explain_os_error

_STORED = frozenset({200, 201, 204})
_MOST_SHOWN_BYTES = 4096
"""Bytes of a confirming answer that are read so that the connection can be used again."""


def upload_packed(
    job: UploadJob,
    packing: PackingOptions,
    options: EngineOptions,
    connections: ConnectionPool,
    moved: Callable[[int], None],
) -> PackedOutcome:
    """Send a file; ``moved`` is called with plain bytes.

    Raises
    ------
    FileFault : it cannot be sent; nothing shows half-way.
    CodecMissing
    """
    with _report_read_errors(job):
        file = job.source.open("rb")
    with file:
        source = _Source(file.fileno(), os.fstat(file.fileno()))
        if (source.status.st_size, source.status.st_mtime_ns) != (job.size_bytes, job.modified_at_ns):
            raise FileFault("it has changed since it was listed", retryable=False)
        with connections.lend_connection(job.destination, options) as used:
            return _send(job, source, packing, used, moved)


class _Source(NamedTuple):
    """An open file, as it was when it was opened."""

    descriptor: int
    status: os.stat_result


@contextmanager
def _report_read_errors(job: UploadJob) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileFault(f"cannot read {job.source}: {explain_os_error(error)}", retryable=False) from error


def _send(
    job: UploadJob, source: _Source, packing: PackingOptions, used: BorrowedConnection, moved: Callable[[int], None]
) -> PackedOutcome:
    connection, options = used.connection, used.options
    upload_id = make_upload_id(job, source.status, "packed")
    headers = {"Tradewind-Upload": upload_id, CODECS_HEADER: ",".join(sorted(list_available_codecs()))}
    answer = used.request_and_discard("HEAD", headers)
    if answer.headers.get("Tradewind-Complete") == "true":
        used.release(answer)
        return PackedOutcome(skipped=True)
    is_ours = answer.headers.get("Server", "").startswith("tradewind")
    if not is_ours or answer.status not in (204, 404):
        may_be_load = answer.status in LOAD_STATUSES  # a front may refuse in the receiver's place
        raise (
            make_refusal(answer)
            if is_ours or may_be_load
            else FileFault("the server takes no packed uploads", retryable=False)
        )
    if not job.size_bytes:
        return _send_empty(used)
    codecs = packing.find_codecs() or _parse_codecs(answer)
    with _report_read_errors(job):
        packed = packing.open_packed_file(*source, codecs)
    fields = {
        "Content-Encoding": PACKED_CODING,
        "Content-Range": f"bytes 0-{job.size_bytes - 1}/{job.size_bytes}",
        "Transfer-Encoding": "chunked",
        "Tradewind-Upload": upload_id,
    }
    broken: BaseException | None = None
    try:
        send_head(connection, "PUT", job.destination, fields, options)
        reported_bytes = 0
        for piece in packed.encode_pieces():
            connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            moved(packed.work.plain_bytes - reported_bytes)
            reported_bytes = packed.work.plain_bytes
        connection.send(b"0\r\n\r\n")
        moved(packed.work.plain_bytes - reported_bytes)
    except CONNECTION_ERRORS as error:
        broken = error  # the receiver may have said why before it closed
    if packed.failure is not None:
        raise packed.failure
    try:
        answer = connection.getresponse()
    except CONNECTION_ERRORS as error:
        raise make_connection_fault(broken or error) from error
    _check_stored(answer, used)
    return PackedOutcome(work=packed.work, sample=packed.sample)


def _send_empty(used: BorrowedConnection) -> PackedOutcome:
    """Send an empty file, unpacked."""
    _check_stored(used.send_request("PUT", {"Content-Length": "0"}), used)
    return PackedOutcome()


def _check_stored(answer: HTTPResponse, used: BorrowedConnection) -> None:
    """See that the file is there: the status says so, whatever becomes of the rest of the answer."""
    with answer:
        if answer.status not in _STORED:
            raise make_refusal(answer)
        if answer.length is not None and answer.length <= _MOST_SHOWN_BYTES:
            with suppress(*CONNECTION_ERRORS):
                answer.read()
        used.release(answer)


def _parse_codecs(answer: HTTPResponse) -> frozenset[Codec]:
    """Return those that both ends have."""
    names = answer.headers.get(CODECS_HEADER)
    if names is None:
        raise FileFault("the server takes no uploads; start it with --writable", retryable=False)
    return list_common_codecs(names)
