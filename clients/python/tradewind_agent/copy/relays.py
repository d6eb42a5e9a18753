"""Files that go from one server to another: from what is fetched to where it is sent."""

from collections.abc import Sequence

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import DownloadJob, Job, RelayJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.relay.third_party import ThirdPartyReceiver, may_be_fetched, takes_third_party_copies
from tradewind_agent.errors import UnusableSource


def make_relays(jobs: Sequence[Job], sources: Sequence[Url], destination: Url) -> list[RelayJob]:
    """Return the jobs that send each file to ``destination``, which is a folder if it ends with a slash.

    Parameters
    ----------
    jobs : of the files at their sources, with paths below the destination.

    Raises
    ------
    UnusableSource : several files for one name, or a destination that is or holds a source.
    """
    fetched = [job for job in jobs if isinstance(job, DownloadJob)]
    if not destination.name:
        _reject_destination_in_source(sources, destination)
        relays = [RelayJob(fetched=job, destination=destination.join_path(job.destination)) for job in fetched]
    elif len(fetched) == 1 and (not sources or fetched[0].source.path == sources[0].path):
        relays = [RelayJob(fetched=fetched[0], destination=destination)]
    else:
        raise UnusableSource(f"{destination} names one file; end it with / to put several files into a folder")
    read = {(job.source.origin, job.source.target) for job in fetched}
    for relay in relays:
        if (relay.destination.origin, relay.destination.target) in read:
            raise UnusableSource(f"{relay.destination} is a source of this copy; choose another destination")
    return relays


def _reject_destination_in_source(sources: Sequence[Url], destination: Url) -> None:
    """Refuse a folder below a source, which another run would copy into itself."""
    for source in sources:
        is_folder = not source.name and source.origin == destination.origin
        if is_folder and destination.path.startswith(source.path):
            raise UnusableSource(f"{destination} lies in the source {source}; choose another destination")


async def find_third_party(jobs: Sequence[RelayJob], destination: Url, options: EngineOptions) -> bool:
    """Return whether the destination fetches the files itself; from then on it is asked to."""
    hooks = options.hooks
    are_signed = any(hooks.find_source(origin) is not None for origin in {job.source.origin for job in jobs})
    if are_signed or hooks.find_receiver(destination.origin) is not None:
        return False
    if not any(may_be_fetched(job, options) for job in jobs):
        return False
    folder = Url(destination.origin, destination.folder, destination.login)
    if not await takes_third_party_copies(folder, options):
        return False
    hooks.add_receiver(destination.origin, ThirdPartyReceiver())
    return True
