"""A log as numbered lines: plain, gzip or zstd, any line end, any encoding, flat memory for any file."""

import codecs
import io
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, count, islice
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

from tradewind.errors import InvalidValue
from tradewind_agent.history.packed_stream import BROKEN, MAGIC_BYTES, open_unpacked
from tradewind_agent.system_errors import explain_os_error

MAX_LINE_CHARS = 1 << 20
"""A longer line is refused without being held; a million characters are far beyond any real log row."""

SAMPLE_CHARS = 1 << 16
"""Characters at the beginning of a log from which its format is detected."""

_BLOCK_BYTES = 1 << 16
_SPOOLED_BYTES = 1 << 23
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class Line(NamedTuple):
    """Line ``number`` (from 1) without its end, or the fault for which it has no text."""

    number: int
    text: str
    fault: InvalidValue | None = None


class LogText:
    """Lines of a log, readable more than once: a stream that cannot go back is spooled as it came, on disk if large.

    Parameters
    ----------
    log : path of the log, or a binary stream. A stream is read from where it stands and stays open: it is its owner's.
    first_row, head_rows : number of the first line, for a part of a log that is read on from an offset, and how many
        lines of the log's beginning stand before it: they are looked at again, and are no lines of the part.
    """

    def __init__(self, log: Path | str | IO[bytes], *, first_row: int = 1, head_rows: int = 0) -> None:
        self._log = log
        self._first_row = first_row
        self._head_rows = head_rows
        self._closing = ExitStack()
        self._rewindable: IO[bytes] | None = None
        self._beginning = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what was opened here; the stream of an owner stays open."""
        self._closing.close()
        self._rewindable = None

    def read_lines(self) -> Iterator[Line]:
        """Yield all lines from the beginning; only one pass may be under way at a time."""
        return islice(self.read_lines_with_head(), self._head_rows, None)

    def read_head(self) -> Iterator[Line]:
        """Yield the lines of the log's beginning that stand before a part; none where the log is read as a whole."""
        return islice(self.read_lines_with_head(), self._head_rows)

    def read_lines_with_head(self) -> Iterator[Line]:
        """Yield the lines of the log's beginning, which names the columns, and then those of `read_lines`."""
        number = 0
        numbers = chain(range(1, self._head_rows + 1), count(self._first_row))
        try:
            for number, line in zip(numbers, self._read_texts(), strict=False):
                if line is None:
                    yield Line(number, "", InvalidValue("row", f"is longer than {MAX_LINE_CHARS} characters"))
                else:
                    yield Line(number, line)
        except BROKEN as broken:
            yield Line(number + 1, "", InvalidValue("file", f"compressed data is broken or cut off: {broken}"))

    def read_sample(self) -> str:
        """Return the first characters of the log, as far as they can be read."""
        try:
            with self._open() as stream:
                return next(_decode(stream), "")[:SAMPLE_CHARS]
        except BROKEN as broken:
            raise InvalidValue("file", f"compressed data is broken: {broken}") from None

    def _read_texts(self) -> Iterator[str | None]:
        with self._open() as stream:
            pending, skipping = "", False
            for block in _decode(stream):
                parts = (pending + block).split("\n")
                pending = parts.pop()
                for part in parts:
                    yield None if skipping or len(part) > MAX_LINE_CHARS else part
                    skipping = False
                if skipping or len(pending) > MAX_LINE_CHARS:
                    pending, skipping = "", True
            if skipping:
                yield None
            elif pending:
                yield pending

    @contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        if self._rewindable is None:
            self._rewindable = self._make_rewindable()
        self._rewindable.seek(self._beginning)
        magic = self._rewindable.read(MAGIC_BYTES)
        self._rewindable.seek(self._beginning)
        with open_unpacked(self._rewindable, magic) as stream:
            yield stream

    def _make_rewindable(self) -> IO[bytes]:
        stream: IO[bytes]
        if isinstance(self._log, str | Path):
            try:
                stream = Path(self._log).open("rb")  # noqa: SIM115  # closed with the log
            except OSError as failed:
                raise InvalidValue("file", f"cannot read {self._log}: {explain_os_error(failed)}") from None
            self._closing.enter_context(stream)
        else:
            stream = self._log
        if stream.seekable():
            self._beginning = stream.tell()
            return stream
        spool = tempfile.SpooledTemporaryFile(max_size=_SPOOLED_BYTES)  # noqa: SIM115  # closed with the log
        self._closing.enter_context(spool)
        while block := stream.read(_BLOCK_BYTES):
            spool.write(block)
        return spool


def count_rows(head: bytes) -> int:
    """Count the lines of the beginning of a log, whatever ends them."""
    with LogText(io.BytesIO(head)) as text:
        return sum(1 for _ in text.read_lines())


def _decode(stream: IO[bytes]) -> Iterator[str]:
    r"""Yield text in blocks with ``\n`` as the only line end (old Macintosh logs end lines with a bare CR).

    Bytes that are no text become U+FFFD: a name may then look odd, a number is refused by its reader.
    """
    read = getattr(stream, "read1", stream.read)  # what comes before a cut is lost to a reader of whole blocks
    block = read(_BLOCK_BYTES)
    encoding = "utf-8"
    for mark, named in _BYTE_ORDER_MARKS:
        if block.startswith(mark):
            block, encoding = block[len(mark) :], named
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(errors="replace"), translate=True)
    while block:
        yield decoder.decode(block)
        block = read(_BLOCK_BYTES)
    yield decoder.decode(b"", final=True)
