"""Addresses, parsed as far as possible; the tool itself reports errors in them."""

from typing import NamedTuple
from urllib.parse import urlsplit


class Address(NamedTuple):
    """Parts of an address; ``host`` and ``port`` are ``None`` where it has none, or is invalid."""

    scheme: str
    host: str | None
    port: int | None
    path: str


def parse_address(text: str) -> Address:
    """Return the parts of ``text``, which may be a path or nothing; of nonsense (``http://[::1``) the scheme alone."""
    try:
        parts = urlsplit(text)
        return Address(parts.scheme, parts.hostname, parts.port, parts.path)
    except ValueError:
        scheme, separator, _ = text.partition("://")
        return Address(scheme.lower() if separator else "", None, None, "")
