"""Where an index that is shown in pages goes on: a link of the page, or a header field of its answer."""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.anchors import AnchorReader
from tradewind_agent.errors import UnusableSource

_NUMBER_KEYS = frozenset({"page", "p", "pg", "pageno", "page_no", "pagenumber", "page_number", "paged"})
_PLACE_KEYS = frozenset({"offset", "start", "skip", "from", "marker", "cursor", "after", "token", "continuation-token"})
_NEXT_LABEL = re.compile(r"(?:next|older|more)?(?: page| files| results)?\s*(?:»|›|→|>{0,2})", re.IGNORECASE)
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_IS_NEXT = re.compile(r"""\brel\s*=\s*(?:"[^"]*\bnext\b[^"]*"|next\b)""", re.IGNORECASE)


def find_next_page(url: Url, page: AnchorReader) -> Url | None:
    """Return the address of the page behind this one of the same folder; ``None`` where it is the last or only one.

    Pages link it with ``rel="next"``, as "Next", or by the number that follows their own number.
    """
    if page.next_href and (place := _resolve(url, page.next_href)) is not None:
        return place
    resolved = ((anchor, _resolve(url, anchor.href)) for anchor in page.anchors if "?" in anchor.href)
    linked = [(anchor, place) for anchor, place in resolved if place is not None]
    starts_at_0 = any(0 in _list_numbers(place) for _, place in linked)
    number = max(_list_numbers(url), default=0 if starts_at_0 else 1)
    for anchor, place in linked:
        if number + 1 in _list_numbers(place):
            return place
        is_labelled = bool(anchor.label) and _NEXT_LABEL.fullmatch(anchor.label) is not None
        if is_labelled and _list_keys(place) & (_NUMBER_KEYS | _PLACE_KEYS):
            return place
    return None


def find_linked_page(url: Url, headers: Mapping[str, str]) -> Url | None:
    """Return the next page that ``Link`` names (RFC 8288), of the same folder."""
    for target, parameters in _LINK.findall(headers.get("link", "")):
        if _IS_NEXT.search(parameters):
            return _resolve(url, target.strip())
    return None


def _resolve(url: Url, href: str) -> Url | None:
    """Return what ``href`` leads to if it is another page of the folder ``url``."""
    try:
        place = url.join(href)
    except UnusableSource:
        return None
    is_same_folder = place.origin == url.origin and place.path == url.path
    return place if is_same_folder and place.target != url.target else None


def _list_keys(url: Url) -> set[str]:
    return {key.lower() for key, _ in _list_pairs(url)}


def _list_numbers(url: Url) -> set[int]:
    return {int(value) for key, value in _list_pairs(url) if key.lower() in _NUMBER_KEYS and value.isdecimal()}


def _list_pairs(url: Url) -> Iterator[tuple[str, str]]:
    yield from parse_qsl(url.target.partition("?")[2], keep_blank_values=True)
