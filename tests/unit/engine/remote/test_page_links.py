"""Links of an index that are no plain names: entries, left out with a reason, or none of the folder's."""

import pytest

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.index_page import IndexPage
from tradewind_agent.engine.remote.link_paths import find_below, normalise_path, normalise_place
from tradewind_agent.engine.remote.listing import parse_index

URL = Url.parse("http://host/data/")
ROW = '<a href="a.bin">a.bin</a>'


def html(text: str, url: Url = URL) -> IndexPage:
    return parse_index(url, "text/html", text.encode())


def list_entries(page: IndexPage) -> list[tuple[str, bool, str | None]]:
    return [(entry.name, entry.is_folder, entry.target) for entry in page.entries]


def list_places(page: IndexPage) -> list[str]:
    return [each.place for each in page.left_out]


@pytest.mark.parametrize(
    ("link", "place"),
    [
        ('<a href="?dir=sub">sub/</a>', "?dir=sub"),
        ('<a href="?path=set/sub">sub</a>', "?path=set/sub"),
        ('<a href="?download=b.bin">b.bin</a>', "?download=b.bin"),
        ('<a href="?C=N;O=D&amp;dir=sub&amp;sort=name">sub/</a>', "?C=N;O=D&dir=sub&sort=name"),
        ('<a href="?file=17">b.bin</a>', "?file=17"),
        ('<a href="?prefix=y/">y/</a>', "?prefix=y/"),
    ],
)
def test_file_or_folder_that_a_query_alone_names_is_left_out(link: str, place: str):
    page = html(ROW + link)
    assert list_places(page) == [f"http://host/data/{place}"]
    assert "in a query alone" in page.left_out[0].reason


@pytest.mark.parametrize(
    "link",
    [
        '<a href="?C=N;O=D">Name</a>',
        '<a href="?N=D">Name</a>',
        '<a href="?ND">Name</a>',
        '<a href="/data/?sort=size&amp;order=desc">Size</a>',
        '<a href="?sort=size">size</a>',
        '<a href="?view=grid">Grid</a>',
        '<a href="?lang=de">de</a>',
        '<a href="/data/">data/</a>',
        '<a href="#top">Top</a>',
        '<a href="../">Up</a>',
        '<a href="/login">login</a>',
        '<a href="//elsewhere/data/">Mirror</a>',
        '<a href="javascript:sort()">Sort</a>',
        '<a href="mailto:a@b.test">a@b.test</a>',
        f'<ul><li>{ROW}</li></ul><nav><ul><li><a href="/login">login</a></li></ul></nav>',
        '<a href="?info=a.bin">a.bin</a><a href="a.bin?page=1"></a>',
        '<a href="?download=tar_gz">Download .tar.gz</a> <a href="?download=zip">zip</a> <a href="?zip">zip</a>',
        '<a href="?sort=size&amp;order=asc&amp;limit=10&amp;offset=0">Size</a>',
        '<a href="?version=1.0">1.0</a> <a href="?ref=v1.2">v1.2</a> <a href="?site=example.org">example.org</a>',
        '<a href="?name=A">A</a> <a href="?type=csv">csv</a> <a href="?tag=ocean">ocean</a>',
        '<a href="?delete=a.bin">Delete</a> <a href="?file=a.bin&amp;action=rename">Rename</a>',
        '<a href="?year=2019">2019</a> <a href="?year=2020">2020</a> <a href="?rate=1">1</a> <a href="?rate=2">2</a>',
        '<a href="?print=1">Print</a> <a href="?login">Log in</a> <a href="?token=ab1c">x</a> <a href="?p=/sub">y</a>',
        '<a href="?p=12">Post</a>',
        '<a href="deep/down">More</a> <a href="docs/api/">API</a> <a href="css/a.css">style</a>',
        '<a href="a.bin/view">a.bin</a> 2026-11-21 03:58 100',
        '<a href="http://host:81/data/b">More</a> <a href="https://doi.org/10.1234/abc.5">10.1234/abc.5</a>',
    ],
)
@pytest.mark.parametrize("form", ["{}{}", "<table><tr><td>{}</td><td>{}</td></tr></table>", "<ul><li>{}<li>{}</ul>"])
def test_other_views_of_the_folder_and_places_of_their_own_say_nothing(form: str, link: str):
    page = html(form.format(ROW, link))
    assert [entry.name for entry in page.entries] == ["a.bin"]
    assert page.left_out == page.unread_pages == ()


@pytest.mark.parametrize(
    "link",
    [
        '<a href="/alice">alice</a>',
        '<a href="https://spdx.org/licenses/MIT">MIT</a>',
        '<a href="/news">news</a> <a href="/people">people</a>',
        '<a href="/">root</a>/<a href="/data">data</a>',
        '<a href="../2019">2019</a> <a href="../2020">2020</a>',
    ],
)
@pytest.mark.parametrize(
    "form", ["<table><tr><td>{}</td><td>{}</td></tr></table>", "<ul><li>{}<li>{}</ul>", "<pre>{}  {}</pre>"]
)
def test_menus_and_columns_among_the_rows_are_none_of_the_folders_files(form: str, link: str):
    page = html(form.format(ROW, link))
    assert [entry.name for entry in page.entries] == ["a.bin"]
    assert page.left_out == page.unread_pages == ()


@pytest.mark.parametrize("query", ["page=7", "offset=100"])
def test_page_of_an_index_that_is_not_read_is_noted(query: str):
    assert html(f'{ROW}<a href="?{query}">Last</a>').unread_pages == (f"http://host/data/?{query}",)


def test_folder_above_in_a_listing_by_query_is_not_left_out():
    url = URL.join("?dir=one/two")
    assert html(f'{ROW}<a href="?dir=one">one</a> <a href="?dir=">top</a>', url).left_out == ()
    assert list_places(html(f'{ROW}<a href="?dir=on">on/</a>', url)) == ["http://host/data/?dir=on"]


@pytest.mark.parametrize(
    ("link", "entry"),
    [
        ('<a href="sub/b.bin">sub/b.bin</a>', ("sub/b.bin", False, None)),
        ('<a href="sub/b.bin">b.bin</a>', ("sub/b.bin", False, None)),
        ('<a href="sub/LICENSE">sub/LICENSE</a>', ("sub/LICENSE", False, None)),
        ('<a href="sub/x">x</a> 2026-11-21 03:58 100', ("sub/x", False, None)),
        ('<a href="one/two/">one/two/</a>', ("one/two", True, None)),
        ('<a href="s%2cb/c%20d.bin">c d.bin</a>', ("s,b/c d.bin", False, "/data/s%2cb/c%20d.bin")),
    ],
)
def test_file_deep_below_the_folder_is_an_entry_with_its_path(link: str, entry: tuple[str, bool, str | None]):
    page = html(link)
    assert list_entries(page) == [entry]
    assert page.left_out == page.unread_pages == ()


def test_button_that_leads_to_a_deep_file_adds_nothing_to_its_name():
    button, name = '<a href="files/b.bin?download=1">Download</a>', '<a href="files/b.bin?download=1">b.bin</a>'
    for text in (name + button, button + name):
        page = html(text)
        assert list_entries(page) == [("files/b.bin", False, "/data/files/b.bin?download=1")]
        assert page.left_out == page.unread_pages == ()


def test_segment_that_would_leave_the_folder_costs_a_deep_entry():
    page = html('<a href="sub/..%2f..%2fb.bin">../../b.bin</a>')
    assert list_entries(page) == []


def test_deep_link_behind_a_link_that_may_be_a_file_is_left_out_unless_it_is_found_there():
    page = html('<a href="sub">sub</a> <a href="sub/b.bin">b.bin</a>')
    assert [entry.name for entry in page.entries] == ["sub"]
    assert list_places(page) == ["http://host/data/sub/b.bin"]


def test_session_in_a_link_is_no_part_of_a_name():
    page = html('<a href="/data/a.bin;jsessionid=01AB">a.bin</a> <a href="s/;jsessionid=01AB?x=1">s/</a>')
    assert list_entries(page) == [("a.bin", False, None), ("s", True, "/data/s/?x=1")]
    assert list_entries(html('<a href="a;v=1.bin">a</a>')) == [("a;v=1.bin", False, "/data/a;v=1.bin")]


@pytest.mark.parametrize(
    ("page_url", "link"),
    [
        ("http://host/data/", "https://host/data/b"),
        ("https://host/data/", "http://host/data/b"),
        ("http://host:8080/data/", "https://host:8080/data/b"),
    ],
)
def test_link_under_the_other_scheme_of_the_same_host_is_one_of_the_same_server(page_url: str, link: str):
    page = html(f'{ROW}<a href="{link}">Get b</a>', Url.parse(page_url))
    assert [entry.name for entry in page.entries] == ["a.bin", "b"]


@pytest.mark.parametrize(
    ("folder", "link"),
    [
        ("/caf%c3%a9/", "/caf%C3%A9/a.bin"),
        ("/~u/", "/%7Eu/a.bin"),
        ("/%7eu/", "/~u/a.bin"),
        ("/x/../d/", "/d/a.bin"),
        ("/d/", "http://host/x/../d/a.bin"),
    ],
)
def test_folder_is_the_same_however_it_is_escaped_and_links_are_requested_as_written(folder: str, link: str):
    page = html(f'<a href="{link}">a.bin</a>', Url.parse(f"http://host{folder}"))
    assert [entry.name for entry in page.entries] == ["a.bin"]
    target = page.entries[0].target or f"{folder}a.bin"
    assert target == link.removeprefix("http://host").removeprefix("/x/..")
    assert page.left_out == ()


def test_folder_whose_page_names_it_in_another_case_is_the_same():
    text = '<title>host - /data/</title><H1>host - /Data/</H1><pre><A HREF="/Data/a.bin">a.bin</A></pre>'
    assert list_entries(html(text)) == [("a.bin", False, "/Data/a.bin")]


def test_folder_of_another_case_is_another_folder():
    page = html('<title>Index of /r/</title><a href="/R/manual.pdf">manual.pdf</a>', Url.parse("http://host/r/"))
    assert page.entries == ()
    assert list_places(page) == ["http://host/R/manual.pdf"]


def test_case_matters_where_a_page_links_below_its_folder_as_it_was_requested():
    page = html(f'{ROW}<a href="/DATA/b.bin">b.bin</a>')
    assert [entry.name for entry in page.entries] == ["a.bin"]
    assert list_places(page) == ["http://host/DATA/b.bin"]


@pytest.mark.parametrize(
    ("place", "normal"),
    [
        ("http://host/a/../b?f=/x/../b", "http://host/b?f=/x/../b"),
        ("/%7Eu/a.bin?f=%7e", "/~u/a.bin?f=%7e"),
        ("http://host/a", "http://host/a"),
    ],
)
def test_query_of_an_address_is_what_it_is_written_as(place: str, normal: str):
    assert normalise_place(place) == normal


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("/a%2fb", "/a%2Fb"),
        ("/%41%7e%2D", "/A~-"),
        ("/a/./b/../c", "/a/c"),
        ("/../a/..", "/"),
        ("/a/%2e%2e/b", "/b"),
        ("/...", "/..."),
        ("//a", "//a"),
    ],
)
def test_normal_form_of_a_path(path: str, normal: str):
    assert normalise_path(path) == normal


def test_rest_of_a_path_below_a_folder_stays_as_it_is_written():
    assert find_below("/caf%C3%A9/", "/caf%c3%a9/x%2cy") == "x%2cy"
    assert find_below("/a/b/", "/a/") is None
    assert find_below("/a/", "/A/x") is None
    assert find_below("/a/", "/A/x", ignores_case=True) == "x"


@pytest.mark.parametrize(
    "attribute",
    ["onclick=\"location.href='/dl?id=1&f=2'\"", 'title="use href=x&y"', 'xlink:href="t?a=1&b"', 'data-href="q?a&b"'],
)
def test_address_of_a_link_is_its_href_and_no_other_attribute(attribute: str):
    assert list_entries(html(f'<a {attribute} href="a.bin">a.bin</a>')) == [("a.bin", False, None)]


def test_page_without_a_type_is_html_if_it_starts_so():
    body = b"<!DOCTYPE html><html><a href='a.bin'>a.bin</a></html>"
    assert [entry.name for entry in parse_index(URL, "", body).entries] == ["a.bin"]
