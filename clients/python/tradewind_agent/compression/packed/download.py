"""Download of one file as a packed stream, or in a coding that any web server has; what breaks is fetched again."""

from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPResponse

from tradewind_agent.compression.codecs import UnpackFailed
from tradewind_agent.compression.options import PackedOutcome, PackingOptions
from tradewind_agent.compression.packed.blocking_http import (
    CONNECTION_ERRORS,
    encodes_on_the_fly,
    get_coding,
    make_connection_fault,
    make_refusal,
)
from tradewind_agent.compression.packed.connection_pool import ConnectionPool
from tradewind_agent.compression.packed.download_fields import (
    make_packed_fields,
    make_packed_rest_fields,
    make_rest_fields,
)
from tradewind_agent.compression.packing import PackingTotals
from tradewind_agent.compression.sampling import BEGINNING_BYTES, FileSample
from tradewind_agent.compression.unpacking import Unpacker
from tradewind_agent.compression.web_codings import format_web_codings, unpack_web_coding
from tradewind_agent.compression.wire_names import (
    IDENTITY,
    PACKED_CODING,
    SIZE_HEADER,
)
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import ContentRange
from tradewind_agent.engine.jobs import DownloadJob, SizeTrust
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.local_copy import LocalState, has_sha256, inspect_local_copy, matches_remote
from tradewind_agent.engine.local.publishing import Publication, parse_repr_digest, publish_together
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import FileFault, FolderFound, MalformedResponse, StorageFailed

READ_BYTES = 256 * 1024
_NOTED_EVERY_BYTES = 64 * 1024 * 1024
"""Bytes between two checkpoints: what a crash costs at most."""

_OK, _PARTIAL, _CHANGED = 200, 206, 412
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class _StoredEncoded(MalformedResponse):
    """An answer in a web coding that does not hold the stored file."""


class PackedDownload:
    """The download of one file; after a fault `run` may be called again, and resumes.

    Attributes
    ----------
    restart_count : how often received bytes were discarded, because the file had changed or was damaged.
    """

    def __init__(
        self,
        job: DownloadJob,
        packing: PackingOptions,
        options: EngineOptions,
        connections: ConnectionPool,
        moved: Callable[[int], None],
    ) -> None:
        self._job, self._packing, self._options, self._moved = job, packing, options, moved
        self._connections = connections
        self._url: Url = job.source
        self._part = PartFile(job.destination, str(job.source))
        self._plain_bytes = self._checkpointed_bytes = self._received_bytes = 0
        self.restart_count = 0
        self._identity = FileIdentity()
        self._etag: str | None = None
        self._digest = job.sha256
        self._wire_bytes = 0
        self._work = PackingTotals()
        self._beginning = b""
        self._sample: FileSample | None = None
        self._codings = format_web_codings()
        self._local = self._inspect_local()

    def _inspect_local(self) -> LocalState | None:
        """Return what is here already: the file, or blocks of it that an earlier run has left."""
        trusted = self._job.size_trust is not SizeTrust.ROUNDED
        listed = FileIdentity(self._job.size_bytes if trusted else None, self._job.etag)
        state, received, identity = inspect_local_copy(self._job, listed, self._part)
        beginning = next(iter(received), None)
        # Only a strong ETag names the version whose rest is requested. A file's last block is requested again, because
        # an empty range cannot be.
        is_named = identity.etag is not None and identity.validator == identity.etag
        if is_named and beginning is not None and beginning.first == 0:
            is_complete = identity.size_bytes is not None and received.covers(identity.size_bytes)
            self._plain_bytes = beginning.last if is_complete else beginning.last + 1
            self._identity, self._etag = identity, identity.etag
        return state

    def run(self) -> PackedOutcome:
        """Fetch what is missing and give the file its name.

        Raises
        ------
        FileFault : retryable where the rest may be asked for; nothing shows half-way.
        StorageFailed : no file can be written.
        """
        if self._local is LocalState.CURRENT and self._is_current():
            return PackedOutcome(skipped=True)
        try:
            try:
                return self._run()
            except _StoredEncoded:
                self.discard()
                self._codings = IDENTITY
                return self._run()
        finally:
            self._close_part()

    def _run(self, *, by_range: bool = False) -> PackedOutcome:
        """Fetch the file; ``by_range`` requests the unpacked rest, which another server would send in full."""
        with (
            self._connections.lend_connection(self._url, self._options) as used,
            closing(used.send_request("GET", self._build_headers(by_range=by_range))) as answer,
        ):
            self._check_status(answer, by_range=by_range)
            self._identity = self._parse_identity(answer)
            if self._local is LocalState.PRESENT and self._is_here(answer):
                return PackedOutcome(skipped=True)
            self._check_version(answer)
            rest_has_come = by_range or not self._sends_full_file(answer)
            if rest_has_come:
                self._receive(answer)
                used.release(answer)
        if not rest_has_come:
            return self._run(by_range=True)
        self._publish()
        return PackedOutcome(work=self._work, wire_bytes=self._wire_bytes, fetched=self._beginning, sample=self._sample)

    def _is_current(self) -> bool:
        """Return whether the file that is here may stay unasked, as far as its sum is to be compared."""
        if self._job.sha256 is not None and not has_sha256(self._job, self._job.sha256):
            self._local = None
        elif self._job.sha256 is None and self._options.checksum:
            self._local = LocalState.PRESENT
        return self._local is LocalState.CURRENT

    def _is_here(self, answer: HTTPResponse) -> bool:
        """Return whether the file that is here is the one on the server, by its sum where sums are to be compared."""
        digest = self._digest if self._find_coding(answer) == IDENTITY else self._job.sha256
        if digest is None and not self._options.checksum:
            return matches_remote(self._job, self._identity)
        is_of_size = matches_remote(self._job, self._identity, at_any_time=True)
        return is_of_size and digest is not None and has_sha256(self._job, digest)

    def _check_version(self, answer: HTTPResponse) -> None:
        """See that what comes belongs behind what has come."""
        goes_on = self._plain_bytes > 0 and (answer.status == _PARTIAL or self._find_coding(answer) == PACKED_CODING)
        if goes_on and self._identity.etag != self._etag:
            self.discard()
            raise FileFault("it changed while it was fetched; it is fetched again")

    def _check_status(self, answer: HTTPResponse, *, by_range: bool) -> None:
        if answer.status in _REDIRECTS and (place := answer.headers.get("Location")):
            moved_to = self._url.join(place)
            if moved_to.is_folder_of(self._url):
                raise FolderFound
            self._url = moved_to
            raise FileFault(f"moved to {self._url}")
        if answer.status == _CHANGED:
            self.discard()
            raise FileFault("it changed while it was fetched; it is fetched again")
        if answer.status == _PARTIAL and by_range:
            part = ContentRange.parse(answer.headers.get("Content-Range", ""))
            if part is None or part.first != self._plain_bytes or part.total is None:
                self.discard()
                raise MalformedResponse("another range came than was asked for")
        elif answer.status != _OK:
            raise make_refusal(answer)

    def _sends_full_file(self, answer: HTTPResponse) -> bool:
        """Return whether a server with ranges sends all of a partly received file, unpacked.

        It may have no turn to pack.
        """
        has_started = self._plain_bytes > 0 and self._etag is not None
        return has_started and self._find_coding(answer) == IDENTITY and self._find_etag_of_rest(answer) is not None

    def _find_etag_of_rest(self, answer: HTTPResponse) -> str | None:
        """Return the ETag of an unpacked file whose rest can be requested by range."""
        has_ranges = answer.headers.get("Accept-Ranges") == "bytes" or answer.status == _PARTIAL
        is_strong = self._identity.validator == self._identity.etag
        return self._identity.etag if has_ranges and is_strong else None

    def _receive(self, answer: HTTPResponse) -> None:
        try:
            for plain in self._require_size(self._decode(answer)):
                self._part.write(self._plain_bytes, plain)
                self._plain_bytes += len(plain)
                self._received_bytes += len(plain)
                self._moved(len(plain))
                if self._plain_bytes - self._checkpointed_bytes >= _NOTED_EVERY_BYTES and self._etag is not None:
                    self._part.checkpoint(self._identity, self._build_received())
                    self._checkpointed_bytes = self._plain_bytes
        except CONNECTION_ERRORS as error:
            raise self._handle_break(make_connection_fault(error)) from error
        except UnpackFailed as damage:
            self.discard()  # there is no telling which bytes are wrong
            raise self._get_mismatch_error(answer)(str(damage)) from damage

    def _require_size(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the pieces; raise where they are longer or shorter than the file."""
        size_bytes = self._identity.size_bytes
        for plain in pieces:
            if size_bytes is not None and self._plain_bytes + len(plain) > size_bytes:
                raise UnpackFailed(f"more came out than {size_bytes} bytes")
            yield plain
        if size_bytes not in (None, self._plain_bytes):
            raise UnpackFailed(f"{self._plain_bytes} bytes came out of {size_bytes}")

    def _get_mismatch_error(self, answer: HTTPResponse) -> type[MalformedResponse]:
        """Return what to raise of an answer that is not the file."""
        return MalformedResponse if self._find_coding(answer) in (PACKED_CODING, IDENTITY) else _StoredEncoded

    def _find_coding(self, answer: HTTPResponse) -> str:
        """Return what is to be undone: no other coding than ours of a file that is stored in it."""
        coding = get_coding(answer)
        return IDENTITY if self._codings == IDENTITY and coding != PACKED_CODING else coding

    def _build_received(self) -> RangeSet:
        return RangeSet([(0, self._plain_bytes - 1)])

    def _close_part(self) -> None:
        """Close the part; complete blocks of a version with an ETag are kept for the next try or run."""
        keep = self._build_received() if self._etag is not None else RangeSet()
        self._part.close_for_resume(self._identity, keep)

    def discard(self) -> None:
        """Discard the received bytes."""
        self._part.discard()
        received_bytes = self._received_bytes
        self._plain_bytes, self._checkpointed_bytes, self._etag = 0, 0, None
        self._received_bytes = 0
        self._work = PackingTotals()
        if received_bytes:
            self.restart_count += 1
            self._moved(-received_bytes)

    def _handle_break(self, fault: FileFault) -> FileFault:
        """Return the fault; received bytes without an ETag are discarded, because they cannot be resumed."""
        if self._etag is None:
            self.discard()
        return fault

    def _build_headers(self, *, by_range: bool) -> dict[str, str]:
        headers = {"Accept": "*/*"}
        if self._options.checksum:
            headers["Want-Repr-Digest"] = "sha-256=10"
        if self._etag is None or not self._plain_bytes:
            return headers | make_packed_fields(self._packing, self._codings)
        if by_range:
            return headers | make_rest_fields(self._plain_bytes, self._etag)
        packed = make_packed_fields(self._packing, self._codings)
        return headers | packed | make_packed_rest_fields(self._plain_bytes, self._etag)

    def _parse_identity(self, answer: HTTPResponse) -> FileIdentity:
        """Return the version that the answer carries, with its size in plain bytes where that is certain.

        Raises
        ------
        FileFault : it is not the file that a manifest demands.
        """
        size_text, size_bytes = answer.headers.get(SIZE_HEADER, ""), None
        if size_text.isdecimal():
            size_bytes = int(size_text)
        elif answer.status == _PARTIAL and (part := ContentRange.parse(answer.headers.get("Content-Range", ""))):
            size_bytes = part.total
        elif self._find_coding(answer) == IDENTITY and answer.length is not None:
            size_bytes = answer.length
        if self._job.size_trust is SizeTrust.BINDING and size_bytes not in (None, self._job.size_bytes):
            reason = f"the server has {size_bytes} bytes, the manifest says {self._job.size_bytes}"
            raise FileFault(reason, retryable=False)
        if size_bytes is None and self._job.size_trust is not SizeTrust.ROUNDED:
            size_bytes = self._job.size_bytes
        if self._options.checksum and self._job.sha256 is None:
            self._digest = parse_repr_digest(answer.headers.get("Repr-Digest", ""))
        return FileIdentity.from_answer(answer.headers, size_bytes)

    def _decode(self, answer: HTTPResponse) -> Iterator[bytes]:
        coding = self._find_coding(answer)
        if coding != IDENTITY:
            self._digest = self._job.sha256  # the answer's own sum is one of what is packed
        if coding == PACKED_CODING:
            if not self._plain_bytes:
                self.discard()
            self._etag = self._identity.etag
            return self._unpack_blocks(answer)
        if answer.status != _PARTIAL:
            self.discard()
        if coding == IDENTITY:
            self._etag = self._find_etag_of_rest(answer)
            return self._count_plain(self._read(answer))
        if not encodes_on_the_fly(self._url, self._options):
            raise _StoredEncoded(f"it is stored as {coding}")
        return self._count_plain(unpack_web_coding(self._read(answer), coding))

    def _count_plain(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        for plain in pieces:
            self._work.plain_bytes += len(plain)
            yield plain

    def _read(self, answer: HTTPResponse) -> Iterator[bytes]:
        while data := answer.read1(READ_BYTES):
            self._wire_bytes += len(data)
            yield data
        if answer.length:
            raise ConnectionResetError("the server closed it before the end")

    def _unpack_blocks(self, answer: HTTPResponse) -> Iterator[bytes]:
        unpacker = Unpacker()
        for data in self._read(answer):
            for block in unpacker.feed(data):
                before_s = unpacker.unpack_s
                plain = unpacker.unpack_block(block)
                if block.setting is not None:
                    times = {"pack_s": block.pack_s, "unpack_s": unpacker.unpack_s - before_s}
                    self._work.count_tried(block.setting, len(plain), len(block.packed), **times)
                self._beginning = self._beginning or plain[:BEGINNING_BYTES]
                self._work.count_sent(block.setting, len(plain))
                yield plain
        unpacker.end()
        sample = FileSample.parse(unpacker.note, self._plain_bytes) if unpacker.note else None
        self._sample = sample or self._packing.find_known_sample(self._plain_bytes)

    def _publish(self) -> None:
        """As the engine does: its sum compared where there is one to compare with, and its name durable.

        Raises
        ------
        FileFault, StorageFailed
        """
        if not self._plain_bytes:
            self._part.write(0, b"")
        identity = FileIdentity(self._plain_bytes, self._identity.etag, self._identity.last_modified)
        publication = Publication(self._part, identity, self._digest)
        (fault,) = publish_together([publication], durable=self._options.durable)
        if isinstance(fault, StorageFailed):
            raise fault
        self._etag = None  # there is nothing more to keep
        if fault is not None:
            raise fault
