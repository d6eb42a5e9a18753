"""Sizes of files that no listing states, as the server reports them."""

import asyncio
from http import HTTPStatus

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import OnConnection, fetch
from tradewind_agent.engine.jobs import DownloadJobs
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.media_types import HTML_TYPES, is_page_name, parse_media_type
from tradewind_agent.errors import FileFault, RefusedByServer

MOST_SIZE_QUERIES = 64
"""Files without a known size that are queried one by one; the sizes of the others are estimated from these."""

SIZES_AT_ONCE = 8


async def query_sizes(jobs: DownloadJobs, options: EngineOptions, seen: OnConnection | None = None) -> DownloadJobs:
    """Return the jobs with the sizes that the server reports for (a sample of) the jobs without one."""
    unknown = [position for position, size in enumerate(jobs.iterate_field("size_bytes")) if size is None]
    if not unknown:
        return jobs
    step = max(len(unknown) // MOST_SIZE_QUERIES, 1)
    sample = unknown[::step][:MOST_SIZE_QUERIES]
    queries = _SizeQueries(options.limit_for_questions(), seen)
    sizes = await asyncio.gather(*(queries.ask(jobs[position].source) for position in sample))
    sized_jobs = DownloadJobs(jobs)
    for position, size in zip(sample, sizes, strict=True):
        sized_jobs.set_size(position, size)
    return sized_jobs


class _SizeQueries:
    """Asks for sizes by HEAD, a few at once, until one is not answered: the transfer itself reports what is wrong."""

    def __init__(self, options: EngineOptions, seen: OnConnection | None) -> None:
        self._options = options
        self._seen = seen
        self._gate = asyncio.Semaphore(SIZES_AT_ONCE)
        self._is_unanswered = False

    async def ask(self, url: Url) -> int | None:
        """Return the size of a file, bytes; ``None`` where the server does not say."""
        async with self._gate:
            if self._is_unanswered:
                return None
            try:
                answer = await fetch(
                    url, self._options, {"Accept-Encoding": "identity"}, method="HEAD", on_connection=self._seen
                )
            except FileFault as fault:
                self._is_unanswered = True
                await self._obey(fault)
                return None
        is_page = parse_media_type(answer.head.headers.get("content-type", "")) in HTML_TYPES
        # A program's page has another size each time it is made, and none that its answer could be measured by.
        return None if is_page and not is_page_name(url.name) else answer.stated_bytes

    async def _obey(self, fault: FileFault) -> None:
        """Wait as long as a server asks for that limits the rate of requests: those of the transfer come next."""
        is_rate = isinstance(fault, RefusedByServer) and fault.status == HTTPStatus.TOO_MANY_REQUESTS
        if is_rate and fault.retry_after_s is not None and self._options.retry.permits(fault.retry_after_s):
            await asyncio.sleep(fault.retry_after_s)
