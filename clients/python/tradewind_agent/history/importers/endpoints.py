"""Names of endpoints: a host or an address written in several ways is one endpoint, and pools may be joined."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from tradewind.errors import InvalidValue

_REMEMBERED = 4096
"""Distinct addresses of a log."""

_WITH_PORT = re.compile(r"(\[[0-9a-fA-F:.%\w]+\]|\d{1,3}(?:\.\d{1,3}){3}):\d{1,5}")
"""An address with a port. Names are left alone: what stands behind their colon may be part of them."""

_HOST = re.compile(r"([^\W_](?:[^\W_]|-){0,62}(?:\.[^\W_](?:[^\W_]|-){0,62})+)\.?(:\d{1,5})?")
"""The name of a host in a domain. Names without a dot are left alone: they may be of sites or of collections."""


_ITSELF = frozenset({"", "localhost", "localhost.localdomain"})
"""Names by which a host calls itself."""


@lru_cache(_REMEMBERED)
def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        plain = _WITH_PORT.sub(r"\1", text.strip())
        address = ip_address(plain.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


@lru_cache(_REMEMBERED)
def is_unknown_address(text: str) -> bool:
    """Return whether an address stands for an unknown end, such as ``0.0.0.0``, ``0::0`` or the host itself."""
    address = _parse_address(text)
    if address is None:
        return text.strip().lower() in _ITSELF
    return address.is_unspecified or address.is_loopback


@lru_cache(_REMEMBERED)
def _normalise(text: str) -> tuple[str, IPv4Address | IPv6Address | None]:
    """Return an address in its shortest form, and parsed; the name of a host as DNS compares it; others as they are."""
    address = _parse_address(text)
    return (_normalise_host(text) if address is None else str(address)), address


def _normalise_host(text: str) -> str:
    """Return the name of a host without its case and the dot of the root (RFC 4343); other names as they are."""
    found = _HOST.fullmatch(text.strip())
    return text.strip() if found is None else f"{found[1].lower()}{found[2] or ''}"


def name_endpoint(text: str, aliases: Mapping[str, str]) -> str:
    """Return the name of an endpoint: its alias, or an address in its shortest form, or the text itself.

    Parameters
    ----------
    aliases : names by patterns such as ``192.0.2.*`` or ``dtn*.example.org``, or by networks such as ``192.0.2.0/24``.
    """
    name, address = _normalise(text)
    for pattern, alias in aliases.items():
        if fnmatchcase(name.lower(), pattern.lower()) or (address is not None and _is_within(address, pattern)):
            return alias
    return name


def _is_within(address: IPv4Address | IPv6Address, pattern: str) -> bool:
    try:
        return "/" in pattern and address in ip_network(pattern, strict=False)
    except ValueError:
        return False


def parse_aliases(texts: Iterable[str]) -> dict[str, str]:
    """Return aliases from texts such as ``192.0.2.*=pool``.

    Raises
    ------
    InvalidValue : a text has no pattern or no name.
    """
    aliases = {}
    for text in texts:
        pattern, equals, name = text.rpartition("=")
        if not (equals and pattern.strip() and name.strip()):
            raise InvalidValue("--alias", f"is PATTERN=NAME, such as '192.0.2.*=pool'; got {text[:40]!r}")
        aliases[pattern.strip()] = name.strip()
    return aliases
