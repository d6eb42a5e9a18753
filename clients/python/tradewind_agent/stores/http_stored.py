"""What a web or WebDAV server has at the addresses that files are to be sent to."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from tradewind_agent.engine.access_advice import advise_on_access
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import FetchedAnswer, fetch
from tradewind_agent.engine.http.retry import parse_http_date
from tradewind_agent.engine.jobs import SizeTrust, UploadJob
from tradewind_agent.engine.local.identity import HeaderFields
from tradewind_agent.engine.local.stated_checksums import CHECKSUM_REQUEST, find_stated_checksum
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.index_page import IndexPage, ListingEntry
from tradewind_agent.engine.remote.index_request import FolderMissing, IndexClient
from tradewind_agent.engine.skipping import SkipRule, StoredFile, measure_clock_offset_s
from tradewind_agent.errors import FileFault, UnusableSource

_FEW = 4
"""Files of one folder that are requested one by one: of more the folder is listed."""

_MOST_QUERIES = 1000
"""Single files that are requested where nothing depends on it but whether they are sent again."""

_REQUESTS_AT_ONCE = 8
_OK = 200
_MISSING = frozenset({404, 410})
_UNKNOWN = StoredFile()
_OWNCLOUD_FIELDS = ("oc-etag", "oc-fileid")


class ReceiverQuery:
    """Finds what is at the destinations of uploads: folder by folder, or file by file.

    By `SkipRule.SAME` a server that says nothing gets the files. By the other rules that is an error, as a file that is
    there must not be replaced.
    """

    def __init__(self, options: EngineOptions) -> None:
        self._must_know = options.skip is not SkipRule.SAME
        self._options = options if self._must_know else options.limit_for_questions()
        self._checks_sums = options.checksum and options.skip is not SkipRule.EXISTING
        self._index = IndexClient(self._options)
        self._gate = asyncio.Semaphore(_REQUESTS_AT_ONCE)
        self._queries_left = _MOST_QUERIES
        self._is_unanswered = False

    async def find(self, jobs: Sequence[UploadJob]) -> list[StoredFile | None]:
        """Return what is at the destination of each job; ``None`` where nothing is.

        Raises
        ------
        UnusableSource : the server does not say, and must.
        """
        by_folder: dict[str, list[int]] = {}
        for position, job in enumerate(jobs):
            by_folder.setdefault(job.destination.folder, []).append(position)
        found: list[StoredFile | None] = [None] * len(jobs)

        async def find_in_folder(positions: Sequence[int]) -> None:
            some = [jobs[position] for position in positions]
            for position, stored in zip(positions, await self._find_in_folder(some), strict=True):
                found[position] = stored

        await asyncio.gather(*map(find_in_folder, by_folder.values()))
        return found

    async def _find_in_folder(self, jobs: Sequence[UploadJob]) -> list[StoredFile | None]:
        if len(jobs) <= _FEW:
            return await asyncio.gather(*map(self._query, jobs))
        place = jobs[0].destination
        try:
            _, page = await self._index.read(Url(place.origin, place.folder, place.login))
        except FolderMissing:
            return [None] * len(jobs)
        except UnusableSource:  # a server without indexes
            return await asyncio.gather(*map(self._query, jobs))
        listed = {entry.name: entry for entry in page.entries if not entry.is_folder}
        complete = self._complete_exactly if self._must_know else self._complete
        return await asyncio.gather(*(complete(job, listed.get(job.destination.name), page) for job in jobs))

    async def _complete_exactly(self, job: UploadJob, entry: ListingEntry | None, page: IndexPage) -> StoredFile | None:
        """Return what is known for certain: a page may hide files, such as those whose names begin with a dot."""
        hides_nothing = page.is_exact and not page.left_out and not job.destination.name.startswith(".")
        if entry is None and hides_nothing:
            return None
        if entry is not None and page.is_exact and self._options.skip is SkipRule.EXISTING:
            return StoredFile(size_bytes=entry.size_bytes)
        return await self._query(job)

    async def _complete(self, job: UploadJob, entry: ListingEntry | None, page: IndexPage) -> StoredFile | None:
        """Return the file of a listing, with what the listing does not say."""
        if entry is None or entry.size_bytes not in (None, job.size_bytes):
            return None if entry is None else StoredFile(size_bytes=entry.size_bytes)
        is_exact = entry.size_bytes is not None and entry.size_trust is not SizeTrust.ROUNDED
        if not is_exact or entry.modified_at is None or self._checks_sums:
            return await self._query(job)
        is_of_same_second = int(entry.modified_at.timestamp()) == job.modified_at_ns // 1_000_000_000
        if is_of_same_second and not page.keeps_times:  # it may store times and not say so in its index
            return await self._query(job)
        at = entry.modified_at.replace(microsecond=0)
        return StoredFile(size_bytes=entry.size_bytes, modified_at=at, keeps_times=page.keeps_times)

    async def _query(self, job: UploadJob) -> StoredFile | None:
        """Return what the server says of one address."""
        headers = {"Accept-Encoding": "identity"}
        if self._checks_sums:
            headers |= CHECKSUM_REQUEST
        async with self._gate:
            if not self._must_know and (self._is_unanswered or self._queries_left <= 0):
                return _UNKNOWN
            self._queries_left -= 1
            try:
                answer = await fetch(job.destination, self._options, headers, method="HEAD")
            except FileFault as fault:
                self._is_unanswered = True
                return self._give_up(job, str(fault))
        if answer.head.status in _MISSING or answer.url.is_folder_of(job.destination):
            return None
        if answer.head.status != _OK:
            advice = advise_on_access(answer.head.status, answer.head.headers, answer.url, self._options)
            return self._give_up(job, f"it answered {answer.head.status_line}{advice}")
        return read_stored(answer)

    def _give_up(self, job: UploadJob, reason: str) -> StoredFile:
        if self._must_know:
            rule = self._options.skip.value
            raise UnusableSource(
                f"the server does not say whether {job.destination} is there ({reason}); --skip {rule} needs that"
            )
        return _UNKNOWN


def read_stored(answer: FetchedAnswer) -> StoredFile:
    """Return the file that an answer to HEAD describes."""
    headers = answer.head.headers
    return StoredFile(
        size_bytes=None if answer.head.codings else answer.head.content_length,
        modified_at=parse_http_date(headers.get("last-modified", "")),
        checksum=find_stated_checksum(headers, is_full=True, has_content=False),
        keeps_times=_keeps_times(headers),
        clock_offset_s=measure_clock_offset_s(parse_http_date(headers.get("date", "")), datetime.now(UTC)),
    )


def _keeps_times(headers: HeaderFields) -> bool:
    """Return whether a server stores the times of files that are sent: serve-files, ownCloud and Nextcloud do."""
    is_ours = (headers.get("server") or "").startswith("tradewind")
    return is_ours or any(headers.get(name) is not None for name in _OWNCLOUD_FIELDS)
