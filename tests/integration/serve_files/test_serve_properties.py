"""PROPFIND and MKCOL, as WebDAV clients such as rclone use them."""

import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.integration.serve_files.serving import Wire, serving


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "served" / "sub").mkdir(parents=True)
    (tmp_path / "served" / "sub" / "a & b").write_bytes(b"x" * 10)
    (tmp_path / "served" / ".hidden").write_bytes(b"x")
    (tmp_path / "served" / "out").symlink_to("/etc/hosts")
    return tmp_path / "served"


def request(root: Path, method: str, target: str, body: bytes | None = None, *, writable: bool = True, **headers: str):
    with serving(root, writable=writable) as server, Wire(server.port) as wire:
        return wire.ask(method, target, body, **headers)


def found(body: bytes) -> dict[str | None, tuple[bool, str | None]]:
    """Each address with whether it is a folder, and its size."""
    responses = ET.fromstring(body).iter("{DAV:}response")
    return {
        each.findtext("{DAV:}href"): (
            each.find(".//{DAV:}collection") is not None,
            each.findtext(".//{DAV:}getcontentlength"),
        )
        for each in responses
    }


@pytest.mark.parametrize(
    ("target", "depth", "expected"),
    [
        ("/", "0", {"/": (True, None)}),
        ("/", "1", {"/": (True, None), "/sub/": (True, None)}),
        ("/sub", "1", {"/sub/": (True, None), "/sub/a%20%26%20b": (False, "10")}),
        ("/sub/a%20%26%20b", "1", {"/sub/a%20%26%20b": (False, "10")}),
    ],
)
def test_properties_are_those_of_what_is_served(root: Path, target: str, depth: str, expected: object):
    answer = request(root, "PROPFIND", target, b"<propfind/>", writable=False, Depth=depth)
    assert answer.status == 207
    assert found(answer.body) == expected


def test_tag_of_a_file_is_the_one_that_get_answers(root: Path):
    with serving(root, writable=False) as server, Wire(server.port) as wire:
        described = wire.ask("PROPFIND", "/sub/a%20%26%20b", None, Depth="0")
        fetched = wire.ask("GET", "/sub/a%20%26%20b")
    tag = ET.fromstring(described.body).findtext(".//{DAV:}getetag")
    assert tag == fetched.headers["etag"]


@pytest.mark.parametrize(
    ("target", "headers", "body", "status"),
    [
        ("/", {}, None, 403),
        ("/", {"Depth": "infinity"}, None, 403),
        ("/none", {"Depth": "0"}, None, 404),
        ("/.hidden", {"Depth": "0"}, None, 404),
        ("/out", {"Depth": "0"}, None, 403),
        ("/sub/a%20%26%20b/", {"Depth": "0"}, None, 404),
        ("/", {"Depth": "0"}, b"x" * 70_000, 413),
    ],
)
def test_properties_that_cannot_be_had_are_refused(root: Path, target: str, headers, body, status: int):
    assert request(root, "PROPFIND", target, body, **headers).status == status


@pytest.mark.parametrize(
    ("target", "body", "status"),
    [
        ("/new", None, 201),
        ("/sub/new/", None, 201),
        ("/sub", None, 405),
        ("/", None, 405),
        ("/sub/a%20%26%20b", None, 405),
        ("/no/new", None, 409),
        ("/new", b"<mkcol/>", 415),
        ("/.new", None, 403),
        ("/../new", None, 403),
        ("/out/new", None, 403),
    ],
)
def test_folder_is_made_once_in_one_that_is_there(root: Path, target: str, body: bytes | None, status: int):
    assert request(root, "MKCOL", target, body).status == status
    made = {each.name for each in root.rglob("*new")}
    assert made == ({"new"} if status == 201 else set())


def test_read_only_server_makes_no_folder(root: Path):
    assert request(root, "MKCOL", "/new", writable=False).status == 405
    assert not (root / "new").exists()


@pytest.mark.skipif(shutil.which("rclone") is None, reason="rclone is not installed")
def test_rclone_writes_and_reads_by_webdav(root: Path, tmp_path: Path):
    def rclone(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = ["rclone", "--config", "/dev/null", "--retries", "1", "--webdav-url", url, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, check=True, timeout=60)

    with serving(root, writable=True) as server:
        url = f"http://127.0.0.1:{server.port}/"
        rclone("rcat", ":webdav:new/deep/file", stdin=b"streamed")
        rclone("copy", ":webdav:", str(tmp_path / "back"))
    assert (root / "new" / "deep" / "file").read_bytes() == b"streamed"
    assert (tmp_path / "back" / "new" / "deep" / "file").read_bytes() == b"streamed"
    assert (tmp_path / "back" / "sub" / "a & b").read_bytes() == b"x" * 10
