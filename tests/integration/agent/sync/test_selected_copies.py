"""``tradewind copy --include`` and ``--exclude``: what is copied, what is not even listed, and what the user reads."""

import json
from pathlib import Path

import pytest

from tests.integration.agent.support.command import run
from tests.integration.serve_files.serving import serving
from tests.integration.trees import serving_tree

FILES = ("a.nc", "b.txt", "raw/c.nc", "raw/deep/d.nc", ".git/e.nc")


def fill(folder: Path) -> Path:
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def list_names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def pages(tmp_path):
    """A server of the files that counts the folders that are read."""
    with serving(fill(tmp_path / "source"), hidden=True) as server:
        yield server


def test_a_download_takes_what_is_included_and_not_excluded(pages, env, tmp_path):
    outcome = run("copy", pages.url, str(tmp_path / "copy"), "--include", "*.nc", "--exclude", ".git/", env=env)
    assert outcome.code == 0, outcome.err
    assert list_names(tmp_path / "copy") == {"a.nc", "raw/c.nc", "raw/deep/d.nc"}
    assert "; 1 file and 1 folder excluded; log" in outcome.out


def test_an_upload_takes_what_is_included_and_not_excluded(env, tmp_path):
    fill(tmp_path / "source")
    (tmp_path / "source" / "link.txt").symlink_to("b.txt")
    (tmp_path / "there").mkdir()
    excluded = ("--exclude", "*.txt", "--exclude", "/raw/")
    with serving(tmp_path / "there", writable=True, hidden=True) as server:
        outcome = run("copy", f"{tmp_path}/source", server.url, *excluded, "--json", env=env)
    assert outcome.code == 0, outcome.err
    assert list_names(tmp_path / "there") == {"a.nc", ".git/e.nc"}
    document = outcome.document
    assert (document["excluded_files"], document["excluded_folders"], document["left_out"]) == (2, 1, [])


def test_a_dry_run_counts_what_is_excluded(pages, env, tmp_path):
    outcome = run("copy", pages.url, str(tmp_path / "copy"), "--include", "raw/**", "--dry-run", "--json", env=env)
    assert outcome.code == 0, outcome.err
    document = outcome.document
    assert [Path(file).name for file in document["files"]] == ["c.nc", "d.nc"]
    assert (document["excluded_files"], document["excluded_folders"]) == (2, 1)


def test_a_copy_of_nothing_says_that_all_is_excluded(pages, env, tmp_path):
    outcome = run("copy", pages.url, str(tmp_path / "copy"), "--include", "*.grib", env=env)
    assert outcome.code == 1
    assert outcome.error.endswith("nothing to copy: 5 files excluded, and nothing else is there")


def test_a_source_that_is_a_file_and_lines_of_a_manifest_are_selected_too(pages, env, tmp_path):
    outcome = run("copy", f"{pages.url}a.nc", f"{pages.url}b.txt", f"{tmp_path}/two/", "--exclude", "b.*", env=env)
    assert (outcome.code, list_names(tmp_path / "two")) == (0, {"a.nc"}), outcome.err
    manifest = tmp_path / "list"
    manifest.write_text("".join(json.dumps({"path": name}) + "\n" for name in FILES))
    listed = ("--manifest", str(manifest), "--include", "/*")
    outcome = run("copy", pages.url, str(tmp_path / "some"), *listed, env=env)
    assert (outcome.code, list_names(tmp_path / "some")) == (0, {"a.nc", "b.txt"}), outcome.err


def test_a_folder_that_is_excluded_may_be_unreadable(env, tmp_path):
    with serving_tree({"a.bin": b"a" * 500, "private/": 403}) as url:
        outcome = run("copy", url, str(tmp_path / "copy"), "--exclude", "private/", env=env)
    assert outcome.code == 0, outcome.err
    assert list_names(tmp_path / "copy") == {"a.bin"}


@pytest.mark.parametrize("glob", ["", "../a", "a//b"])
def test_a_glob_that_matches_nothing_is_wrong_usage(env, tmp_path, glob):
    outcome = run("copy", "http://127.0.0.1:9/", str(tmp_path), "--include", glob, env=env)
    assert outcome.code == 2
    assert "matches no path" in outcome.error
