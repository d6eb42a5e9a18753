"""A log as numbered lines, whatever is around them: packed or not, any encoding, line end or envelope, in flat memory.

The one reader in front of all formats, for an upload and for a watch. Its steps are in `reading`.
"""

import io
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.reading.characters import decode_blocks, find_encoding
from tradewind_agent.history.importers.reading.drawn import open_drawn_table
from tradewind_agent.history.importers.reading.envelopes import unwrap_lines
from tradewind_agent.history.importers.reading.lines import (
    MAX_LINE_CHARS,
    Line,
    explain_long_line,
    is_document,
    split_documents,
    split_lines,
)
from tradewind_agent.history.importers.reading.objects import join_objects
from tradewind_agent.history.importers.reading.tables import has_table, open_table
from tradewind_agent.history.packed_stream import ARCHIVE_BYTES, BROKEN, MAGIC_BYTES, open_unpacked, reject_archive
from tradewind_agent.system_errors import explain_os_error

__all__ = ["MAX_LINE_CHARS", "SAMPLE_CHARS", "Line", "LogText", "count_rows"]

SAMPLE_CHARS = 1 << 16
"""Characters at the beginning of a log from which its format is detected."""

_BLOCK_BYTES = 1 << 16
_BLOCKS_OF_OBJECT = 64
"""Further blocks that are read to the end of a first object: of a million characters, also within envelopes."""

_SPOOLED_BYTES = 1 << 23
_MARK = "\ufeff"


class LogText:
    """Lines of a log, readable more than once: a stream that cannot go back is spooled as it came, on disk if large.

    Parameters
    ----------
    log : path of the log, or a binary stream. A stream is read from where it stands and stays open: it is its owner's.
    first_row, head_rows : number of the first line, for a part of a log that is read on from an offset, and how many
        lines of the log's beginning stand before it: they are looked at again, and are no lines of the part.

    Attributes
    ----------
    judge_open_line : what to make of the last line where it has no line end; the format decides.
    check_line : returns the fault of a line that is of another format, ``None`` where all lines are left to the reader.
    present : the line that was read last.
    """

    def __init__(self, log: Path | str | IO[bytes], *, first_row: int = 1, head_rows: int = 0) -> None:
        self._log = log
        self._first_row = first_row
        self._head_rows = head_rows
        self._closing = ExitStack()
        self._rewindable: IO[bytes] | None = None
        self._beginning = 0
        self.judge_open_line: Callable[[Line], Line] = lambda line: line
        self.check_line: Callable[[str], InvalidValue | None] | None = None
        self.present: Line | None = None

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
        return self._judge(_unwrap(islice(self._read_numbered(), self._head_rows, None)))

    def read_head(self) -> Iterator[Line]:
        """Yield the lines of the log's beginning that stand before a part; none where the log is read as a whole."""
        return _unwrap(islice(self._read_numbered(), self._head_rows))

    def read_lines_with_head(self) -> Iterator[Line]:
        """Yield the lines of the log's beginning, which names the columns, and then those of `read_lines`."""
        return self._judge(_unwrap(self._read_numbered()))

    def _judge(self, lines: Iterator[Line]) -> Iterator[Line]:
        for line in lines:
            self.present = line
            if "\0" in line.text:
                yield line._replace(fault=InvalidValue("row", "holds NUL bytes: the log lost a piece of it"))
            elif self.check_line is not None and (fault := self.check_line(line.text)) is not None:
                yield line._replace(fault=fault)
            else:
                yield self.judge_open_line(line) if line.is_open else line

    def read_sample(self) -> str:
        """Return the first lines of the log, as far as they can be read, without what is around them.

        A first object that is longer than a sample is returned to its end.
        """
        try:
            with self._open() as stream:
                read = getattr(stream, "read1", stream.read)  # what comes before a cut is lost to a full read
                reject_archive(read(ARCHIVE_BYTES))
            with self._open() as stream:
                blocks = decode_blocks(stream)
                beginning = next(blocks, "")[:SAMPLE_CHARS]
                lines = _list_texts(beginning)
                if _is_object_cut(lines or [beginning.lstrip()]):
                    beginning = "".join(chain([beginning], islice(blocks, _BLOCKS_OF_OBJECT)))
                    lines = _list_texts(beginning)
        except BROKEN as broken:
            raise InvalidValue("file", f"compressed data is broken: {broken}") from None
        return "\n".join(lines) if any(line.strip() for line in lines) else beginning

    def require_lines(self) -> None:
        """Refuse a log that cannot be read part by part as it grows.

        Raises
        ------
        InvalidValue : a JSON document, whose end is still to be written, a table of messages, or text in UTF-16.
        """
        with self._open() as stream:
            encoding, _ = find_encoding(stream.read(_BLOCK_BYTES))
        if encoding != "utf-8":
            raise InvalidValue(
                "file", f"is {encoding.upper()}, which cannot be read part by part; `logs upload` takes it"
            )
        with self._open() as stream:
            beginning = next(decode_blocks(stream), "")
            if is_document(beginning):
                raise InvalidValue("file", "is one JSON document, not an object a line; `logs upload` takes it")
            if has_table(beginning):
                raise InvalidValue("file", "is a search's table of messages; `logs upload` takes it")

    def _read_numbered(self) -> Iterator[Line]:
        number = 0
        numbers = chain(range(1, self._head_rows + 1), count(self._first_row))
        try:
            with self._open() as stream:
                for line in _number_lines(decode_blocks(stream), numbers):
                    number = line.number
                    yield line
        except BROKEN as broken:
            yield Line(number + 1, "", InvalidValue("file", f"compressed data is broken or cut off: {broken}"))

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


def _list_texts(beginning: str) -> list[str]:
    return [line.text for line in _unwrap(_number_lines([beginning], count(1))) if line.fault is None]


def _is_object_cut(texts: Sequence[str]) -> bool:
    """Return whether the first object among some lines goes on behind them."""
    first = next((text for text in texts if text.startswith(("{", "[{", "[\n"))), None)
    if first is None:
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return True
    return False


def count_rows(head: bytes) -> int:
    """Count the lines of the beginning of a log, whatever ends them."""
    with LogText(io.BytesIO(head)) as text:
        return sum(1 for _ in text._read_numbered())  # noqa: SLF001  # lines of the file, not those inside of them


def _unwrap(lines: Iterable[Line]) -> Iterator[Line]:
    return unwrap_lines(join_objects(open_table(open_drawn_table(iter(lines)))))


def _number_lines(blocks: Iterable[str], numbers: Iterator[int]) -> Iterator[Line]:
    """Yield the lines of a text by number; of a JSON document its objects, by the lines that they begin on."""
    source = iter(blocks)
    first = next(source, "")
    if is_document(first):
        yield from split_documents(chain([first], source))
        return
    end = _End()
    held: Line | None = None
    try:
        for number, text in zip(numbers, split_lines(end.watch(chain([first], source))), strict=False):
            if held is not None:
                yield held
            # A mark of the byte order is also where a further file was appended.
            held = Line(number, "", explain_long_line()) if text is None else Line(number, text.removeprefix(_MARK))
    except BROKEN:
        if held is not None:
            yield held
        raise
    if held is not None:
        yield held if end.has_line_end else held._replace(is_open=True)


@dataclass(slots=True)
class _End:
    """Sees whether the last of some blocks ends with a line end."""

    has_line_end: bool = True

    def watch(self, blocks: Iterable[str]) -> Iterator[str]:
        for block in blocks:
            if block:
                self.has_line_end = block.endswith("\n")
            yield block
