"""Trees of a server that do not end, cannot all be read, or do not say what is a folder."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.integration.engine.indexes.index_pages import SIZED, copied, look_up, page
from tests.integration.engine.servers.rough_server import Answer, RoughServer, head, redirect, status
from tests.integration.engine.transfers import options, plan
from tradewind_agent.engine import TransferEngine, Url, list_downloads
from tradewind_agent.engine.remote.omissions import OmissionKind
from tradewind_agent.engine.remote.source import DownloadList
from tradewind_agent.errors import UnusableSource


def by_accept(as_json: str, as_html: str) -> Answer:
    async def answer(asked, writer):
        is_json = "json" in asked.headers.get("accept", "")
        await (page(as_json, "application/json") if is_json else page(as_html))(asked, writer)

    return answer


class Endless(dict[str, Answer]):
    """Answers the same way below every path, as a folder does that links to itself."""

    def __init__(self, make: Callable[[str], Answer]) -> None:
        super().__init__()
        self.make = make

    def get(self, path: str, default: Answer | None = None) -> Answer:  # type: ignore[override]
        return self.make(path)


@pytest.mark.parametrize(
    ("links", "most_requests"),
    [
        (("latest",), 10),
        (("x", "y"), 10),
        (("x", "y", "z"), 10),
    ],
)
def test_links_of_a_folder_to_itself_are_read_once_and_left_out(tmp_path: Path, links: tuple[str, ...], most_requests):
    folders = "".join(f'<a href="{name}/">{name}/</a> 2026-11-21 03:58 - ' for name in links)
    found, asked = look_up(Endless(lambda path: page(SIZED + folders)), tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]
    assert len(found.omissions) == len(links)
    assert {each.kind for each in found.omissions} == {OmissionKind.LINK}
    assert len(asked) <= most_requests


def test_a_link_to_a_folder_further_up_is_left_out(tmp_path: Path):
    top, sub = SIZED + '<a href="sub/">sub/</a>', '<a href="b.bin">b.bin</a> 2026-11-21 03:58 7 <a href="up/">up/</a>'
    found, _ = look_up(Endless(lambda path: page(sub if path.endswith("sub/") else top)), tmp_path)
    assert copied(found, tmp_path) == ["a.bin", "sub/b.bin"]
    assert [Url.parse(each.place).path for each in found.omissions] == ["/sub/up/"]


def test_a_loop_whose_pages_all_differ_ends(tmp_path: Path):
    count = iter(range(10**9))
    links = '<a href="x/">x/</a> <a href="y/">y/</a>'
    found, asked = look_up(Endless(lambda path: page(f"{SIZED} {next(count)} visitors {links}")), tmp_path)
    assert found.omissions
    assert len(asked) < 5_000


def test_a_loop_by_redirects_is_left_out(tmp_path: Path):
    answers = {"/": page(SIZED + '<a href="current/">current/</a>'), "/current/": redirect("/")}
    found, _ = look_up(answers, tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]
    assert [each.kind for each in found.omissions] == [OmissionKind.LINK]


def test_folders_of_one_name_in_one_another_are_no_loop(tmp_path: Path):
    inner = '<a href="data/">data/</a>'
    answers = {"/": page(inner), "/data/": page(inner), "/data/data/": page(inner), "/data/data/data/": page(SIZED)}
    found, _ = look_up(answers, tmp_path)
    assert copied(found, tmp_path) == ["data/data/data/a.bin"]
    assert found.omissions == ()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status("403 Forbidden", 0), "403 Forbidden"),
        (status("404 Not Found", 0), "404 Not Found"),
        (status("500 Internal Server Error", 0), "500 Internal Server Error"),
        (page("binary", "application/zip"), "is no index page"),
        (page("{", "application/json"), "unknown form"),
        (redirect("/login/"), "leads elsewhere"),
    ],
)
def test_a_folder_that_cannot_be_read_leaves_the_rest_to_be_copied(tmp_path: Path, answer: Answer, reason: str):
    answers = {"/": page(SIZED + '<a href="private/">private/</a>'), "/private/": answer, "/login/": page("Sign in")}
    found, _ = look_up(answers, tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]
    (omission,) = found.omissions
    assert (Url.parse(omission.place).path, omission.kind) == ("/private/", OmissionKind.UNREADABLE)
    assert reason in omission.reason


@pytest.mark.parametrize("is_redirected", [True, False])
@pytest.mark.parametrize("name", ["sub", "v1.2"])
def test_a_folder_that_is_linked_without_a_slash_is_listed(tmp_path: Path, name: str, is_redirected: bool):
    below, file = page(f'<a href="/{name}/b.bin">b.bin</a>'), page("bytes", "application/octet-stream")
    answers = {
        "/": page(f'<li><a href="/{name}">{name}</a></li><li><a href="/a.bin">a.bin</a></li>'),
        "/a.bin": file,
        f"/{name}": redirect(f"/{name}/") if is_redirected else below,
        f"/{name}/": below,
        f"/{name}/b.bin": file,
    }
    found, _ = look_up(answers, tmp_path)
    assert copied(found, tmp_path) == ["a.bin", f"{name}/b.bin"]


def test_a_web_page_without_an_extension_is_a_file(tmp_path: Path):
    answers = {"/": page('<a href="about">about</a>'), "/about": page("<title>About</title><p>text</p>")}
    found, _ = look_up(answers, tmp_path)
    assert copied(found, tmp_path) == ["about"]


def test_probed_size_replaces_listed_size(tmp_path: Path):
    found, _ = look_up({"/": page('<a href="a">a</a>'), "/a": page("12345", "application/octet-stream")}, tmp_path)
    assert [job.size_bytes for job in found.jobs] == [5]


def test_folder_that_is_listed_with_its_size_on_disk_is_read(tmp_path: Path):
    listed = '<a href="sub">sub</a> 2026-11-21 03:58 4096 <a href="LICENSE">LICENSE</a> 2026-11-21 03:58 8192 '
    answers: dict[str, Answer] = {
        "/": page(listed),
        "/sub": redirect("/sub/"),
        "/sub/": page(SIZED),
        "/LICENSE": page("x" * 8192, "text/plain"),
    }
    found, _ = look_up(answers, tmp_path)
    assert copied(found, tmp_path) == ["LICENSE", "sub/a.bin"]
    assert [job.size_bytes for job in found.jobs] == [8192, 100]


def test_a_folder_that_hid_as_a_file_fails_and_says_so(tmp_path: Path):
    answers: dict[str, Answer] = {"/": page(SIZED), "/a.bin": redirect("/a.bin/"), "/a.bin/": page("<p>list</p>")}

    async def run() -> list[str]:
        async with RoughServer(answers) as server:
            found = await list_downloads([Url.parse(server.url + "/")], tmp_path, options())
            result = await TransferEngine(plan(1), options()).run(found.jobs)
            return [failure.reason for failure in result.failures]

    assert asyncio.run(run()) == ["it is a folder; copy it by its address with / at the end"]
    assert not (tmp_path / "a.bin").exists()


@pytest.mark.parametrize("answer", ['["a.bin"]', '[{"name": "a.bin", "kind": "f"}]', "{", '{"error": "none"}'])
def test_unknown_json_index_falls_back_to_html_page(tmp_path: Path, answer: str):
    found, asked = look_up({"/": by_accept(answer, SIZED)}, tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]
    assert asked == ["/", "/"]


def test_html_is_requested_from_server_without_json(tmp_path: Path):
    async def answer(asked, writer) -> Awaitable[bool | None] | None:
        chosen = status("406 Not Acceptable", 0) if "json" in asked.headers.get("accept", "") else page(SIZED)
        return await chosen(asked, writer)

    found, _ = look_up({"/": answer}, tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]


def test_an_index_of_caddy_is_read_with_its_folders(tmp_path: Path):
    def rows(*names: str) -> str:
        return json.dumps([{"name": name, "size": 5, "is_dir": name.endswith("/")} for name in names])

    answers = {
        "/": page(rows("sub/", "a.bin"), "application/json"),
        "/sub/": page(rows("b.bin"), "application/json"),
    }
    found, _ = look_up(answers, tmp_path)
    assert copied(found, tmp_path) == ["a.bin", "sub/b.bin"]


def test_a_folder_of_a_server_without_head_fails_and_is_no_file_of_html(tmp_path: Path):
    async def sub(asked, writer) -> bool | None:
        chosen = status("405 Method Not Allowed", 0) if asked.method == "HEAD" else page("<p>a list</p>")
        return await chosen(asked, writer)

    async def run() -> list[str]:
        async with RoughServer({"/": page('<a href="sub">sub</a>'), "/sub": sub}) as server:
            found = await list_downloads([Url.parse(server.url + "/")], tmp_path, options())
            result = await TransferEngine(plan(1), options()).run(found.jobs)
            return [failure.reason for failure in result.failures]

    (reason,) = asyncio.run(run())
    assert "maybe of a folder" in reason
    assert not (tmp_path / "sub").exists()


def test_links_of_a_menu_into_the_tree_are_not_left_out(tmp_path: Path):
    menu = (
        '<a href="/data/">data/</a><a href="/docs/">docs/</a><a href="/docs/read.me">read.me</a><a href="/no/">no/</a>'
    )
    root = page('<a href="data/">data/</a><a href="docs/">docs/</a>')
    found, _ = look_up({"/": root, "/data/": page(menu + SIZED), "/docs/": page('<a href="read.me"></a>')}, tmp_path)
    assert copied(found, tmp_path) == ["data/a.bin", "docs/read.me"]
    assert [omission.place.rpartition(":")[2].partition("/")[2] for omission in found.omissions] == ["no/"]


def test_a_length_of_0_in_an_answer_to_head_is_no_size(tmp_path: Path):
    async def dynamic(asked, writer) -> bool | None:
        if asked.method == "HEAD":
            writer.write(head("200 OK", asked, Content_Type="text/csv", Content_Length=0))
            return None
        writer.write(head("200 OK", asked, Content_Type="text/csv", Connection="close") + b"a,b\n")
        return False

    async def run() -> bool:
        async with RoughServer({"/": page('<a href="x.csv">x.csv</a>'), "/x.csv": dynamic}) as server:
            found = await list_downloads([Url.parse(server.url + "/")], tmp_path, options())
            return (await TransferEngine(plan(1), options()).run(found.jobs)).succeeded

    assert asyncio.run(run())
    assert (tmp_path / "x.csv").read_bytes() == b"a,b\n"


class FewAtOnce(RoughServer):
    """Reads from so many connections at once, as servers of few threads do; others wait until those are closed."""

    most_served = 1

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.room = getattr(self, "room", None) or asyncio.Semaphore(self.most_served)
        async with self.room:
            await super().serve(reader, writer)


@pytest.mark.parametrize("answer_s", [0.0, 0.05])
def test_index_pages_of_a_server_that_serves_one_connection_at_once_are_read(tmp_path: Path, answer_s: float):
    folders = [f"d{number:02}" for number in range(40)]
    listed = page('<a href="f.bin">f.bin</a> 01-Jan-2026 10:00 5')

    async def answer(asked, writer):
        await asyncio.sleep(answer_s)
        return await listed(asked, writer)

    answers = {"/": page("".join(f'<a href="{name}/">{name}/</a> -' for name in folders))}
    answers |= {f"/{name}/": answer for name in folders}

    async def run() -> DownloadList:
        async with FewAtOnce(answers) as server, asyncio.timeout(30.0):
            return await list_downloads([Url.parse(f"{server.url}/")], tmp_path, options(answer_timeout_s=2.5))

    found = asyncio.run(run())
    assert len(found.jobs) == 40
    assert not found.omissions


def test_index_whose_length_nobody_states_and_that_has_no_end_is_not_taken(tmp_path: Path):
    async def cut(asked, writer):
        writer.write(head("200 OK", asked, Content_Type="text/html", Connection="close"))
        writer.write(f"<html><body><pre>{SIZED}".encode())
        return False

    with pytest.raises(UnusableSource, match="its index has no end"):
        look_up({"/": cut}, tmp_path)


def test_form_to_log_in_is_no_empty_folder(tmp_path: Path):
    form = page('<form action="/login"><input type="password"></form>')
    found, _ = look_up({"/": page(SIZED + '<a href="sub/">sub/</a> 2026-11-21 03:58 - '), "/sub/": form}, tmp_path)
    assert copied(found, tmp_path) == ["a.bin"]
    (omission,) = found.omissions
    assert omission.kind is OmissionKind.UNREADABLE
    assert "no index" in omission.reason
