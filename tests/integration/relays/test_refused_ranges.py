"""Relays from servers that refuse requests with Range, and send the file without."""

import pytest

from tests.integration.engine.servers.store import Store
from tests.integration.engine.servers.stream_server import RequestHead
from tests.integration.relays.file_source import FileSource, Turn
from tests.integration.relays.relaying import LONG, SHORT, relay_to_bucket, relay_to_web
from tests.integration.stores.object_store import ObjectStore


def refuse_ranges(status: str | None) -> FileSource:
    """Return a source of two files, one of several units; ``None`` for a connection that is dropped."""

    def turn(head: RequestHead, _count: int) -> Turn:
        if "range" not in head.headers:
            return Turn()
        if status is None:
            raise ConnectionError
        return Turn(status=status)

    return FileSource({"/file": LONG, "/short": SHORT}, turn=turn)


@pytest.mark.parametrize("status", ["403 Forbidden", "406 No", "500 Oops", "501 No", None])
@pytest.mark.parametrize("known", [{}, {"size_bytes": None}], ids=["listed", "unknown"])
def test_files_whose_ranges_are_refused_are_relayed(status: str | None, known: dict[str, None]):
    web, store = Store(), ObjectStore()
    assert relay_to_web(refuse_ranges(status), web, known=known).failures == ()
    assert web.files == {"/up/file": LONG, "/up/short": SHORT}
    assert relay_to_bucket(refuse_ranges(status), store, known=known).failures == ()
    assert store.objects == {"up/file": LONG}


@pytest.mark.parametrize("status", ["404 Not Found", "501 Not Implemented"])
def test_files_that_are_not_there_fail_by_their_refusal(status: str):
    paths = [f"/f{number}" for number in range(40)]
    source = FileSource(dict.fromkeys(paths, LONG), turn=lambda _head, _count: Turn(status=status))
    web = Store()
    failures = relay_to_web(source, web).failures
    assert len(failures) == len(paths)
    assert all(failure.reason.startswith(f"the server answered {status}") for failure in failures)
    assert 1 <= len([request for request in source.requests if request == "GET"]) < len(paths)
    assert web.files == {}
