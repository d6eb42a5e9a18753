"""The standard library's jar of cookies, fed with answers of the engine. It is loaded when a server sets a cookie.

It keeps and sends them by RFC 6265 in the main: to the host that set them, or the domain that it may set them for, and
by their path and security.
"""

import re
from collections.abc import Sequence
from email.message import Message
from http.cookiejar import CookieJar
from urllib.request import Request

from tradewind_agent.engine.http.address import Url

_SECONDS = re.compile(r"-?[0-9]+")


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
        texts = [_leave_out_ignored(text, url.origin.host) for text in set_cookies]
        for cookie in self._jar.make_cookies(_Answer(texts), _to_request(url)):  # type: ignore[arg-type]
            cookie.discard = True
            self._jar.set_cookie(cookie)


def _leave_out_ignored(text: str, host: str) -> str:
    """Return a Set-Cookie field without attributes that count for nothing (RFC 6265 §5.2), or say what holds anyway.

    The library refuses the cookie for them, and a domain without a dot, be it the host that sets it.
    """
    pair, *attributes = text.split(";")
    return ";".join([pair, *(each for each in attributes if not _is_ignored(each, host))])


def _is_ignored(attribute: str, host: str) -> bool:
    name, _, value = (part.strip().lower() for part in attribute.partition("="))
    if name == "max-age":
        return _SECONDS.fullmatch(value) is None
    has_domains = "." in host and host[-1:].isalpha()  # else it is one name or an address
    is_host_only = name == "domain" and value.lstrip(".") == host and not has_domains
    return is_host_only or (name == "path" and not value.startswith("/"))


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
