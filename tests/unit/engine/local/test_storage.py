import errno
import fcntl
import os
import stat
from datetime import datetime
from pathlib import Path

import pytest

from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.journal import build_journal_path, build_part_path, read_journal
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.local.storage import PartFile, PartInUse
from tradewind_agent.errors import FileFault, StorageFailed

IDENTITY = FileIdentity(10, '"v1"', "Sat, 21 Nov 2026 03:58:33 GMT")


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


@pytest.mark.parametrize("name", ["n" * 224, "n" * 225, "n" * 255, "漢" * 85, os.fsdecode(b"\xff" * 255)])
def test_name_of_any_permitted_length_is_stored_and_resumed(tmp_path: Path, name: str):
    destination = tmp_path / name
    part = PartFile(destination)
    part.write(0, b"01234")
    part.checkpoint(IDENTITY, RangeSet([(0, 4)]))
    part.close()
    assert read_journal(destination) == (IDENTITY, RangeSet([(0, 4)]))
    part.complete(5, None)
    part.name()
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_long_names_with_the_same_beginning_have_parts_of_their_own(tmp_path: Path):
    one, other = (tmp_path / ("n" * 250 + end) for end in "ab")
    assert build_part_path(one) != build_part_path(other)
    assert build_journal_path(one) != build_journal_path(other)


def test_journal_lets_next_run_resume(tmp_path: Path):
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
    build_part_path(destination).write_bytes(b"01234")
    assert read_journal(destination) == (IDENTITY, RangeSet())


def test_journal_that_is_a_pipe_or_nested_beyond_all_bounds_leaves_nothing(tmp_path: Path):
    build_part_path(tmp_path / "file").write_bytes(b"01234")
    journal = build_journal_path(tmp_path / "file")
    journal.write_text("[" * 200_000)
    assert read_journal(tmp_path / "file") is None
    journal.unlink()
    os.mkfifo(journal)
    assert read_journal(tmp_path / "file") is None


def test_part_of_another_host_is_not_resumed(tmp_path: Path):
    destination = tmp_path / "file"
    part = PartFile(destination, "http://one.example/file")
    part.write(0, b"01234")
    part.close_for_resume(IDENTITY, RangeSet([(0, 4)]))
    assert read_journal(destination, "http://one.example/file") is not None
    for source in ("http://two.example/file", "http://one.example:81/other", "http://one.example/file?b"):
        assert read_journal(destination, source) is None


@pytest.mark.parametrize("has_older_journal", [False, True])
def test_journal_that_cannot_be_written_leaves_nothing_that_no_run_could_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_older_journal: bool
):
    destination = tmp_path / "file"
    part = PartFile(destination)
    part.write(0, b"0123456789")
    if has_older_journal:
        part.checkpoint(IDENTITY, RangeSet([(0, 4)]))

    def fill(path: Path, *_: object) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", fill)
        with pytest.raises(StorageFailed):
            part.close_for_resume(IDENTITY, RangeSet([(0, 9)]))
    left = [build_journal_path(destination).name, build_part_path(destination).name] if has_older_journal else []
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    assert read_journal(destination) == ((IDENTITY, RangeSet([(0, 4)])) if has_older_journal else None)


def test_removing_a_part_removes_a_journal_that_was_being_written(tmp_path: Path):
    destination = tmp_path / "file"
    part = PartFile(destination)
    part.write(0, b"0123456789")
    build_journal_path(destination).with_name(build_journal_path(destination).name + ".new").touch()
    part.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_torn_line_ends_the_journal(tmp_path: Path):
    destination = tmp_path / "file"
    part = PartFile(destination)
    part.write(0, b"0123456789")
    part.checkpoint(IDENTITY, RangeSet([(0, 3), (6, 9)]))
    part.close()
    path = build_journal_path(destination)
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
    build_part_path(tmp_path / "file").symlink_to(tmp_path / "victim")
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
        (FileIdentity(1), FileIdentity(2), True),
        (FileIdentity(1), FileIdentity(None, '"a"'), False),
        (FileIdentity(1, '"a"'), FileIdentity(1, '"b"'), True),
        (FileIdentity(1, '"a"', "x"), FileIdentity(1, '"a"', "y"), False),
        (FileIdentity(1, None, "x"), FileIdentity(1, None, "y"), True),
        (FileIdentity(), FileIdentity(3, '"a"', "x"), False),
    ],
)
def test_versions_of_a_file(one: FileIdentity, other: FileIdentity, differs: bool):
    assert one.contradicts(other) is differs


@pytest.mark.parametrize(
    ("identity", "validator"),
    [
        (FileIdentity(1, '"a"', "date", has_strong_time=True), '"a"'),
        (FileIdentity(1, 'W/"a"', "date", has_strong_time=True), None),
        (FileIdentity(1, None, "date", has_strong_time=True), "date"),
        (FileIdentity(1, None, "date"), None),
        (FileIdentity(1), None),
    ],
)
def test_only_what_names_one_version_is_a_validator(identity: FileIdentity, validator: str | None):
    assert identity.validator == validator


@pytest.mark.parametrize(
    ("date", "arrived", "is_strong"),
    [
        ("Sat, 21 Nov 2026 03:58:34 GMT", "03:58:34", True),
        ("Sat, 21 Nov 2026 03:58:33 GMT", "09:00:00", False),
        ("Sat, 21 Nov 2026 03:58:32 GMT", "09:00:00", False),
        (None, "03:59:33", True),
        (None, "03:59:32", False),
        ("no date", "03:59:32", False),
    ],
)
def test_a_time_of_modification_is_strong_once_it_is_past(date: str | None, arrived: str, is_strong: bool):
    fields = {"last-modified": "Sat, 21 Nov 2026 03:58:33 GMT"} | ({"date": date} if date else {})
    answered = FileIdentity.from_answer(fields, 1, now=datetime.fromisoformat(f"2026-11-21T{arrived}+00:00"))
    assert answered.has_strong_time is is_strong


def test_a_part_that_another_run_writes_is_refused_and_left_alone(tmp_path: Path):
    destination = tmp_path / "file"
    part, rival = PartFile(destination), PartFile(destination)
    part.write(0, b"mine")
    for attempt in (rival.resume, rival.discard, lambda: rival.write(0, b"other")):
        with pytest.raises(PartInUse, match="another copy is writing"):
            attempt()
    rival.close()
    part.complete(4, None)
    part.name()
    assert destination.read_bytes() == b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_part_without_a_journal_is_not_written_into(tmp_path: Path):
    build_part_path(tmp_path / "file").write_bytes(b"of a run that crashed")
    part = PartFile(tmp_path / "file")
    assert part.resume() is None
    part.write(0, b"x")
    part.complete(1, None)
    part.name()
    assert (tmp_path / "file").read_bytes() == b"x"


def test_a_part_that_another_run_took_while_it_was_closed_gets_no_name(tmp_path: Path):
    destination = tmp_path / "file"
    part, rival = PartFile(destination), PartFile(destination)
    part.write(0, b"mine")
    part.close()
    rival.write(0, b"other")
    rival.close()
    with pytest.raises(FileFault, match="was taken away"):
        part.name()
    assert not destination.exists()


@pytest.mark.parametrize(
    ("source", "identity"),
    [
        ("http://a/other", IDENTITY),
        ("http://a/file?version=2", IDENTITY),
        ("http://b/file", FileIdentity(10, None, "Sat, 21 Nov 2026 03:58:33 GMT", has_strong_time=True)),
    ],
)
def test_a_part_of_another_source_is_not_gone_on_with(tmp_path: Path, source: str, identity: FileIdentity):
    destination = tmp_path / "file"
    part = PartFile(destination, "http://a/file")
    part.write(0, b"0123456789")
    part.close_for_resume(identity, RangeSet([(0, 9)]))
    assert PartFile(destination, source).resume() is None
    assert list(tmp_path.iterdir()) == []


def test_a_part_of_one_path_and_strong_etag_is_gone_on_with_by_another_port_of_the_host(tmp_path: Path):
    part = PartFile(tmp_path / "file", "http://a/file")
    part.write(0, b"0123456789")
    part.close_for_resume(IDENTITY, RangeSet([(0, 9)]))
    assert PartFile(tmp_path / "file", "http://a:8080/file").resume() == (IDENTITY, RangeSet([(0, 9)]))


def test_runs_without_locks_have_parts_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    destination = tmp_path / "file"
    one, other = PartFile(destination), PartFile(destination)
    for part, content in ((one, b"one"), (other, b"two")):
        assert part.resume() is None
        part.write(0, content)
    other.close_for_resume(IDENTITY, RangeSet([(0, 2)]))
    one.complete(3, None)
    one.name()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"one"}


@pytest.mark.parametrize("linked", [False, True])
def test_special_files_are_never_replaced(tmp_path: Path, linked: bool):
    destination = tmp_path / "pipe"
    os.mkfifo(tmp_path / "there" if linked else destination)
    if linked:
        destination.symlink_to(tmp_path / "there")
    part = PartFile(destination)
    part.write(0, b"x")
    part.complete(1, None)
    with pytest.raises(FileFault, match="is a pipe; a copy replaces only files"):
        part.name()
    assert stat.S_ISFIFO(destination.stat().st_mode)


def test_writing_behind_changes_nothing_of_a_part(tmp_path: Path):
    part = PartFile(tmp_path / "file")
    part.write_behind()  # nothing is there yet
    part.write(0, b"01234")
    part.write_behind()
    part.complete(5, None)
    part.name()
    part.write_behind()  # it is closed
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"01234"]


def test_host_without_that_call_writes_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tradewind_agent.engine.local.local_files._find_sync_file_range", lambda: None)
    test_writing_behind_changes_nothing_of_a_part(tmp_path)
