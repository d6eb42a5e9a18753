"""Read a document of a management controller or an exporter: GET alone, bounded in time and size."""

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tradewind_agent.meters.meter import MeterUnavailable

if TYPE_CHECKING:
    pass

TIMEOUT_S = 5.0
MOST_BYTES = 32 * 1024 * 1024
"""Exporters name every process of a host."""


class HttpReader:
    """GET requests to one server, over one connection, which closes when nobody uses the meter any more.

    Parameters
    ----------
    base_url : of the server, without a login.
    headers : sent with each request, such as ``Authorization``.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str]) -> None:
        import httpx  # noqa: PLC0415 -- most hosts have no such meter

        self.base_url = base_url
        self._client: httpx.Client = httpx.Client(
            base_url=base_url, headers=dict(headers), timeout=TIMEOUT_S, follow_redirects=False
        )
        weakref.finalize(self, self._client.close)

    def get(self, path: str) -> bytes:
        """Return the body of a document.

        Raises
        ------
        MeterUnavailable : says what is wrong, and what helps where that is known.
        """
        import httpx  # noqa: PLC0415

        where = f"{self.base_url}{path}"
        try:
            with self._client.stream("GET", path) as answer:
                if answer.status_code in (401, 403):
                    host = answer.request.url.host
                    raise MeterUnavailable(f"{where} needs a login that may read it; add one for {host} to ~/.netrc")
                if answer.status_code != httpx.codes.OK:
                    raise MeterUnavailable(f"{where} answers {answer.status_code}")
                parts, size = [], 0
                for part in answer.iter_bytes():
                    size += len(part)
                    if size > MOST_BYTES:
                        raise MeterUnavailable(f"{where} answers more than {MOST_BYTES} bytes")
                    parts.append(part)
                return b"".join(parts)
        except (httpx.HTTPError, httpx.InvalidURL) as failure:
            raise MeterUnavailable(f"{where} does not answer: {failure or type(failure).__name__}") from failure
