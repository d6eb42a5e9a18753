"""Indexes in several pages, in several members of a gzip, and without a slash at the end of their address."""

import gzip
from pathlib import Path

import pytest

from tests.integration.engine.indexes.index_pages import SIZED, copied, look_up, page
from tests.integration.engine.servers.rough_server import Answer, head
from tradewind_agent.engine.remote import joined_pages
from tradewind_agent.errors import UnusableSource


def paged(pages: dict[str, str]) -> Answer:
    """Answer by the query of the request."""

    async def answer(asked, writer):
        await page(pages.get(asked.query, pages[""]))(asked, writer)

    return answer


def test_all_pages_of_an_index_are_read(tmp_path: Path):
    pages = {
        "": SIZED + '<a href="?page=2">2</a>',
        "page=2": SIZED.replace("a.bin", "b.bin") + '<a href="?page=1">1</a><a href="?page=3">3</a>',
        "page=3": SIZED.replace("a.bin", "c.bin") + '<a href="?page=2">2</a>',
    }
    found, _ = look_up({"/": paged(pages)}, tmp_path)
    assert copied(found, tmp_path) == ["a.bin", "b.bin", "c.bin"]


def test_server_that_ignores_the_number_of_a_page_gets_one_more_request(tmp_path: Path):
    found, asked = look_up({"/": paged({"": SIZED + '<a rel="next" href="?page=2">Next</a>'})}, tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]
    assert len(asked) == 2


def make_numbered(key: str, *, last: int = 3, size: int = 1) -> dict[str, str]:
    """Return pages with one file each, which link one another by their numbers."""
    places = [f"{key}={number * size}" for number in range(last)]
    links = "".join(f'<a href="?{place}">{number}</a> ' for number, place in enumerate(places, 1))
    rows = [SIZED.replace("a.bin", f"{number}.bin") + links for number in range(1, last + 1)]
    return {"": rows[0], **dict(zip(places, rows, strict=True))}


def test_pages_that_are_numbered_by_their_first_row_are_read_once_each(tmp_path: Path):
    found, asked = look_up({"/": paged(make_numbered("start", size=10))}, tmp_path)
    assert copied(found, tmp_path) == ["1.bin", "2.bin", "3.bin"]
    assert (found.omissions, found.unread_pages) == ((), ())
    assert len(asked) == 3


@pytest.mark.parametrize("key", ["seite", "Page_Index", "current-page"])
def test_number_of_a_page_has_many_names(tmp_path: Path, key: str):
    pages = make_numbered(key, last=4)  # the first of them has no number in its address
    found, _ = look_up({"/": paged(pages)}, tmp_path)
    assert copied(found, tmp_path) == ["1.bin", "2.bin", "3.bin", "4.bin"]
    assert (found.omissions, found.unread_pages) == ((), ())


@pytest.mark.parametrize("key", ["day", "year", "like", "stufe"])
def test_numbers_under_other_keys_are_not_requested(tmp_path: Path, key: str):
    found, asked = look_up({"/": paged(make_numbered(key, last=120))}, tmp_path)
    assert copied(found, tmp_path) == ["1.bin"]
    assert (found.omissions, found.unread_pages, len(asked)) == ((), (), 1)


async def fail(asked, writer):
    writer.write(head("403 Forbidden", asked, Content_Length=0))


async def move(asked, writer):
    writer.write(head("302 Found", asked, Location="/old/", Content_Length=0))


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (fail, "403"),
        (move, "no page of the same folder"),
        (page("<input type=password>"), "no index"),
    ],
)
def test_numbered_page_that_cannot_be_read_is_left_out_and_the_others_are_copied(tmp_path, second, reason):
    first = page(SIZED + '<a href="?page=2">2</a>')

    async def answer(asked, writer):
        await (second if asked.query else first)(asked, writer)

    found, _ = look_up({"/": answer, "/old/": page(SIZED.replace("a.bin", "b.bin"))}, tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]
    (omission,) = found.omissions
    assert omission.place.endswith("/?page=2")
    assert reason in omission.reason


def test_index_whose_pages_have_no_end_is_left_out_behind_the_last_that_is_read(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(joined_pages, "_MOST_PAGES", 5)

    async def answer(asked, writer):
        number = int(asked.query.removeprefix("page=") or 1)
        row = SIZED.replace("a.bin", f"{number}.bin")
        await page(f'{row}<a href="?page={number + 1}">Next</a>')(asked, writer)

    found, asked = look_up({"/": answer}, tmp_path)
    assert len(found.jobs) == len(asked) == 6
    assert ["more than 5 pages" in each.reason for each in found.omissions] == [True]


def test_page_that_is_stated_as_the_next_and_cannot_be_read_refuses_the_index(tmp_path: Path):
    first = page(SIZED + '<a rel="next" href="?page=2">Next</a>')

    async def answer(asked, writer):
        await (fail if asked.query else first)(asked, writer)

    with pytest.raises(UnusableSource, match="403"):
        look_up({"/": answer}, tmp_path)


def test_entries_that_every_page_shows_end_nothing_and_are_read_once(tmp_path: Path):
    def show(name: str, following: str) -> str:
        row = SIZED.replace("a.bin", name)
        first, last = SIZED.replace("a.bin", "README"), '<a href="zz/">zz/</a> 2026-11-21 03:58 - '
        return first + row + last + (f'<a rel="next" href="?page={following}">Next</a>' if following else "")

    pages = {"": show("a", "2"), "page=2": show("b", "3"), "page=3": show("c", "")}
    found, asked = look_up({"/": paged(pages), "/zz/": page(SIZED)}, tmp_path)
    assert copied(found, tmp_path) == ["README", "a", "b", "c", "zz/a.bin"]
    assert asked.count("/zz/") == 1


def test_server_that_ignores_pages_and_shows_another_time_each_time_ends(tmp_path: Path):
    count = iter(range(2, 10**9))

    async def answer(asked, writer):
        number = next(count)
        await page(f'{SIZED} seen {number} times <a rel="next" href="?page={number}">Next</a>')(asked, writer)

    found, asked = look_up({"/": answer}, tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]
    assert len(asked) < 20


def compressed(*members: bytes) -> Answer:
    """Answer with a page in HTML, compressed, whatever its members are."""

    async def answer(asked, writer):
        body = b"".join(members)
        fields = {"Content_Type": "text/html", "Content_Encoding": "gzip", "Content_Length": len(body)}
        writer.write(head("200 OK", asked, **fields) + body)

    return answer


def test_index_in_several_members_of_a_gzip_is_read_to_its_end(tmp_path: Path):
    first, second = gzip.compress(SIZED.encode()), gzip.compress(SIZED.replace("a.bin", "b.bin").encode())
    found, _ = look_up({"/": compressed(first, second, bytes(7))}, tmp_path)
    assert copied(found, tmp_path) == ["a.bin", "b.bin"]


@pytest.mark.parametrize(
    ("behind", "reason"),
    [
        (b"more", "is no gzip"),
        (gzip.compress(b"x" * 1000)[:-9], "is cut short"),
        (gzip.compress(b"") * 2000, "is cut short, or has more than 67108864 bytes or 1000 members"),
    ],
    ids=["other bytes", "cut short", "very many members"],
)
def test_index_behind_whose_gzip_something_else_follows_is_refused(tmp_path: Path, behind: bytes, reason: str):
    with pytest.raises(UnusableSource, match=f"its index {reason}"):
        look_up({"/": compressed(gzip.compress(SIZED.encode()), behind)}, tmp_path)


def test_address_without_a_slash_that_shows_an_index_is_a_folder(tmp_path: Path):
    index = page('<title>Index of /data</title><a href="/data/a.bin">a.bin</a> 2026-11-21 03:58 100')
    found, _ = look_up({"/data": index, "/data/": index}, tmp_path, "/data")
    assert copied(found, tmp_path) == ["a.bin"]
    assert found.is_folder


@pytest.mark.parametrize("title", ["Report", "Index of", "Contents", "Index of Economic Freedom", "Index of /other"])
@pytest.mark.parametrize("source", ["/report", "/report?view=1"])
def test_page_that_is_not_titled_as_the_index_of_its_address_is_a_file(tmp_path: Path, source: str, title: str):
    shown = page(f'<title>{title}</title><a href="/report/fig1.png">fig1.png</a> 2026-11-21 03:58 100')
    found, asked = look_up({"/report": shown, "/report/": shown}, tmp_path, source)
    assert len(found.jobs) == 1
    assert not found.is_folder
    assert len(asked) == (1 if "?" in source else 2)


def test_folder_that_redirects_to_itself_with_a_slash_costs_one_request_more(tmp_path: Path):
    async def redirect(asked, writer):
        writer.write(head("301 Moved Permanently", asked, Location="/data/", Content_Length=0))

    found, asked = look_up({"/data": redirect, "/data/": page(SIZED)}, tmp_path, "/data")
    assert copied(found, tmp_path) == ["a.bin"]
    assert asked == ["/data", "/data/", "/data/"]


def test_index_of_a_proxy_that_changes_pages_is_read(tmp_path: Path):
    async def answer(asked, writer):
        fields = {"Content_Type": "text/html", "Content_Length": len(SIZED)}
        writer.write(head("203 Non-Authoritative Information", asked, **fields) + SIZED.encode())

    found, _ = look_up({"/": answer}, tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]
