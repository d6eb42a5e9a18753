"""Places of a command line between objects and local files: their hosts, and how large what they hold is."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tradewind.errors import TradewindError
from tradewind_agent.engine.http.proxy import Proxies
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.options import EngineOptions, build_tls_context
from tradewind_agent.engine.store_access import StoreAccess
from tradewind_agent.movers.addresses import parse_address
from tradewind_agent.movers.port import TransferEnds
from tradewind_agent.stores.places import open_places
from tradewind_agent.stores.port import ListRequest
from tradewind_agent.stores.s3.address import SCHEME, S3Address
from tradewind_agent.stores.s3.store import S3Store

PROTOCOL = "s3"

_LIST_S = 20.0
"""A listing that takes longer costs more than a recommendation by its sizes gains."""

_UNKNOWN_HOST = "s3.amazonaws.com"
"""The host of a bucket whose endpoint the configuration does not state."""


@dataclass(frozen=True)
class StoreReach:
    """How a tool reaches its store, by its own options and environment.

    ``verifies`` : whether certificates are checked; ``ca_file`` : authorities to trust.
    """

    access: StoreAccess
    environment: Mapping[str, str]
    verifies: bool = True
    ca_file: str | None = None

    @cached_property
    def options(self) -> EngineOptions:
        is_usual = self.verifies and self.ca_file is None
        ca_file = None if self.ca_file is None else Path(self.ca_file)
        tls = None if is_usual else build_tls_context(ca_file=ca_file, insecure=not self.verifies)
        return EngineOptions(stores=self.access, proxies=Proxies.from_environment(self.environment), tls=tls)

    def find_ends(self, source: str, destination: str) -> TransferEnds:
        """Return the hosts of both places, named as our own copies from and to the same store name them."""
        hosts = [self._find_host(place) for place in (source, destination)]
        remote = next((host for host in hosts if host is not None), (_UNKNOWN_HOST, None))
        names = [None if host is None else host[0] for host in hosts]
        return TransferEnds(source=names[0], destination=names[1], protocol=PROTOCOL, port=remote[1])

    def _find_host(self, place: str) -> tuple[str, int | None] | None:
        if not is_object_place(place):
            return None
        try:
            origin = open_places([place], self.options)[0].url.origin
        except (TradewindError, OSError):
            stated = parse_address(self.access.endpoint_url or self.environment.get("AWS_ENDPOINT_URL") or "")
            return (stated.host or _UNKNOWN_HOST, stated.port)
        return origin.host, origin.port

    def list_object_sizes(self, place: str) -> Mapping[str, int] | None:
        """Return the sizes of the objects that a place names, by address; ``None`` where they cannot be listed.

        A key that ends with a slash stands for all below it.
        """
        try:
            return asyncio.run(asyncio.wait_for(self._list(place), _LIST_S))
        except (TradewindError, OSError, TimeoutError):
            return None

    async def _list(self, place: str) -> Mapping[str, int] | None:
        (found,) = open_places([place], self.options)
        assert isinstance(found.store, S3Store), place
        request = ListRequest(destination=Path(), options=self.options)
        listed = await found.store.list_downloads([found.url], request)
        jobs = [job for job in listed.jobs if isinstance(job, DownloadJob)]
        if any(job.size_bytes is None for job in jobs):
            return None
        store = found.store
        return {str(S3Address(store.bucket, store.find_key(job.source))): job.size_bytes or 0 for job in jobs}


def is_object_place(place: str) -> bool:
    return place.lower().startswith(SCHEME)


def list_file_sizes(place: str) -> Mapping[str, int]:
    """Return the sizes of a file, or of those below a folder, by path; links are followed, as these tools do."""
    if not os.path.isdir(place):  # noqa: PTH112 -- there may be many; paths stay text
        try:
            return {place: os.stat(place).st_size}  # noqa: PTH116
        except OSError:
            return {}
    sizes: dict[str, int] = {}
    for folder, _, names in os.walk(place, followlinks=True):
        for name in names:
            path = f"{folder.rstrip('/')}/{name}"
            try:
                sizes[path] = os.stat(path).st_size  # noqa: PTH116
            except OSError:
                continue  # a link to nothing, or gone since it was listed
    return sizes
