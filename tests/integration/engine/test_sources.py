"""Listing what to copy: folders of web servers in each form of index, files, local folders."""

import asyncio
import gzip
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.integration.engine.servers.rough_server import RoughServer, head, redirect, status
from tests.integration.engine.servers.web_servers import nginx
from tests.integration.engine.transfers import digests, options, plan
from tradewind_agent.engine import DownloadJob, TransferEngine, Url, list_downloads, list_uploads
from tradewind_agent.errors import UnusableSource
from tradewind_agent.serve import serve


def listed(url: str, folder: Path) -> list[DownloadJob]:
    return asyncio.run(list_downloads([Url.parse(url)], folder, options())).jobs


def page(body: str, kind: str = "text/html"):
    async def answer(asked, writer):
        writer.write(head("200 OK", asked, Content_Type=kind, Content_Length=len(body)) + body.encode())

    return answer


def test_json_index_proves_local_file_without_request(content: Path, tmp_path: Path, world_readable: Path):
    work = world_readable / "json"
    work.mkdir()
    with nginx(content, work, server="autoindex_format json;") as server:
        jobs = listed(f"{server.url}small/", tmp_path)
        assert all(job.modified_at is not None for job in jobs)
        assert asyncio.run(TransferEngine(plan(2, 1, 4), options()).run(jobs)).files_done == 60
        requests = len(server.log.read_text().splitlines())
        again = asyncio.run(TransferEngine(plan(2, 1, 4), options()).run(jobs))
        assert (again.files_skipped, again.bytes_moved) == (60, 0)
        assert len(server.log.read_text().splitlines()) == requests


def test_serve_files_is_listed_and_copied(content: Path, tmp_path: Path):
    async def story() -> None:
        server = await serve(content)
        try:
            jobs = (await list_downloads([Url.parse(server.url)], tmp_path, options())).jobs
            assert all(job.etag for job in jobs)
            result = await TransferEngine(plan(3, 2, 4), options()).run(jobs)
            assert result.failures == ()
            again = await TransferEngine(plan(3, 2, 4), options()).run(jobs)
            assert (again.files_done, again.files_skipped) == (0, len(jobs))
        finally:
            await server.close(grace_s=1.0)

    asyncio.run(story())
    assert digests(tmp_path) == digests(content)


def test_a_single_file_takes_the_name_given_or_its_own_in_a_folder(tmp_path: Path):
    assert [job.destination for job in listed("http://127.0.0.1:1/a%20b", tmp_path / "new")] == [str(tmp_path / "new")]
    assert [job.destination for job in listed("http://127.0.0.1:1/a%20b", tmp_path)] == [str(tmp_path / "a b")]


def test_several_sources_of_one_name_are_refused(tmp_path: Path):
    sources = [Url.parse("http://127.0.0.1:1/x/same"), Url.parse("http://127.0.0.1:1/y/same")]
    with pytest.raises(UnusableSource, match="would both become"):
        asyncio.run(list_downloads(sources, tmp_path, options()))


def against(answers, story):
    async def run():
        async with RoughServer(answers) as server:
            return await story(server)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status("404 Not Found", 0), "cannot list .*: the server answered 404 Not Found"),
        (status("503 Service Unavailable", 0), "cannot list .*: the server answered 503"),
        (page("binary", "application/zip"), "is no index page but application/zip"),
        (redirect("/"), "more than 10 redirects"),
    ],
)
def test_unlistable_folder_is_reported_in_one_line(tmp_path: Path, answer, reason: str):
    with pytest.raises(UnusableSource, match=reason):
        against({"/": answer}, lambda server: list_downloads([Url.parse(server.url)], tmp_path, options()))


def test_a_passing_error_of_an_index_is_outwaited(tmp_path: Path):
    answer = status("503 Service Unavailable", 2, page('<a href="x">x</a>'))
    jobs = against({"/": answer}, lambda server: list_downloads([Url.parse(server.url)], tmp_path, options())).jobs
    assert [job.destination for job in jobs] == [str(tmp_path / "x")]


def test_an_index_that_was_redirected_is_read_where_it_is(tmp_path: Path):
    answers = {"/old/": redirect("/new/"), "/new/": page('<a href="x">x</a>')}
    jobs = against(answers, lambda server: list_downloads([Url.parse(f"{server.url}/old/")], tmp_path, options())).jobs
    assert [job.source.path for job in jobs] == ["/new/x"]


def test_name_that_leaves_its_folder_is_left_out_and_the_others_are_listed(tmp_path: Path):
    answers = {"/": page('<a href="good">good</a><a href="..%2F..%2Fevil">evil</a>')}
    found = against(answers, lambda server: list_downloads([Url.parse(server.url)], tmp_path, options()))
    assert [job.destination for job in found.jobs] == [str(tmp_path / "good")]
    (omission,) = found.omissions
    assert omission.place.endswith("/..%2F..%2Fevil")
    assert "is no plain file name" in omission.reason


def as_xml(body: str, line: str = "200 OK"):
    async def answer(asked, writer):
        writer.write(head(line, asked, Content_Type="application/xml", Content_Length=len(body)) + body.encode())

    return answer


def test_all_pages_of_a_bucket_are_listed(tmp_path: Path):
    keys = [f"sub/{number:03d}" for number in range(25)]

    async def answer(asked, writer):
        marker = parse_qs(asked.query).get("marker", [""])[0]
        rest = [key for key in keys if key > marker]
        contents = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in rest[:10])
        is_cut = str(len(rest) > 10).lower()
        body = f"<ListBucketResult><IsTruncated>{is_cut}</IsTruncated>{contents}</ListBucketResult>"
        await as_xml(body)(asked, writer)

    found = against({"/": answer}, lambda server: list_downloads([Url.parse(server.url)], tmp_path, options()))
    assert [job.destination for job in found.jobs] == [str(tmp_path / key) for key in keys]


def test_pages_of_a_bucket_that_lead_back_are_refused(tmp_path: Path):
    body = "<ListBucketResult><IsTruncated>true</IsTruncated><NextMarker>x</NextMarker></ListBucketResult>"
    with pytest.raises(UnusableSource, match="lead back to one another"):
        against({"/": as_xml(body)}, lambda server: list_downloads([Url.parse(server.url)], tmp_path, options()))


@pytest.mark.parametrize("contents", ["", "<Contents><Key>a</Key></Contents><Contents><Key>b</Key></Contents>"])
def test_pages_of_a_bucket_that_never_end_are_refused(tmp_path: Path, contents: str):
    async def answer(asked, writer):
        cut = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{asked.nth}</NextContinuationToken>"
        await as_xml(f"<ListBucketResult>{cut}{contents}</ListBucketResult>")(asked, writer)

    with pytest.raises(UnusableSource, match="lead back to one another"):
        against({"/": answer}, lambda server: list_downloads([Url.parse(server.url)], tmp_path, options()))


@pytest.mark.parametrize("to_get", [status("405 Method Not Allowed", 10**6), page(""), page("Use a WebDAV client.")])
def test_folder_without_an_index_is_listed_as_webdav_has_it(tmp_path: Path, to_get):
    size = "<propstat><prop><getcontentlength>7</getcontentlength></prop></propstat>"
    found = f"<response><href>/d/a.bin</href>{size}</response>"

    async def answer(asked, writer):
        if asked.method == "PROPFIND":
            assert asked.headers["depth"] == "1"
            await as_xml(f'<multistatus xmlns="DAV:">{found}</multistatus>', "207 Multi-Status")(asked, writer)
        else:
            await to_get(asked, writer)

    listed = against(
        {"/d/": answer}, lambda server: list_downloads([Url.parse(f"{server.url}/d/")], tmp_path, options())
    )
    assert [(job.destination, job.size_bytes) for job in listed.jobs] == [(str(tmp_path / "a.bin"), 7)]


def packed(body: bytes, coding: str = "gzip"):
    async def answer(asked, writer):
        told = {"Content_Type": "text/html", "Content_Encoding": coding, "Content_Length": len(body)}
        writer.write(head("200 OK", asked, **told) + body)

    return answer


def test_an_index_may_come_packed(tmp_path: Path):
    links = "".join(f'<a href="file-{number}">f</a>' for number in range(5000))
    answers = {"/": packed(gzip.compress(links.encode()))}
    jobs = against(answers, lambda server: list_downloads([Url.parse(server.url)], tmp_path, options())).jobs
    assert len(jobs) == 5000


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (packed(b"no gzip"), "its index is no gzip"),
        (packed(gzip.compress(b'<a href="x">x</a>')[:-9]), "its index is cut short"),
        (packed(b"any", "br"), "its index is packed as br"),
    ],
)
def test_corrupt_compressed_index_is_reported_in_one_line(tmp_path: Path, answer, reason: str):
    with pytest.raises(UnusableSource, match=reason):
        against({"/": answer}, lambda server: list_downloads([Url.parse(server.url)], tmp_path, options()))


def test_listing_reports_its_connections(content: Path, tmp_path: Path, world_readable: Path):
    work = world_readable / "seen"
    work.mkdir()
    seen = []
    with nginx(content, work) as server:
        url = Url.parse(f"{server.url}small/")
        asyncio.run(list_downloads([url], tmp_path, options(), on_connection=lambda *told: seen.append(told)))
    [(origin, info)] = seen
    assert origin == url.origin
    assert 0 < info.min_rtt_s < 1


def test_local_files_and_folders_become_uploads(tmp_path: Path):
    folder = tmp_path / "folder"
    (folder / "sub dir").mkdir(parents=True)
    (folder / "a#1").write_bytes(b"abc")
    (folder / "sub dir" / "b").write_bytes(b"")
    (folder / "link").symlink_to("/etc/hostname")
    found = list_uploads([folder, folder / "a#1"], Url.parse("http://h/in/"))
    jobs = found.jobs
    assert [each.place for each in found.omissions] == [str(folder / "link")]
    assert [(str(job.destination), job.size_bytes) for job in jobs] == [
        ("http://h/in/a%231", 3),
        ("http://h/in/sub%20dir/b", 0),
    ]
    (job,) = list_uploads([folder / "a#1"], Url.parse("http://h/x")).jobs
    assert str(job.destination) == "http://h/x"


def test_several_files_need_a_folder_to_go_to(tmp_path: Path):
    with pytest.raises(UnusableSource, match="end it with /"):
        list_uploads([tmp_path], Url.parse("http://h/file"))
    with pytest.raises(UnusableSource, match="neither a file nor a folder"):
        list_uploads([tmp_path / "missing"], Url.parse("http://h/in/"))
