"""Copies whose ends are both on this host."""

import os
from pathlib import Path

import pytest

from tests.integration.agent.support.command import run
from tradewind_agent.copy.within_host import moving
from tradewind_agent.copy.within_host.listing import list_local_files
from tradewind_agent.copy.within_host.moving import LocalCopy
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.omissions import REPORT_ALL

NANOSECOND = 1_700_000_000_123_456_789


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with an empty file, a program, and one of several blocks."""
    folder = tmp_path / "source"
    (folder / "sub").mkdir(parents=True)
    for name, content, mode in (
        ("empty", b"", 0o644),
        ("tool", b"#!x", 0o755),
        ("sub/large", os.urandom(9_000_001), 0o600),
    ):
        (folder / name).write_bytes(content)
        (folder / name).chmod(mode)
        os.utime(folder / name, ns=(NANOSECOND, NANOSECOND))
    return folder


def read_tree(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Return content, permissions and time of each file below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime_ns)
        for path in files
    }


def test_folder_arrives_with_times_and_permissions_and_is_logged(env, source, tmp_path):
    document = run("copy", f"{source}/", f"{tmp_path}/copy/", "--json", env=env).document
    assert read_tree(tmp_path / "copy") == read_tree(source)
    assert (document["status"], document["files_done"], document["bytes_moved"]) == ("succeeded", 3, 9_000_004)
    (record,) = document["records"]
    assert record["source"] == record["destination"]
    assert (record["protocol"], record["store"]) == ("file", "file")
    again = run("copy", f"{source}/", f"{tmp_path}/copy/", "--json", env=env).document
    assert (again["files_done"], again["files_skipped"], again["records"]) == (0, 3, [])


def test_file_gets_a_new_name_or_goes_into_a_folder(env, source, tmp_path):
    assert run("copy", str(source / "tool"), f"file://{tmp_path}/renamed", env=env).code == 0
    assert run("copy", str(source / "tool"), str(source / "empty"), f"{tmp_path}/folder", env=env).code == 0
    assert (tmp_path / "renamed").read_bytes() == b"#!x"
    assert sorted(read_tree(tmp_path / "folder")) == ["empty", "tool"]


def test_checksum_finds_what_size_and_time_hide(env, source, tmp_path):
    run("copy", f"{source}/", f"{tmp_path}/copy/", env=env)
    damaged = tmp_path / "copy" / "tool"
    damaged.write_bytes(b"abc")
    os.utime(damaged, ns=(NANOSECOND, NANOSECOND))
    assert run("copy", f"{source}/", f"{tmp_path}/copy/", "--json", env=env).document["files_skipped"] == 3
    assert run("copy", f"{source}/", f"{tmp_path}/copy/", "--checksum", env=env).code == 0
    assert damaged.read_bytes() == b"#!x"


def test_dry_run_writes_nothing(env, source, tmp_path):
    outcome = run("copy", f"{source}/", f"{tmp_path}/copy/", "--dry-run", env=env)
    assert "copy within this host of 3 files, 9 MB" in outcome.out
    assert f"{source}/tool -> {tmp_path}/copy/tool" in outcome.out
    assert not (tmp_path / "copy").exists()


def test_selection_and_removal_hold(env, source, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "old").write_bytes(b"x")
    outcome = run("copy", f"{source}/", f"{tmp_path}/copy/", "--exclude", "sub/", "--delete", "--yes", env=env)
    assert outcome.code == 0, outcome.err
    assert sorted(read_tree(tmp_path / "copy")) == ["empty", "tool"]


def test_newer_file_stays_where_it_is_to(env, source, tmp_path):
    (tmp_path / "tool").write_bytes(b"mine")
    assert run("copy", str(source / "tool"), f"{tmp_path}/", "--skip", "newer", env=env).code == 0
    assert (tmp_path / "tool").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("places", "options", "words", "code"),
    [
        (("source/", "source/sub/inner/"), (), "would be copied into itself", 1),
        (("source/", "."), ("--delete", "--yes"), "would remove the source", 2),
        (("missing", "there"), (), "does not exist", 1),
        (("source/tool", "source/tool"), (), "both names are those of one file", 1),
        (("source/tool", "source/sub"), ("--compress", "auto"), "to or from a server", 2),
        (("source/tool", "source/empty/x"), (), "empty", 1),
    ],
)
def test_copy_that_cannot_be_is_refused_in_one_line(env, source, tmp_path, places, options, words, code):
    before = read_tree(source)
    outcome = run("copy", *(f"{tmp_path}/{place}" for place in places), *options, env=env)
    assert outcome.code == code
    assert words in outcome.out + outcome.err
    assert read_tree(source) == before


def test_links_are_left_out_and_named(env, source, tmp_path):
    (source / "link").symlink_to("tool")
    outcome = run("copy", f"{source}/", f"{tmp_path}/copy/", env=env)
    assert outcome.code == 1
    assert "symbolic link" in outcome.out
    assert len(read_tree(tmp_path / "copy")) == 3


def copy_by_hand(source: Path, target: Path, on_progress=None):
    return LocalCopy(EngineOptions(), on_progress).run(list_local_files([source], f"{target}/", REPORT_ALL).jobs)


def test_file_that_changes_meanwhile_gets_no_name(source, tmp_path, monkeypatch):
    monkeypatch.setattr(moving, "BLOCK_BYTES", 1 << 20)
    large = source / "sub" / "large"

    def change(moved_bytes: int, _files: int) -> None:
        if moved_bytes == 3 << 20:
            with large.open("ab") as file:
                file.write(b"more")

    outcome = copy_by_hand(source, tmp_path / "copy", change)
    assert [(each.file, each.is_retryable) for each in outcome.failures] == [(str(large), True)]
    assert sorted(read_tree(tmp_path / "copy")) == ["empty", "tool"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("replace", [os.mkfifo, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "device"])
def test_file_that_was_replaced_by_what_is_none_is_refused_at_once(source, tmp_path, replace):
    jobs = list_local_files([source], f"{tmp_path}/copy/", REPORT_ALL).jobs
    (source / "tool").unlink()
    replace(source / "tool")
    (failure,) = LocalCopy(EngineOptions(), None).run(jobs).failures
    assert "no regular file" in failure.reason
    assert sorted(read_tree(tmp_path / "copy")) == ["empty", "sub/large"]


def test_interrupt_leaves_no_part(source, tmp_path, monkeypatch):
    monkeypatch.setattr(moving, "BLOCK_BYTES", 1 << 20)

    due = iter([3 << 20])

    def interrupt(moved_bytes: int, _files: int) -> None:
        if moved_bytes >= 3 << 20 and next(due, None) is not None:
            raise KeyboardInterrupt

    outcome = copy_by_hand(source, tmp_path / "copy", interrupt)
    assert outcome.is_cancelled
    assert not [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]


def test_change_within_the_second_is_copied(env, source, tmp_path):
    run("copy", f"{source}/", f"{tmp_path}/copy/", env=env)
    (source / "tool").write_bytes(b"new")
    os.utime(source / "tool", ns=(NANOSECOND + 1_000, NANOSECOND + 1_000))
    assert run("copy", f"{source}/", f"{tmp_path}/copy/", "--json", env=env).document["files_done"] == 1
    assert (tmp_path / "copy" / "tool").read_bytes() == b"new"


@pytest.mark.parametrize("step_ns", [100, 1_000, 1_000_000, 10_000_000, 1_000_000_000])
def test_time_that_a_file_system_stores_less_exactly_is_the_same(env, source, tmp_path, step_ns: int):
    run("copy", f"{source}/", f"{tmp_path}/copy/", env=env)
    stored_ns = NANOSECOND // step_ns * step_ns
    os.utime(tmp_path / "copy" / "tool", ns=(stored_ns, stored_ns))
    assert run("copy", f"{source}/", f"{tmp_path}/copy/", "--json", env=env).document["files_skipped"] == 3


def test_files_named_like_unfinished_copies_are_left_out_and_named(env, source, tmp_path):
    (source / ".tool.tradewind-part").write_bytes(b"not ours")
    for number in range(100):  # those before are named by then
        (source / f"file{number}").write_bytes(b"x")
    outcome = run("copy", f"{source}/", f"{tmp_path}/copy/", env=env)
    assert outcome.code == 1
    assert f"1 left out, first {source}/.tool.tradewind-part: it has the name of an unfinished copy" in outcome.out
    assert (tmp_path / "copy" / "tool").read_bytes() == b"#!x"
    assert not (tmp_path / "copy" / ".tool.tradewind-part").exists()


def test_folder_in_place_of_a_file_is_refused_before_anything_is_written(env, source, tmp_path):
    (tmp_path / "copy" / "tool").mkdir(parents=True)
    assert run("copy", f"{source}/", f"{tmp_path}/copy/", env=env).code == 1
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["empty", "sub", "tool"]


def test_selection_that_takes_nothing_of_the_source_removes_nothing(env, source, tmp_path):
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "old.nc").write_bytes(b"x")
    outcome = run("copy", f"{source}/", f"{tmp_path}/copy/", "--include", "*.nc", "--delete", "--yes", env=env)
    assert (outcome.code, outcome.error) == (
        1,
        "tradewind: nothing to copy: 3 files excluded, and nothing else is there",
    )
    assert (tmp_path / "copy" / "old.nc").exists()
