import errno
import os

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind_agent.history.log_tail import MAX_PART_BYTES, LogFile, Position, list_logs


@pytest.fixture
def log(tmp_path):
    return tmp_path / "transfers.log"


def take(path, position=None, **options):
    """Content, first row and position after the next part; ``None`` where there is none."""
    with LogFile(path, position) as log:
        part = log.read_next_part(**options)
        return None if part is None else (part.lines.read(), part.first_row, part.after)


def everything(path, position=None):
    """All parts from ``position`` on: their content joined, and where reading stopped."""
    content = b""
    while (taken := take(path, position)) is not None:
        content += taken[0]
        position = taken[2]
    return content, position


def test_only_entire_lines_are_taken_and_rows_are_counted_on(log):
    log.write_bytes(b"one\ntwo\nthr")
    content, first_row, after = take(log)
    assert (content, first_row, after.row) == (b"one\ntwo\n", 1, 3)
    assert take(log, after) is None
    with log.open("ab") as file:
        file.write(b"ee\nfour\n")
    assert take(log, after)[:2] == (b"three\nfour\n", 3)
    with LogFile(log, after) as opened:
        assert opened.read_head(6) == b"one\n"


def test_a_renamed_log_is_read_on_and_its_successor_from_the_start(log):
    log.write_bytes(b"one\n")
    _, _, after = take(log)
    with log.open("ab") as file:
        file.write(b"two\n")
    rotated = log.rename(log.with_suffix(".log.1"))
    log.write_bytes(b"three\n")
    assert take(rotated, after)[0] == b"two\n"
    with LogFile(rotated, after) as old, LogFile(log, None) as new:
        assert old.id != new.id


def test_a_log_cut_off_and_written_again_is_read_from_the_start(log):
    log.write_bytes(b"one\ntwo\n")
    _, _, after = take(log)
    log.write_bytes(b"six\n")
    assert take(log, after)[0] == b"six\n"
    log.write_bytes(b"six\nseven\neight\n")
    assert take(log, after)[:2] == (b"six\nseven\neight\n", 1)


def test_a_log_cut_off_under_a_long_header_and_grown_beyond_is_read_from_the_start(log):
    header = b"column," * 50 + b"\n"
    log.write_bytes(header + b"one\ntwo\n")
    _, _, after = take(log)
    assert take(log, after) is None
    log.write_bytes(header + b"six\nseven\neight\n")
    assert take(log, after)[:2] == (header + b"six\nseven\neight\n", 1)


def test_a_position_that_an_older_agent_stored_is_read_on_from(log):
    log.write_bytes(b"one\n")
    document = take(log)[2].build_document()
    del document["end_fingerprint"], document["end_fingerprint_bytes"]
    log.write_bytes(b"one\ntwo\n")
    assert take(log, Position(**document))[:2] == (b"two\n", 2)


def test_a_compressed_rotation_is_reported(log):
    log.write_bytes(b"\x1f\x8b\x08\x00 not lines\n")
    with LogFile(log, None) as opened:
        assert opened.is_compressed


def test_a_line_too_long_to_hold_is_skipped_as_one_row(log):
    log.write_bytes(b"one\n" + b"x" * (2 * MAX_PART_BYTES + 5) + b"\nthree\nfo")
    content, position = everything(log)
    assert content == b"one\nthree\n"
    assert position.row == 4
    assert not position.skipping


def test_all_there_is_can_be_taken_at_once(log):
    content = b"0123456789abcde\n" * (MAX_PART_BYTES // 8)
    log.write_bytes(content + b"tail")
    taken, first_row, after = take(log, most_bytes=None)
    assert taken == content
    assert (first_row, after.row) == (1, MAX_PART_BYTES // 8 + 1)


def test_the_same_bytes_can_be_taken_again(log):
    log.write_bytes(b"one\ntwo\n")
    taken = take(log)
    with log.open("ab") as file:
        file.write(b"three\n")
    assert take(log, until=taken[2].offset) == taken


def test_a_part_can_be_read_twice_by_seeking(log):
    log.write_bytes(b"one\ntwo\n")
    _, _, after = take(log, until=4)
    with LogFile(log, after) as opened:
        lines = opened.read_next_part().lines
        assert lines.read() == b"two\n"
        lines.seek(0)
        assert lines.read(2) == b"tw"
        assert lines.seek(-1, os.SEEK_END) == 3


def test_an_empty_log_has_nothing_to_take(log):
    log.touch()
    assert take(log) is None


def test_logs_are_listed_oldest_first_without_folders_hidden_files_and_other_names(tmp_path):
    for age, name in enumerate(["b.log", "a.log", ".hidden.log", "c.txt"]):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    (tmp_path / "d.log").mkdir()
    assert [path.name for path, _ in list_logs(tmp_path, "*.log")] == ["a.log", "b.log"]


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_any_way_of_growing_gives_every_entire_line_once(tmp_path_factory, pieces):
    log = tmp_path_factory.mktemp("logs") / "log"
    log.touch()
    taken, position = b"", None
    for piece in pieces:
        with log.open("ab") as file:
            file.write(piece)
        content, position = everything(log, position)
        taken += content
    written = log.read_bytes()
    assert taken == written[: written.rfind(b"\n") + 1]
    if position is not None:
        assert position.row == taken.count(b"\n") + 1


def test_a_log_that_cannot_be_looked_at_leaves_no_file_open(log, monkeypatch):
    log.write_text("one\n")

    def fail(_):
        raise OSError(errno.ESTALE, "stale file handle")

    before = psutil.Process().num_fds()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", fail)
        with pytest.raises(OSError, match="stale") as caught:
            LogFile(log, None)
    assert psutil.Process().num_fds() == before
    assert caught.value.errno == errno.ESTALE, "until here the frame, and a file in it, would be alive"
