import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.open_folders import open_folder
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.omissions import LinkRule, ListingRules, OmissionKind
from tradewind_agent.engine.remote.source import UploadList, list_uploads
from tradewind_agent.errors import UnusableSource

ONE_NAME = Url.parse("http://host.test/name")
FOLDER = Url.parse("http://host.test/in/")


def targets(found: UploadList) -> list[str]:
    return [job.destination.target for job in found.jobs]


def left_out(found: UploadList, below: Path) -> list[tuple[str, OmissionKind]]:
    return [(os.path.relpath(each.place, below), each.kind) for each in found.omissions]


def test_a_missing_source_is_named_whatever_the_destination(tmp_path: Path) -> None:
    with pytest.raises(UnusableSource, match="nothing does not exist"):
        list_uploads([tmp_path / "nothing"], ONE_NAME)


def test_a_folder_for_one_name_says_how_to_write_the_destination(tmp_path: Path) -> None:
    with pytest.raises(UnusableSource, match="end it with /"):
        list_uploads([tmp_path], ONE_NAME)


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder with a file, links to a file, a folder, itself, and nothing."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "deep").write_bytes(b"deep")
    (tmp_path / "real").write_bytes(b"real")
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "plain").write_bytes(b"1")
    (folder / "to_file").symlink_to(tmp_path / "real")
    (folder / "to_folder").symlink_to(tmp_path / "outside")
    (folder / "to_itself").symlink_to(".")
    (folder / "to_nothing").symlink_to("missing")
    return folder


def test_symbolic_links_are_reported_one_by_one(linked: Path) -> None:
    found = list_uploads([linked], FOLDER)
    assert targets(found) == ["/in/plain"]
    assert left_out(found, linked) == [
        (name, OmissionKind.LINK) for name in ("to_file", "to_folder", "to_itself", "to_nothing")
    ]


def test_followed_links_are_sent_without_going_round_in_circles(linked: Path) -> None:
    found = list_uploads([linked], FOLDER, rules=ListingRules(links=LinkRule.FOLLOW))
    assert targets(found) == ["/in/plain", "/in/to_file", "/in/to_folder/deep"]
    assert left_out(found, linked) == [("to_itself", OmissionKind.LINK), ("to_nothing", OmissionKind.UNREADABLE)]


def test_two_folders_that_link_to_one_another_are_followed_once(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / "set" / name).mkdir(parents=True)
        (tmp_path / "set" / name / "file").write_bytes(b"1")
        (tmp_path / "set" / name / "other").symlink_to(f"../{other}")
    found = list_uploads([tmp_path / "set"], FOLDER, rules=ListingRules(links=LinkRule.FOLLOW))
    assert targets(found) == ["/in/a/file", "/in/a/other/file", "/in/b/file", "/in/b/other/file"]
    assert {kind for _, kind in left_out(found, tmp_path)} == {OmissionKind.LINK}


def test_pipes_and_sockets_are_reported_and_never_opened(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "file").write_bytes(b"1")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(folder / "socket"))
        found = list_uploads([folder], FOLDER)
    assert targets(found) == ["/in/file"]
    assert left_out(found, folder) == [("pipe", OmissionKind.NOT_A_FILE), ("socket", OmissionKind.NOT_A_FILE)]


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that another user than root gets to."""
    with open_folder() as folder:
        yield folder


def test_folders_and_files_that_this_user_may_not_read_are_reported(shared_folder: Path) -> None:
    folder = shared_folder / "set"
    (folder / "closed").mkdir(parents=True)
    (folder / "closed" / "file").write_bytes(b"1")
    (folder / "secret").write_bytes(b"2")
    (folder / "open").write_bytes(b"3")
    (folder / "closed").chmod(0)
    (folder / "secret").chmod(0)
    was = os.geteuid()
    os.seteuid(65534 if was == 0 else was)
    try:
        found = list_uploads([folder], FOLDER)
    finally:
        os.seteuid(was)
        (folder / "closed").chmod(0o755)
    assert targets(found) == ["/in/open"]
    assert left_out(found, folder) == [("closed", OmissionKind.UNREADABLE), ("secret", OmissionKind.UNREADABLE)]


def test_bytes_of_a_name_that_are_no_utf8_are_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xe9t\xe9.txt")).write_bytes(b"1")
    assert targets(list_uploads([folder], FOLDER)) == ["/in/%E9t%E9.txt"]


def test_two_files_for_one_name_are_refused_and_one_named_twice_is_sent_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same").write_bytes(b"1")
    with pytest.raises(UnusableSource, match="would both become"):
        list_uploads([tmp_path / "a", tmp_path / "b"], FOLDER)
    assert targets(list_uploads([tmp_path / "a", tmp_path / "a" / "same"], FOLDER)) == ["/in/same"]


def test_a_deep_tree_is_listed(tmp_path: Path) -> None:
    deepest = tmp_path
    for _ in range(600):
        deepest = deepest / "d"
        deepest.mkdir()
    (deepest / "file").write_bytes(b"1")
    (job,) = list_uploads([tmp_path], FOLDER).jobs
    assert job.size_bytes == 1
