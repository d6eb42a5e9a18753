"""Files that are stored compressed, and what servers say and do about it: never other bytes under their names."""

import asyncio
import gzip
import random
from pathlib import Path

import pytest

from tests.integration.engine.servers.rough_server import Answer, RoughServer, head
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.engine import TransferEngine, TransferResult

STORED = gzip.compress(random.Random(4).randbytes(50_000), mtime=0)
"""The file as it is on the server, named file.gz."""


def serve(body: bytes, coding: str, *, states_size: bool) -> Answer:
    async def answer(asked, writer):
        fields = {"Content_Encoding": coding, "ETag": '"one"'}
        if states_size:
            writer.write(head("200 OK", asked, Content_Length=len(body), **fields) + body)
        else:
            writer.write(head("200 OK", asked, Transfer_Encoding="chunked", **fields))
            writer.write(b"5\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (body[:5], len(body) - 5, body[5:]))

    return answer


def copy(answer: Answer, folder: Path, name: str = "file.gz", size: int | None = None) -> TransferResult:
    async def story() -> TransferResult:
        async with RoughServer({f"/{name}": answer}) as server, asyncio.timeout(30.0):
            jobs = jobs_for(server.url, [name], folder, None if size is None else {name: size})
            return await TransferEngine(plan(1, 2, 2), options()).run(jobs)

    return asyncio.run(story())


@pytest.mark.parametrize("size", [None, len(STORED)])
@pytest.mark.parametrize("states_size", [True, False])
@pytest.mark.parametrize("coding", ["gzip", "x-gzip"])
def test_stored_file_arrives_though_its_coding_is_stated(tmp_path: Path, coding: str, states_size: bool, size):
    assert copy(serve(STORED, coding, states_size=states_size), tmp_path, size=size).failures == ()
    assert (tmp_path / "file.gz").read_bytes() == STORED


@pytest.mark.parametrize("size", [None, len(STORED)])
@pytest.mark.parametrize("states_size", [True, False])
@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip"])
def test_file_that_was_compressed_once_more_is_no_file(tmp_path: Path, coding: str, states_size: bool, size):
    answer = serve(gzip.compress(STORED), coding, states_size=states_size)
    for _ in range(2):  # nor does another run go on with it
        (failure,) = copy(answer, tmp_path, size=size).failures
        assert failure.reason
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["file.gz.gz", "file.tgz.gz", "drawing.SVGZ.gz"])
def test_file_that_is_named_so_may_be_compressed_twice(tmp_path: Path, name: str):
    content = gzip.compress(STORED)
    assert copy(serve(content, "gzip", states_size=True), tmp_path, name).failures == ()
    assert (tmp_path / name).read_bytes() == content
