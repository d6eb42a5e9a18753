"""HAR logs on disk: read entry by entry, so that memory holds one response's body at a time and none in the end."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import IO, Any

import ijson

from tradewind.connections.har import (
    BYTE_ORDER_MARK,
    MAX_ENTRIES,
    MAX_PAGES,
    NO_ENTRIES,
    NO_LOG,
    NO_PAGES,
    Har,
    describe_json_error,
    parse_har_document,
    require_utf_8,
    trim_to_characters,
)
from tradewind.connections.har_entry import slim_entry
from tradewind.errors import InvalidValue, TooLarge
from tradewind.units import KIB, MIB
from tradewind_agent.history.packed_stream import BROKEN, MAGIC_BYTES, open_unpacked, unpack_beginning

CHUNK_BYTES = 256 * KIB
MOST_BYTES = 1024 * MIB
"""Of one log; what is larger is a recording that nobody ended."""

MOST_DIGITS = 600
"""Of an integer; Python reads 640 however it is set up."""

DEEPEST = 64
"""Levels of nesting; browsers need about ten."""

_ESCAPE_BYTES = len(r"\ud800")
_LOOKED_AT = 4 * KIB
_MEMBERS = (b'"version"', b'"creator"', b'"browser"', b'"pages"', b'"entries"', b'"comment"')


def is_har(beginning: bytes) -> bool:
    """Return whether a file that begins so is a HAR: its first member is the log, with a member of HAR's."""
    if beginning.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # recognised, so that its reader says what is wrong
        beginning = beginning[: _LOOKED_AT // 2 * 2].decode("utf-16", errors="ignore").encode(errors="ignore")
    text = b"".join(beginning[:_LOOKED_AT].removeprefix(BYTE_ORDER_MARK).split())
    return text.startswith(b'{"log":{') and text.removeprefix(b'{"log":{').startswith(_MEMBERS)


def looks_like_har(log: Path) -> bool:
    """Return whether a file, packed or not, begins like a HAR; ``False`` if unreadable, which its reader reports."""
    try:
        with _open_log(log) as stream:
            read = getattr(stream, "read1", stream.read)  # what comes before a cut is lost to a full read
            return is_har(read(_LOOKED_AT))
    except (OSError, *BROKEN):
        return False


def begins_as_har(beginning: bytes) -> bool:
    """Return whether a stream that begins so is a HAR; the beginning of a zstd stream is often too short to decide."""
    return is_har(unpack_beginning(beginning, _LOOKED_AT))


def read_har(log: Path | IO[bytes]) -> Har:
    """Read a log of any size up to `MOST_BYTES`, without the parts that are not analysed.

    A file is unpacked where it is gzip or zstd, a stream where one can peek into it.

    Raises
    ------
    InvalidValue : no JSON, cut off, damaged, or no HAR.
    TooLarge : beyond `MOST_BYTES`, or more entries or pages than are analysed.
    """
    document: list[Any] = []
    collecting = _collect_entries(document)
    next(collecting)  # to where it takes the first event
    parser = ijson.basic_parse_coro(collecting)  # with floats, it would refuse integers of more than 64 bits
    with _open_log(log) as stream, localcontext(Context(traps=[])):  # exponents beyond all give no number, and no error
        try:
            for piece in filter(None, _read_pieces(stream)):  # nothing would tell the parser that the log has ended
                parser.send(trim_to_characters(piece))
            parser.close()
        except (ijson.JSONError, UnicodeDecodeError) as wrong:
            raise InvalidValue("har", describe_json_error(str(wrong))) from None
        except BROKEN as wrong:
            raise InvalidValue("har", f"compressed data is broken or cut off: {wrong}") from None
    return parse_har_document(document[0] if document else None)


@contextmanager
def _open_log(log: Path | IO[bytes]) -> Iterator[IO[bytes]]:
    if isinstance(log, Path):
        with log.open("rb") as stream, _open_log(stream) as inner:
            yield inner
        return
    peek = getattr(log, "peek", None)  # a pipe's buffer has it: what it shows is read again
    with open_unpacked(log, b"" if peek is None else peek(MAGIC_BYTES)) as inner:
        yield inner


def _read_pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the log piece by piece, never splitting an escape or a number."""
    read, pending, blank = 0, b"", True
    while chunk := stream.read(CHUNK_BYTES):
        if not read:
            require_utf_8(chunk)
        text = _shorten_numbers(pending + (chunk if read else chunk.removeprefix(BYTE_ORDER_MARK)))
        read += len(chunk)
        blank = blank and not text.strip()
        if read > MOST_BYTES:
            raise TooLarge(f"a HAR may have {MOST_BYTES} bytes; record fewer pages in one file")
        end = len(text.rstrip(_DIGITS))
        begin_at = text.rfind(b"\\", max(end + 1 - _ESCAPE_BYTES, 0), end)
        end = end if begin_at < 0 else begin_at
        yield text[:end]
        pending = text[end:]
    if blank:
        raise InvalidValue("har", "is empty")
    yield pending


def _shorten_numbers(text: bytes) -> bytes:
    """Return the text with digit sequences cut to `MOST_DIGITS`; no analysed value is that long.

    Of an integer that Python does not read, ijson's parser gives nothing at all, which ends the process.
    """
    return _LONG_NUMBER.sub(rb"\1", text) if _TOO_MANY in text.translate(_DIGITS_AS_ZEROS) else text


_DIGITS = b"0123456789"
_DIGITS_AS_ZEROS = bytes(ord("0") if byte in _DIGITS else ord(" ") for byte in range(256))
_TOO_MANY = b"0" * (MOST_DIGITS + 1)
_LONG_NUMBER = re.compile(rb"(?<![0-9])([0-9]{%d})[0-9]+" % MOST_DIGITS)


def _collect_entries(document: list[Any]) -> Generator[None, tuple[str, Any], None]:
    """Build the document of a parser's events, each entry of the log cut down as soon as it is complete."""
    stack: list[Any] = [document]
    keys: list[str] = [""]  # of the member that is being read, of each container
    left_out = 0  # levels of a member that nothing is read of
    while True:
        event, value = yield
        begins, ends = event in ("start_map", "start_array"), event in ("end_map", "end_array")
        if left_out or (not ends and event != "map_key" and _is_left_out(keys)):
            left_out += begins - ends
            _require_not_deeper(len(stack) + left_out)
        elif event == "map_key":
            keys[-1] = value
            _require_lists(keys)
        elif begins:
            _require_objects(event, keys)
            stack.append({} if event == "start_map" else [])
            keys.append("")
            _require_not_deeper(len(stack))
        else:
            if ends:
                value = stack.pop()
                keys.pop()
            elif isinstance(value, Decimal):
                value = float(value)  # inf where it is too large, as the service reads it
            _put(value, stack, keys)


def _require_not_deeper(levels: int) -> None:
    if levels > DEEPEST + 1:
        raise InvalidValue("har", f"is nested more than {DEEPEST} levels deep")


def _require_objects(event: str, keys: list[str]) -> None:
    """See that no list begins where a HAR has its log, before all of it is held."""
    if event == "start_array" and keys in ([""], ["", "log"]):
        raise InvalidValue("har", NO_LOG)


def _require_lists(keys: list[str]) -> None:
    """See that what a HAR has lists for has no members."""
    for keys_of_list, missing in ((_ENTRIES, NO_ENTRIES), (_PAGES, NO_PAGES)):
        if len(keys) == len(keys_of_list) and keys[:-1] == keys_of_list[:-1]:
            raise InvalidValue("har", missing)


_ENTRIES, _PAGES = ["", "log", "entries", ""], ["", "log", "pages", ""]
_READ = frozenset({"version", "creator", "browser", "pages", "entries"})


def _is_left_out(keys: list[str]) -> bool:
    """Return whether it belongs to a member, inside or outside the log, that is not analysed."""
    return (len(keys) == 2 and keys[1] != "log") or (len(keys) == 3 and keys[2] not in _READ)


def _put(value: Any, stack: list[Any], keys: list[str]) -> None:
    holder = stack[-1]
    if isinstance(holder, dict):
        holder[keys[-1]] = value
        return
    if keys == _ENTRIES:
        if len(holder) >= MAX_ENTRIES:
            raise TooLarge(f"a HAR may have {MAX_ENTRIES} entries; record fewer pages in one file")
        value = slim_entry(value)
    elif keys == _PAGES and len(holder) >= MAX_PAGES:
        raise TooLarge(f"a HAR may have {MAX_PAGES} pages; record fewer in one file")
    holder.append(value)
