"""Files that a web server acknowledged and does not have: failures of the copy."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tradewind.recommendation import ChunkPlan
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.moving import Movement
from tradewind_agent.engine.jobs import DownloadJob, FileFailure
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.session.planning import find_chunk
from tradewind_agent.stores.http import HTTP_STORE
from tradewind_agent.stores.http_acknowledged import SentJob, find_unstored


def reject_unstored(
    movement: Movement, listing: Listing, plan: Sequence[ChunkPlan], options: EngineOptions
) -> Movement:
    """Return the same with those files of a finished upload as failures that the server does not have after all.

    Object stores state sums of what they have stored, and are not asked.
    """
    result = movement.result
    if listing.store != HTTP_STORE.kind or movement.cancelled or result.stopped is not None:
        return movement
    failed = {failure.url for failure in result.failures}
    sent = [
        job
        for job in listing.jobs
        if not isinstance(job, DownloadJob) and str(job) not in failed and not _may_stay_different(job, options)
    ]
    notes: list[str] = []
    lost = asyncio.run(find_unstored(sent, options, notes.append))
    failures = tuple(FileFailure(address, reason, is_retryable=True) for address, reason in lost.items())
    movement = replace(movement, notes=(*movement.notes, *notes))
    if not failures:
        return movement
    done = max(result.files_done - len(failures), 0)
    return replace(
        movement,
        result=replace(result, files_done=done, failures=(*result.failures, *failures)),
        last=_count_as_failed(movement.last, [job for job in sent if str(job) in lost], plan),
    )


def _count_as_failed(last: Snapshot, lost: Sequence[SentJob], plan: Sequence[ChunkPlan]) -> Snapshot:
    """Return the progress with these files as failures of their chunks."""
    counts = Counter(find_chunk(plan, job.size_bytes or 0).chunk for job in lost)

    chunks = (
        replace(
            chunk,
            files_done=max(chunk.files_done - counts[chunk.chunk], 0),
            files_failed=chunk.files_failed + counts[chunk.chunk],
        )
        for chunk in last.chunks
    )
    return replace(last, chunks=tuple(chunks))


def _may_stay_different(job: SentJob, options: EngineOptions) -> bool:
    """Return whether a file that was there before may rightly stay as it is, in another size."""
    return options.skip is not SkipRule.SAME and job.stored is not None
