"""Notes of unfinished uploads: what the next run reads, and what a run at the same time does not."""

from pathlib import Path

from tradewind_agent.stores.s3.sending.upload_notes import open_note

ADDRESS = "http://store/data/a"


def test_next_run_reads_the_id_that_a_broken_one_has_noted(tmp_path: Path):
    note = open_note(tmp_path / "uploads", ADDRESS)
    assert note is not None
    assert note.upload_id == ""
    note.write("a long id of an earlier attempt")
    note.write("id ü")
    note.close(is_over=False)
    again = open_note(tmp_path / "uploads", ADDRESS)
    assert again is not None
    assert again.upload_id == "id ü"
    again.close(is_over=True)
    assert list((tmp_path / "uploads").iterdir()) == []


def test_run_at_the_same_time_gets_no_note(tmp_path: Path):
    note, other = open_note(tmp_path, ADDRESS), open_note(tmp_path, f"{ADDRESS}b")
    assert note is not None
    assert other is not None
    assert open_note(tmp_path, ADDRESS) is None
    note.close(is_over=True)
    other.close(is_over=True)


def test_without_a_folder_or_a_disk_for_it_there_are_no_notes(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"")
    assert open_note(None, ADDRESS) is None
    assert open_note(tmp_path / "file", ADDRESS) is None
