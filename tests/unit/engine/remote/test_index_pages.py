"""Pages of HTML that are not all of an index: cut short, one of several, or about something else."""

import pytest

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.remote.index_page import IndexPage
from tradewind_agent.engine.remote.listing import parse_answer, parse_index
from tradewind_agent.engine.remote.next_page import find_linked_page
from tradewind_agent.engine.remote.page_checks import is_cut_short
from tradewind_agent.errors import UnusableSource

URL = Url.parse("http://host/data/set/")
ROW = '<a href="a.bin">a.bin</a> 2026-11-21 03:58 100<br>'


def html(text: str, url: Url = URL) -> IndexPage:
    return parse_index(url, "text/html", text.encode())


@pytest.mark.parametrize(
    "text",
    [
        f"<html><body>{ROW}",
        f"<HTML><BODY><PRE>{ROW}</PRE>",
        f"<table><tr><td>{ROW}</td></tr>",
        f"<ul><li>{ROW}<ul><li>{ROW}</ul>",
        f'{ROW}<a href="b.b',
    ],
)
def test_page_that_ends_within_an_element_is_cut_short(text: str):
    assert is_cut_short(text.encode())


@pytest.mark.parametrize("text", ["", ROW, f"<html><pre>{ROW}</pre></html>\n", f"<ul><li>{ROW}</UL>", f"<li>{ROW}<p>"])
def test_page_that_ends_all_elements_which_need_it_is_complete(text: str):
    assert not is_cut_short(text.encode())


@pytest.mark.parametrize(
    "link",
    [
        '<a rel="next" href="?after=x">more</a>',
        '<link rel="prefetch next" href="/data/set/?after=x">',
        '<a href="?after=x">Next page »</a>',
        '<a href="?after=x">Weiter</a>',
        '<a href="?after=x">Siguiente »</a>',
        '<a href="?after=x">次へ</a>',
    ],
)
def test_link_to_the_next_page_is_where_the_index_goes_on(link: str):
    assert html(ROW + link).next_page == URL.join("?after=x")


@pytest.mark.parametrize(
    ("page", "following"),
    [("", "?page=2"), ("?page=2", "?page=3"), ("?page=3", None)],
)
def test_page_number_that_follows_is_where_the_index_goes_on(page: str, following: str | None):
    numbers = "".join(f'<a href="?page={number}">{number}</a>' for number in (1, 2, 3))
    expected = None if following is None else URL.join(following)
    assert html(numbers + ROW, URL.join(page)).next_page == expected


@pytest.mark.parametrize(
    "link",
    [
        '<a href="?C=N;O=D">Name</a>',
        '<a rel="next" href="/blog/2">Next</a>',
        '<a rel="next" href="http://elsewhere/data/?page=2">Next</a>',
        '<a href="a.bin?page=2">Next</a>',
        '<a href="?sort=size">Next</a>',
    ],
)
def test_other_links_are_no_next_page(link: str):
    assert html(ROW + link).next_page is None


@pytest.mark.parametrize(
    "href",
    ["https://host/data/set/?page=2", "http://elsewhere/data/set/?page=2", "http://inside:8080/data/set/?page=2"],
)
def test_next_page_that_is_stated_under_another_name_of_the_server_is_read_from_this_one(href: str):
    assert html(f'{ROW}<a rel="next" href="{href}">Next</a>').next_page == URL.join("?page=2")
    assert find_linked_page(URL, {"link": f'<{href}>; rel="next"'}) == URL.join("?page=2")


@pytest.mark.parametrize("href", ["/data/set/page/2/", "page/2/"])
def test_stated_next_page_that_cannot_be_read_is_left_out(href: str):
    (omission,) = html(f'{ROW}<a rel="next" href="{href}">Next</a>').left_out
    assert omission.place == str(URL.join(href))
    assert "is where http://host/data/set/ goes on" in omission.reason


def test_stated_next_page_of_an_answer_that_cannot_be_read_is_left_out():
    head = ResponseHead.parse(
        b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1\r\nLink: <page/2>; rel="next"\r\n\r\n'
    )
    assert [each.place for each in parse_answer(URL, head, ROW.encode()).left_out] == ["http://host/data/set/page/2"]


@pytest.mark.parametrize("href", ["../lecture2/", "/2026/some-post/", "intro/", "#", "javascript:void(0)", "/else/2"])
def test_next_chapter_is_a_place_of_its_own(href: str):
    page = html(f'{ROW}<link rel="next" href="{href}">')
    assert (page.left_out, page.next_page) == ((), None)


def test_next_file_of_a_manual_is_a_file():
    page = html('<link rel="next" href="intro.html"><a href="intro.html">Introduction</a>')
    assert [entry.name for entry in page.entries] == ["intro.html"]
    assert page.left_out == ()


@pytest.mark.parametrize(("own", "following"), [("", "?offset=10"), ("?offset=10", "?offset=20"), ("?offset=20", None)])
def test_links_that_are_numbered_by_the_row_that_they_begin_at_are_pages(own: str, following: str | None):
    links = "".join(f'<a href="?offset={number * 10}">{number + 1}</a>' for number in range(3))
    page = html(ROW + links, URL.join(own) if own else URL)
    assert page.next_page == (None if following is None else URL.join(following))
    assert page.left_out == page.unread_pages == ()


@pytest.mark.parametrize("key", ["rows", "year", "stufe", "delete", "from"])
@pytest.mark.parametrize("numbers", [(10, 25, 50), (1, 2, 3), (2019, 2020, 2021)])
def test_other_numbers_are_no_pages(key: str, numbers: tuple[int, ...]):
    assert html(ROW + "".join(f'<a href="?{key}={each}">{each}</a>' for each in numbers)).next_page is None


def test_label_of_the_next_page_may_count_its_rows():
    assert html(ROW + '<a href="?start=100">Next 100</a>').next_page == URL.join("?start=100")


def test_link_field_of_an_answer_names_the_next_page_of_the_same_folder():
    field = '<?page=1>; rel="prev", </data/set/?page=3>; rel="next last"'
    assert find_linked_page(URL, {"link": field}) == URL.join("?page=3")
    assert find_linked_page(URL, {"link": '</else/?page=3>; rel="next"'}) is None
    assert find_linked_page(URL, {}) is None


@pytest.mark.parametrize(
    "text",
    [
        '<form><input type="password"></form>',
        '<form><input type="PASSWORD"></form><a href="help">Help</a>',
        '<title>404 Not Found</title><a href="/">Home</a>',
        "<title>Please sign in to see /data/set</title>",
        "<p>Service temporarily degraded</p>",
    ],
)
def test_page_about_something_else_is_no_index(text: str):
    assert html(text).is_other


@pytest.mark.parametrize(
    "text",
    [
        "<title>Index of /data/set/</title>",
        "<title>Directory listing for /data/set/</title><ul></ul>",
        '<title>host - /data/set/</title><a href="/data/">[To Parent Directory]</a>',
        '<a href="../">../</a>',
        '<a href="?C=N;O=D">Name</a>',
        "<title>set</title>",
        f'{ROW}<input type="password">',
        '<a href="a.bin">a.bin</a>',
    ],
)
def test_page_of_an_empty_folder_or_with_files_is_an_index(text: str):
    assert not html(text).is_other


def test_file_of_the_same_name_as_a_folder_is_left_out_and_named():
    page = html('<a href="a">a</a> 2026-11-21 03:58 5<br><a href="a/">a/</a> 2026-11-21 03:58 -<br>')
    assert [(entry.name, entry.is_folder) for entry in page.entries] == [("a", True)]
    (omission,) = page.left_out
    assert omission.place == "http://host/data/set/a"
    assert "is a file and a folder" in omission.reason


def test_icon_that_links_to_a_folder_without_its_slash_is_no_file():
    page = html('<a href="a"><img></a> <a href="a/">a/</a> 2026-11-21 03:58 -<br>')
    assert page.left_out == ()


@pytest.mark.parametrize("key", ["next", "truncated", "nextPageToken"])
def test_json_that_is_one_of_several_pages_is_refused(key: str):
    body = b'{"entries": [{"name": "a", "type": "file", "size": 1}], "%s": "x"}' % key.encode()
    with pytest.raises(UnusableSource, match="the first of several pages"):
        parse_index(URL, "application/json", body)


@pytest.mark.parametrize(
    "more",
    [
        '"total": 2, "limit": 1',
        '"total_count": 2',
        '"total_count": 2, "offset": 0',
        '"pagination": {"page": 1, "pages": 2}',
        '"links": {"next": "/?page=2"}',
    ],
)
def test_json_that_counts_more_than_its_rows_is_refused(more: str):
    body = b'{"entries": [{"name": "a", "type": "file", "size": 1}], %s}' % more.encode()
    with pytest.raises(UnusableSource, match="the first of several pages"):
        parse_index(URL, "application/json", body)


@pytest.mark.parametrize(
    "more",
    [
        '"total": 1000',
        '"count": 2, "next": null, "count": 1',
        '"links": {"next": null}',
        '"pages": 3',
        '"page": 1, "pages": 1, "total": 1, "limit": 100',
        '"disk": {"total": 1000, "free": 3}',
        '"stats": {"count": 5, "next": 1}',
        '"limit": true',
    ],
)
def test_json_that_counts_its_own_rows_is_an_index(more: str):
    body = b'{"entries": [{"name": "a", "type": "file", "size": 1}], %s}' % more.encode()
    assert len(parse_index(URL, "application/json", body).entries) == 1


def test_json_may_hold_names_that_are_no_utf8():
    (entry,) = parse_index(URL, "application/json", b'[{"name": "\xe9.bin", "type": "file", "size": 1}]').entries
    assert URL.join_path(entry.name).target == "/data/set/%E9.bin"
