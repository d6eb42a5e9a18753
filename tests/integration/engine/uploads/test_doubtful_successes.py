"""Success that servers answer to an upload, though they have not stored what was sent."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.integration.engine.servers.stream_server import StreamServer, read_head
from tests.integration.engine.transfers import options, plan
from tradewind_agent.engine import TransferEngine, TransferResult, Url, list_uploads

CONTENT = bytes(range(256)) * 400
PAGE = "Content-Type: text/html\r\n"


@dataclass(eq=False)
class Store(StreamServer):
    """Answers PUT with ``success``, and stores all but the last ``lost_bytes``.

    ``page`` : the body of its success. ``redirected`` : status by which it sends uploads to another place first.
    ``shown`` : fields of its answer to HEAD; ``shown_bytes`` : the size in it, instead of what is stored.
    ``answers_head`` : else it closes the connection on a question.
    """

    success: str = "201 Created"
    lost_bytes: int = 0
    fields: str = ""
    stores: bool = True
    page: str = ""
    redirected: str = ""
    shown: str = 'ETag: "one"\r\n'
    shown_bytes: int | None = None
    answers_head: bool = True
    files: dict[str, bytes] = field(default_factory=dict)
    methods: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (head := await read_head(reader)) is not None:
                body = await reader.readexactly(int(head.headers.get("content-length", "0")))
                self.methods.append(head.method)
                if head.method == "HEAD" and not self.answers_head:
                    break
                writer.write(self._answer(head.method, head.target, body).encode())
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def _answer(self, method: str, target: str, body: bytes) -> str:
        if method == "PUT" and self.redirected and target != "/login":
            return f"HTTP/1.1 {self.redirected}\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"
        if method == "PUT":
            if self.stores and target != "/login":
                self.files[target] = body[: len(body) - self.lost_bytes]
            return f"HTTP/1.1 {self.success}\r\n{self.fields}Content-Length: {len(self.page)}\r\n\r\n{self.page}"
        if (stored := self.files.get(target)) is None:
            return "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        size = len(stored) if self.shown_bytes is None else self.shown_bytes
        return f"HTTP/1.1 200 OK\r\n{self.shown}Content-Length: {size}\r\n\r\n"


def send(server: Store, folder: Path, files: int = 1, *, checksum: bool = False) -> TransferResult:
    for number in range(files):
        (folder / f"{number}").write_bytes(CONTENT)

    async def story() -> TransferResult:
        async with server, asyncio.timeout(30.0):
            jobs = list_uploads([folder], Url.parse(f"http://{server.address}/")).jobs
            return await TransferEngine(plan(1), options(checksum=checksum)).run(jobs)

    return asyncio.run(story())


@pytest.mark.parametrize("success", ["201 Created", "200 OK", "204 No Content"])
def test_file_that_was_stored_in_part_is_a_failure(tmp_path: Path, success: str):
    server = Store(success=success, lost_bytes=10)
    (failure,) = send(server, tmp_path).failures
    has = f"the server has {len(CONTENT) - 10} bytes of {len(CONTENT)}, though it answered {success}"
    assert failure.reason.startswith(has)
    assert server.methods.count("PUT") == 1


@pytest.mark.parametrize(
    "server",
    [
        Store(success="200 OK", stores=False, fields=PAGE, page="<p><FORM action=/login>"),
        Store("200 OK", redirected="302 Found"),
        Store("200 OK", redirected="303 See Other"),
    ],
)
def test_form_to_log_in_has_not_stored_the_file(tmp_path: Path, server: Store):
    (failure,) = send(server, tmp_path).failures
    assert failure.reason.endswith("does not have the file; does it ask for a login?")


@pytest.mark.parametrize("page", ['{"error": "quota exceeded"}', '{"success": false}', '{"status": "error"}'])
def test_document_that_reports_a_failure_is_believed_where_the_file_is_missing(tmp_path: Path, page: str):
    fields = "Content-Type: application/json\r\n"
    (failure,) = send(Store("200 OK", stores=False, fields=fields, page=page), tmp_path).failures
    assert "and does not have the file: " in failure.reason
    assert page in failure.reason
    assert send(Store("200 OK", fields=fields, page=page), tmp_path).failures == ()


@pytest.mark.parametrize(
    "page",
    [
        '{"error": null}',
        '{"error": "", "errors": []}',
        '{"error": "none"}',
        '{"error": "No error."}',
        '{"error": "0"}',
        '{"error": {"code": 0, "message": "ok"}}',
        '{"error": {"code": "ok", "message": ""}}',
        '{"status": "ok", "failed": 0}',
        '{"success": true, "message": "no error"}',
        '[{"error": "of an earlier request"}]',
    ],
)
def test_document_that_reports_no_error_is_a_success(tmp_path: Path, page: str):
    fields = "Content-Type: application/json\r\n"
    assert send(Store("200 OK", stores=False, fields=fields, page=page), tmp_path).failures == ()


@pytest.mark.parametrize("stores", [True, False])
def test_page_that_reports_the_success_is_one(tmp_path: Path, stores: bool):
    """A program may store files elsewhere than where it was sent them."""
    assert send(Store("200 OK", fields=PAGE, page="<p>thank you", stores=stores), tmp_path).failures == ()


@pytest.mark.parametrize(
    ("shown", "shown_bytes"),
    [
        ('ETag: W/"0-2jmj7l5rSw0yVb/vlWAYkK/YBwk"\r\n', 0),
        ('ETag: "before"\r\nAge: 30\r\n', 77),
        ("Content-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:\r\n", None),
    ],
    ids=["a program's empty answer", "an older answer of a cache", "a sum of the empty answer"],
)
@pytest.mark.parametrize("checksum", [False, True])
def test_answers_that_do_not_describe_the_stored_file_are_no_failure(
    tmp_path: Path, shown: str, shown_bytes: int | None, checksum: bool
):
    server = Store(shown=shown, shown_bytes=shown_bytes)
    assert send(server, tmp_path, checksum=checksum).failures == ()


def test_redirect_of_the_upload_itself_is_no_doubt(tmp_path: Path):
    server = Store(redirected="307 Temporary Redirect", lost_bytes=0)
    assert send(server, tmp_path, files=5).failures == ()
    assert server.methods.count("HEAD") <= 1


def test_server_that_answers_no_question_gets_few_of_them(tmp_path: Path):
    server = Store(answers_head=False)
    assert send(server, tmp_path, files=5).failures == ()
    assert server.methods.count("HEAD") < 5


def test_only_the_first_small_file_is_looked_at(tmp_path: Path):
    server = Store()
    assert send(server, tmp_path, files=20).failures == ()
    assert server.methods.count("HEAD") == 1


@pytest.mark.parametrize("server", [Store(answers_head=False), Store(stores=False)])
def test_success_counts_where_the_server_does_not_say_more(tmp_path: Path, server: Store):
    assert send(server, tmp_path).failures == ()
