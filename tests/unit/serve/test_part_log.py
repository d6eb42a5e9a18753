"""Ranges of bytes and the journal that remembers them across crashes."""

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.units import format_count
from tradewind_agent.serve.messages import RequestRefused
from tradewind_agent.serve.ranges import parse_content_range, parse_range
from tradewind_agent.serve.uploads.byte_ranges import ByteRanges
from tradewind_agent.serve.uploads.part_log import PartLog, read_journal

RANGES = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1])))


@given(RANGES)
def test_ranges_are_the_set_of_their_positions(ranges: list[tuple[int, int]]):
    held = ByteRanges(ranges)
    positions = {position for first, last in ranges for position in range(first, last + 1)}
    assert {position for first, last in held for position in range(first, last + 1)} == positions
    assert held.count_bytes == len(positions)
    merged = list(held)
    assert all(later[0] > earlier[1] + 1 for earlier, later in pairwise(merged))


@given(RANGES, st.integers(1, 90))
def test_a_file_is_covered_when_every_position_is_there(ranges: list[tuple[int, int]], total: int):
    positions = {position for first, last in ranges for position in range(first, last + 1)}
    inside = [(first, min(last, total - 1)) for first, last in ranges if first < total]
    assert ByteRanges(inside).covers(total) is (set(range(total)) <= positions)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.fixture
def journal(path: Path) -> Iterator[PartLog]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    journal = PartLog(descriptor, total_bytes=1000, boot="boot-1", inode=7)
    journal.rewrite(ByteRanges(), ByteRanges(), None)
    yield journal
    journal.close()


def test_within_one_boot_everything_written_counts(journal: PartLog, path: Path):
    journal.note_written(0, 99)
    journal.note_synced([(0, 99)])
    journal.note_written(200, 299)
    journal.note_sha256("ab")
    state = read_journal(path.read_text(), boot="boot-1", inode=7)
    assert state is not None
    assert (state.total_bytes, state.received.convert_to_lists(), state.sha256) == (1000, [[0, 99], [200, 299]], "ab")


@pytest.mark.parametrize("boot", ["boot-2", ""])
def test_after_another_boot_only_what_was_synced_counts(journal: PartLog, path: Path, boot: str):
    journal.note_written(0, 99)
    journal.note_synced([(0, 99)])
    journal.note_written(200, 299)
    state = read_journal(path.read_text(), boot=boot, inode=7)
    assert state is not None
    assert state.received.convert_to_lists() == [[0, 99]]


def test_a_journal_of_another_part_file_is_not_believed(journal: PartLog, path: Path):
    journal.note_written(0, 999)
    assert read_journal(path.read_text(), boot="boot-1", inode=8) is None


def test_a_line_cut_off_by_a_crash_does_not_count(journal: PartLog, path: Path):
    journal.note_written(0, 99)
    journal.note_written(100, 199)
    text = path.read_text()
    for cut in range(len(text)):
        read = text[:cut]
        known = (None, [], [[0, 99]])[read.count("\n")]
        assert list_received(read) == known
        # What a new process appends counts after a full line only.
        appended = known if known is None or not read.endswith("\n") else [*known, [500, 599]]
        assert list_received(f"{read}w 500 599\n") == appended


def list_received(text: str) -> list[list[int]] | None:
    state = read_journal(text, boot="boot-1", inode=7)
    return None if state is None else state.received.convert_to_lists()


def test_rewritten_journal_keeps_known_ranges(journal: PartLog, path: Path):
    for first in range(0, 1000, 2):
        journal.note_written(first, first)
    journal.rewrite(ByteRanges([(0, 9)]), ByteRanges([(0, 49)]), "cd")
    state = read_journal(path.read_text(), boot="boot-1", inode=7)
    assert state is not None
    assert (state.received.convert_to_lists(), state.sha256) == ([[0, 49]], "cd")
    assert len(path.read_text().splitlines()) == 4


@pytest.mark.parametrize(
    "text",
    ["", "\n", "nonsense\n", "tradewind-parts 2 10 b 7\n", "tradewind-parts 1 x b 7\n", "tradewind-parts 1 ² b 7\n"],
)
def test_invalid_journal_is_none(text: str):
    assert read_journal(text, boot="b", inode=7) is None


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(0, 1500))
def test_a_requested_range_lies_in_the_file_or_is_refused(first: int, last: int, size: int):
    field = f"bytes={first}-{last}"
    if last < first:
        assert size <= first or parse_range(field, size) is None
    elif first < size:
        assert parse_range(field, size) == (first, min(last, size - 1))
    else:
        with pytest.raises(RequestRefused, match=f"has {format_count(size, 'byte')}$"):
            parse_range(field, size)


@given(st.text(max_size=30))
def test_no_text_breaks_the_range_parsers(text: str):
    for field in (text, f"bytes={text}", f"bytes=1-{text}"):
        with suppress(RequestRefused):
            parse_range(field, 1000)
    for field in (text, f"bytes 1-{text}", f"bytes 1-2/{text}"):
        with suppress(RequestRefused):
            parse_content_range(field)


def test_numbers_longer_than_any_file_are_no_range():
    assert parse_range("bytes=0-" + "9" * 5000, 1000) is None
    with pytest.raises(RequestRefused):
        parse_content_range("bytes 0-1/" + "9" * 5000)
