"""Cookies of a run, in memory: sign-in pages of data portals set them on their way back to the file.

They are kept and sent by the rules of the standard library's jar (RFC 6265 in the main): to the host that set them, or
the domain that it may set them for, and by their path and security.
"""

from collections.abc import Sequence
from email.message import Message
from http.cookiejar import Cookie, CookieJar
from urllib.request import Request

from tradewind_agent.engine.http.address import Url

_MOST_COOKIES = 500
"""A server that sets a new one with every answer cannot fill the memory."""


class Cookies:
    """The cookies that servers have set in this run."""

    def __init__(self) -> None:
        self._jar = CookieJar()
        self._count = 0

    def build_headers(self, url: Url) -> dict[str, str]:
        """Return ``Cookie`` for a request to ``url``, where there is one for it."""
        if not self._count:
            return {}
        request = _to_request(url)
        self._jar.add_cookie_header(request)
        value = request.get_header("Cookie")
        return {"Cookie": value} if value else {}

    def store(self, url: Url, set_cookies: Sequence[str]) -> None:
        """Store what an answer from ``url`` sets; what is not understood is left out."""
        if self._count >= _MOST_COOKIES:
            return
        for cookie in self._jar.make_cookies(_Answer(set_cookies), _to_request(url)):  # type: ignore[arg-type]
            self._store(cookie)
        self._count = len(self._jar)

    def _store(self, cookie: Cookie) -> None:
        cookie.discard = True
        self._jar.set_cookie(cookie)


class _Answer:
    """An answer as the jar reads it."""

    def __init__(self, set_cookies: Sequence[str]) -> None:
        self._headers = Message()
        for text in set_cookies:
            self._headers["Set-Cookie"] = text

    def info(self) -> Message:
        return self._headers


def _to_request(url: Url) -> Request:
    return Request(str(url))  # noqa: S310 — never opened; only http and https get here
