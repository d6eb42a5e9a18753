"""Answers that look like the file and are not: nothing of them gets its name. And odd ends of right ones."""

import asyncio
import os
import socket
import ssl
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.integration.certificates import Certificates, make_certificates
from tests.integration.engine.fetching import CONTENT, SMALL, copies, reason_of_failure
from tests.integration.engine.servers.rough_server import Answer, RoughServer, head, plain, redirect
from tests.integration.engine.servers.stream_server import StreamServer, read_head
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.engine import RetryPolicy, TransferEngine, TransferResult, Url, build_tls_context, list_uploads

PAGE = b"<html><title>Please log in</title></html>"


def page(content_type: str = "text/html; charset=utf-8") -> Answer:
    async def answer(asked, writer):
        writer.write(head("200 OK", asked, Content_Type=content_type, Content_Length=len(PAGE)) + PAGE)

    return answer


@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "application/problem+json"])
def test_web_page_of_another_size_is_not_the_file(tmp_path: Path, content_type: str):
    reason, _ = reason_of_failure(page(content_type), tmp_path, size=len(CONTENT))
    assert (
        reason
        == f"the server answers with a web page of {len(PAGE)} bytes instead of the file; does it ask for a login?"
    )


def test_web_page_behind_a_few_parts_is_not_the_file(tmp_path: Path):
    parts = plain(CONTENT)

    async def answer(asked, writer):
        await (parts if asked.nth < 1 else page())(asked, writer)

    reason, _ = reason_of_failure(answer, tmp_path, size=len(CONTENT))
    assert "a web page of" in reason


@pytest.mark.parametrize(("message", "is_dated"), [(b"", False), (b"", True), (b"backend is down", True)])
def test_short_message_of_a_program_is_not_the_listed_file(tmp_path: Path, message: bytes, is_dated: bool):
    async def answer(asked, writer):
        writer.write(head("200 OK", asked, Content_Type="text/plain", Content_Length=len(message)) + message)

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server:
            (job,) = jobs_for(server.url, ["file"], tmp_path, {"file": len(CONTENT)})
            listed = replace(job, modified_at=datetime.now(UTC)) if is_dated else job
            return await TransferEngine(plan(1, 3), options()).run([listed])

    (failure,) = asyncio.run(story()).failures
    assert f"which it gives no time or tag, instead of the {len(CONTENT)} of the file" in failure.reason
    assert list(tmp_path.iterdir()) == []


def test_several_parts_in_one_answer_are_not_a_part(tmp_path: Path):
    async def answer(asked, writer):
        span = asked.span(len(CONTENT))
        if span is None:
            await plain(CONTENT)(asked, writer)
            return
        first, last = span
        where = f"bytes {first}-{last}/{len(CONTENT)}"
        before = f"--x\r\nContent-Range: {where}\r\n\r\n".encode()
        body = before + CONTENT[first : last + 1 - len(before)]
        fields = {"Content_Type": "multipart/byteranges; boundary=x", "Content_Range": where, "ETag": '"one"'}
        writer.write(head("206 Partial Content", asked, Content_Length=len(body), **fields) + body)

    copies(answer, tmp_path, CONTENT)


@pytest.mark.parametrize("size", [None, len(CONTENT)])
def test_part_again_and_again_in_place_of_the_entire_file_is_a_failure(tmp_path: Path, size: int | None):
    async def answer(asked, writer):
        where = f"bytes 0-999/{len(CONTENT)}"
        writer.write(
            head("206 Partial Content", asked, Content_Length=1000, Content_Range=where, ETag='"one"') + CONTENT[:1000]
        )

    reason, server = reason_of_failure(answer, tmp_path, size=size)
    assert reason.startswith("a part, though the entire file was requested")
    assert len(server.asked) < 20


def test_bytes_that_are_all_here_are_the_file_whatever_the_end(tmp_path: Path):
    async def answer(asked, writer):
        body = b"%x\r\n%s\r\n0\r\n" % (len(SMALL), SMALL)
        writer.write(head("200 OK", asked, Transfer_Encoding="chunked", ETag='"one"') + body)
        return False

    _, server = copies(answer, tmp_path, SMALL, size=len(SMALL))
    assert len(server.asked) == 1


def test_redirect_without_a_place_fails_at_once(tmp_path: Path):
    async def answer(asked, writer):
        writer.write(head("302 Found", asked, Content_Length=0))

    reason, server = reason_of_failure(answer, tmp_path)
    assert reason == "the server answered 302 Found without saying where to"
    assert sum(asked.path == "/file" for asked in server.asked) == 1


def test_redirect_in_bytes_beyond_ascii_is_followed(tmp_path: Path):
    async def story() -> TransferResult:
        place = "/d\u00e9j\u00e0 vu"
        answers = {"/file": redirect(place), "/d%C3%A9j%C3%A0%20vu": plain(SMALL)}
        async with RoughServer(answers) as server:
            return await TransferEngine(plan(1), options()).run(jobs_for(server.url, ["file"], tmp_path))

    assert asyncio.run(story()).failures == ()
    assert (tmp_path / "file").read_bytes() == SMALL


def test_head_that_never_ends_is_given_up(tmp_path: Path):
    async def answer(asked, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)
        return False

    reason, _ = reason_of_failure(answer, tmp_path, answer_timeout_s=0.5, idle_timeout_s=0.5)
    assert "nothing received for" in reason


def test_file_that_hides_its_size_is_not_sent_as_an_empty_one():
    async def story() -> TransferResult:
        async with RoughServer({}) as server:
            jobs = list_uploads([Path("/proc/self/limits")], Url.parse(f"{server.url}/file")).jobs
            return await TransferEngine(plan(1), options()).run(jobs)

    (failure,) = asyncio.run(story()).failures
    assert "does not tell its size" in failure.reason


def test_server_that_resets_after_some_bytes_gets_no_longer_pauses(tmp_path: Path):
    piece_bytes = 2_000

    async def answer(asked, writer):
        first, last = asked.span(len(SMALL)) or (0, len(SMALL) - 1)
        where = f"bytes {first}-{last}/{len(SMALL)}"
        fields = {"Content_Length": last + 1 - first, "Content_Range": where, "ETag": '"one"'}
        writer.write(head("206 Partial Content" if "range" in asked.headers else "200 OK", asked, **fields))
        writer.write(SMALL[first : last + 1][:piece_bytes])
        return False

    growing = RetryPolicy(most_tries=4, first_wait_s=0.01, longest_wait_s=1e6)
    _, server = copies(answer, tmp_path, SMALL, settings=(1, 1, 1), retry=growing)
    assert len(server.asked) <= 2 * len(SMALL) / piece_bytes + 1


@dataclass(eq=False)
class HastyStore(StreamServer):
    """Answers an upload before its body was read."""

    line: str

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if await read_head(reader) is not None:
                writer.write(f"HTTP/1.1 {self.line}\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
                await reader.read(1)
        finally:
            writer.close()


@pytest.mark.parametrize("line", ["201 Created", "200 OK"])
def test_success_before_the_upload_was_read_is_none(tmp_path: Path, line: str):
    (tmp_path / "file").write_bytes(CONTENT * 20)

    async def story() -> TransferResult:
        async with HastyStore(line) as server:
            jobs = list_uploads([tmp_path / "file"], Url.parse(f"http://{server.address}/file")).jobs
            return await TransferEngine(plan(1), options()).run(jobs)

    (failure,) = asyncio.run(story()).failures
    assert f"the server answered {line} before it had all bytes" in failure.reason


class CuttingServer(StreamServer):
    """Ends a body without a length by closing the connection, without the notice of TLS."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (head := await read_head(reader)) is not None:
            await reader.readexactly(int(head.headers.get("content-length", "0")))
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + SMALL)
            await writer.drain()
            with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as beneath:
                beneath.shutdown(socket.SHUT_WR)
            await reader.read()
        writer.transport.abort()


def cutting_server(certificates: Certificates) -> CuttingServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)

    class Server(CuttingServer):
        tls = context

    return Server()


def test_success_of_an_upload_need_not_end_as_tls_does(tmp_path: Path):
    (tmp_path / "file").write_bytes(CONTENT)
    certificates = make_certificates(tmp_path)

    async def story() -> TransferResult:
        async with cutting_server(certificates) as server:
            trusting = options(tls=build_tls_context(ca_file=certificates.authority))
            jobs = list_uploads([tmp_path / "file"], Url.parse(f"https://{server.address}/file")).jobs
            return await TransferEngine(plan(1), trusting).run(jobs)

    assert asyncio.run(story()).failures == ()


@pytest.mark.parametrize("is_known", [True, False])
def test_body_that_tls_did_not_end_is_the_file_only_where_its_size_is_known(tmp_path: Path, is_known: bool):
    folder = tmp_path / "out"
    folder.mkdir()
    certificates = make_certificates(tmp_path)

    async def story() -> TransferResult:
        async with cutting_server(certificates) as server:
            trusting = options(tls=build_tls_context(ca_file=certificates.authority))
            sizes = {"file": len(SMALL)} if is_known else None
            jobs = jobs_for(f"https://{server.address}", ["file"], folder, sizes)
            return await TransferEngine(plan(1), trusting).run(jobs)

    result = asyncio.run(story())
    assert result.succeeded is is_known
    assert [path.name for path in folder.iterdir()] == ["file"] * is_known
    assert is_known or "the connection was cut" in result.failures[0].reason


DOCTYPE_PAGE = b"\n<!DOCTYPE html><html><title>Not here</title></html>"


def html_page(asked: Any, body: bytes) -> bytes:
    return head("200 OK", asked, Content_Type="text/html", Content_Length=len(body)) + body


@pytest.mark.parametrize(
    ("name", "body", "is_stored"),
    [
        ("set.tar.gz", DOCTYPE_PAGE, False),
        ("set.nc", DOCTYPE_PAGE, False),
        ("set.nc", b"CDF\x01 data of a server that knows no types", True),
        ("set.html", DOCTYPE_PAGE, True),
        ("get.php", DOCTYPE_PAGE, True),
        ("v1.2", DOCTYPE_PAGE, True),
        ("wiki", DOCTYPE_PAGE, True),
    ],
)
def test_page_is_not_stored_under_the_name_of_data(tmp_path: Path, name: str, body: bytes, is_stored: bool):
    async def answer(asked, writer):
        writer.write(html_page(asked, body))

    async def story() -> TransferResult:
        async with RoughServer({f"/{name}": answer}) as server:
            return await TransferEngine(plan(1, 1), options()).run(jobs_for(server.url, [name], tmp_path, {name: None}))

    result = asyncio.run(story())
    assert [each.name for each in tmp_path.iterdir()] == [name] * is_stored
    assert all("a web page instead of the file" in failure.reason for failure in result.failures)


def test_page_is_stored_under_the_name_of_a_page(tmp_path: Path):
    async def answer(asked, writer):
        writer.write(html_page(asked, DOCTYPE_PAGE))

    async def story() -> TransferResult:
        async with RoughServer({"/set.nc": answer}) as server:
            (job,) = jobs_for(server.url, ["set.nc"], tmp_path, {"set.nc": None})
            return await TransferEngine(plan(1, 1), options()).run([replace(job, destination=f"{tmp_path}/set.html")])

    assert not asyncio.run(story()).failures
    assert (tmp_path / "set.html").read_bytes() == DOCTYPE_PAGE


@pytest.mark.parametrize(
    ("name", "kind", "is_message"),
    [
        ("file.bin", "text/plain", True),
        ("file.tar.gz", "application/json", True),
        ("file.csv", "text/plain", False),
        ("file", "text/plain", False),
        ("file.bin", "application/octet-stream", False),
    ],
)
def test_short_answer_of_another_type_is_not_the_listed_file(tmp_path: Path, name: str, kind: str, is_message: bool):
    message = b'{"error": "quota exceeded"}'

    async def answer(asked, writer):
        writer.write(head("200 OK", asked, ETag='W/"1"', Content_Type=kind, Content_Length=len(message)) + message)

    async def story() -> TransferResult:
        async with RoughServer({f"/{name}": answer}) as server:
            jobs = jobs_for(server.url, [name], tmp_path, {name: len(CONTENT)})
            return await TransferEngine(plan(1, 1), options()).run(jobs)

    failures = asyncio.run(story()).failures
    assert [each.name for each in tmp_path.iterdir()] == ([] if is_message else [name])
    assert len(failures) == is_message
    assert all(f"of {kind} instead of the {len(CONTENT)} of the file" in failure.reason for failure in failures)


@pytest.mark.parametrize("size", [None, len(SMALL), len(CONTENT)])
def test_file_that_a_proxy_may_have_changed_is_taken(tmp_path: Path, size: int | None):
    content = SMALL if size != len(CONTENT) else CONTENT

    async def answer(asked, writer):
        writer.write(head("203 Non-Authoritative Information", asked, Content_Length=len(content)) + content)

    copies(answer, tmp_path, content, size=size)


@pytest.mark.parametrize("size", [None, len(CONTENT)])
def test_part_that_is_the_entire_file_shows_that_there_are_no_ranges(tmp_path: Path, size: int | None):
    async def answer(asked, writer):
        span = asked.span(len(CONTENT))
        fields = {} if span is None else {"Content_Range": f"bytes {span[0]}-{span[1]}/{len(CONTENT)}"}
        line = "200 OK" if span is None else "206 Partial Content"
        writer.write(head(line, asked, Content_Length=len(CONTENT), ETag='"one"', **fields) + CONTENT)

    copies(answer, tmp_path, CONTENT, size=size)
