"""DELETE, and the times of uploads, as a client of serve-files meets them on the wire."""

from pathlib import Path

import pytest

from tests.integration.serve_files.serving import Wire, serving


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "served" / "sub").mkdir(parents=True)
    (tmp_path / "served" / "sub" / "file").write_bytes(b"x" * 10)
    return tmp_path / "served"


def request(root: Path, method: str, target: str, body: bytes | None = None, *, writable: bool = True, **headers: str):
    with serving(root, writable=writable) as server, Wire(server.port) as wire:
        return wire.ask(method, target, body, **headers)


def test_a_file_is_removed_and_its_folder_stays(root: Path):
    assert request(root, "DELETE", "/sub/file").status == 204
    assert list((root / "sub").iterdir()) == []


@pytest.mark.parametrize(
    ("target", "status"),
    [("/sub", 409), ("/sub/", 409), ("/sub/file/", 409), ("/none", 404), ("/no/such", 404), ("/../x", 403), ("/", 409)],
)
def test_a_folder_or_what_is_not_there_is_not_removed(root: Path, target: str, status: int):
    assert request(root, "DELETE", target).status == status
    assert (root / "sub" / "file").exists()


def test_a_link_is_removed_and_not_what_it_leads_to(root: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"stays")
    (root / "link").symlink_to(outside)
    assert request(root, "DELETE", "/link").status == 204
    assert not (root / "link").is_symlink()
    assert outside.read_bytes() == b"stays"


def test_nothing_is_removed_behind_a_link_that_leads_out(root: Path, tmp_path: Path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"stays")
    (root / "out").symlink_to(tmp_path / "outside")
    assert request(root, "DELETE", "/out/file").status == 403
    assert (tmp_path / "outside" / "file").exists()


def test_a_part_and_a_read_only_folder_refuse_removal(root: Path):
    assert request(root, "DELETE", "/.tradewind-part-1").status == 403
    refused = request(root, "DELETE", "/sub/file", writable=False)
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD, PROPFIND, OPTIONS")


def test_a_condition_that_fails_keeps_the_file(root: Path):
    assert request(root, "DELETE", "/sub/file", If_Match='"other"').status == 412
    assert (root / "sub" / "file").exists()


def test_an_upload_gets_the_time_that_it_names(root: Path):
    assert request(root, "PUT", "/new", b"12345", X_OC_Mtime="1600000000").status == 201
    assert (root / "new").stat().st_mtime == 1_600_000_000
    part = {"Tradewind_Upload": "id", "Content_Range": "bytes 0-4/5", "X_OC_Mtime": "1600000001.5"}
    assert request(root, "PUT", "/parts", b"12345", **part).status == 201
    assert (root / "parts").stat().st_mtime == 1_600_000_001


@pytest.mark.parametrize("time", ["yesterday", "", "1e9", "123456789012"])
def test_a_time_that_is_none_is_refused(root: Path, time: str):
    assert request(root, "PUT", "/new", b"12345", X_OC_Mtime=time).status == 400
    assert not (root / "new").exists()


def test_two_versions_of_one_time_and_size_have_tags_that_differ(root: Path):
    tags = set()
    with serving(root, writable=True) as server, Wire(server.port) as wire:
        for content in (b"one", b"two", b"six"):
            tags.add(wire.ask("PUT", "/file", content, X_OC_Mtime="1600000000").headers["etag"])
    assert len(tags) == 3
