"""Sizes behind addresses: of http by HEAD, of a sample where there are many; of local files by looking."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from tradewind_agent.copy.file_sizes import query_sizes
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.credentials import Credentials
from tradewind_agent.engine.http.proxy import Proxies
from tradewind_agent.engine.jobs import DownloadJob, DownloadJobs
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import UnusableSource
from tradewind_agent.movers.addresses import parse_address
from tradewind_agent.movers.port import TransferEnds, Workload

_PATIENCE_S = 20.0
_PORTS: Mapping[str, int] = {"http": 80, "https": 443, "ftp": 21, "gsiftp": 2811, "sftp": 22, "ssh": 22}


def measure_urls(urls: Sequence[str], environment: Mapping[str, str]) -> Workload | None:
    """Return what http(s) addresses hold; ``None`` where one is something else, or no server states any size."""
    options = EngineOptions(
        proxies=Proxies.from_environment(environment),
        credentials=Credentials.from_environment(environment),
    )
    options = replace(options, retry=replace(options.retry, most_tries=1))
    try:
        jobs = DownloadJobs(DownloadJob(source=Url.parse(url), destination=str(at)) for at, url in enumerate(urls))
        answered = asyncio.run(asyncio.wait_for(query_sizes(jobs, options), _PATIENCE_S))
    except (UnusableSource, TimeoutError):
        return None
    known = [job.size_bytes for job in answered if job.size_bytes is not None]
    if not known:
        return None
    judged = round(sum(known) / len(known))
    sizes = tuple(judged if job.size_bytes is None else job.size_bytes for job in answered)
    return Workload(sizes, is_exact=len(known) == len(answered))


def measure_paths(paths: Sequence[Path]) -> Workload | None:
    """Return the files at ``paths`` and below them; ``None`` where there are none."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    sizes = tuple(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())
    return Workload(sizes, is_exact=True) if sizes else None


def find_ends(source: str | None, destination: str | None) -> TransferEnds:
    """Return the ends from the addresses of both; ``None``, a path or a ``file:`` address is this host."""
    left, right = parse_address(source or ""), parse_address(destination or "")
    at = left if left.host else right
    return TransferEnds(
        source=left.host,
        destination=right.host,
        protocol=at.scheme or "unknown",
        port=at.port or _PORTS.get(at.scheme),
    )


def parse_local_path(place: str) -> Path | None:
    """Return the path that a ``file:`` address or a plain path names; ``None`` for anything remote."""
    address = parse_address(place)
    if address.scheme == "file" and address.host in (None, "localhost") and address.path:
        return Path(unquote(address.path))
    return None if "://" in place else Path(place)
