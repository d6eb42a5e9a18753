"""What of a copy is there already, found without moving or changing anything: for a dry run."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind_agent.copy.file_sizes import MOST_SIZE_QUERIES, SIZES_AT_ONCE
from tradewind_agent.copy.listing import Listing
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.jobs import DownloadJob, Job, RelayJob, UploadJob
from tradewind_agent.engine.local.file_version import FileVersion
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.journal import read_journal
from tradewind_agent.engine.local.local_copy import LocalState, inspect_local_copy, is_not_older, matches_remote
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.skipping import SkipDecision, SkipRule, judge_stored
from tradewind_agent.errors import AgentError, FileFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a copy would find.

    ``already_there`` : files that the copy would skip. ``to_compare`` : files that the destination may have. The copy
    itself compares their bytes, or asks the receiver of an upload.
    ``bytes_to_move`` : of all other files and those to compare, without parts that an earlier run has received.
    """

    already_there: tuple[Job, ...]
    to_compare: tuple[Job, ...]
    bytes_to_move: int


def preview_copy(listing: Listing, options: EngineOptions) -> Preview:
    """Return what the destination has already.

    Requests are needed only for local files whose size and time no listing gives, up to `MOST_SIZE_QUERIES` of them.
    """
    there: list[Job] = []
    unsure: list[Job] = []
    queried: list[DownloadJob] = []
    received_bytes = 0
    for job in listing.jobs:
        if isinstance(job, RelayJob):
            receiver = options.hooks.find_receiver(job.destination.origin)
            if receiver is None:
                unsure.append(job)
            elif receiver.is_there(job, options):
                there.append(job)
            continue
        if not isinstance(job, DownloadJob):
            decision = _judge_upload(job, options)
            if decision is not SkipDecision.SEND:
                (there if decision is SkipDecision.SKIP else unsure).append(job)
            continue
        state, received = _look(job, options)
        received_bytes += received.total_bytes
        compares_bytes = options.checksum or job.checksum is not None
        if state is None:
            continue
        if state is LocalState.STAYS or (state is LocalState.CURRENT and not compares_bytes):
            there.append(job)
        elif state is LocalState.PRESENT and not compares_bytes and len(queried) < MOST_SIZE_QUERIES:
            queried.append(job)
        else:
            unsure.append(job)
    current = asyncio.run(_ask_versions(queried, options)) if queried else []
    there += [job for job, is_current in zip(queried, current, strict=True) if is_current]
    left_bytes = _sum_left_bytes(listing, there)
    return Preview(
        already_there=tuple(there), to_compare=tuple(unsure), bytes_to_move=max(left_bytes - received_bytes, 0)
    )


def _sum_left_bytes(listing: Listing, there: Sequence[Job]) -> int:
    """Return the bytes of all files but those that are there already."""
    if not there:
        return sum(listing.sizes_bytes)
    known = {str(job.destination) for job in there}
    sizes = zip(listing.jobs, listing.sizes_bytes, strict=True)
    return sum(size_bytes for job, size_bytes in sizes if str(job.destination) not in known)


class _UntouchedPart(PartFile):
    """A part that is only read: it is neither locked nor removed."""

    def resume(self) -> tuple[FileIdentity, RangeSet] | None:
        left = read_journal(Path(self.destination), self.source)
        return left if left is not None and left[0].validator is not None else None

    def discard(self) -> None:
        """Leave the part; the copy itself discards it."""


def _judge_upload(job: UploadJob, options: EngineOptions) -> SkipDecision:
    """Return what the copy would do about a file to send; it compares where nobody knows what is there."""
    try:
        decision = judge_stored(job.stored, job.source.stat(), options.skip, checksum=options.checksum)
    except OSError:  # gone since it was listed: the copy says so
        return SkipDecision.SEND
    is_unknown = job.stored is not None and not job.stored.is_known
    return SkipDecision.COMPARE if is_unknown and decision is SkipDecision.SEND else decision


def _look(job: DownloadJob, options: EngineOptions) -> tuple[LocalState | None, RangeSet]:
    """Return the state of the local file, and what an earlier run has received of it."""
    listed = FileVersion(job).identity
    part = _UntouchedPart(job.destination, str(job.source))
    try:
        state, received, _ = inspect_local_copy(job, listed, part, rule=options.skip)
    except AgentError:  # something stands in the way: the copy says what
        return None, RangeSet()
    return state, received


async def _ask_versions(jobs: Sequence[DownloadJob], options: EngineOptions) -> list[bool]:
    """Return for each job whether the server says that the local file is its version."""
    gate = asyncio.Semaphore(SIZES_AT_ONCE)

    async def is_current(job: DownloadJob) -> bool:
        async with gate:
            try:
                answer = await fetch(
                    job.source, options.limit_for_questions(), {"Accept-Encoding": "identity"}, method="HEAD"
                )
            except FileFault:
                return False
        on_server = FileIdentity.from_answer(answer.head.headers, answer.stated_bytes)
        stays = options.skip is SkipRule.NEWER and is_not_older(job, on_server)
        return stays or matches_remote(job, on_server)

    return await asyncio.gather(*(is_current(job) for job in jobs))
