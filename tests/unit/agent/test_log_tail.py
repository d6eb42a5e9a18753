import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind_agent.log_tail import MAX_PART_BYTES, file_id, logs_in, next_part


@pytest.fixture
def log(tmp_path):
    return tmp_path / "transfers.log"


def everything(path, position=None):
    """All parts from ``position`` on: their content joined, and where reading stopped."""
    content = b""
    while (part := next_part(path, position)) is not None:
        content += part.content
        position = part.end
    return content, position


def test_only_whole_lines_are_taken_and_rows_are_counted_on(log):
    log.write_bytes(b"one\ntwo\nthr")
    part = next_part(log, None)
    assert (part.content, part.first_row, part.end.row) == (b"one\ntwo\n", 1, 3)
    assert next_part(log, part.end) is None
    with log.open("ab") as file:
        file.write(b"ee\nfour\n")
    later = next_part(log, part.end)
    assert (later.content, later.first_row, later.head) == (b"three\nfour\n", 3, b"one\n")


def test_a_renamed_log_is_read_on_and_its_successor_from_the_start(log):
    log.write_bytes(b"one\n")
    first = next_part(log, None)
    with log.open("ab") as file:
        file.write(b"two\n")
    rotated = log.rename(log.with_suffix(".log.1"))
    log.write_bytes(b"three\n")
    assert next_part(rotated, first.end).content == b"two\n"
    assert next_part(log, None).file_id != first.file_id


def test_a_log_cut_off_and_written_anew_is_read_from_the_start(log):
    log.write_bytes(b"one\ntwo\n")
    part = next_part(log, None)
    log.write_bytes(b"six\n")
    assert next_part(log, part.end).content == b"six\n"
    log.write_bytes(b"six\nseven\neight\n")
    again = next_part(log, part.end)
    assert (again.content, again.first_row) == (b"six\nseven\neight\n", 1)


def test_a_compressed_rotation_is_not_read_again(log):
    log.write_bytes(b"\x1f\x8b\x08\x00 not lines\n")
    assert next_part(log, None) is None


def test_a_line_too_long_to_hold_is_skipped_as_one_row(log):
    log.write_bytes(b"one\n" + b"x" * (2 * MAX_PART_BYTES + 5) + b"\nthree\nfo")
    content, position = everything(log)
    assert content == b"one\nthree\n"
    assert position.row == 4
    assert not position.skipping


def test_the_same_bytes_can_be_taken_again(log):
    log.write_bytes(b"one\ntwo\n")
    part = next_part(log, None)
    with log.open("ab") as file:
        file.write(b"three\n")
    assert next_part(log, None, until=part.end.offset) == part


def test_an_empty_log_has_nothing_to_take(log):
    log.touch()
    assert next_part(log, None) is None


def test_logs_are_listed_oldest_first_without_folders_hidden_files_and_other_names(tmp_path):
    for age, name in enumerate(["b.log", "a.log", ".hidden.log", "c.txt"]):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    (tmp_path / "d.log").mkdir()
    assert [path.name for path, _ in logs_in(tmp_path, "*.log")] == ["a.log", "b.log"]


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_any_way_of_growing_gives_every_whole_line_once(tmp_path_factory, pieces):
    log = tmp_path_factory.mktemp("logs") / "log"
    log.touch()
    taken, position = b"", None
    for piece in pieces:
        with log.open("ab") as file:
            file.write(b"g" + piece)  # never looks compressed
        content, position = everything(log, position)
        taken += content
    written = log.read_bytes()
    assert taken == written[: written.rfind(b"\n") + 1]
    if position is not None:
        assert position.row == taken.count(b"\n") + 1
        assert file_id(log.stat())
