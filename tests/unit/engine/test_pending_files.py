"""Jobs that wait: what is known of all of them."""

from pathlib import Path

import pytest

from tradewind_agent.engine.dealing.pending_files import JobTable
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import UploadJob


def upload(address: str) -> UploadJob:
    return UploadJob(source=Path("f"), destination=Url.parse(address), size_bytes=1, modified_at_ns=0)


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (["http://a/up/x", "http://a/up/y"], True),
        (["http://a/up/x", "http://a/up/sub/y"], True),
        (["http://a/up/x", "http://a/y"], False),
        (["http://a/up/x", "http://a/upper/y"], False),
        (["http://a/up/x", "http://b/up/y"], False),
    ],
)
def test_all_files_are_below_a_folder_or_not(addresses: list[str], expected: bool) -> None:
    assert JobTable(map(upload, addresses)).are_all_below(Url.parse("http://a/up/x")) == expected
