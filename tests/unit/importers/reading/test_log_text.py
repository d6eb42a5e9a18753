import bz2
import gzip
import io
import lzma

import pytest
import zstandard

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.importing import import_file
from tradewind_agent.history.importers.log_text import MAX_LINE_CHARS, LogText


def texts(content, **options):
    with LogText(io.BytesIO(content), **options) as text:
        return [(line.number, line.text) for line in text.read_lines()]


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_lines_are_the_same_however_they_are_packed_and_ended(pack, end):
    assert texts(pack(end.join([b"one", b"two", b"three"]))) == [(1, "one"), (2, "two"), (3, "three")]


def test_members_and_frames_that_follow_each_other_are_one_log():
    assert len(texts(gzip.compress(b"a\n") + gzip.compress(b"b\n"))) == 2
    assert len(texts(zstandard.compress(b"a\n") + zstandard.compress(b"b\n"))) == 2


def test_a_line_end_that_falls_between_two_blocks_is_one_end():
    long = b"x" * (2**16 - 1) + b"\r\n" + b"y"
    assert [text[0] for _, text in texts(long)] == ["x", "y"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks_show_the_encoding(encoding):
    assert texts("Größe,1\n".encode(encoding)) == [(1, "Größe,1")]


def test_bytes_that_are_no_text_are_marked_not_fatal():
    assert texts(b"caf\xe9\nnext\n") == [(1, "caf\ufffd"), (2, "next")]


def test_a_line_beyond_the_limit_is_a_fault_and_the_rest_is_read():
    with LogText(io.BytesIO(b"a\n" + b"x" * (3 * MAX_LINE_CHARS) + b"\nb\n" + b"y" * (2 * MAX_LINE_CHARS))) as text:
        lines = list(text.read_lines())
    assert [line.text for line in lines] == ["a", "", "b", ""]
    assert [line.fault is not None for line in lines] == [False, True, False, True]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_bomb_of_one_line_is_a_single_fault(pack):
    bomb = pack(b"0" * (16 << 20))
    with LogText(io.BytesIO(bomb)) as text:
        (line,) = text.read_lines()
    assert "longer than" in str(line.fault)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress, bz2.compress, lzma.compress])
def test_a_packed_log_that_is_cut_off_gives_its_beginning_and_a_fault(pack):
    packed = pack(b"".join(b"%d %d\n" % (number, number**7) for number in range(40_000)))
    assert_cut(packed)


def test_so_does_a_short_one_that_was_flushed_as_it_was_written():
    packer = zstandard.ZstdCompressor().compressobj()
    rows = (b"%d %d\n" % (number, number**7) for number in range(4000))
    assert_cut(b"".join(packer.compress(row) + packer.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for row in rows))


def assert_cut(packed):
    with LogText(io.BytesIO(packed[: len(packed) * 4 // 5])) as text:
        *lines, last = text.read_lines()
    assert len(lines) > 1000
    assert last.fault is not None
    assert "cut off" in last.fault.reason


def test_a_stream_that_cannot_go_back_is_read_twice_all_the_same(tmp_path):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    with LogText(Pipe(b"a\nb\n")) as text:
        assert text.read_sample() == "a\nb"
        assert [line.text for line in text.read_lines()] == ["a", "b"]
        assert [line.text for line in text.read_lines()] == ["a", "b"]


def test_stream_is_read_from_its_position_and_stays_open():
    stream = io.BytesIO(b"before\nafter\n")
    stream.readline()
    with LogText(stream, first_row=2) as text:
        assert [tuple(line)[:2] for line in text.read_lines()] == [(2, "after")]
    assert not stream.closed


def test_a_path_that_cannot_be_read_is_one_line(tmp_path):
    with pytest.raises(InvalidValue, match=r"cannot read .*nowhere"):
        LogText(tmp_path / "nowhere").read_sample()


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_a_packed_log_that_is_damaged_is_a_fault(pack):
    packed = bytearray(pack(b"".join(b"%d %d\n" % (number, number**5) for number in range(9_000))))
    packed[len(packed) // 2] ^= 0xFF
    with LogText(io.BytesIO(bytes(packed))) as text:
        *_, last = text.read_lines()
    assert "broken or cut off" in last.fault.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"PK\x03\x04" + bytes(600), "is an archive"),
        (b"x".ljust(257, b"\0") + b"ustar\x0000" + bytes(600), "is an archive"),
        (gzip.compress(b"x".ljust(257, b"\0") + b"ustar\x0000" + bytes(600)), "is an archive"),
        (gzip.compress(bz2.compress(b"a log\n")), "compressed more than once"),
        (lzma.compress(b"a log\n", format=lzma.FORMAT_ALONE), "in a way that is not read; gzip, zstd"),
    ],
    ids=["zip", "tar", "packed tar", "packed twice", "of another way"],
)
def test_archives_are_refused_with_what_to_do(content, reason):
    with pytest.raises(InvalidValue, match=reason):
        list(import_file(io.BytesIO(content), context=ENDS))


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress])
def test_last_line_before_damage_behind_a_packed_log_is_read(pack):
    table = "start,end,size (B),cc\n2026-03-01 10:00:00,2026-03-01 10:00:20,4000000,2\n"
    imported, refused, _ = run(pack(table.encode()) + bytes(512))
    assert (len(imported), len(refused)) == (1, 1)


def test_utf_32_is_read():
    table = "start,end,size (B),cc\n2026-03-01 10:00:00,2026-03-01 10:00:20,4000000,2\n"
    assert len(run(table.encode("utf-32"))[0]) == 1


def test_names_in_an_unknown_encoding_are_refused():
    table = "start,end,size (B),cc,source\n2026-03-01 10:00:00,2026-03-01 10:00:20,4000000,2,Zürich\n"
    imported, refused, _ = run(table.encode("latin-1"))
    assert imported == []
    assert "holds bytes that are no UTF-8" in refused[0].reason


def test_line_that_lost_a_piece_is_refused():
    """A system that stops leaves NUL bytes where it had not written yet."""
    table = b"start,end,size (B),cc\n2026-03-01 10:00:00,2026-03-01 10:00:20,4000000,2\n"
    imported, refused, _ = run(table + table.splitlines(keepends=True)[1].replace(b"0000,", b"0\0\0\0,"))
    assert len(imported) == 1
    assert "NUL" in refused[0].reason
