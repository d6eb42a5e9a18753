from pathlib import Path

import pytest

from tradewind_agent.engine.ranges import RangeSet
from tradewind_agent.engine.storage import Identity, PartFile, journal_path, part_path, read_journal
from tradewind_agent.errors import FileFault, StorageFailed

IDENTITY = Identity(10, '"v1"', "Sat, 21 Nov 2026 03:58:33 GMT")


def test_a_file_gets_its_name_only_when_published(tmp_path: Path):
    destination = tmp_path / "sub" / "file"
    part = PartFile(destination)
    part.write(5, b"56789")
    part.write(0, memoryview(b"01234"))
    assert not destination.exists()
    part.checkpoint(IDENTITY, RangeSet([(0, 9)]))
    part.complete(10, 1_000_000_000.0)
    part.name()
    assert destination.read_bytes() == b"0123456789"
    assert destination.stat().st_mtime == 1_000_000_000
    assert [path.name for path in destination.parent.iterdir()] == ["file"]


def test_the_journal_tells_the_next_run(tmp_path: Path):
    destination = tmp_path / "file"
    part = PartFile(destination)
    part.write(0, b"0123456789")
    part.checkpoint(IDENTITY, RangeSet([(0, 3), (6, 9)]))
    part.close()
    assert read_journal(destination) == (IDENTITY, RangeSet([(0, 3), (6, 9)]))


def test_ranges_beyond_the_part_are_not_believed(tmp_path: Path):
    destination = tmp_path / "file"
    part = PartFile(destination)
    part.write(0, b"0123456789")
    part.checkpoint(IDENTITY, RangeSet([(0, 9)]))
    part.close()
    part_path(destination).write_bytes(b"01234")
    assert read_journal(destination) == (IDENTITY, RangeSet())


def test_a_torn_line_ends_the_journal(tmp_path: Path):
    destination = tmp_path / "file"
    part = PartFile(destination)
    part.write(0, b"0123456789")
    part.checkpoint(IDENTITY, RangeSet([(0, 3), (6, 9)]))
    part.close()
    path = journal_path(destination)
    path.write_text(path.read_text().rstrip()[:-2])
    assert read_journal(destination) == (IDENTITY, RangeSet([(0, 3)]))


def test_nothing_is_noted_of_a_file_that_is_published(tmp_path: Path):
    part = PartFile(tmp_path / "file")
    part.write(0, b"x")
    part.complete(1, None)
    part.name()
    part.checkpoint(IDENTITY, RangeSet([(0, 0)]))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_planted_link_is_not_followed(tmp_path: Path):
    (tmp_path / "victim").write_text("precious")
    part_path(tmp_path / "file").symlink_to(tmp_path / "victim")
    with pytest.raises(FileFault):
        PartFile(tmp_path / "file").write(0, b"overwritten")
    assert (tmp_path / "victim").read_text() == "precious"


def test_only_a_broken_disk_stops_the_transfer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    part = PartFile(tmp_path / "file")
    part.write(0, b"x")
    for number, kind in ((28, StorageFailed), (30, StorageFailed), (27, FileFault)):

        def pwrite(*_: object, number: int = number) -> int:
            raise OSError(number, "refused")

        with monkeypatch.context() as patch:
            patch.setattr("os.pwrite", pwrite)
            with pytest.raises(kind):
                part.write(1, b"y")
    part.discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        (Identity(1), Identity(2), True),
        (Identity(1), Identity(None, '"a"'), False),
        (Identity(1, '"a"'), Identity(1, '"b"'), True),
        (Identity(1, '"a"', "x"), Identity(1, '"a"', "y"), False),
        (Identity(1, None, "x"), Identity(1, None, "y"), True),
        (Identity(), Identity(3, '"a"', "x"), False),
    ],
)
def test_versions_of_a_file(one: Identity, other: Identity, differs: bool):
    assert one.contradicts(other) is differs


def test_a_weak_etag_is_no_validator():
    assert Identity(1, 'W/"a"', "date").validator == "date"
    assert Identity(1, '"a"', "date").validator == '"a"'
    assert Identity(1).validator is None
