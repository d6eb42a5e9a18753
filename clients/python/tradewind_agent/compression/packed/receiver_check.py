"""Whether the destination of a copy unpacks what is packed on its way, found out before the first byte."""

import asyncio

from tradewind_agent.copy.listing import Listing
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.jobs import UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.origin.limits import LOAD_STATUSES
from tradewind_agent.errors import AgentError
from tradewind_agent.stores.http import HTTP_STORE

_UNAUTHORIZED, _LEAST_SERVER_ERROR, _NOT_IMPLEMENTED = 401, 500, 501
_RECEIVER = "tradewind serve-files alone unpacks"


def find_store_hindrance(listing: Listing) -> str:
    """Return why the kind of the destination takes no packed files, in a phrase; empty where it may take them."""
    if not isinstance(listing.jobs[0], UploadJob) or listing.store == HTTP_STORE.kind:
        return ""
    place = listing.format_address(str(listing.jobs[0].destination))
    return f"{place.partition('://')[0]}:// is an object store, which does not unpack files; {_RECEIVER}"


def find_receiver_hindrance(listing: Listing, options: EngineOptions) -> str:
    """Return why the destination takes no packed files, asked of itself; empty where it does, or does not answer."""
    job = listing.jobs[0]
    if hindrance := find_store_hindrance(listing):
        return hindrance
    if not isinstance(job, UploadJob):
        return ""
    try:
        head = asyncio.run(fetch(job.destination, options.limit_for_questions(), {}, method="OPTIONS")).head
    except AgentError:  # the transfer says what is wrong
        return ""
    is_failing = head.status >= _LEAST_SERVER_ERROR and head.status != _NOT_IMPLEMENTED
    is_unclear = is_failing or head.status in LOAD_STATUSES or head.status == _UNAUTHORIZED
    if is_unclear or head.headers.get("server", "").startswith("tradewind"):
        return ""
    return f"{job.destination.origin} does not unpack files; {_RECEIVER}"
