"""The standard library's jar of cookies, fed with answers of the engine. It is loaded when a server sets a cookie.

It keeps and sends them by RFC 6265 in the main: to the host that set them, or the domain that it may set them for, and
by their path and security.
"""

from collections.abc import Sequence
from email.message import Message
from http.cookiejar import CookieJar
from urllib.request import Request

from tradewind_agent.engine.http.address import Url


class Jar:
    """Cookies of a run."""

    def __init__(self) -> None:
        self._jar = CookieJar()

    def __len__(self) -> int:
        return len(self._jar)

    def find_value(self, url: Url) -> str | None:
        """Return the value of a ``Cookie`` field for a request to ``url``; ``None`` where there is none for it."""
        request = _to_request(url)
        self._jar.add_cookie_header(request)
        return request.get_header("Cookie")

    def store(self, url: Url, set_cookies: Sequence[str]) -> None:
        """Store what an answer from ``url`` sets; what is not understood is left out."""
        for cookie in self._jar.make_cookies(_Answer(set_cookies), _to_request(url)):  # type: ignore[arg-type]
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
