"""Addresses of links, in the form in which they can be compared, and seen from a folder."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl

from tradewind_agent.engine.http.address import DEFAULT_PORTS, Origin, Url
from tradewind_agent.errors import UnusableSource

_SESSION = re.compile(r";jsessionid=[^/?#]*", re.IGNORECASE)
"""What programs in Java append to each link for clients whose cookies they have not seen."""

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def normalise_path(path: str) -> str:
    """Return an escaped path in its normal form (RFC 3986 §6.2.2), for comparisons: requests have it as linked."""
    if "%" in path:
        path = _ESCAPE.sub(_normalise_escape, path)
    return remove_dots(path)


def normalise_place(place: str) -> str:
    """Return an address or request target with its path in normal form; a query is what it is written as."""
    path, mark, query = place.partition("?")
    return normalise_path(path) + mark + query


def _normalise_escape(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()


def remove_dots(path: str) -> str:
    """Return a path without its segments ``.`` and ``..`` (RFC 3986 §5.2.4)."""
    if "/." not in path:
        return path
    segments: list[str] = []
    head, *folders, name = path.split("/")
    for segment in folders:
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    if name == "..":
        del segments[-1:]
    return f"{head}/" + "".join(f"{segment}/" for segment in segments) + (name if name not in (".", "..") else "")


def resolve_link(folder: Url, base: Url, href: str) -> Url | None:
    """Return where a link of a page of ``folder`` leads; ``None`` for what is no address (mailto:, javascript:).

    A link to the same host under the other scheme, as servers write behind one that ends TLS, leads to the same server.
    """
    try:
        linked = base.join(_SESSION.sub("", href))
    except UnusableSource:
        return None
    if _is_same_server(folder.origin, linked.origin):
        linked = Url(folder.origin, linked.target, folder.login)
    if "/." not in linked.path:
        return linked
    return Url(linked.origin, remove_dots(linked.path) + linked.target[len(linked.path) :], linked.login)


def _is_same_server(one: Origin, other: Origin) -> bool:
    are_usual = one.port == DEFAULT_PORTS[one.scheme] and other.port == DEFAULT_PORTS[other.scheme]
    return one.host == other.host and one.scheme != other.scheme and (one.port == other.port or are_usual)


def find_below(folder: str, path: str, *, ignores_case: bool = False) -> str | None:
    """Return what of ``path`` follows the path of a folder, as it is written; ``None`` where it leads elsewhere."""
    if path.startswith(folder):
        return path[len(folder) :]
    normal = normalise_path(folder)
    *above, below = path.split("/", normal.count("/"))
    head = normalise_path("/".join(above) + "/")
    is_same = head == normal or (ignores_case and head.casefold() == normal.casefold())
    return below if is_same else None


def list_pairs(url: Url) -> list[tuple[str, str]]:
    """Return the keys and values of the query of an address."""
    return parse_qsl(url.target.partition("?")[2], keep_blank_values=True, errors="surrogateescape")


def list_folders_above(path: str) -> Iterator[str]:
    """Yield the folders that a relative path lies in, the topmost first."""
    position = path.find("/")
    while 0 <= position < len(path) - 1:
        yield path[:position]
        position = path.find("/", position + 1)
