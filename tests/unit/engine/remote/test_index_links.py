"""Links of an index page that are not plain names: with queries, to other places, to folders without a slash."""

import json

import pytest

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import SizeTrust
from tradewind_agent.engine.remote.html_index import is_folder_index, parse_html_index
from tradewind_agent.engine.remote.index_page import IndexPage
from tradewind_agent.engine.remote.listing import parse_index
from tradewind_agent.errors import UnusableSource

URL = Url.parse("http://host/data/")


def html(text: str) -> IndexPage:
    return parse_index(URL, "text/html", text.encode())


def names(page: IndexPage) -> list[str]:
    return [entry.name for entry in page.entries]


def test_a_link_with_a_query_is_a_file_that_is_requested_with_its_query():
    page = html('<a href="a.bin?download=1">a.bin</a>')
    assert [(entry.name, entry.target) for entry in page.entries] == [("a.bin", "/data/a.bin?download=1")]
    assert page.left_out == ()


def test_a_plain_link_goes_before_one_with_a_query():
    page = html('<a href="a.bin?preview=1">look</a> <a href="a.bin">a.bin</a>')
    assert [(entry.name, entry.target) for entry in page.entries] == [("a.bin", None)]


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ('<a href="a?v=1">a</a> <a href="a?v=2">a</a>', "http://host/data/a?v=1", "several queries"),
        ('<a href="get.php?file=a.bin">a.bin</a>', "http://host/data/get.php?file=a.bin", "no file name"),
        ('<a href="https://cdn.test/x/a.bin">a.bin</a>', "https://cdn.test/x/a.bin", "not in that folder"),
        ('<a href="/other/a.bin">a.bin</a>', "http://host/other/a.bin", "not in that folder"),
        ('<a href="/api/records/1?download=1">Download</a>', "http://host/api/records/1?download=1", "not in that"),
        ('<a href="/blob/17" download>Get it</a>', "http://host/blob/17", "not in that folder"),
    ],
)
def test_a_file_that_cannot_be_copied_from_here_is_left_out_with_its_reason(text: str, place: str, reason: str):
    page = html(text)
    assert page.entries == ()
    (omission,) = page.left_out
    assert omission.place == place
    assert reason in omission.reason


def test_link_below_a_listed_folder_is_found_in_that_folder():
    page = html('<a href="sub/">sub/</a> <a href="sub/a.bin">a.bin</a>')
    assert names(page) == ["sub"]
    assert page.left_out == ()


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://httpd.test/">Apache</a>',
        '<a href="/about.html">About us</a>',
        '<a href="/login">login</a>',
        '<a href="?C=M;O=A">Last modified</a>',
        '<a href="/data/?C=M;O=A">Last modified</a>',
        '<a href="../">..</a>',
        '<a href="mailto:a.b@c.test">a.b@c.test</a>',
    ],
)
def test_other_links_of_a_page_are_none_of_the_folders_files(text: str):
    page = html(text)
    assert page.entries == page.left_out == ()


def test_a_folder_goes_before_a_file_of_its_name_whatever_comes_first():
    for text in ('<a href="x">x</a><a href="x/">x/</a>', '<a href="x/">x/</a><a href="x">x</a>'):
        assert [entry.is_folder for entry in html(text).entries] == [True]


def test_links_are_resolved_against_the_base_that_a_page_states():
    page = html('<head><base href="/data/"></head><a href="a.bin">a.bin</a>')
    assert [str(entry.target or "") for entry in page.entries] == [""]
    assert names(page) == ["a.bin"]
    elsewhere = html('<head><base href="/mirror/"></head><a href="a.bin">a.bin</a>')
    assert [each.place for each in elsewhere.left_out] == ["http://host/mirror/a.bin"]


def test_bytes_of_a_name_that_are_no_utf8_are_requested_as_they_are_linked():
    (entry,) = html('<a href="%E9.txt">?.txt</a>').entries
    assert entry.name == "\udce9.txt"
    assert URL.join_path(entry.name).target == "/data/%E9.txt"


@pytest.mark.parametrize(
    ("behind", "size_bytes", "trust"),
    [
        ("2026-11-21 03:58  19.07 MB", 19_996_344, SizeTrust.ROUNDED),
        ("2026-11-21 03:58  5 KiB", 5120, SizeTrust.ROUNDED),
        ("2026-11-21 03:58  12k", 12 << 10, SizeTrust.ROUNDED),
        ("2026-11-21 03:58  517 B", 517, SizeTrust.LISTED),
        ("2026-11-21 03:58  517 bytes", 517, SizeTrust.LISTED),
        ("2026-11-21 03:58  1,234", None, SizeTrust.ROUNDED),
        ("2026-11-21 03:58  1.5", 2, SizeTrust.ROUNDED),
    ],
)
def test_a_size_counts_as_exact_only_without_unit_and_fraction(behind: str, size_bytes: int | None, trust: SizeTrust):
    (entry,) = html(f'<a href="x">x</a> {behind}').entries
    assert (entry.size_bytes, entry.size_trust) == (size_bytes, trust)
    assert entry.may_be_folder is (size_bytes is None)


@pytest.mark.parametrize(
    ("name", "shown", "may_be_folder"),
    [
        ("sub", "4096", True),
        ("v1.2", "12288", True),
        ("sub", "4.0K", True),
        ("sub", "4097", False),
        ("sub", "12K", False),
        ("a.bin", "4096", False),
        ("empty", "0", False),
    ],
)
def test_name_without_extension_and_the_size_of_a_folder_may_be_one(name: str, shown: str, may_be_folder: bool):
    (entry,) = html(f'<a href="{name}">{name}</a>  2026-11-21 03:58  {shown}').entries
    assert entry.may_be_folder is may_be_folder


@pytest.mark.parametrize(
    ("link", "left_out"),
    [
        ('<a href="/raw/README">README</a> 2026-11-21 03:58 100', ["http://host/raw/README"]),
        ('<a href="/raw/c.bin">c.bin (7 kB)</a>', ["http://host/raw/c.bin"]),
        ('<a href="/raw/c.bin">c.bin [1.5 MiB]</a>', ["http://host/raw/c.bin"]),
        ('<a href="/raw/c.bin">c.bin (mirror)</a> <a href="/help">README</a>', []),
        ('<a href="/raw/README">README</a>', []),
    ],
)
def test_files_of_another_place_are_left_out_by_name(link: str, left_out: list[str]):
    assert [each.place for each in html(f'<a href="a.bin">a.bin</a>{link}').left_out] == left_out


@pytest.mark.parametrize(
    ("link", "left_out"),
    [
        ('<a href="http://mirror/data/sub/">sub/</a>', ["http://mirror/data/sub/"]),
        ('<a href="/other/sub/">sub/</a>', ["http://host/other/sub/"]),
        ('<a href="/data/">data/</a>', []),
        ('<a href="/">/</a>', []),
        ('<a href="http://maker/docs/">Made by</a>', []),
    ],
)
def test_folders_of_another_place_are_left_out_by_name(link: str, left_out: list[str]):
    assert [each.place for each in html(f'<a href="a.bin">a.bin</a>{link}').left_out] == left_out


@pytest.mark.parametrize(
    ("shown", "least_bytes"),
    [("19.07 MB", 19_060_000), ("293K", 292_000), ("1K", 0), ("1.5", 1), ("517", 0)],
)
def test_rounded_size_implies_the_least_size_that_its_last_digit_permits(shown: str, least_bytes: int):
    (entry,) = html(f'<a href="x">x</a> 2026-11-21 03:58  {shown}').entries
    assert entry.least_bytes == least_bytes


@pytest.mark.parametrize(
    ("text", "is_folder"),
    [
        ('<a href="/data/sub/b.bin">b.bin</a>', True),
        ('<a href="sub/b.bin">b.bin</a>', True),
        ("<title>Index of /data/sub</title>", True),
        ("<title>Directory listing for /data/sub</title>", True),
        ('<title>An article</title><a href="/elsewhere">more</a>', False),
        ('<a href="/data/sub/">this page</a>', False),
    ],
)
def test_a_page_without_a_slash_is_a_folders_if_it_links_below_itself_or_says_so(text: str, is_folder: bool):
    assert is_folder_index(Url.parse("http://host/data/sub"), text.encode()) is is_folder


def test_json_of_caddy():
    rows = [
        {"name": "sub/", "size": 4096, "url": "./sub/", "mod_time": "2026-01-02T03:04:05.6Z", "is_dir": True},
        {"name": "a.bin", "size": 500, "url": "./a.bin", "mod_time": "2026-01-02T03:04:05.6789123Z", "is_dir": False},
    ]
    folder, file = parse_index(URL, "application/json", json.dumps(rows).encode()).entries
    assert (folder.name, folder.is_folder, folder.size_bytes) == ("sub", True, None)
    assert (file.name, file.size_bytes, file.is_folder) == ("a.bin", 500, False)
    assert file.modified_at is not None
    assert file.modified_at.microsecond == 0


def test_pipes_and_devices_that_nginx_lists_are_left_out():
    body = b'[{"name": "a", "type": "file", "size": 1}, {"name": "fifo", "type": "other"}]'
    page = parse_index(URL, "application/json", body)
    assert names(page) == ["a"]
    assert [each.place for each in page.left_out] == ["http://host/data/fifo"]


@pytest.mark.parametrize(
    "row", ['{"name": "a"}', '{"name": "a", "type": "door"}', '"a"', '{"name": 3, "is_dir": true}']
)
def test_json_without_file_types_is_no_index(row: str):
    with pytest.raises(UnusableSource, match="unknown form"):
        parse_index(URL, "application/json", f"[{row}]".encode())


def test_pages_with_the_same_rows_have_one_sum_and_others_another():
    def page(size: int) -> IndexPage:
        row = f'<a href="a.bin">a.bin</a>  21-Nov-2026 03:58  {size}\r\n'
        body = f'<pre><a href="../">../</a>\r\n{row}</pre><hr></body>\r\n</html>\r\n'
        return parse_html_index(Url.parse("http://host/data/"), body.encode())

    assert page(7).rows == page(7).rows
    assert page(7).rows != page(8).rows
    assert [entry.size_bytes for entry in page(7).entries] == [7]
