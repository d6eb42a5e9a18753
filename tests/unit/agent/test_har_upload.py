"""Browsers' logs on their way to the service, one beside the other."""

import gzip
import hashlib
import json
import lzma

import pytest
import zstandard

from tests.unit.connections.hars import entry, har
from tradewind.path import UNKNOWN_PATH
from tradewind_agent.har.upload import split, upload_hars


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_log_is_detected_by_its_content_and_read(tmp_path, pack):
    urls = (f"http://example.org/{hashlib.sha256(bytes([n % 256, n // 256])).hexdigest()}" for n in range(2000))
    content = json.dumps(har(*(entry(n, url=url) for n, url in enumerate(urls)))).encode()
    packed = tmp_path / "page.packed"
    packed.write_bytes(pack(content))
    with packed.open("rb") as piped:
        assert split([("file", packed)], "auto") == ([("file", packed)], [])
        first, second = upload_hars([("file", packed), ("pipe", piped)], client=None, path=UNKNOWN_PATH)
    assert first.analysis == second.analysis is not None
    packed.write_bytes(pack(content)[:-9])
    (cut,) = upload_hars([("cut", packed)], client=None, path=UNKNOWN_PATH)
    assert "cut off" in (cut.failure or "")


def test_a_log_that_cannot_be_opened_is_reported_and_the_others_go_on(tmp_path):
    whole = tmp_path / "page.har"
    whole.write_text(json.dumps(har(entry())))
    logs = [("first", whole), ("gone", tmp_path / "gone.har"), ("a folder", tmp_path), ("last", whole)]
    first, gone, folder, last = upload_hars(logs, client=None, path=UNKNOWN_PATH)
    assert first.analysis == last.analysis is not None
    assert gone.failure == "cannot be read: it does not exist; check the name"
    assert (folder.failure or "").startswith("cannot be read: ")


@pytest.mark.parametrize(
    ("pack", "reason"),
    [
        (lambda text: lzma.compress(text.encode())[:-30], "cut off"),
        (lambda text: text.encode("utf-16"), "save it as UTF-8"),
    ],
)
def test_log_of_a_browser_that_cannot_be_read_is_recognised_all_the_same(tmp_path, pack, reason):
    log = tmp_path / "page.har"
    log.write_bytes(pack(json.dumps(har(entry()))))
    assert split([("page", log)], "auto") == ([("page", log)], [])
    (report,) = upload_hars([("page", log)], client=None, path=UNKNOWN_PATH)
    assert reason in (report.failure or "")
