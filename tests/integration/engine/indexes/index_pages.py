"""Index pages of a server, and what a copy finds in them."""

import asyncio
from pathlib import Path

from tests.integration.engine.servers.rough_server import Answer, RoughServer, head
from tests.integration.engine.transfers import options
from tradewind_agent.engine import Url, list_downloads
from tradewind_agent.engine.remote.source import DownloadList

SIZED = '<a href="a.bin">a.bin</a> 2026-11-21 03:58 100 '

Found = tuple[DownloadList, list[str]]
"""What was listed, and the paths that the server was asked for."""


def page(body: str, kind: str = "text/html") -> Answer:
    async def answer(asked, writer):
        body_bytes = body.encode()
        writer.write(head("200 OK", asked, Content_Type=kind, Content_Length=len(body_bytes)))
        writer.write(b"" if asked.method == "HEAD" else body_bytes)

    return answer


def look_up(answers: dict[str, Answer], destination: Path, source: str = "/") -> Found:
    async def run() -> Found:
        async with RoughServer(answers) as server:
            url = Url.parse(f"{server.url}{source}")
            found = await list_downloads([url], destination, options())
            return found, [asked.path for asked in server.asked]

    return asyncio.run(run())


def copied(found: DownloadList, folder: Path) -> list[str]:
    return sorted(Path(job.destination).relative_to(folder).as_posix() for job in found.jobs)
