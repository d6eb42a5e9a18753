"""Whether a WebDAV server has the files that it acknowledged, by its list of each folder.

Where a quota or a disk is full, a gateway may store less than was sent, or nothing, and answer with success. The first
file of a server and large ones are looked at while they are sent; one list of a folder shows all others.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from tradewind.units import format_count
from tradewind_agent.engine.checked_upload import find_stored_bytes
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.index_request import IndexClient
from tradewind_agent.errors import FileFault, UnusableSource

_MISSING = frozenset({404, 410})
_REQUESTS_AT_ONCE = 8


async def find_unstored(jobs: Sequence[UploadJob], options: EngineOptions) -> Mapping[str, str]:
    """Return by address why files are not stored as they were sent, though the server acknowledged them.

    A server that lists no folder as WebDAV servers do is asked once. Where its list has another size, or not the file,
    the file itself is asked for: lists may be older, and write names in another way.
    """
    check = _Check(options)
    folders = [list(group) for _, group in groupby(sorted(jobs, key=_find_folder), key=_find_folder)]
    if not folders or not await check.look_at(folders[0]):
        return {}
    await asyncio.gather(*map(check.look_at, folders[1:]))
    return check.found


def _find_folder(job: UploadJob) -> str:
    return job.destination.folder


class _Check:
    """Looks at folders, a few at once; ``found`` has what is wrong, by address."""

    def __init__(self, options: EngineOptions) -> None:
        self.found: dict[str, str] = {}
        self._once = options.limit_for_questions()
        self._index = IndexClient(options)
        self._gate = asyncio.Semaphore(_REQUESTS_AT_ONCE)

    async def look_at(self, jobs: Sequence[UploadJob]) -> bool:
        """Compare the files that were sent to one folder with its list; return whether there is one."""
        place = jobs[0].destination
        try:
            listed = await self._index.read_properties(Url(place.origin, place.folder, place.login))
        except UnusableSource:
            return False
        if listed is None:
            return False
        sizes = {entry.name: entry.size_bytes for entry in listed[1].entries if not entry.is_folder}
        await asyncio.gather(*(self._ask(job, sizes) for job in _select_other(jobs, sizes)))
        return True

    async def _ask(self, job: UploadJob, sizes: Mapping[str, int | None]) -> None:
        """Note what is wrong with a file whose entry is of another size or missing, unless it is there by itself."""
        stored_bytes, is_there = sizes.get(job.destination.name), job.destination.name in sizes
        async with self._gate:
            try:
                answer = await fetch(job.destination, self._once, {"Cache-Control": "no-cache"}, method="HEAD")
            except (FileFault, UnusableSource):
                answer = None
        if answer is not None and answer.head.status in _MISSING:
            is_there = False
        elif answer is not None and (by_itself := find_stored_bytes(answer.head)) is not None:
            stored_bytes, is_there = by_itself, True
        if not is_there:
            self.found[str(job)] = "the server acknowledged the file, and does not have it"
        elif stored_bytes != job.size_bytes:
            size = format_count(stored_bytes or 0, "byte")
            self.found[str(job)] = f"the server acknowledged the file, and has {size} of {job.size_bytes}"


def _select_other(jobs: Sequence[UploadJob], sizes: Mapping[str, int | None]) -> Iterator[UploadJob]:
    """Yield the jobs whose file the list does not have in its size; sizes that it does not state are no difference."""
    for job in jobs:
        name = job.destination.name
        if name not in sizes or sizes[name] not in (None, job.size_bytes):
            yield job
