"""Downloads from web servers as Debian ships them: every byte, at many settings, within keep-alive limits."""

import asyncio
from collections import Counter
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from tests.conditions import eventually
from tests.integration.engine.conftest import KEEPALIVE_REQUESTS
from tests.integration.engine.servers.web_servers import WebServer
from tests.integration.engine.transfers import digests, jobs_for, options, plan, transfer
from tradewind_agent.engine import Url, list_downloads

MARK = "mark-"
"""Begins the name of a file that is not there, whose request marks a place in a log that is written late."""


def names(content: Path, *folders: str) -> list[str]:
    return [path.relative_to(content).as_posix() for folder in folders for path in sorted((content / folder).iterdir())]


@pytest.mark.parametrize(
    ("concurrency", "parallelism", "pipelining", "io_block_bytes"),
    [(1, 1, 1, 262144), (1, 1, 16, 4096), (2, 3, 1, 65536), (4, 2, 4, 65536), (16, 1, 8, 1 << 20), (3, 8, 2, 16384)],
)
def test_every_byte_arrives_at_any_setting(
    web_server: WebServer,
    content: Path,
    tmp_path: Path,
    concurrency: int,
    parallelism: int,
    pipelining: int,
    io_block_bytes: int,
):
    chosen = names(content, "small", "middle", "large")
    sizes = {name: (content / name).stat().st_size for name in chosen}
    result = transfer(
        jobs_for(web_server.url, chosen, tmp_path, sizes), plan(concurrency, parallelism, pipelining, io_block_bytes)
    )
    assert result.failures == ()
    assert result.files_done == len(chosen)
    assert result.bytes_moved == sum(sizes.values())
    assert digests(tmp_path) == {name: digest for name, digest in digests(content).items() if name in sizes}


@pytest.mark.parametrize("parallelism", [1, 4])
def test_sizes_need_not_be_known_before(web_server: WebServer, content: Path, tmp_path: Path, parallelism: int):
    chosen = [*names(content, "small", "middle", "large"), "empty.bin"]
    result = transfer(jobs_for(web_server.url, chosen, tmp_path), plan(3, parallelism, 4))
    assert result.failures == ()
    assert digests(tmp_path) == {name: digest for name, digest in digests(content).items() if name in chosen}


def test_a_folder_is_listed_and_copied_with_all_below_it(web_server: WebServer, content: Path, tmp_path: Path):
    jobs = asyncio.run(list_downloads([Url.parse(web_server.url)], tmp_path, options())).jobs
    assert {Path(job.destination).relative_to(tmp_path).as_posix() for job in jobs} == digests(content).keys()
    assert transfer(jobs, plan(4, 2, 4)).failures == ()
    assert digests(tmp_path) == digests(content)


def test_requests_left_unanswered_when_the_server_closes_are_sent_again(
    impatient_server: WebServer, content: Path, tmp_path: Path
):
    chosen = names(content, "small")
    result = transfer(jobs_for(impatient_server.url, chosen, tmp_path), plan(2, 1, 32))
    assert result.failures == ()
    assert digests(tmp_path) == {name: digest for name, digest in digests(content).items() if name in chosen}


def test_keep_alive_limit_is_learned_and_then_observed(impatient_server: WebServer, content: Path, tmp_path: Path):
    _mark_log(impatient_server)
    chosen = names(content, "small")
    sizes = {name: (content / name).stat().st_size for name in chosen}
    assert transfer(jobs_for(impatient_server.url, chosen, tmp_path, sizes), plan(1, 1, 16)).failures == ()
    requests = _mark_log(impatient_server)
    connections = Counter(line.split()[0] for line in requests)
    # nginx answers keepalive_requests, Apache and lighttpd one more: in all cases every connection is used to its end.
    assert max(connections.values()) in (KEEPALIVE_REQUESTS, KEEPALIVE_REQUESTS + 1)
    assert len(connections) == -(-len(chosen) // max(connections.values()))
    assert len(requests) == len(chosen)


def _mark_log(server: WebServer) -> list[str]:
    """Put a request of its own into the log, wait until it is there, and return the lines since the one before."""
    with httpx.Client() as client:
        client.get(f"{server.url}{MARK}{uuid4().hex}")
        name = f"{MARK}{uuid4().hex}"
        client.get(f"{server.url}{name}")
    lines = eventually(lambda: lines if name in (lines := server.log.read_text()) else "").splitlines()
    marks = [number for number, line in enumerate(lines) if MARK in line]
    return lines[marks[-3] + 1 : marks[-2]] if len(marks) > 2 else []
