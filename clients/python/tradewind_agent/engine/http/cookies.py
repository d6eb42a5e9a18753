"""Cookies of a run, in memory: sign-in pages of data portals set them on their way back to the file."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tradewind_agent.engine.http.address import Url

if TYPE_CHECKING:
    from tradewind_agent.engine.http.cookie_jar import Jar

_MOST_COOKIES = 500
"""A server that sets a new one with every answer cannot fill the memory."""


class Cookies:
    """The cookies that servers have set in this run."""

    def __init__(self) -> None:
        self._jar: Jar | None = None

    def build_headers(self, url: Url) -> dict[str, str]:
        """Return ``Cookie`` for a request to ``url``, where there is one for it."""
        value = None if self._jar is None else self._jar.find_value(url)
        return {"Cookie": value} if value else {}

    def store(self, url: Url, set_cookies: Sequence[str]) -> None:
        """Store what an answer from ``url`` sets, up to a number of cookies."""
        from tradewind_agent.engine.http.cookie_jar import Jar  # noqa: PLC0415 -- loads a tenth of all that copy loads

        if self._jar is None:
            self._jar = Jar()
        if len(self._jar) < _MOST_COOKIES:
            self._jar.store(url, set_cookies)
