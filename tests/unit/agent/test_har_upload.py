"""Browsers' logs on their way to the service, one beside the other."""

import json

from tests.unit.connections.hars import entry, har
from tradewind.path import UNKNOWN_PATH
from tradewind_agent.har_upload import upload_hars


def test_a_log_that_cannot_be_opened_is_told_and_the_others_go_on(tmp_path):
    whole = tmp_path / "page.har"
    whole.write_text(json.dumps(har(entry())))
    logs = [("first", whole), ("gone", tmp_path / "gone.har"), ("a folder", tmp_path), ("last", whole)]
    first, gone, folder, last = upload_hars(logs, client=None, path=UNKNOWN_PATH)
    assert first.analysis == last.analysis is not None
    assert gone.failure == "cannot be read: it does not exist; check the name"
    assert (folder.failure or "").startswith("cannot be read: ")
