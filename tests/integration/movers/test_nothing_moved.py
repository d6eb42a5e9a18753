"""Runs of tools that move nothing, or a part: what is there already, and what a dry run shows, is no transfer."""

import os
from pathlib import Path

import pytest

from tests.integration.movers.conftest import FILE_BYTES


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "from"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}").write_bytes(os.urandom(200_000))
    (folder / "empty").touch()
    return folder


@pytest.mark.parametrize("switch", ["--dry-run", "-n"])
def test_dry_run_of_rclone_is_no_transfer(drive, source, tmp_path, switch):
    report = drive.run(drive.prepare("rclone", "copy", switch, source, tmp_path / "to"))
    assert (report.exit_code, report.result.bytes_moved, report.result.files_done) == (0, 0, 0)
    assert drive.spooled() == []
    assert not (tmp_path / "to").exists()


@pytest.mark.parametrize(("words", "bytes_moved"), [(["-c"], 0), (["--allow-overwrite=true"], FILE_BYTES)])
def test_file_that_aria2_finds_is_moved_only_if_it_is_replaced(drive, slow, tmp_path, words, bytes_moved):
    (tmp_path / "to").mkdir()
    (tmp_path / "to" / "broken").symlink_to("nowhere")
    line = ("aria2c", "-q", *words, "-d", tmp_path / "to", f"{slow.url}f00")
    drive.run(drive.prepare(*line))
    report = drive.run(drive.prepare(*line))
    assert (report.exit_code, report.result.bytes_moved) == (0, bytes_moved)
    assert [row.outcome.bytes_moved for row in drive.spooled()] == [FILE_BYTES, bytes_moved][: 1 + bool(bytes_moved)]


def test_bytes_that_aria2_goes_on_from_are_not_moved_again(drive, slow, tmp_path):
    (tmp_path / "to").mkdir()
    drive.run(drive.prepare("aria2c", "-q", "-d", tmp_path / "to", f"{slow.url}f00"))
    complete = (tmp_path / "to" / "f00").read_bytes()
    (tmp_path / "to" / "f00").write_bytes(complete[: FILE_BYTES // 4])
    report = drive.run(drive.prepare("aria2c", "-q", "-c", "-d", tmp_path / "to", f"{slow.url}f00"))
    assert (tmp_path / "to" / "f00").read_bytes() == complete
    assert (report.result.bytes_moved, report.result.files_done) == (FILE_BYTES - FILE_BYTES // 4, 1)


def test_dry_run_of_aria2_is_no_transfer(drive, slow, tmp_path):
    report = drive.run(drive.prepare("aria2c", "-q", "--dry-run=true", "-d", tmp_path / "to", f"{slow.url}f00"))
    assert (report.exit_code, report.result.bytes_moved) == (0, 0)
    assert drive.spooled() == []


def rsync(ssh, *words):
    return ("rsync", "-a", "-e", f"ssh -F {ssh.config}", *words)


def test_rsync_counts_what_it_sends(drive, ssh, source, tmp_path):
    line = rsync(ssh, f"{source}/", f"{ssh.place(tmp_path / 'to')}/")
    assert drive.run(drive.prepare(*line)).result.bytes_moved == 600_000
    report = drive.run(drive.prepare(*line))
    assert (report.exit_code, report.result.bytes_moved, report.result.files_done) == (0, 0, 0)
    (source / "3").write_bytes(os.urandom(70_000))
    report = drive.run(drive.prepare(*line))
    assert (report.result.bytes_moved, report.result.files_done) == (70_000, 1)
    assert [row.outcome.bytes_moved for row in drive.spooled()] == [600_000, 70_000]


def test_rsync_counts_what_it_receives_of_a_file_that_has_grown(drive, ssh, source, tmp_path):
    line = rsync(ssh, f"{ssh.place(source)}/", f"{tmp_path / 'to'}/")
    drive.run(drive.prepare(*line))
    with (source / "0").open("ab") as grown:
        grown.write(os.urandom(1000))
    report = drive.run(drive.prepare(*line))
    assert (tmp_path / "to" / "0").read_bytes() == (source / "0").read_bytes()
    assert 1000 <= report.result.bytes_moved < 20_000
    assert report.result.files_done == 1


def test_dry_run_of_rsync_is_no_transfer(drive, ssh, source, tmp_path):
    report = drive.run(drive.prepare(*rsync(ssh, "-n", f"{source}/", f"{ssh.place(tmp_path / 'to')}/")))
    assert (report.exit_code, report.result.bytes_moved) == (0, 0)
    assert drive.spooled() == []


def test_log_of_the_users_own_is_written_and_nothing_is_logged(drive, ssh, source, tmp_path):
    own = tmp_path / "own.log"
    prepared = drive.prepare(*rsync(ssh, f"--log-file={own}", f"{source}/", f"{ssh.place(tmp_path / 'to')}/"))
    report = drive.run(prepared)
    assert report.result is None
    assert any("log of your own" in note for note in report.notes)
    assert "total size" in own.read_text()
    assert drive.spooled() == []
