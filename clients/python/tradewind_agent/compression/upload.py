"""Upload of one file as a packed stream, whole: its end proves all of it, and so no part of another try is kept."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from http.client import HTTPConnection, HTTPResponse

from tradewind.compression.codecs import Codec
from tradewind_agent.compression.codecs import available_codecs, codecs_of_both
from tradewind_agent.compression.http import LOST, asked, begin, connect, heard, lost, refusal
from tradewind_agent.compression.naming import CODECS_HEADER, PACKED_CODING
from tradewind_agent.compression.wishes import PackedOutcome, Packing
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import FileFault
from tradewind_agent.system_errors import in_words

_STORED = frozenset({200, 201, 204})


def upload_packed(
    job: UploadJob, packing: Packing, options: EngineOptions, moved: Callable[[int], None]
) -> PackedOutcome:
    """Send a file, tried again as the options permit; ``moved`` is told of plain bytes.

    Raises
    ------
    FileFault : it cannot be sent; nothing shows half-way.
    CodecMissing
    """
    with _reading(job):
        source = job.source.open("rb")
    with source:
        return _sent(job, source.fileno(), packing, options, moved)


@contextmanager
def _reading(job: UploadJob) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileFault(f"cannot read {job.source}: {in_words(error)}", retryable=False) from error


def _sent(
    job: UploadJob, descriptor: int, packing: Packing, options: EngineOptions, moved: Callable[[int], None]
) -> PackedOutcome:
    status = os.fstat(descriptor)
    if (status.st_size, status.st_mtime_ns) != (job.size_bytes, job.modified_at_ns):
        raise FileFault("it has changed since it was listed", retryable=False)
    with closing(connect(job.destination, options)) as connection:
        headers = {"Tradewind-Upload": upload_id(job), CODECS_HEADER: ",".join(sorted(available_codecs()))}
        answer = heard(connection, "HEAD", job.destination, headers, options)
        if answer.headers.get("Tradewind-Complete") == "true":
            return PackedOutcome(skipped=True)
        is_ours = answer.headers.get("Server", "").startswith("tradewind")
        if not is_ours or answer.status not in (204, 404):
            raise refusal(answer) if is_ours else FileFault("the server takes no packed uploads", retryable=False)
        if not job.size_bytes:
            return _sent_empty(job, connection, options)
        codecs = packing.codecs() or _codecs_told(answer)
        with _reading(job):
            packed = packing.packed(descriptor, status, codecs)
        fields = {
            "Content-Encoding": PACKED_CODING,
            "Content-Range": f"bytes 0-{job.size_bytes - 1}/{job.size_bytes}",
            "Transfer-Encoding": "chunked",
            "Tradewind-Upload": upload_id(job),
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
        _check_stored(answer)
        return PackedOutcome(work=packed.work, sample=packed.sample)


def _sent_empty(job: UploadJob, connection: HTTPConnection, options: EngineOptions) -> PackedOutcome:
    """A file of no bytes, of which there is nothing to pack."""
    _check_stored(asked(connection, "PUT", job.destination, {"Content-Length": "0"}, options))
    return PackedOutcome()


def _check_stored(answer: HTTPResponse) -> None:
    """See that the file is there: the status says so, whatever becomes of the rest of the answer."""
    with answer:
        if answer.status not in _STORED:
            raise refusal(answer)


def _codecs_told(answer: HTTPResponse) -> frozenset[Codec]:
    """Those that both ends have."""
    told = answer.headers.get(CODECS_HEADER)
    if told is None:
        raise FileFault("the server takes no uploads; start it with --writable", retryable=False)
    return codecs_of_both(told)


def upload_id(job: UploadJob) -> str:
    """The same for the same source file in every run: name, size and time."""
    return sha256(f"{job.source.resolve()}\0{job.size_bytes}\0{job.modified_at_ns}\0packed".encode()).hexdigest()[:32]
