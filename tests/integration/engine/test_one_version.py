"""Bytes of several answers stand in one file only where a strong validator says that they are of one version."""

import asyncio
import json
from base64 import b64encode
from pathlib import Path

import pytest

from tests.integration.engine.fetching import CONTENT, copies, fetch_one
from tests.integration.engine.servers.rough_server import Answer, RoughRequest, RoughServer, head
from tradewind_agent.engine import TransferResult

OLD = "Tue, 14 Nov 2023 22:13:20 GMT"
OTHER = CONTENT[::-1]


def served(content: bytes, *, obeys: bool = False, **fields: object) -> Answer:
    """A file with ranges and these fields; If-Range counts only where the server ``obeys``."""

    async def answer(asked: RoughRequest, writer) -> None:
        span = asked.span(len(content))
        if span is None or (obeys and "if-range" in asked.headers and asked.headers["if-range"] not in fields.values()):
            writer.write(head("200 OK", asked, Content_Length=len(content), **fields) + content)
            return
        first, last = span
        where, length = f"bytes {first}-{last}/{len(content)}", last + 1 - first
        writer.write(head("206 Partial Content", asked, Content_Length=length, Content_Range=where, **fields))
        writer.write(content[first : last + 1])

    return answer


WEAK = {"ETag": 'W/"one"', "Last_Modified": OLD}
NAMELESS: list[dict[str, object]] = [{}, WEAK, {"Last_Modified": OLD, "Date": OLD}]


@pytest.mark.parametrize("fields", NAMELESS)
def test_a_version_without_a_strong_name_comes_in_one_answer(tmp_path: Path, fields: dict[str, object]):
    old, new = served(OTHER, **fields), served(CONTENT, **fields)

    async def answer(asked, writer):
        return await (old if asked.nth == 0 and "range" in asked.headers else new)(asked, writer)

    _, server = copies(answer, tmp_path, CONTENT, size=len(CONTENT))
    assert "range" not in server.asked[-1].headers


@pytest.mark.parametrize("fields", [{"ETag": '"one"'}, {"Last_Modified": OLD}, {"ETag": '"one"', "Last_Modified": OLD}])
def test_a_version_with_a_strong_name_comes_in_parts(tmp_path: Path, fields: dict[str, object]):
    result, server = copies(served(CONTENT, **fields), tmp_path, CONTENT, size=len(CONTENT))
    assert result.bytes_moved == len(CONTENT)
    assert all("range" in asked.headers for asked in server.asked)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ({"ETag": '"one"'}, {"ETag": '"two"'}),
        ({"ETag": '"one"'}, {"ETag": 'W/"one"'}),
        ({"ETag": '"one"'}, {"Last_Modified": OLD}),
        ({"Last_Modified": OLD}, {"ETag": '"one"'}),
        ({"Last_Modified": OLD}, {}),
        ({"ETag": '"one"'}, {}),
    ],
)
@pytest.mark.parametrize("obeys", [False, True])
def test_parts_of_two_versions_are_never_mixed(tmp_path: Path, first, then, obeys: bool):
    old, new = served(OTHER, obeys=obeys, **first), served(CONTENT, obeys=obeys, **then)

    async def answer(asked, writer):
        return await (old if asked.nth == 0 else new)(asked, writer)

    copies(answer, tmp_path, CONTENT, size=len(CONTENT))


def left_by_an_earlier_run(folder: Path, source: str | None, **header: object) -> None:
    """Half of another file, in the words of the journal."""
    half = len(OTHER) // 2
    (folder / ".file.tradewind-part").write_bytes(OTHER[:half])
    written = {"format": 1, "size_bytes": len(OTHER), "etag": None, "last_modified": None, **header}
    if source is not None:
        written["source"] = source
    (folder / ".file.tradewind-journal").write_text(f"{json.dumps(written)}\n[0, {half - 1}]\n")


@pytest.mark.parametrize(
    ("left", "now"),
    [
        ({}, {}),
        ({"etag": 'W/"one"', "last_modified": OLD}, WEAK),
        ({"last_modified": OLD}, {"Last_Modified": OLD}),  # of a version before: nobody knows whether it is strong
        ({"last_modified": OLD, "has_strong_time": True}, {"ETag": '"one"', "Last_Modified": OLD}),
        ({"etag": '"one"', "last_modified": OLD}, {"Last_Modified": OLD}),
        ({"etag": '"one"'}, {"ETag": '"two"'}),
        ({"etag": '"one"'}, {"ETag": 'W/"one"'}),
        ({"etag": '"one"'}, {}),
    ],
)
@pytest.mark.parametrize("obeys", [False, True])
def test_a_part_without_a_common_validator_is_fetched_again(tmp_path: Path, left, now, obeys: bool):
    left_by_an_earlier_run(tmp_path, None, **left)
    copies(served(CONTENT, obeys=obeys, **now), tmp_path, CONTENT, size=len(CONTENT))


@pytest.mark.parametrize(
    ("left", "now"),
    [({"etag": '"one"'}, {"ETag": '"one"'}), ({"last_modified": OLD, "has_strong_time": True}, {"Last_Modified": OLD})],
)
def test_a_part_of_the_same_version_is_gone_on_with(tmp_path: Path, left, now):
    left_by_an_earlier_run(tmp_path, None, **left)
    result, _ = copies(served(OTHER, **now), tmp_path, OTHER, size=len(OTHER))
    assert result.bytes_moved == len(OTHER) - len(OTHER) // 2


def test_a_part_of_another_address_is_fetched_again(tmp_path: Path):
    left_by_an_earlier_run(tmp_path, "http://elsewhere/other", etag='"one"')
    copies(served(CONTENT, ETag='"one"'), tmp_path, CONTENT, size=len(CONTENT))


def test_full_request_answered_by_parts_only_fails(tmp_path: Path):
    async def answer(asked, writer):
        where = f"bytes 0-99/{len(CONTENT)}"
        writer.write(head("206 Partial Content", asked, Content_Length=100, Content_Range=where) + CONTENT[:100])

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server:
            return await fetch_one(server, tmp_path, size=len(CONTENT), settings=(1, 1, 1))

    (failure,) = asyncio.run(story()).failures
    assert "a part where the whole file was asked for" in failure.reason


def test_a_sum_is_that_of_the_version_that_came_last(tmp_path: Path):
    digest = b64encode(bytes(32)).decode()
    new = served(CONTENT, ETag='"new"')

    async def answer(asked, writer):
        if asked.nth:
            return await new(asked, writer)
        told = {"Content_Length": len(OTHER), "ETag": '"old"', "Repr_Digest": f"sha-256=:{digest}:"}
        writer.write(head("200 OK", asked, **told) + OTHER[:100_000])
        return False

    copies(answer, tmp_path, CONTENT, checksum=True)
