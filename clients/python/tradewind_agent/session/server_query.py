"""Requests to the server at the other end of a copy whose failure never affects the copy."""

import asyncio
from dataclasses import replace

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import AgentError

PATIENCE_S = 3.0
"""The energy of a server that answers later stays unmeasured."""

NO_DOCUMENT = b""
_OK = 200


async def fetch_document(url: Url, options: EngineOptions) -> bytes:
    """Return the body of the answer to a single request, or `NO_DOCUMENT` if anything goes wrong."""
    single_request = replace(options, tag=None, retry=replace(options.retry, most_tries=1))
    try:
        async with asyncio.timeout(PATIENCE_S):
            answer = await fetch(url, single_request, {"Accept": "application/json", "Accept-Encoding": "identity"})
    except (AgentError, TimeoutError):
        return NO_DOCUMENT
    return answer.body if answer.head.status == _OK and answer.url.origin == url.origin else NO_DOCUMENT
