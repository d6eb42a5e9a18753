"""Bodies of uploads to lines: any cut of the stream gives the same lines, and nothing grows without bound."""

import gzip
import io
import zlib
from collections.abc import Iterable
from itertools import pairwise

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from services.application.logs.lines import (
    LONG_LINE_PREFIX_BYTES,
    BodyLimits,
    Encoding,
    Line,
    UploadedBody,
    decompress,
    split_lines,
)
from tradewind.errors import InvalidValue, TooLarge

LIMITS = BodyLimits(decompressed_bytes=1 << 20, expansion_ratio=50, expansion_grace_bytes=1 << 16, line_bytes=40)


def packed(data: bytes, encoding: Encoding) -> bytes:
    match encoding:
        case Encoding.GZIP:
            return gzip.compress(data)
        case Encoding.ZSTD:
            return zstandard.compress(data)
    return data


def cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(bounds)]


@given(
    st.lists(st.binary(max_size=60).filter(lambda line: b"\n" not in line)),
    st.lists(st.integers(min_value=0, max_value=10_000), max_size=8),
)
def test_lines_do_not_depend_on_how_the_stream_is_cut(lines: list[bytes], places: list[int]) -> None:
    expected = [
        Line(number, line[:LONG_LINE_PREFIX_BYTES], len(line) > LIMITS.line_bytes)
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    found = [
        line._replace(content=lines[line.number - 1]) if line.too_long else line
        for line in split_lines(cut(b"\n".join(lines), places), LIMITS)
    ]
    whole = [line for line in found if line.content.strip()]
    assert whole == expected


def test_too_long_line_keeps_its_beginning_and_the_next_line_is_complete() -> None:
    limits = BodyLimits(line_bytes=3000)
    pieces = [b"a" * 2000, b"b" * 2000, b"c" * 2000 + b"\nnext\n"]
    long, following = split_lines(pieces, limits)
    assert (long.number, long.too_long, len(long.content)) == (1, True, LONG_LINE_PREFIX_BYTES)
    assert following == Line(2, b"next")


@given(st.binary(max_size=3000), st.sampled_from(Encoding), st.lists(st.integers(0, 10_000), max_size=8))
def test_compressed_stream_is_restored(data: bytes, encoding: Encoding, places: list[int]) -> None:
    pieces = cut(packed(data, encoding), places)
    assert b"".join(decompress(pieces, encoding, BodyLimits())) == data


@given(st.binary(max_size=3000), st.sampled_from([Encoding.GZIP, Encoding.ZSTD]), st.data())
def test_a_stream_that_is_cut_off_is_noticed(data: bytes, encoding: Encoding, draw: st.DataObject) -> None:
    whole = packed(data, encoding)
    part = whole[: draw.draw(st.integers(1, len(whole) - 1))]
    with pytest.raises(InvalidValue):
        list(decompress([part], encoding, BodyLimits()))


@pytest.mark.parametrize("encoding", [Encoding.GZIP, Encoding.ZSTD])
def test_consecutive_gzip_members_are_one_stream(encoding: Encoding) -> None:
    body = packed(b"one ", encoding) + packed(b"two", encoding)
    assert b"".join(decompress([body], encoding, LIMITS)) == b"one two"


@pytest.mark.parametrize("encoding", [Encoding.GZIP, Encoding.ZSTD])
@pytest.mark.parametrize("content", [b"", b"a"])
def test_body_of_empty_members_is_rejected(content: bytes, encoding: Encoding) -> None:
    limits = BodyLimits(members_per_mib=1000)
    member = packed(content, encoding)
    assert b"".join(decompress([member * 1000], encoding, limits)) == content * 1000
    with pytest.raises(TooLarge, match="one stream"):
        list(decompress([member * 1010], encoding, limits))


@pytest.mark.parametrize("encoding", [Encoding.GZIP, Encoding.ZSTD])
def test_a_log_that_was_compressed_line_by_line_is_read(encoding: Encoding) -> None:
    line = bytes(range(32, 127)) * 4 + b"\n"
    count = 3 * BodyLimits().members_per_mib
    pieces = decompress([packed(line, encoding)] * count, encoding, BodyLimits())
    assert sum(1 for _ in split_lines(pieces, BodyLimits())) == count


@pytest.mark.parametrize("encoding", list(Encoding))
def test_body_beyond_the_limit_is_too_large(encoding: Encoding) -> None:
    data = bytes(range(256)) * 5000
    with pytest.raises(TooLarge, match="larger than"):
        list(decompress([packed(data, encoding)], encoding, BodyLimits(decompressed_bytes=1 << 20)))


@pytest.mark.parametrize("encoding", [Encoding.GZIP, Encoding.ZSTD])
def test_a_bomb_is_stopped_long_before_its_end(encoding: Encoding) -> None:
    if encoding is Encoding.GZIP:
        compressor = zlib.compressobj(9, wbits=31)
        parts = [compressor.compress(bytes(1 << 20)) for _ in range(500)]
        bomb = b"".join(parts) + compressor.flush()
    else:
        bomb = zstandard.compress(bytes(500 << 20))
    pieces: list[int] = []
    with pytest.raises(TooLarge, match="expands"):
        pieces.extend(len(piece) for piece in decompress([bomb], encoding, BodyLimits()))
    assert sum(pieces) < 64 << 20


def test_hash_covers_the_content_without_a_second_reading() -> None:
    class CountedReads(io.BytesIO):
        starts = 0

        def seek(self, offset: int, whence: int = 0, /) -> int:
            self.starts += 1
            return super().seek(offset, whence)

    content = b"one\ntwo\n"
    read, unread = (CountedReads(packed(content, Encoding.GZIP)) for _ in range(2))
    body = UploadedBody(read, Encoding.GZIP, LIMITS)
    assert [line.content for line in body.read_lines()] == [b"one", b"two"]
    same = UploadedBody(unread, Encoding.GZIP, LIMITS)
    plain = UploadedBody(io.BytesIO(content), Encoding.IDENTITY, LIMITS)
    assert body.compute_sha256() == same.compute_sha256() == plain.compute_sha256()
    assert read.starts == unread.starts == 1
