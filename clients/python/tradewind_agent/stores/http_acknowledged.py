"""Whether a server has the files that it acknowledged: by the list of each folder that a WebDAV server gives.

Where a quota or a disk is full, a gateway may store less than was sent, or nothing, and answer with success. The first
file of a server and large ones are looked at while they are sent; one list of a folder shows all others. Of a server
without such lists some files are looked at, and all where it lacks one of them.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from tradewind.units import format_count
from tradewind_agent.engine.checked_upload import find_stored_bytes
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.jobs import RelayJob, SizeTrust, UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.index_request import IndexClient
from tradewind_agent.errors import FileFault, UnusableSource

_MISSING = frozenset({404, 410})
_IS_MISSING = -1
_FRESH = {"Cache-Control": "no-cache"}
_REQUESTS_AT_ONCE = 8
_SAMPLED = 8
"""Files that are looked at one by one where the server lists no folder."""

_LOOKED_AT_ONCE, _MOST_MISSING = 256, 1000
"""Files that are looked at before the next ones; where so many are missing, the rest is not looked at."""

_SECOND_LOOK_S = 2.0
"""Time before a file that seems to be missing is looked at again: caches may remember that there was none."""

SentJob = UploadJob | RelayJob


async def find_unstored(
    jobs: Sequence[SentJob], options: EngineOptions, say: Callable[[str], None]
) -> Mapping[str, str]:
    """Return by address why files are not stored as they were sent, though the server acknowledged them.

    A server that lists no folder as WebDAV servers do is asked for a list once, and then for some files. Where its list
    has another size, or not the file, the file itself is asked for: lists may be older, and write names in another way.
    Where it shows nothing, its word counts, and ``say`` gets a line (decision 86).
    """
    check = _Check(options, say)
    folders = [list(group) for _, group in groupby(sorted(jobs, key=_find_folder), key=_find_folder)]
    if not folders:
        return {}
    if await check.look_at(folders[0]):
        await asyncio.gather(*map(check.look_at, folders[1:]))
        return check.found
    if len(jobs) == 1 and jobs[0].destination not in options.unseen:  # it was looked at when it was sent
        return {}
    last = len(jobs) - 1
    sample = [jobs[each] for each in sorted({round(last * each / (_SAMPLED - 1)) for each in range(_SAMPLED)})]
    if await check.look_at_files(sample):
        await check.look_at_others([job for job in jobs if job not in sample])
    return check.found


def _is_other(job: SentJob, stored_bytes: int | None) -> bool:
    """Return whether a size that the server states is not that of the file.

    A file that another server sent has the size that was listed there, unless that was a rounded one.
    """
    if isinstance(job, RelayJob) and job.fetched.size_trust is SizeTrust.ROUNDED:
        return False
    return None not in (stored_bytes, job.size_bytes) and stored_bytes != job.size_bytes


def _name_server(job: SentJob) -> str:
    return "the server" if isinstance(job, UploadJob) else str(job.destination.origin)


def _find_folder(job: SentJob) -> str:
    return job.destination.folder


class _Check:
    """Looks at folders, a few at once; ``found`` has what is wrong, by address."""

    def __init__(self, options: EngineOptions, say: Callable[[str], None]) -> None:
        self.found: dict[str, str] = {}
        self._say = say
        self._unanswered = 0
        self._once = options.limit_for_questions()
        self._index = IndexClient(options)
        self._gate = asyncio.Semaphore(_REQUESTS_AT_ONCE)

    async def look_at(self, jobs: Sequence[SentJob]) -> bool:
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

    async def look_at_files(self, jobs: Sequence[SentJob]) -> bool:
        """Ask for files one by one; return whether some are missing or of another size.

        A server that shows none of them may not show files at all, which says nothing.
        """
        seen = await asyncio.gather(*map(self._find_stored_bytes, jobs))
        found = list(zip(jobs, seen, strict=True))
        wrong = [job for job, stored in found if stored == _IS_MISSING or _is_other(job, stored)]
        if seen.count(_IS_MISSING) + seen.count(None) == len(jobs):
            await self._report_unseen(jobs, is_any_missing=_IS_MISSING in seen)
            return False
        await self._look_again(wrong)
        return bool(self.found)

    async def _report_unseen(self, jobs: Sequence[SentJob], *, is_any_missing: bool) -> None:
        """Report that files are not verified, unless the server lets nobody look, as a drop box does by right."""
        server = _name_server(jobs[0])
        if is_any_missing:
            await asyncio.sleep(_SECOND_LOOK_S)
            again = await asyncio.gather(*map(self._find_stored_bytes, jobs))
            if _IS_MISSING in again and again.count(_IS_MISSING) + again.count(None) == len(jobs):
                self._say(f"not verified: {server} acknowledged what was sent, and shows nothing of it")
        elif self._unanswered == len(jobs):
            self._say(f"not verified: {server} acknowledged what was sent, and answers no question about it")

    async def look_at_others(self, jobs: Sequence[SentJob]) -> None:
        """Look at the other files of a server that lacks some; behind very many the rest counts as missing."""
        for first in range(0, len(jobs), _LOOKED_AT_ONCE):
            some = jobs[first : first + _LOOKED_AT_ONCE]
            if len(self.found) >= _MOST_MISSING:
                reason = f"the server lacks {len(self.found)} files that it acknowledged; this one was not looked for"
                self.found.update(dict.fromkeys(map(str, jobs[first:]), reason))
                return
            seen = await asyncio.gather(*map(self._find_stored_bytes, some))
            await self._look_again(
                [job for job, stored in zip(some, seen, strict=True) if stored == _IS_MISSING or _is_other(job, stored)]
            )

    async def _look_again(self, wrong: Sequence[SentJob]) -> None:
        """Note which files are still missing, or of another size, a little later."""
        if not wrong:
            return
        await asyncio.sleep(_SECOND_LOOK_S)
        again = await asyncio.gather(*map(self._find_stored_bytes, wrong))
        for job, stored_bytes in zip(wrong, again, strict=True):
            if stored_bytes == _IS_MISSING:
                self._note_missing(job)
            elif _is_other(job, stored_bytes):
                self._note_other_size(job, stored_bytes)

    async def _find_stored_bytes(self, job: SentJob) -> int | None:
        """Return the size that the server states of a file, `_IS_MISSING` of none; ``None`` if it does not say."""
        async with self._gate:
            try:
                answer = await fetch(job.destination, self._once, _FRESH, method="HEAD")
            except (FileFault, UnusableSource):
                self._unanswered += 1
                return None
        if answer.head.status in _MISSING:
            return None if "age" in answer.head.headers else _IS_MISSING
        return find_stored_bytes(answer.head)

    def _note_missing(self, job: SentJob) -> None:
        self.found[str(job)] = f"{_name_server(job)} acknowledged the file, and does not have it"

    def _note_other_size(self, job: SentJob, stored_bytes: int | None) -> None:
        size = format_count(stored_bytes or 0, "byte")
        self.found[str(job)] = f"{_name_server(job)} acknowledged the file, and has {size} of {job.size_bytes}"

    async def _ask(self, job: SentJob, sizes: Mapping[str, int | None]) -> None:
        """Note what is wrong with a file whose entry is of another size or missing, unless it is there by itself."""
        stored_bytes, is_there = sizes.get(job.destination.name), job.destination.name in sizes
        by_itself = await self._find_stored_bytes(job)
        if by_itself == _IS_MISSING:
            is_there = False
        elif by_itself is not None:
            stored_bytes, is_there = by_itself, True
        if not is_there:
            self._note_missing(job)
        elif _is_other(job, stored_bytes):
            self._note_other_size(job, stored_bytes)


def _select_other(jobs: Sequence[SentJob], sizes: Mapping[str, int | None]) -> Iterator[SentJob]:
    """Yield the jobs whose file the list does not have in its size; sizes that it does not state are no difference."""
    for job in jobs:
        name = job.destination.name
        if name not in sizes or _is_other(job, sizes[name]):
            yield job
