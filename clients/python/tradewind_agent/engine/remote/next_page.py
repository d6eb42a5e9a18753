"""Where an index that is shown in pages goes on: links of the page, or a header field of its answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from urllib.parse import parse_qsl

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.anchors import Anchor, AnchorReader
from tradewind_agent.engine.remote.link_paths import normalise_path, resolve_link
from tradewind_agent.engine.remote.media_types import is_page_name

IS_UNREAD_PAGE = "is where {page} goes on, and no page of the same folder; copy it by its own address or a manifest"

_NUMBER_KEYS = frozenset({"page", "p", "pg", "pageno", "page_no", "pagenumber", "page_number", "paged"})
_PLACE_KEYS = frozenset({"offset", "start", "skip", "from", "marker", "cursor", "after", "token", "continuation-token"})
_NEXT_LABEL = re.compile(
    r"(?:next|older|more)?(?: \d{1,9})?(?: page| entries| files| results)?\s*(?:»|›|→|>{0,2})", re.IGNORECASE
)
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_IS_NEXT = re.compile(r"""\brel\s*=\s*(?:"[^"]*\bnext\b[^"]*"|next\b)""", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,9}")


def has_page_key(key: str) -> bool:
    """Return whether a key of a query is one that usually chooses the page of a listing."""
    return key.lower() in _NUMBER_KEYS | _PLACE_KEYS


def find_pages(url: Url, page: AnchorReader) -> tuple[Url | None, tuple[Url, ...]]:
    """Return the address of the page behind this one of the same folder, if any, and those of all that are numbered.

    Pages link it with ``rel="next"``, as "Next", or by the number that follows their own number.
    """
    stated = _resolve(url, page.next_href, is_stated=True) if page.next_href else None
    resolved = ((anchor, _resolve(url, anchor.href)) for anchor in page.anchors if "?" in anchor.href)
    linked = [(anchor, place) for anchor, place in resolved if place is not None]
    return stated if stated is not None else _find_following(url, linked), _list_numbered(url, linked)


def _find_following(url: Url, linked: Sequence[tuple[Anchor, Url]]) -> Url | None:
    """Return the page that is linked as the next, or by the number that follows the own one."""
    starts_at_0 = any(0 in _list_numbers(place) for _, place in linked)
    number = max(_list_numbers(url), default=0 if starts_at_0 else 1)
    for anchor, place in linked:
        if number + 1 in _list_numbers(place):
            return place
        is_labelled = bool(anchor.label) and _NEXT_LABEL.fullmatch(anchor.label) is not None
        if is_labelled and any(has_page_key(key) for key, _ in _list_pairs(place)):
            return place
    return None


def _list_numbered(url: Url, linked: Sequence[tuple[Anchor, Url]]) -> tuple[Url, ...]:
    """Return the links whose labels number them, as 1, 2, 3, and that differ in one number alone.

    Choices such as 10, 25 or 50 rows a page do not follow one another.
    """
    rows: dict[tuple[object, ...], dict[int, Url]] = {}
    for anchor, place in linked:
        if _NUMBER.fullmatch(anchor.label) and (form := _find_form(place)) is not None:
            rows.setdefault(form, {})[int(anchor.label)] = place
    own = _find_form(url)
    numbered = [row for form, row in rows.items() if form == own or _are_numbers(sorted(row))]
    return tuple(place for row in numbered for place in row.values())


def _are_numbers(labels: Sequence[int]) -> bool:
    return 2 in labels or any(second == first + 1 for first, second in pairwise(labels))


def _find_form(place: Url) -> tuple[object, ...] | None:
    """Return the query of a link without its only number; ``None`` where it has none, or several."""
    pairs = list(_list_pairs(place))
    numbers = [key for key, value in pairs if _NUMBER.fullmatch(value)]
    if len(numbers) != 1:
        return None
    return numbers[0], *((key, value) for key, value in pairs if key != numbers[0])


def find_unread_next(url: Url, page: AnchorReader) -> Url | None:
    """Return the page that this one states as the next and that is none of its folder.

    Pages of a manual, which are files, link one another so.
    """
    linked = resolve_link(url, url, page.next_href) if page.next_href else None
    if linked is None or linked.target == url.target or is_page_name(linked.name):
        return None
    return linked if _resolve(url, page.next_href, is_stated=True) is None else None


def find_linked_page(url: Url, headers: Mapping[str, str]) -> Url | None:
    """Return the next page that ``Link`` names (RFC 8288), of the same folder."""
    href = find_stated_link(headers)
    return None if href is None else _resolve(url, href, is_stated=True)


def find_stated_link(headers: Mapping[str, str]) -> str | None:
    """Return the next page as ``Link`` names it."""
    for link in _LINK.finditer(headers.get("link", "")):
        if _IS_NEXT.search(link[2]):
            return link[1].strip()
    return None


def _resolve(url: Url, href: str, *, is_stated: bool = False) -> Url | None:
    """Return what ``href`` leads to if it is another page of the folder ``url``.

    One that is stated as the next may name the server as it is known behind a proxy: this one has the page as well.
    """
    place = resolve_link(url, url, href)
    if place is None or normalise_path(place.path) != normalise_path(url.path):
        return None
    if is_stated and "?" in place.target:
        place = Url(url.origin, place.target, url.login)
    return place if place.origin == url.origin and place.target != url.target else None


def _list_numbers(url: Url) -> set[int]:
    return {int(value) for key, value in _list_pairs(url) if key.lower() in _NUMBER_KEYS and value.isdecimal()}


def _list_pairs(url: Url) -> Iterator[tuple[str, str]]:
    yield from parse_qsl(url.target.partition("?")[2], keep_blank_values=True, errors="surrogateescape")
