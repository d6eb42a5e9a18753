"""Upload of one file as a packed stream, whole: its end proves all of it, and so no part of another try is kept."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPResponse
from typing import NamedTuple

from tradewind.compression.codecs import Codec
from tradewind_agent.compression.codecs import available_codecs, codecs_of_both
from tradewind_agent.compression.naming import CODECS_HEADER, PACKED_CODING
from tradewind_agent.compression.options import PackedOutcome, Packing
from tradewind_agent.compression.packed.connection_pool import Connections, InUse
from tradewind_agent.compression.packed.http import LOST, begin, lost, refusal
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.origin.limits import LOAD_STATUSES
from tradewind_agent.engine.part_write import upload_id
from tradewind_agent.errors import FileFault
from tradewind_agent.system_errors import explain_os_error

_STORED = frozenset({200, 201, 204})
_MOST_TOLD_BYTES = 4096
"""Of an answer that says that a file is there, which are read so that the connection can be used again."""


def upload_packed(
    job: UploadJob, packing: Packing, options: EngineOptions, connections: Connections, moved: Callable[[int], None]
) -> PackedOutcome:
    """Send a file; ``moved`` is told of plain bytes.

    Raises
    ------
    FileFault : it cannot be sent; nothing shows half-way.
    CodecMissing
    """
    with _reading(job):
        file = job.source.open("rb")
    with file:
        source = _Source(file.fileno(), os.fstat(file.fileno()))
        if (source.status.st_size, source.status.st_mtime_ns) != (job.size_bytes, job.modified_at_ns):
            raise FileFault("it has changed since it was listed", retryable=False)
        with connections.to(job.destination, options) as used:
            return _sent(job, source, packing, used, moved)


class _Source(NamedTuple):
    """An open file, as it was when it was opened."""

    descriptor: int
    status: os.stat_result


@contextmanager
def _reading(job: UploadJob) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileFault(f"cannot read {job.source}: {explain_os_error(error)}", retryable=False) from error


def _sent(
    job: UploadJob, source: _Source, packing: Packing, used: InUse, moved: Callable[[int], None]
) -> PackedOutcome:
    connection, options = used.connection, used.options
    named = upload_id(job, source.status, "packed")
    headers = {"Tradewind-Upload": named, CODECS_HEADER: ",".join(sorted(available_codecs()))}
    answer = used.heard("HEAD", headers)
    if answer.headers.get("Tradewind-Complete") == "true":
        used.over(answer)
        return PackedOutcome(skipped=True)
    is_ours = answer.headers.get("Server", "").startswith("tradewind")
    if not is_ours or answer.status not in (204, 404):
        may_be_load = answer.status in LOAD_STATUSES  # a front may refuse in the receiver's place
        raise (
            refusal(answer)
            if is_ours or may_be_load
            else FileFault("the server takes no packed uploads", retryable=False)
        )
    if not job.size_bytes:
        return _sent_empty(used)
    codecs = packing.codecs() or _codecs_told(answer)
    with _reading(job):
        packed = packing.packed(*source, codecs)
    fields = {
        "Content-Encoding": PACKED_CODING,
        "Content-Range": f"bytes 0-{job.size_bytes - 1}/{job.size_bytes}",
        "Transfer-Encoding": "chunked",
        "Tradewind-Upload": named,
    }
    broken: BaseException | None = None
    try:
        begin(connection, "PUT", job.destination, fields, options)
        told_bytes = 0
        for piece in packed.pieces():
            connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            moved(packed.work.plain_bytes - told_bytes)
            told_bytes = packed.work.plain_bytes
        connection.send(b"0\r\n\r\n")
        moved(packed.work.plain_bytes - told_bytes)
    except LOST as error:
        broken = error  # the receiver may have said why before it closed
    if packed.failure is not None:
        raise packed.failure
    try:
        answer = connection.getresponse()
    except LOST as error:
        raise lost(broken or error) from error
    _check_stored(answer, used)
    return PackedOutcome(work=packed.work, sample=packed.sample)


def _sent_empty(used: InUse) -> PackedOutcome:
    """A file of no bytes, of which there is nothing to pack."""
    _check_stored(used.asked("PUT", {"Content-Length": "0"}), used)
    return PackedOutcome()


def _check_stored(answer: HTTPResponse, used: InUse) -> None:
    """See that the file is there: the status says so, whatever becomes of the rest of the answer."""
    with answer:
        if answer.status not in _STORED:
            raise refusal(answer)
        if answer.length is not None and answer.length <= _MOST_TOLD_BYTES:
            with suppress(*LOST):
                answer.read()
        used.over(answer)


def _codecs_told(answer: HTTPResponse) -> frozenset[Codec]:
    """Those that both ends have."""
    told = answer.headers.get(CODECS_HEADER)
    if told is None:
        raise FileFault("the server takes no uploads; start it with --writable", retryable=False)
    return codecs_of_both(told)
