import os
from datetime import UTC, datetime

import pytest

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import SizeTrust
from tradewind_agent.engine.remote.index_page import ListingEntry
from tradewind_agent.engine.remote.listing import parse_index
from tradewind_agent.errors import UnusableSource

URL = Url.parse("http://host/data/")

NGINX = """<html><head><title>Index of /data/</title></head><body><h1>Index of /data/</h1><hr><pre><a href="../">../</a>
<a href="sub/">sub/</a>                                     21-Nov-2026 03:58                   -
<a href="a%20b.bin">a b.bin</a>                            21-Nov-2026 03:58             1048576
<a href="empty">empty</a>                                  21-Nov-2026 03:58                   0
<a href="rounded">rounded</a>                              21-Nov-2026 03:58                 15M
</pre><hr></body></html>"""

APACHE = """<table><tr><th><a href="?C=N;O=D">Name</a></th><th><a href="?C=M;O=A">Last modified</a></th></tr>
<tr><td valign="top"><img src="/icons/back.gif" alt="[PARENTDIR]"></td><td><a href="/">Parent Directory</a></td></tr>
<tr><td><a href="x.iso"><img src="/icons/x.gif"></a></td><td><a href="x.iso">x.iso</a></td>
<td align="right">2026-11-21 03:58  </td><td align="right">1.2G</td></tr>
<tr><td><a href="tiny.txt">tiny.txt</a></td><td align="right">2026-11-21 03:58  </td><td align="right"> 517 </td></tr>
<tr><td><a href="dir/">dir/</a></td><td align="right">2026-11-21 03:58  </td><td align="right">  - </td></tr></table>"""


def html(text: str) -> list[ListingEntry]:
    return list(parse_index(URL, "text/html; charset=utf-8", text.encode()).entries)


@pytest.mark.parametrize(
    ("href", "names"),
    [
        ("plain.bin", ["plain.bin"]),
        ("%2e%2e.bin", ["...bin"]),
        (".hidden", [".hidden"]),
        ("-x/", ["-x"]),
        ("./", []),
        (".", []),
        ("..", []),
        ("../", []),
        ("a/b", []),
        ("/data/child", ["child"]),
        ("http://host/data/child", ["child"]),
        ("//host/data/child", ["child"]),
        ("mailto:someone", []),
        ("x?sort=1", ["x"]),
        ("?sort=1", []),
        ("/data/?sort=1", []),
    ],
)
def test_only_links_to_direct_children_are_entries(href: str, names: list[str]):
    assert [entry.name for entry in html(f'<a href="{href}">link</a>')] == names


def test_nginx_pages_have_exact_sizes():
    assert html(NGINX) == [
        ListingEntry(name="sub", is_folder=True),
        ListingEntry(name="a b.bin", is_folder=False, size_bytes=1048576),
        ListingEntry(name="empty", is_folder=False, size_bytes=0),
        ListingEntry(
            name="rounded",
            is_folder=False,
            size_bytes=15 << 20,
            size_trust=SizeTrust.ROUNDED,
            least_bytes=14_000_000,
        ),
    ]


def rows_of_nginx(*rows: str) -> str:
    """A page as nginx writes it, to the last byte."""
    head = ("<html>", "<head><title>Index of /</title></head>", "<body>")
    first = '<h1>Index of /</h1><hr><pre><a href="../">../</a>'
    return "\r\n".join([*head, first, *rows, "</pre><hr></body>", "</html>", ""])


def test_a_row_of_another_form_changes_nothing_for_those_of_nginx():
    rows = (
        '<a href="a%26b.bin">a&amp;b.bin</a>                   21-Nov-2026 03:58             1048576',
        '<a href="sub/">sub/</a>                                21-Nov-2026 03:58                   -',
    )
    known = [
        ListingEntry(name="a&b.bin", is_folder=False, size_bytes=1048576),
        ListingEntry(name="sub", is_folder=True),
    ]
    assert html(rows_of_nginx(*rows)) == known
    assert html(rows_of_nginx(*rows, '<a href="x">x</a>')) == [
        *known,
        ListingEntry(name="x", is_folder=False, size_trust=SizeTrust.ROUNDED, may_be_folder=True),
    ]


def test_rows_of_nginx_cannot_name_what_is_outside():
    bad = '<a href="%2e%2e">..</a>                21-Nov-2026 03:58                  12'
    good = '<a href="a.bin">a.bin</a>              21-Nov-2026 03:58                  12'
    page = parse_index(URL, "text/html", rows_of_nginx(bad, good).encode())
    assert [entry.name for entry in page.entries] == ["a.bin"]
    assert [omission.place for omission in page.left_out] == [f"{URL}%2e%2e"]


def test_apache_pages_have_rounded_sizes_and_other_links():
    assert html(APACHE) == [
        ListingEntry(
            name="x.iso",
            is_folder=False,
            size_bytes=round(1.2 * 2**30),
            size_trust=SizeTrust.ROUNDED,
            least_bytes=1_100_000_000,
        ),
        ListingEntry(name="tiny.txt", is_folder=False, size_bytes=517),
        ListingEntry(name="dir", is_folder=True),
    ]


def test_nginx_json():
    body = b"""[{ "name":"sub", "type":"directory", "mtime":"Sat, 21 Nov 2026 03:58:33 GMT" },
        { "name":"a b", "type":"file", "mtime":"Sat, 21 Nov 2026 03:58:33 GMT", "size":12 }]"""
    folder, file = parse_index(URL, "application/json", body).entries
    assert folder.is_folder
    assert (file.name, file.size_bytes) == ("a b", 12)
    assert file.modified_at == datetime(2026, 11, 21, 3, 58, 33, tzinfo=UTC)


def test_json_of_serve_files():
    body = b"""{"entries": [{"name": "a.bin", "type": "file", "size_bytes": 1,
        "modified_at": "2026-11-21T03:58:33Z", "etag": "\\"x\\""}]}"""
    (entry,) = parse_index(URL, "application/json", body).entries
    assert (entry.size_bytes, entry.etag) == (1, '"x"')
    assert entry.modified_at == datetime(2026, 11, 21, 3, 58, 33, tzinfo=UTC)


@pytest.mark.parametrize("href", ["%2e%2e%2fetc", "..%2Fetc", "a%2Fb", "%00"])
def test_names_that_would_leave_the_folder_cost_their_entry_in_html(href: str):
    page = parse_index(URL, "text/html", f'<a href="good">good</a><a href="{href}">x</a> 21-Nov-2026 03:58 1'.encode())
    assert [entry.name for entry in page.entries] == ["good"]
    assert ["no plain file name" in omission.reason for omission in page.left_out] == [True]


@pytest.mark.parametrize("name", ["../x", "..", ".", "", "a/b", "/etc/passwd", "nul\\u0000"])
def test_names_that_would_leave_the_folder_cost_their_entry_in_json(name: str):
    body = f'[{{"name": "good", "type": "file"}}, {{"name": "{name}", "type": "file"}}]'
    page = parse_index(URL, "application/json", body.encode())
    assert [entry.name for entry in page.entries] == ["good"]
    assert ["no plain file name" in omission.reason for omission in page.left_out] == [True]


@pytest.mark.parametrize("kind", ["text/html", "application/json"])
def test_backslash_is_a_character_of_a_name_unless_it_separates_folders_here(kind: str):
    body = {"text/html": b'<a href="a%5Cb">x</a>', "application/json": b'[{"name": "a\\\\b", "type": "file"}]'}[kind]
    page = parse_index(URL, kind, body)
    is_separator = os.sep == "\\"
    assert [entry.name for entry in page.entries] == ([] if is_separator else ["a\\b"])
    assert len(page.left_out) == is_separator


def test_size_before_the_link_of_the_next_row_is_not_taken_for_this_ones():
    page = """<pre><A HREF="/">[To Parent Directory]</A><br><br>
 2026-11-21 03:58         1024 <A HREF="/data/a.bin">a.bin</A><br>
 2026-11-21 03:58        &lt;dir&gt; <A HREF="/data/sub/">sub</A><br>
 2026-11-21 03:58         2048 <A HREF="/data/z.bin">z.bin</A><br></pre>"""
    found = [(entry.name, entry.is_folder, entry.size_bytes) for entry in html(page)]
    assert found == [("a.bin", False, None), ("sub", True, None), ("z.bin", False, None)]


@pytest.mark.parametrize(
    "href", ["http://other/data/x", "/elsewhere/x", "../x", "?C=N", "#top", "mailto:a@b", "javascript:x", ""]
)
def test_links_to_other_places_are_no_entries(href: str):
    assert html(f'<a href="{href}">x</a>') == []


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/octet-stream", b""),
        ("", b""),
        ("application/json", b"{"),
        ("application/json", b"3"),
        ("application/json", b'[{"type": "file"}]'),
        ("application/json", b'{"files": []}'),
    ],
)
def test_page_that_is_no_index_is_refused(kind: str, body: bytes):
    with pytest.raises(UnusableSource):
        parse_index(URL, kind, body)
