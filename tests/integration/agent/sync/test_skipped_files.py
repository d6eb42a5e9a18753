"""``tradewind copy --skip``: which files at the destination stay, in both directions, and with clocks that differ."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.agent.support.command import run
from tests.integration.agent.sync.copying import copy, read, write
from tests.integration.engine.servers.web_servers import nginx
from tests.integration.serve_files.serving import serving
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.errors import UnusableSource

LONG_AGO_S = 1_600_000_000.0
DAY_S = 86_400.0


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for name in ("a", "b", "c", "d", "e", "f"):
        write(tmp_path / "source" / name, f"new {name}", at_s=LONG_AGO_S + 0.7)
    return tmp_path / "source"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (tmp_path / "there").mkdir()
    return tmp_path / "there"


@pytest.fixture
def receiver(there: Path) -> Iterator[str]:
    with serving(there, writable=True, hidden=True) as server:
        yield server.url


@pytest.fixture
def dav(there: Path, tmp_path: Path) -> Iterator[str]:
    """A server that stores no times, and has no index."""
    there.chmod(0o777)
    (tmp_path / "work").mkdir()
    location = "dav_methods PUT DELETE; create_full_put_path on;"
    with nginx(there, tmp_path / "work", server=location) as server:
        yield f"{server.url}/"


def test_an_upload_sends_nothing_twice_and_keeps_the_times(source: Path, there: Path, receiver: str):
    assert copy(f"{source}/", receiver).files_done == 6
    assert (there / "a").stat().st_mtime == LONG_AGO_S
    again = copy(f"{source}/", receiver)
    assert (again.files_done, again.files_skipped, again.bytes_moved) == (0, 6, 0)
    one = copy(source / "a", f"{receiver}a")
    assert (one.files_done, one.files_skipped) == (0, 1)


def test_a_file_that_was_changed_is_sent_whatever_its_size(source: Path, there: Path, receiver: str):
    copy(f"{source}/", receiver)
    write(source / "a", "NEW A", at_s=LONG_AGO_S + 5)
    write(source / "b", "longer than before", at_s=LONG_AGO_S)
    assert copy(f"{source}/", receiver).files_done == 2
    assert read(there) == read(source)


def test_checksums_find_what_time_and_size_hide(source: Path, there: Path, receiver: str):
    copy(f"{source}/", receiver)
    write(there / "a", "bad a", at_s=LONG_AGO_S)
    assert copy(f"{source}/", receiver).files_done == 0
    checked = copy(f"{source}/", receiver, checksum=True)
    assert (checked.files_done, checked.files_skipped) == (1, 5)
    assert read(there) == read(source)


@pytest.mark.parametrize("files", ["few", "many"])
def test_a_server_without_times_of_its_own_is_believed_when_clocks_cannot_matter(
    source: Path, there: Path, dav: str, files: str
):
    if files == "few":
        for name in "def":
            (source / name).unlink()
    count = len(read(source))
    assert copy(f"{source}/", dav).files_done == count
    # What was changed after it was stored may have the same size: the time of storing says nothing of it.
    write(source / "a", "NEW a", at_s=time.time())
    found = copy(f"{source}/", dav)
    assert found.files_done >= 1
    assert read(there) == read(source)


def test_a_file_stored_long_after_its_last_change_is_not_sent_again(source: Path, there: Path, dav: str):
    copy(f"{source}/", dav)
    later_s = time.time() + DAY_S
    for file in there.iterdir():
        os.utime(file, (later_s, later_s))
    assert copy(f"{source}/", dav).files_skipped == 6


@pytest.mark.parametrize("count", [2, 6])
def test_existing_files_are_never_touched(source: Path, there: Path, receiver: str, count: int):
    for name in "abcdef"[count:]:
        (source / name).unlink()
    write(there / "a", "old and of another size", at_s=1)
    report = copy(f"{source}/", receiver, skip=SkipRule.EXISTING, checksum=True)
    assert (report.files_done, report.files_skipped) == (count - 1, 1)
    assert (there / "a").read_text() == "old and of another size"


def test_existing_files_stay_on_a_server_without_an_index(source: Path, there: Path, dav: str):
    write(there / "a", "old", at_s=1)
    assert copy(f"{source}/", dav, skip=SkipRule.EXISTING).files_skipped == 1
    assert (there / "a").read_text() == "old"


def test_a_server_that_does_not_say_what_it_has_gets_nothing(source: Path, tmp_path: Path, there: Path):
    refuse = "if ($request_method = HEAD) { return 403; } dav_methods PUT;"
    (tmp_path / "work").mkdir()
    for name in "cdef":  # of few files the server is not listed
        (source / name).unlink()
    unsaid = r"does not say whether .* is there .*403.*--skip existing needs that"
    with nginx(there, tmp_path / "work", server=refuse) as server, pytest.raises(UnusableSource, match=unsaid):
        copy(f"{source}/", f"{server.url}/", skip=SkipRule.EXISTING)
    assert read(there) == {}


def test_newer_files_of_the_receiver_stay_and_older_ones_do_not(source: Path, there: Path, receiver: str):
    write(there / "a", "newer", at_s=LONG_AGO_S + 60)
    write(there / "b", "older", at_s=LONG_AGO_S - 60)
    write(there / "c", "of the same second", at_s=LONG_AGO_S)
    report = copy(f"{source}/", receiver, skip=SkipRule.NEWER)
    assert (report.files_done, report.files_skipped) == (4, 2)
    assert (there / "a").read_text() == "newer"
    assert (there / "b").read_text() == "new b"
    assert (there / "c").read_text() == "of the same second"


@pytest.mark.parametrize("listing", ["json", "html"])
def test_newer_files_here_stay_and_older_ones_do_not(source: Path, tmp_path: Path, listing: str):
    here = tmp_path / "here"
    write(here / "a", "newer than the source", at_s=LONG_AGO_S + 60)
    write(here / "b", "older", at_s=LONG_AGO_S - 60)
    write(here / "c", "of the same second", at_s=LONG_AGO_S)
    (tmp_path / "work").mkdir()
    with serving(source) as own, nginx(source, tmp_path / "work") as other:
        report = copy(own.url if listing == "json" else f"{other.url}/", here, skip=SkipRule.NEWER)
    assert (report.files_done, report.files_skipped) == (4, 2)
    assert (here / "a").read_text() == "newer than the source"
    assert (here / "b").read_text() == "new b"
    assert (here / "c").read_text() == "of the same second"


def test_a_hidden_file_and_a_link_of_the_receiver_stay_too(source: Path, there: Path, receiver: str):
    write(source / ".hidden", "new")
    write(there / ".hidden", "old")
    (there / "a").symlink_to(write(there / "b", "behind a link"))
    report = copy(f"{source}/", receiver, skip=SkipRule.EXISTING)
    assert (report.files_done, report.files_skipped) == (4, 3)
    assert (there / ".hidden").read_text() == "old"
    assert (there / "a").is_symlink()


def test_existing_files_here_stay_whatever_they_hold(source: Path, tmp_path: Path):
    here = tmp_path / "here"
    write(here / "a", "older", at_s=1)
    (here / "b").symlink_to(write(tmp_path / "elsewhere", "behind a link", at_s=1))
    (here / "c").symlink_to(tmp_path / "missing")
    with serving(source) as server:
        report = copy(server.url, here, skip=SkipRule.EXISTING, checksum=True)
    assert (report.files_done, report.files_skipped) == (3, 3)
    assert (here / "c").is_symlink()
    assert (here / "a").read_text() == "older"
    assert (here / "b").is_symlink()
    assert (tmp_path / "elsewhere").read_text() == "behind a link"


@pytest.mark.parametrize("skip", list(SkipRule))
def test_a_dry_run_counts_what_the_copy_skips(
    source: Path, there: Path, receiver: str, env, tmp_path: Path, skip: SkipRule
):
    write(there / "a", "newer", at_s=LONG_AGO_S + 60)
    write(there / "b", "new b", at_s=LONG_AGO_S)
    for name, places in {"up": (f"{source}/", receiver), "down": (receiver, str(source))}.items():
        arguments = (*places, "--skip", skip.value, "--exclude", "*.part", "--json")
        planned = run("copy", *arguments, "--dry-run", env=env).document
        done = run("copy", *arguments, env=env).document
        assert len(planned["already_there"]) == done["files_skipped"], name
        assert planned["to_compare"] == [], name


def test_a_rule_that_is_none_is_wrong_usage(env, tmp_path: Path):
    outcome = run("copy", "http://127.0.0.1:9/", str(tmp_path), "--skip", "older", env=env)
    assert outcome.code == 2
    assert "is one of existing, newer, same" in outcome.error
