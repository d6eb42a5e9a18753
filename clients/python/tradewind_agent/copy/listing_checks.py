"""What users name as sources and destinations, and whether files can be copied so."""

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tradewind.errors import InvalidValue
from tradewind_agent.copy.reporting.omissions_report import describe_excluded
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.jobs import DownloadJobs, Job, find_repeated
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.media_types import HTML_TYPES, parse_media_type
from tradewind_agent.engine.remote.omissions import ListingRules
from tradewind_agent.engine.remote.path_selection import NOTHING_EXCLUDED, Excluded
from tradewind_agent.engine.remote.source import DownloadList, UploadList
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.engine.store_access import ObjectProperties
from tradewind_agent.errors import CopyFailed, FileFault, UnusableSource
from tradewind_agent.system_errors import explain_os_error


def hint_at_address(places: Sequence[str]) -> str | None:
    """Return how to write the remote end, in the user's words, where one of the places looks like a host."""
    for place in places:
        host, _, _ = place.partition("/")
        is_host = ":" in host or ("." in host.strip(".") and "/" in place)
        if is_host and not host.startswith(".") and host.lower() != "file:" and not Path(place).exists():
            return f"write http://{place} if {host} is a server"
    return None


def parse_local(place: str) -> Path:
    """Return the path that ``place`` is, or that its ``file:`` address names."""
    if not place.lower().startswith("file:"):
        return Path(place)
    parts = urlsplit(place)
    if parts.netloc not in ("", "localhost"):
        raise CopyFailed(f"{place!r} is on another machine; file: addresses are of this one")
    return Path(unquote(parts.path))


def check_any(found: DownloadList | UploadList) -> None:
    """Check that there is something to copy.

    Raises
    ------
    CopyFailed
    """
    if found.jobs:
        return
    omissions, excluded = found.omissions, found.excluded
    if not omissions:
        raise make_empty_failure(excluded)
    more = f", and {len(omissions) - 1} more things were left out" if len(omissions) > 1 else ""
    raise CopyFailed(f"nothing to copy: {omissions[0].place} {omissions[0].reason}{more}")


def make_empty_failure(excluded: Excluded) -> CopyFailed:
    """Return the error for sources without a file that is selected: with --delete all would be removed."""
    if excluded == NOTHING_EXCLUDED:
        return CopyFailed("nothing to copy: the sources hold no files")
    return CopyFailed(f"nothing to copy: {describe_excluded(excluded)}, and nothing else is there")


def check_distinct(jobs: Sequence[Job]) -> None:
    """Check that no two files of the copy have the same destination.

    Raises
    ------
    UnusableSource
    """
    places: Iterable[str] = (str(job.destination) for job in jobs)
    if isinstance(jobs, DownloadJobs):
        places = jobs.iterate_field("destination")
    if not find_repeated(places):
        return
    first: dict[str, Job] = {}
    for job in jobs:
        if (other := first.setdefault(str(job.destination), job)) is not job:
            raise UnusableSource(f"{other.source} and {job.source} would both become {job.destination}")


def read_manifest(manifest: str) -> str:
    try:
        return Path(manifest).read_text(encoding="utf-8-sig")
    except OSError as failure:
        raise CopyFailed(f"the manifest {manifest} cannot be read: {explain_os_error(failure)}") from None
    except UnicodeDecodeError:
        raise CopyFailed(f"the manifest {manifest} is not UTF-8 text; save it in that encoding") from None


async def require_folder(base: Url, options: EngineOptions) -> None:
    """Check that the source of a manifest, written without a slash, is no file.

    Raises
    ------
    UnusableSource
    """
    if not base.name:
        return
    try:
        answer = await fetch(base, options.limit_for_questions(), {"Accept-Encoding": "identity"}, method="HEAD")
    except FileFault:  # the transfer says what is wrong
        return
    is_page = parse_media_type(answer.head.headers.get("content-type", "")) in HTML_TYPES  # perhaps that of a folder
    if answer.head.status == HTTPStatus.OK and answer.url == base and not is_page:
        raise UnusableSource(f"{base} is a file; name the folder that the paths of the manifest are in")


def require_one_folder(sources: Sequence[object], manifest: str | None, *, is_folder: bool) -> None:
    """Check that files may be removed at the destination: the source must say what belongs there.

    Raises
    ------
    InvalidValue
    """
    if manifest is not None:
        raise InvalidValue("--delete", "does not go with a manifest, which may list a part of what belongs there")
    if len(sources) != 1 or not is_folder:
        raise InvalidValue(
            "--delete", "goes with one source, which is a folder, and a destination that ends with / if it is remote"
        )


def reject_between_servers(options: EngineOptions, rules: ListingRules) -> None:
    """Refuse options that are only for copies with one end on this host.

    Raises
    ------
    InvalidValue
    """
    given = {
        "--delete": rules.delete,
        "--skip": options.skip is not SkipRule.SAME,
        "--storage-class, --content-type, --metadata": not options.properties.is_usual,
    }
    if option := next((option for option, is_given in given.items() if is_given), None):
        raise InvalidValue(option, "is not for copies between servers")


def check_properties(properties: ObjectProperties, *, is_taken: bool) -> None:
    """Check that the destination takes the properties that the user names, if any.

    Raises
    ------
    InvalidValue
    """
    if not (is_taken or properties.is_usual):
        raise InvalidValue("--storage-class, --content-type, --metadata", "go with a destination that is s3://")
