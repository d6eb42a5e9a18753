"""The version of a file that is being fetched, and which answers may carry bytes of it."""

import re
import zlib
from mimetypes import guess_type

from tradewind.units import format_count
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.http.retry import parse_http_date
from tradewind_agent.engine.jobs import DownloadJob, SizeTrust
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.stated_checksums import find_stated_checksum, find_tagged_checksum
from tradewind_agent.engine.remote.media_types import (
    ERROR_TYPES,
    HTML_TYPES,
    MESSAGE_TYPES,
    is_page_name,
    parse_media_type,
)
from tradewind_agent.engine.remote.page_checks import is_program_name

_OK = 200

_CLOCK_STEP_S = 2.0
"""HTTP dates are full seconds."""

_MOST_CHANGES = 1
"""After these the file changes all the time, or differs from one server of the same name to the other."""

_COMPRESSED_SUFFIXES = (".gz", ".tgz", ".svgz", ".z", ".bz2", ".tbz2", ".xz", ".txz", ".zst", ".tzst", ".br", ".lz4")
"""Names of files that are stored compressed, which some servers say of them by Content-Encoding."""


_LONGEST_MESSAGE_BYTES = 64 * 1024

_GZIP_CODINGS = frozenset({"gzip", "x-gzip"})
_GZIP_START = b"\x1f\x8b\x08"
_TWICE_SUFFIXES = (".gz.gz", ".tgz.gz", ".svgz.gz")
_LOOKED_AT_BYTES = 4096

_PAGE_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>])", re.IGNORECASE | re.DOTALL
)
_EXTENSION = re.compile(r"[^.]\.[A-Za-z][A-Za-z0-9]{0,9}$|\.7z$")


class FileVersion:
    """The version that the bytes of one file are of.

    Attributes
    ----------
    identity : from the listing and the answers.
    validator : what answers must share with the bytes that have come; ``None`` where there are none, or no name.
    checksum : that the file must have, if known.
    in_one_answer : whether the file is to come as one answer, because parts of it cannot be put together.
    is_stored_encoded : whether the stored file is what the server calls encoded, and has to stay so.
    """

    def __init__(self, job: DownloadJob) -> None:
        self._job = job
        self._answered = FileIdentity()
        self._page: FileIdentity | None = None  # that may be the file as it is now
        self._changes = 0
        # An empty file is requested like one of unknown size.
        self.identity = FileIdentity(_find_exact_size(job) or None, job.etag)
        self.validator: str | None = None
        self.checksum = job.checksum
        self.in_one_answer = self.is_stored_encoded = False
        self.start: bytearray | None = None  # of what may be compressed twice

    @property
    def size_bytes(self) -> int | None:
        """Return the size to plan ranges by."""
        return self.identity.size_bytes

    @size_bytes.setter
    def size_bytes(self, size_bytes: int) -> None:
        self.identity = self.identity._replace(size_bytes=size_bytes)

    @property
    def required_bytes(self) -> int | None:
        """Return the size that a body without a stated one must have: one that was cut looks complete."""
        return self.identity.size_bytes if self.identity.size_bytes is not None else _find_exact_size(self._job)

    @property
    def answered_identity(self) -> FileIdentity:
        """Return the version by what answers alone say, which is what the journal notes of the bytes."""
        return self._answered._replace(size_bytes=self.identity.size_bytes)

    def resume(self, left: FileIdentity) -> None:
        """Resume the version that an earlier run has left bytes of."""
        self._answered, self.validator = left, left.validator
        self.identity = left.fill_from(self.identity)

    def is_different(self, answered: FileIdentity, *, is_full: bool) -> bool:
        """Return whether an answer is of another version. Parts must name the same one as the bytes that have come."""
        is_unproven = self.validator is not None and answered.validator != self.validator
        return self.identity.contradicts(answered) or (is_unproven and not is_full)

    def learn(
        self, answered: FileIdentity, head: ResponseHead, *, is_different: bool, is_encoded: bool = False
    ) -> None:
        """Update the version from an answer; the sum of an encoded one is not that of the file."""
        if is_different:
            self.checksum = self._job.checksum
        self._answered, self.identity = answered, answered.fill_from(self.identity)
        if self._job.checksum is not None or is_encoded:
            return
        stated = find_stated_checksum(head.headers, is_full=head.status == _OK)
        if stated is None and self._job.has_md5_tag:
            stated = find_tagged_checksum(head.headers)
        if stated is not None or self.validator is None:  # without a validator nothing is left of earlier answers
            self.checksum = stated

    def count_change(self) -> None:
        """Note that the file has changed; from the second time on whichever version comes is taken in one answer."""
        self.in_one_answer = self._changes >= _MOST_CHANGES
        self._changes += 1

    def forget(self, answered: FileIdentity) -> None:
        """Restart with the version of an answer, without any bytes of it."""
        self.identity, self.validator, self.checksum = answered, None, self._job.checksum

    def find_objection(self, head: ResponseHead, size_bytes: int | None, *, is_decoded: bool = False) -> str | None:
        """Return why an answer of ``size_bytes`` cannot be the file: another size is known, a coding, or a web page.

        ``is_decoded`` : the receiver undoes the coding of the answer.
        """
        self._note_page(head)
        if self._job.may_be_folder and parse_media_type(head.headers.get("content-type", "")) in HTML_TYPES:
            return "the server answers with a web page, maybe of a folder; copy it by its own address, or a manifest"
        if (page := self._find_page_objection(head, size_bytes)) is not None:
            return page
        if (short := self._find_short_objection(head, size_bytes)) is not None:
            return short
        if self._job.size_trust is SizeTrust.BINDING and size_bytes not in (None, self._job.size_bytes):
            return f"the server has {format_count(size_bytes, 'byte')}, the manifest says {self._job.size_bytes}"
        if is_decoded or self.is_stored_encoded:
            return None
        coding = head.codings
        return self._find_coding_objection(coding, size_bytes) if coding else None

    def _find_page_objection(self, head: ResponseHead, size_bytes: int | None) -> str | None:
        """Return why an answer is a web page about the file, such as a form to log in: of a size that is not its own.

        A file that has changed since it was listed is still none, unless its name is that of a page.
        """
        due_bytes = self.required_bytes or self._job.least_bytes
        if (
            not due_bytes
            or size_bytes is None
            or parse_media_type(head.headers.get("content-type", "")) not in ERROR_TYPES
        ):
            return None
        is_fitting = size_bytes == due_bytes if self.required_bytes else size_bytes >= due_bytes
        if self._page is not None:
            answered = FileIdentity.from_answer(head.headers, size_bytes)
            is_fitting = answered.has_strong_time and answered[:3] == self._page[:3]
        if is_fitting or is_page_name(self._job.source.name):
            return None
        size = format_count(size_bytes, "byte")
        return f"the server answers with a web page of {size} instead of the file; does it ask for a login?"

    def _find_short_objection(self, head: ResponseHead, size_bytes: int | None) -> str | None:
        """Return why an answer that is shorter than the listed file is another one, such as the message of a program.

        A file that has changed has a time or a tag, as the listing or the answers have shown for it.
        """
        due_bytes = self.required_bytes or self._job.least_bytes
        if not due_bytes or size_bytes is None or size_bytes >= due_bytes:
            return None
        if size_bytes and (kind := self._find_message_type(head, size_bytes)):
            size = format_count(size_bytes, "byte")
            return f"the server answers with {size} of {kind} instead of the {due_bytes} of the file; is it a message?"
        if "etag" in head.headers or "last-modified" in head.headers:
            return None
        if size_bytes and self._job.etag is None and self._job.modified_at is None and self.validator is None:
            return None
        size = format_count(size_bytes, "byte")
        return f"the server answers with {size}, which it gives no time or tag, instead of the {due_bytes} of the file"

    def _find_message_type(self, head: ResponseHead, size_bytes: int) -> str:
        """Return the type of an answer that looks like the message of a program; else an empty text.

        A message is short, of a type that the name has not, and without the time that files have.
        """
        kind = parse_media_type(head.headers.get("content-type", ""))
        if size_bytes > _LONGEST_MESSAGE_BYTES or kind not in MESSAGE_TYPES or "last-modified" in head.headers:
            return ""
        due_kind, coding = guess_type(self._job.source.name)
        is_text = coding is None and (due_kind is None or due_kind.startswith("text/") or due_kind in MESSAGE_TYPES)
        return "" if is_text else kind

    def note_changed_page(self, head: ResponseHead, size_bytes: int | None, since_listed_s: float) -> bool:
        """Return whether an answer with a page may be the file itself, a page that has changed since it was listed.

        It is one if it comes twice, and its time says that it was written after the listing. A form to log in is older,
        or made for each request, which has no time, the present one, or forbids to store it.
        """
        is_listed = self._job.size_trust is SizeTrust.LISTED and size_bytes is not None
        if not is_listed or self._find_page_objection(head, size_bytes) is None or head.set_cookies:
            return False
        if parse_media_type(head.headers.get("content-type", "")) not in HTML_TYPES:
            return False
        written, sent = (parse_http_date(head.headers.get(name, "")) for name in ("last-modified", "date"))
        if written is None or sent is None or "no-" in head.headers.get("cache-control", ""):
            return False
        if not 0 <= (sent - written).total_seconds() <= since_listed_s + _CLOCK_STEP_S:
            return False
        self._page = FileIdentity.from_answer(head.headers, size_bytes)
        return True

    def _find_coding_objection(self, coding: str, size_bytes: int | None) -> str | None:
        """Return why a compressed answer is not the file.

        Neither its name nor a known size says that it is stored so.
        """
        required_bytes = self.required_bytes
        if required_bytes is None:
            is_stored_so = self._job.source.name.lower().endswith(_COMPRESSED_SUFFIXES) and "," not in coding
            if not is_stored_so:
                return f"the server sends it as {coding} only, and states no size without it; try --compress auto"
            self.start = bytearray() if self.start is None and coding in _GZIP_CODINGS else self.start
        if None not in (size_bytes, required_bytes) and size_bytes != required_bytes:
            return f"the server sends {required_bytes} bytes as {size_bytes} of {coding} only; try --compress auto"
        return None

    def _note_page(self, head: ResponseHead) -> None:
        """Note the start of what the server calls a web page, where no page is due and no size shows another file."""
        is_page = parse_media_type(head.headers.get("content-type", "")) in HTML_TYPES
        if is_page and self.start is None and self.required_bytes is None and self._must_be_no_page():
            self.start = bytearray()

    def _must_be_no_page(self) -> bool:
        """Return whether the file has an extension that is neither that of a page nor of a program that makes one."""
        name = self._job.source.name
        if any(is_page_name(each) for each in (name, self._job.destination)) or is_program_name(name):
            return False
        return _EXTENSION.search(name) is not None

    def note_start(self, position: int, data: memoryview | bytes) -> None:
        """Note the first bytes of a file that the server calls compressed, as its name does, or a web page."""
        if self.start and not position:
            self.start.clear()  # it comes again
        if self.start is not None and position == len(self.start) < _LOOKED_AT_BYTES:
            self.start += data[: _LOOKED_AT_BYTES - len(self.start)]

    def find_late_objection(self) -> str | None:
        """Return why the bytes that have come are not the file: a web page, or a compressed file that the server has
        compressed again.

        Other servers, and tools such as curl and wget, take the coding for that of the stored file.
        """
        if self.start is not None and _PAGE_START.match(self.start) and self._must_be_no_page():
            return (
                "the server answers with a web page instead of the file; does it ask for a login? "
                "If the page is meant, give it a name that ends with .html"
            )
        if self.start is None or self._job.source.name.lower().endswith(_TWICE_SUFFIXES):
            return None
        try:
            within = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(bytes(self.start), len(_GZIP_START))
        except zlib.error:
            return None
        if within != _GZIP_START:
            return None
        return "the server has compressed it once more for the way, though that was not asked for; try --compress auto"


def _find_exact_size(job: DownloadJob) -> int | None:
    return None if job.size_trust is SizeTrust.ROUNDED else job.size_bytes
