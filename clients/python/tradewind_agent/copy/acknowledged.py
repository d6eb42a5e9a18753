"""Files that a web server acknowledged and does not have: failures of the copy."""

import asyncio
from dataclasses import replace

from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.moving import Movement
from tradewind_agent.engine.jobs import DownloadJob, FileFailure
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.stores.http import HTTP_STORE
from tradewind_agent.stores.http_acknowledged import SentJob, find_unstored


def reject_unstored(movement: Movement, listing: Listing, options: EngineOptions) -> Movement:
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
    lost = asyncio.run(find_unstored(sent, options))
    failures = tuple(FileFailure(address, reason, is_retryable=True) for address, reason in lost.items())
    done = max(result.files_done - len(failures), 0)
    return replace(movement, result=replace(result, files_done=done, failures=(*result.failures, *failures)))


def _may_stay_different(job: SentJob, options: EngineOptions) -> bool:
    """Return whether a file that was there before may rightly stay as it is, in another size."""
    return options.skip is not SkipRule.SAME and job.stored is not None
