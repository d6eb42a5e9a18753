"""Where an index that is shown in pages goes on: a link of the page, or a header field of its answer."""

import re
from collections.abc import Mapping, Sequence

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.anchors import Anchor, AnchorReader
from tradewind_agent.engine.remote.link_paths import find_below, list_pairs, normalise_path, resolve_link
from tradewind_agent.engine.remote.media_types import is_page_name

IS_UNREAD_PAGE = "is where {page} goes on, and no page of the same folder; copy it by its own address or a manifest"

_NUMBER_KEYS = frozenset(
    {
        *("page", "p", "pg", "pn", "paged", "pageno", "pagenr", "pagenum", "pagenumber", "pageindex", "curpage"),
        *("currentpage", "seite", "pagina", "página", "strona", "sida", "sivu", "stránka", "oldal", "halaman"),
    }
)
"""Keys without their lines and underscores, also as servers in other languages name them."""

_PLACE_KEYS = frozenset({"offset", "start", "skip", "from", "marker", "cursor", "after", "token", "continuation-token"})
_NEXT_LABEL = re.compile(
    r"(?:next|older|more|weiter|nächste|suivante?|siguiente|próxim[ao]|seguinte|successiv[ao]|volgende|следующая|下一页|次へ)?"
    r"(?: \d{1,9})?(?: page| entries| files| results| seite)?\s*(?:»|›|→|>{0,2})",
    re.IGNORECASE,
)
_LINK = re.compile(r"<([^<>]*)>([^<]*)")
_IS_NEXT = re.compile(r"""\brel\s*=\s*(?:"[^"]*\bnext\b[^"]*"|next\b)""", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,9}")


def has_page_key(url: Url) -> bool:
    """Return whether an address has a key that usually chooses the page of a listing."""
    return any(_is_one_of(key, _NUMBER_KEYS) or _is_one_of(key, _PLACE_KEYS) for key, _ in list_pairs(url))


def is_later_page(url: Url) -> bool:
    """Return whether an address is that of a page of a listing, by its number, and not of the first one."""
    return any(number > 1 for number in (*_list_numbers(url), *_list_numbers(url, _PLACE_KEYS)))


def find_next_page(url: Url, page: AnchorReader) -> tuple[Url | None, bool]:
    """Return the address of the page behind this one of the same folder, and whether it is a guess.

    Pages link it with ``rel="next"``, as "Next", or by the number that follows their own number. ``None`` where this is
    the last or only one.
    """
    if page.next_href and (place := _resolve(url, page.next_href, is_stated=True)) is not None:
        return place, False
    resolved = ((anchor, _resolve(url, anchor.href)) for anchor in page.anchors if "?" in anchor.href)
    linked = [(anchor, place) for anchor, place in resolved if place is not None]
    starts_at_0 = any(0 in _list_numbers(place) for _, place in linked)
    number = max(_list_numbers(url), default=0 if starts_at_0 else 1)
    for anchor, place in linked:
        if number + 1 in _list_numbers(place):
            return place, True
        if anchor.label and _NEXT_LABEL.fullmatch(anchor.label) is not None and has_page_key(place):
            return place, False
    return _find_numbered(url, linked), True


def _find_numbered(url: Url, linked: Sequence[tuple[Anchor, Url]]) -> Url | None:
    """Return the page that begins next behind this one, of those that are labelled 2, 3, … and begin at a row each.

    Years and other numbers are no such labels: page 3 begins at twice the row that page 2 begins at.
    """
    own = max(_list_numbers(url, _PLACE_KEYS), default=0)
    behind: dict[int, Url] = {}
    for anchor, place in linked:
        label = int(anchor.label) if _NUMBER.fullmatch(anchor.label) else 0
        for row in _list_numbers(place, _PLACE_KEYS):
            if row > own and row != label > 1 and row % (label - 1) == 0:
                behind.setdefault(row, place)
    return behind[min(behind)] if behind else None


def find_unread_next(url: Url, href: str | None) -> Url | None:
    """Return the page that this one states as the next, where it lies below the folder, as ``page/2/`` does.

    Pages of a manual, which are files and folders of their own, link one another so.
    """
    linked = resolve_link(url, url, href) if href else None
    if linked is None or linked.origin != url.origin or is_page_name(linked.name):
        return None
    below = find_below(url.folder, linked.path) or ""
    return linked if "/" in below.removesuffix("/") else None


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


def _list_numbers(url: Url, keys: frozenset[str] = _NUMBER_KEYS) -> set[int]:
    return {int(value) for key, value in list_pairs(url) if _is_one_of(key, keys) and _NUMBER.fullmatch(value)}


def _is_one_of(key: str, keys: frozenset[str]) -> bool:
    key = key.lower()
    return key in keys or key.replace("_", "").replace("-", "") in keys
