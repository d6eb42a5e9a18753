"""From what a user names to jobs: URLs of files and folders, manifests, local files and folders."""

import asyncio
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tradewind_agent.engine.address import Url
from tradewind_agent.engine.fetch import Answer, Seen, fetch
from tradewind_agent.engine.jobs import DownloadJob, SizeTrust, UploadJob
from tradewind_agent.engine.listing import Entry, parse_index, safe_segment
from tradewind_agent.engine.manifest import parse_manifest
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import FileFault, UnusableSource

_ACCEPT_INDEX = {"Accept": "application/json, text/html;q=0.9", "Accept-Encoding": "gzip"}
"""Compressed, an index of thousands of files arrives within the first windows of its connection."""

_OK = 200
_DEEPEST_FOLDER = 32
"""An index that lists itself under ever new names must end somewhere."""
_INDEX_REQUESTS = 8
"""Index pages asked for at once."""

_LONGEST_INDEX_BYTES = 64 * 1024 * 1024
"""Of one that came compressed, which may unpack to anything."""

_GZIP = 16 + zlib.MAX_WBITS


async def list_downloads(
    sources: Sequence[Url], destination: Path, options: EngineOptions, *, seen: Seen | None = None
) -> list[DownloadJob]:
    """Files to fetch: a URL that ends with a slash is a folder, listed with all below it; any other is one file.

    One without a slash that the server redirects to itself with a slash is a folder too.

    ``destination`` is the file's own name for a single file, unless it is an existing folder; else the folder to fill.
    ``seen`` is told of each connection that an index came over.

    Raises
    ------
    UnusableSource : an index page that does not answer or is not understood, or two files of one name.
    UnsafeName : an index that lists a name outside its folder.
    """
    gate = asyncio.Semaphore(_INDEX_REQUESTS)
    sources = await asyncio.gather(*(_with_slash(source, options, gate) for source in sources))
    if len(sources) == 1 and sources[0].name and not destination.is_dir():  # noqa: ASYNC240  # one stat
        return [DownloadJob(source=sources[0], destination=destination)]
    jobs: list[DownloadJob] = []
    for source in sources:
        if source.name:
            jobs.append(DownloadJob(source=source, destination=destination / safe_segment(source.name, source)))
        else:
            jobs.extend(await _list_folder(source, destination, options, seen))
    return _distinct(jobs)


async def _with_slash(source: Url, options: EngineOptions, gate: asyncio.Semaphore) -> Url:
    """The folder that a URL without a last slash is redirected to; else the URL itself.

    Asked once: where there is no answer, the transfer itself will say what is wrong.
    """
    if not source.name:
        return source
    once = replace(options, retry=replace(options.retry, most_tries=1))
    try:
        async with gate:
            answer = await fetch(source, once, {"Accept-Encoding": "identity"}, method="HEAD")
    except (FileFault, UnusableSource):
        return source
    at = answer.url
    is_folder = at.origin == source.origin and at.path == source.path + "/"
    return at if is_folder else source


def list_manifest(text: str, base: Url | None, destination: Path) -> list[DownloadJob]:
    """Files that a manifest names; its sizes and sums must be met.

    Raises
    ------
    UnusableSource, UnsafeName : see `parse_manifest`.
    """
    return [
        DownloadJob(
            source=entry.source,
            destination=destination / entry.path,
            size_bytes=entry.size_bytes,
            size_trust=SizeTrust.BINDING if entry.size_bytes is not None else SizeTrust.LISTED,
            sha256=entry.sha256,
        )
        for entry in parse_manifest(text, base)
    ]


def list_uploads(sources: Sequence[Path], destination: Url) -> list[UploadJob]:
    """Local files to send, folders with all below them (symbolic links inside are left out).

    ``destination`` is a folder if it ends with a slash, else the name of the one file to send.

    Raises
    ------
    UnusableSource : a source that is neither file nor folder, or several files for one name.
    """
    if not destination.name:
        return [job for source in sources for job in _uploads_below(source, destination)]
    if len(sources) == 1 and sources[0].is_file():
        return [_upload(sources[0], destination)]
    for missing in (source for source in sources if not source.exists()):
        raise UnusableSource(f"{missing} does not exist")
    raise UnusableSource(f"{destination} names one file; end it with / to put several files into a folder")


def _uploads_below(source: Path, folder: Url) -> Iterator[UploadJob]:
    if source.is_file():
        yield _upload(source, folder.below(source.name))
    elif source.is_dir():
        for path in sorted(source.rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield _upload(path, folder.below(path.relative_to(source).as_posix()))
    else:
        raise UnusableSource(f"{source} is neither a file nor a folder")


def _upload(source: Path, destination: Url) -> UploadJob:
    found = source.stat()
    return UploadJob(source=source, destination=destination, size_bytes=found.st_size, modified_at_ns=found.st_mtime_ns)


async def _list_folder(source: Url, destination: Path, options: EngineOptions, seen: Seen | None) -> list[DownloadJob]:
    """All files below an index page, level by level."""
    jobs: list[DownloadJob] = []
    gate = asyncio.Semaphore(_INDEX_REQUESTS)
    level = [(source, destination)]
    for _ in range(_DEEPEST_FOLDER):
        indexes = await asyncio.gather(*(_read_index(url, options, gate, seen) for url, _ in level))
        below = []
        for (_, folder), (url, entries) in zip(level, indexes, strict=True):
            for entry in entries:
                child = url.below(entry.name, is_folder=entry.is_folder)
                if entry.is_folder:
                    below.append((child, folder / entry.name))
                else:
                    jobs.append(_download(child, folder / entry.name, entry))
        if not below:
            return jobs
        level = below
    raise UnusableSource(f"{source} lists folders more than {_DEEPEST_FOLDER} deep")


async def _read_index(
    url: Url, options: EngineOptions, gate: asyncio.Semaphore, seen: Seen | None
) -> tuple[Url, list[Entry]]:
    try:
        async with gate:
            answer = await fetch(url, options, _ACCEPT_INDEX, seen=seen)
    except FileFault as fault:
        raise UnusableSource(f"cannot list {url}: {fault}") from fault
    if answer.head.status != _OK:
        raise UnusableSource(f"cannot list {url}: the server answered {answer.head.status_line}")
    return answer.url, parse_index(answer.url, answer.head.headers.get("content-type", ""), _unpacked(answer))


def _unpacked(answer: Answer) -> bytes:
    """The body of an index as it was before it was packed for the way."""
    coding = answer.head.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("identity", ""):
        return answer.body
    if coding not in ("gzip", "x-gzip"):
        raise UnusableSource(f"cannot list {answer.url}: its index is packed as {coding}, which was not asked for")
    unpacker = zlib.decompressobj(_GZIP)
    try:
        body = unpacker.decompress(answer.body, _LONGEST_INDEX_BYTES)
    except zlib.error as error:
        raise UnusableSource(f"cannot list {answer.url}: its index is no gzip ({error})") from error
    if not unpacker.eof:
        why = f"is cut short, or has more than {_LONGEST_INDEX_BYTES} bytes"
        raise UnusableSource(f"cannot list {answer.url}: its index {why}")
    return body


def _download(url: Url, destination: Path, entry: Entry) -> DownloadJob:
    return DownloadJob(
        source=url,
        destination=destination,
        size_bytes=entry.size_bytes,
        size_trust=entry.size_trust,
        etag=entry.etag,
        modified_at=entry.modified_at,
    )


def _distinct(jobs: list[DownloadJob]) -> list[DownloadJob]:
    seen: dict[Path, DownloadJob] = {}
    for job in jobs:
        if seen.setdefault(job.destination, job) is not job:
            raise UnusableSource(f"{job.source} and {seen[job.destination].source} would both become {job.destination}")
    return jobs
