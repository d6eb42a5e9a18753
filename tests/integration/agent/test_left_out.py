"""What a copy leaves out: it says so, and its exit status does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.agent.support.command import run
from tests.integration.engine.transfers import digests
from tests.integration.serve_files.serving import serving
from tests.integration.trees import Tree, serving_tree
from tradewind_agent.serve import Server


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "received").mkdir()
    with serving(tmp_path / "received", writable=True) as server:
        yield server


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder with a file, a link to a file and one to nothing."""
    (tmp_path / "real").write_bytes(b"r" * 100)
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "plain").write_bytes(b"p" * 50)
    (folder / "link").symlink_to(tmp_path / "real")
    return folder


@pytest.mark.parametrize("packed", [(), ("--compress", "gzip:1")], ids=["plain", "packed"])
def test_links_of_an_uploaded_folder_fail_the_copy_and_are_named(env, linked, receiver, tmp_path, packed):
    outcome = run("copy", str(linked), receiver.url, "--json", *packed, env=env)
    assert outcome.code == 1
    assert [each["file"] for each in outcome.document["left_out"]] == [str(linked / "link")]
    assert "--follow-links" in outcome.document["left_out"][0]["reason"]
    assert outcome.document["files_done"] == 1
    assert list(digests(tmp_path / "received")) == ["plain"]


def test_links_are_followed_where_the_user_says_so(env, linked, receiver, tmp_path):
    outcome = run("copy", str(linked), receiver.url, "--follow-links", env=env)
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "received" / "link").read_bytes() == b"r" * 100


def test_links_are_left_out_where_the_user_says_so(env, linked, receiver, tmp_path):
    outcome = run("copy", str(linked), receiver.url, "--skip-links", env=env)
    assert outcome.code == 0, outcome.err
    assert "1 left out as asked" in outcome.out
    assert list(digests(tmp_path / "received")) == ["plain"]


def test_a_folder_of_links_alone_says_why_there_is_nothing_to_copy(env, linked, receiver):
    (linked / "plain").unlink()
    outcome = run("copy", str(linked), receiver.url, env=env)
    assert outcome.code == 1
    assert f"nothing to copy: {linked / 'link'} is a symbolic link; --follow-links" in outcome.error


def test_a_dry_run_names_what_would_be_left_out(env, linked, receiver):
    outcome = run("copy", str(linked), receiver.url, "--dry-run", "--json", env=env)
    assert outcome.code == 1
    assert [each["file"] for each in outcome.document["left_out"]] == [str(linked / "link")]


PRIVATE: Tree = {"a.bin": b"a" * 500, "private/": 403}


def test_an_unreadable_folder_is_named_and_fails_the_copy_of_the_rest(env, tmp_path):
    with serving_tree(PRIVATE) as url:
        outcome = run("copy", url, str(tmp_path / "got"), env=env)
    assert outcome.code == 1
    assert f"1 left out, first {url}private/: it is a folder that cannot be read" in outcome.out
    assert list(digests(tmp_path / "got")) == ["a.bin"]


def test_an_unreadable_folder_is_skipped_where_the_user_says_so(env, tmp_path):
    with serving_tree(PRIVATE) as url:
        outcome = run("copy", url, str(tmp_path / "got"), "--skip-unreadable", "--json", env=env)
    assert outcome.code == 0, outcome.err
    assert outcome.document["left_out"] == []
    assert [each["file"] for each in outcome.document["left_out_as_asked"]] == [f"{url}private/"]


@pytest.mark.parametrize("options", [[], ["--skip-unreadable"]])
@pytest.mark.parametrize("others", [1, 0])
def test_forbidden_files_are_left_out_where_the_user_says_so_and_others_are_read(env, tmp_path, options, others):
    forbidden: Tree = {"no.bin": 403}
    with serving_tree(forbidden | {"a.bin": b"a" * 500} if others else forbidden) as url:
        outcome = run("copy", url, str(tmp_path / "got"), *options, "--json", env=env)
    is_accepted = bool(options and others)
    assert outcome.code == (0 if is_accepted else 1), outcome.err
    assert outcome.document["files_failed"] == (0 if is_accepted else 1)
    assert [each["file"] for each in outcome.document["left_out_as_asked"]] == ([f"{url}no.bin"] if is_accepted else [])


@pytest.mark.parametrize("mover", ["curl", "rclone", "aria2"])
def test_a_copy_by_another_tool_names_an_unreadable_folder_too(env, tmp_path, mover):
    with serving_tree(PRIVATE) as url:
        outcome = run("copy", url, str(tmp_path / "got"), "--mover", mover, env=env)
    assert outcome.code == 1
    assert f"left out: {url}private/ is a folder that cannot be read" in outcome.err
    assert list(digests(tmp_path / "got")) == ["a.bin"]


def test_files_linked_with_a_query_are_copied_under_their_names(env, tmp_path):
    with serving_tree({"a.bin": b"a" * 500, "b.bin": b"b" * 10}, query="?download=1") as url:
        outcome = run("copy", url, str(tmp_path / "got"), env=env)
    assert outcome.code == 0, outcome.err
    assert list(digests(tmp_path / "got")) == ["a.bin", "b.bin"]


def test_links_that_lead_out_of_a_served_folder_are_named(env, tmp_path):
    served = tmp_path / "served"
    served.mkdir()
    (served / "a").write_bytes(b"a")
    (served / "inside").symlink_to("a")
    (served / "out").symlink_to("/etc/hostname")
    (served / "broken").symlink_to("nothing")
    with serving(served) as server:
        url = server.url
        outcome = run("copy", url, str(tmp_path / "got"), "--json", env=env)
        skipped = run("copy", url, str(tmp_path / "got"), "--skip-links", env=env)
    assert (outcome.code, skipped.code) == (1, 0)
    assert sorted(each["file"] for each in outcome.document["left_out"]) == [f"{url}broken", f"{url}out"]
    assert sorted(digests(tmp_path / "got")) == ["a", "inside"]


def test_an_empty_place_is_wrong_usage(env, linked):
    outcome = run("copy", str(linked), "", env=env)
    assert outcome.code == 2
    assert "has an empty place" in outcome.error
