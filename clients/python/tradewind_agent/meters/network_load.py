"""Load of the network: a file of another host is received over and over, and thrown away."""

import threading
from http.client import HTTPException, HTTPResponse
from urllib.request import Request, urlopen

from tradewind.units import KIB

STREAMS = 4
"""One stream fills no fast interface."""
_BLOCK_BYTES = 256 * KIB
_TIMEOUT_S = 10.0


class NetworkLoad:
    """Receives ``url`` in blocks, in each thread by a connection of its own.

    Parameters
    ----------
    url : of a large file, http or https; each time it ends it is requested again.
    """

    streams = STREAMS

    def __init__(self, url: str) -> None:
        self._request = Request(url, headers={"Accept-Encoding": "identity"})  # noqa: S310 -- checked by the caller
        self._of_thread = threading.local()

    def receive(self) -> None:
        """Receive the next block.

        Raises
        ------
        OSError : the other host does not send it, or the file is empty.
        """
        answer: HTTPResponse | None = getattr(self._of_thread, "answer", None)
        try:
            if answer is not None and answer.read(_BLOCK_BYTES):
                return
            if answer is not None:
                answer.close()
            self._of_thread.answer = answer = urlopen(self._request, timeout=_TIMEOUT_S)  # noqa: S310
            if not answer.read(_BLOCK_BYTES):
                raise OSError(f"{self._request.full_url} is empty")
        except HTTPException as failure:
            raise OSError(f"{self._request.full_url}: {failure!r}") from failure
