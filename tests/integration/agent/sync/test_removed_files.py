"""``tradewind copy --delete``: what is removed, what never is, and who has to agree."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conditions import eventually, stretched
from tests.integration.agent.support.command import COMMAND, PATIENCE_S, Outcome, run
from tests.integration.agent.sync.copying import read, write
from tests.integration.engine.servers.web_servers import nginx
from tests.integration.serve_files.serving import serving


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("a", "sub/b", "sub/deep/c"):
        write(tmp_path / "source" / name, name)
    return tmp_path / "source"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A destination that has a file of the source, and others."""
    for name in ("a", "extra", "sub/old", "gone/deep/er/x", "kept.tmp", "keep/y"):
        write(tmp_path / "there" / name, "there")
    return tmp_path / "there"


@pytest.fixture
def pages(source: Path) -> Iterator[str]:
    with serving(source) as server:
        yield server.url


EXCLUDED = ("--exclude", "*.tmp", "--exclude", "keep/")
STAYING = {"kept.tmp": "there", "keep/y": "there"}


def list_folders(folder: Path) -> set[str]:
    return {each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_dir()}


def test_a_download_removes_what_the_source_has_not_and_empty_folders(pages, source, there, env):
    outcome = run("copy", pages, str(there), "--delete", "--yes", *EXCLUDED, "--json", env=env)
    assert outcome.code == 0, outcome.err
    assert read(there) == read(source) | STAYING
    assert list_folders(there) == {"sub", "sub/deep", "keep"}
    document = outcome.document
    assert sorted(document["removed"]) == sorted(f"{there}/{name}" for name in ("extra", "sub/old", "gone/deep/er/x"))
    assert (document["not_removed"], document["removal_obstacle"]) == ([], None)
    again = run("copy", pages, str(there), "--delete", "--yes", *EXCLUDED, env=env)
    assert "; 0 files removed" in again.out


def test_an_upload_removes_what_the_source_has_not(source, there, env):
    with serving(there, writable=True) as server:
        outcome = run("copy", f"{source}/", server.url, "--delete", "--yes", *EXCLUDED, env=env)
    assert outcome.code == 0, outcome.err
    assert "; 3 files removed" in outcome.out
    assert read(there) == read(source) | STAYING


def test_an_upload_to_nginx_removes_by_its_index(source, there, env, tmp_path):
    (tmp_path / "work").mkdir()
    dav = "dav_methods PUT DELETE; create_full_put_path on;"
    with nginx(there, tmp_path / "work", server=dav) as server:
        outcome = run("copy", f"{source}/", f"{server.url}/", "--delete", "--yes", *EXCLUDED, env=env)
    assert outcome.code == 0, outcome.err
    assert read(there) == read(source) | STAYING


def test_a_server_that_removes_nothing_is_reported_in_one_line(source, there, env, tmp_path):
    (tmp_path / "work").mkdir()
    with nginx(there, tmp_path / "work", server="dav_methods PUT; create_full_put_path on;") as server:
        outcome = run("copy", f"{source}/", f"{server.url}/", "--delete", "--yes", env=env)
    assert outcome.code == 1
    assert "; 0 files removed, 5 not, first " in outcome.out
    assert "it removes no files" in outcome.out
    assert (there / "extra").exists()


def test_a_dry_run_lists_what_would_be_removed_and_removes_nothing(pages, there, env):
    before = read(there)
    outcome = run("copy", pages, str(there), "--delete", *EXCLUDED, "--dry-run", env=env)
    assert outcome.code == 0, outcome.err
    assert "; 3 files to remove" in outcome.out
    assert f"  remove {there}/extra\n" in outcome.out
    document = run("copy", pages, str(there), "--delete", *EXCLUDED, "--dry-run", "--json", env=env).document
    assert document["to_remove"] == [f"{there}/{name}" for name in ("extra", "gone/deep/er/x", "sub/old")]
    assert read(there) == before


def test_a_script_has_to_agree_before_anything_moves(pages, there, env):
    before = read(there)
    outcome = run("copy", pages, str(there), "--delete", env=env)
    assert outcome.code == 2
    assert "--delete" in outcome.error
    assert "needs --yes" in outcome.error
    assert read(there) == before


def answer(text: str, *arguments: str, env: dict[str, str]) -> Outcome:
    """Run a command at a terminal where somebody types an answer."""
    ours, theirs_fd = pty.openpty()
    try:
        process = subprocess.Popen(
            [*COMMAND, *arguments], env=env, stdin=theirs_fd, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        os.write(ours, text.encode())
        out, err = process.communicate(timeout=stretched(PATIENCE_S))
    finally:
        os.close(ours)
        os.close(theirs_fd)
    return Outcome(process.returncode, out.decode(), err.decode())


def test_the_question_to_a_user_has_the_count_and_names(pages, source, there, env):
    before = read(there)
    declined = answer("n\n", "copy", pages, str(there), "--delete", *EXCLUDED, env=env)
    assert declined.code == 1
    assert "3 files to remove when all is copied:" in declined.err
    assert f"  remove {there}/extra" in declined.err
    assert "the removal was declined; nothing was copied" in declined.err
    assert read(there) == before
    agreed = answer("y\n", "copy", pages, str(there), "--delete", *EXCLUDED, env=env)
    assert agreed.code == 0, agreed.err
    assert read(there) == read(source) | STAYING


def test_links_and_what_is_behind_them_stay(pages, source, there, env, tmp_path):
    write(tmp_path / "outside" / "file", "outside")
    (there / "link").symlink_to(tmp_path / "outside" / "file")
    (there / "folder").symlink_to(tmp_path / "outside")
    outcome = run("copy", pages, str(there), "--delete", "--yes", env=env)
    assert outcome.code == 0, outcome.err
    assert (there / "link").is_symlink()
    assert (there / "folder").is_symlink()
    assert read(tmp_path / "outside") == {"file": "outside"}


def test_parts_of_other_copies_stay(pages, there, env):
    for name in (".x.tradewind-part", ".x.tradewind-journal", ".tradewind-part-12"):
        write(there / name, "under way")
    assert run("copy", pages, str(there), "--delete", "--yes", env=env).code == 0
    assert {name for name in read(there) if name.startswith(".")} == {
        ".x.tradewind-part",
        ".x.tradewind-journal",
        ".tradewind-part-12",
    }


def test_nothing_is_removed_where_a_file_failed(pages, source, there, env):
    (there / "a").unlink()
    (there / "a").mkdir()
    write(there / "a" / "in the way", "x")
    before = read(there)
    outcome = run("copy", pages, str(there), "--delete", "--yes", "--json", env=env)
    assert outcome.code == 1
    assert outcome.document["removal_obstacle"] == "not every file was copied"
    assert read(there) == before | {name: name for name in ("sub/b", "sub/deep/c")}


@pytest.mark.parametrize("rule", [(), ("--skip-links",)])
def test_nothing_is_removed_where_the_source_was_left_out_in_part(source, there, env, rule):
    (source / "link").symlink_to("a")
    with serving(there, writable=True) as server:
        outcome = run("copy", f"{source}/", server.url, "--delete", "--yes", *rule, env=env)
        planned = run("copy", f"{source}/", server.url, "--delete", "--dry-run", *rule, env=env)
    assert (outcome.code, planned.code) == (1, 1)
    assert f"; nothing removed: {source}/link is a symbolic link" in outcome.out
    assert "; nothing is removed: " in planned.out
    assert (there / "extra").exists()


@pytest.mark.parametrize("link", ['<a href="?page=7">Last</a>', '<a href="?dir=old">old/</a>'])
def test_nothing_is_removed_where_a_link_of_the_index_may_hold_further_files(source, there, env, tmp_path, link):
    write(source / "index.html", f'<title>Index of /</title><a href="a">a</a><br>{link}')
    (tmp_path / "work").mkdir()
    with nginx(source, tmp_path / "work", server="types { text/html html; }") as server:
        outcome = run("copy", f"{server.url}/", str(there), "--delete", "--yes", env=env)
    assert outcome.code == 1
    assert f"; nothing removed: {server.url}/?" in outcome.out
    assert (there / "sub/old").exists()


@pytest.mark.parametrize("kind", ["empty", "missing", "excluded"])
def test_a_source_without_files_removes_nothing(source, there, env, tmp_path, kind):
    before = read(there)
    (tmp_path / "empty").mkdir()
    place = {"empty": tmp_path / "empty", "missing": tmp_path / "missing", "excluded": source}[kind]
    with serving(there, writable=True) as server:
        outcome = run("copy", f"{place}/", server.url, "--delete", "--yes", "--include", "*.none", env=env)
    assert outcome.code == 1
    assert read(there) == before


def test_a_source_that_is_no_single_folder_is_refused(pages, there, env, tmp_path):
    manifest = write(tmp_path / "list", json.dumps({"path": "a"}))
    for places in ((f"{pages}a", str(there)), (pages, f"{pages}sub/", str(there))):
        outcome = run("copy", *places, "--delete", "--yes", env=env)
        assert (outcome.code, "goes with one source, which is a folder, and" in outcome.error) == (2, True)
    outcome = run("copy", pages, str(there), "--manifest", str(manifest), "--delete", "--yes", env=env)
    assert (outcome.code, "does not go with a manifest" in outcome.error) == (2, True)
    assert (there / "extra").exists()


def test_an_interrupted_copy_removes_nothing(source, there, env, tmp_path):
    (source / "large").write_bytes(bytes(30_000_000))
    with serving(source) as server:
        process = subprocess.Popen(
            [*COMMAND, "copy", server.url, str(there), "--delete", "--yes", "--limit-rate", "20Mbps", "--json"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        eventually((there / "sub" / "deep" / "c").exists)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=stretched(PATIENCE_S))
    assert process.returncode == 128 + signal.SIGINT, err
    assert json.loads(out)["removal_obstacle"] == "not every file was copied"
    assert (there / "extra").exists()


def test_a_name_that_another_case_of_may_be_a_copied_file_waits_for_the_next_run(source, there, env):
    write(there / "SUB" / "B", "other case")
    with serving(there, writable=True) as server:
        first = run("copy", f"{source}/", server.url, "--delete", "--yes", "--json", env=env)
        assert first.code == 1
        assert [each["file"] for each in first.document["not_removed"]] == [f"{server.url}SUB/B"]
        second = run("copy", f"{source}/", server.url, "--delete", "--yes", env=env)
    assert second.code == 0, second.err
    assert read(there) == read(source)


@pytest.mark.parametrize(
    "arguments", [("--yes",), ("--delete", "--yes", "--mover", "curl"), ("--skip", "newer", "--mover", "curl")]
)
def test_options_that_do_not_go_together_are_refused_in_one_line(there, env, arguments: tuple[str, ...]):
    outcome = run("copy", "http://127.0.0.1:9/", str(there), *arguments, env=env)
    assert outcome.code == 2
    assert outcome.error
