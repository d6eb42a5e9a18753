"""Index pages in HTML, as web servers and portals write them: nginx, Apache, and any list of links."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from urllib.parse import parse_qsl, quote, unquote

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import SizeTrust
from tradewind_agent.engine.remote.anchors import Anchor, AnchorReader
from tradewind_agent.engine.remote.index_page import (
    IndexPage,
    ListingEntries,
    ListingEntry,
    check_segment,
    parse_size,
    sum_rows,
)
from tradewind_agent.engine.remote.next_page import find_next_page
from tradewind_agent.engine.remote.omissions import Omission, OmissionKind, make_name_omission
from tradewind_agent.engine.remote.page_checks import INDEX_TITLE, is_other_page, is_program_name
from tradewind_agent.errors import UnsafeName, UnusableSource

# "21-Nov-2026 03:58   1024" (nginx), "2026-11-21 03:58  1.2M" (Apache), "19.07 MB", whatever tags stand between.
_DATE_AND_SIZE = re.compile(
    r"(?:\d{2}-\w{3}-\d{4}|\d{4}-\d{2}-\d{2})\s+\d{2}:\d{2}(?::\d{2})?\s+"
    r"(?P<number>\d{1,18}(?:\.\d{1,9})?)\s*(?P<unit>[KMGTP]?)(?:i?B|bytes?)?(?![\w.,])",
    re.IGNORECASE,
)
_UNITS = ("", "K", "M", "G", "T", "P")
_UNIT_BYTES = {unit: 1024**power for power, unit in enumerate(_UNITS)}

_PLAIN_CHILD = re.compile(r"[A-Za-z0-9_~%-][A-Za-z0-9_~%.-]*/?")
"""A link to a direct child that needs no resolving, as nearly all links of an index are."""

_NGINX_ROWS = re.compile(rb'<pre><a href="\.\./">\.\./</a>\r\n(?P<rows>.*)</pre><hr></body>\r\n</html>\r\n', re.DOTALL)
_NGINX_ROW = re.compile(
    rb'<a href="(' + _PLAIN_CHILD.pattern.encode() + rb')">[^<\r]*</a> +\d\d-\w{3}-\d{4} \d\d:\d\d +(\d{1,18}|-)\r\n'
)

_SUMMED_AT_ONCE = 1 << 16

_DOWNLOAD_KEYS = frozenset({"download", "dl"})

_IS_ELSEWHERE = "is linked from {page} but is not in that folder; copy it by its own address or a manifest"
_HAS_TWO_QUERIES = "is linked from {page} with several queries; name the one that is meant in a manifest"
_IS_FOLDER_TOO = "is a file and a folder on {page}, which no disk can store; copy the file to another name"
_IS_A_SCRIPT = "is linked from {page} as a program's answer, which has no file name; name it in a manifest"


def parse_html_index(url: Url, body: bytes) -> IndexPage:
    """Return what the HTML page ``body`` of ``url`` lists."""
    page = _parse_nginx(url, body)
    return _parse_anchors(url, _decode(body)) if page is None else page


def _decode(body: bytes) -> str:
    """Return the text of a page; bytes that are no UTF-8 survive, as names of files may hold them."""
    return body.decode("utf-8", errors="surrogateescape")


def is_folder_index(url: Url, body: bytes) -> bool:
    """Return whether the page of ``url``, an address without a slash at its end, is the index of a folder.

    It calls itself an index, or links to something below itself.
    """
    page, below = AnchorReader(_decode(body)), url.path + "/"
    return INDEX_TITLE.match(page.title) is not None or any(
        linked.path.startswith(below) and linked.path != below for linked in _resolve_links(url, page)
    )


def _resolve_links(url: Url, page: AnchorReader) -> Iterator[Url]:
    for anchor in page.anchors:
        linked = _try_join(url, anchor.href)
        if linked is not None and linked.origin == url.origin:
            yield linked


def _try_join(base: Url, href: str) -> Url | None:
    """Return where a link leads; ``None`` for what is no address (mailto:, javascript:)."""
    try:
        return base.join(href)
    except UnusableSource:
        return None


def _parse_nginx(url: Url, body: bytes) -> IndexPage | None:
    """Parse a page that nginx wrote: the same as by its anchors, in a fraction of the time.

    ``None`` where a single row is of another form.
    """
    page = _NGINX_ROWS.search(body)
    if page is None:
        return None
    entries = ListingEntries()
    left_out = []
    position, end = page.span("rows")
    rows = sum_rows(body[start : start + _SUMMED_AT_ONCE] for start in range(position, end, _SUMMED_AT_ONCE))
    while position < end:  # neither as text nor as a list of rows: a page may have half a million
        match = _NGINX_ROW.match(body, position, end)
        if match is None:
            return None
        position = match.end()
        href, size = match[1].decode("ascii"), match[2]
        try:
            entries.append(_make_entry(url, href, None if size == b"-" else int(size)))
        except UnsafeName as error:
            left_out.append(make_name_omission(f"{url.origin}{url.folder}{href}", error))
    return IndexPage(entries=entries, left_out=tuple(left_out), rows=rows, is_exact=True)


def _make_entry(
    url: Url, child: str, size_bytes: int | None, trust: SizeTrust = SizeTrust.LISTED, *, may_be_folder: bool = False
) -> ListingEntry:
    """Return the entry that ``child`` names: an escaped name, a slash behind that of a folder, a query or none."""
    path, _, query = child.partition("?")
    name = check_segment(unquote(path.removesuffix("/"), errors="surrogateescape"), url)
    is_plain = _PLAIN_CHILD.fullmatch(path) is not None and "%" not in path
    is_usual = not query and (is_plain or quote(name, errors="surrogateescape") == path.removesuffix("/"))
    return ListingEntry(
        name=name,
        is_folder=path.endswith("/"),
        size_bytes=size_bytes,
        size_trust=trust,
        target=None if is_usual else url.folder + child,
        may_be_folder=may_be_folder,
    )


def _parse_anchors(url: Url, text: str) -> IndexPage:
    page = AnchorReader(text)
    base = (_try_join(url, page.base) or url) if page.base else url
    children: dict[str, dict[str, str]] = {}  # name → what links to it → the text behind the link
    left_out: dict[str, str] = {}
    for anchor in page.anchors:
        child = _parse_child(url, base, anchor.href)
        if child is not None:
            name = child.partition("?")[0].removesuffix("/")
            links = children.setdefault(name, {})
            # Icons link to the same file as its name does; the longer text says more.
            links[child] = max(links.get(child, ""), anchor.behind, key=lambda behind: len(behind.strip()))
        elif (linked := _find_outside_link(url, base, anchor)) is not None:
            left_out[str(linked)] = _IS_ELSEWHERE
    entries = []
    bad_names = []
    for links in children.values():
        child, reason = _choose_link(links)
        if child is not None and (file := _find_file_behind_folder(child, links)) is not None:
            left_out[f"{url.origin}{url.folder}{file}"] = _IS_FOLDER_TOO
        if child is None:
            left_out[f"{url.origin}{url.folder}{next(iter(links))}"] = reason
            continue
        try:
            entries.append(_read_row(url, child, links[child]))
        except UnsafeName as error:
            bad_names.append(make_name_omission(f"{url.origin}{url.folder}{child}", error))
    folders = tuple(
        f"{url.origin}{url.folder}{child}" for links in children.values() for child in links if child[-1:] == "/"
    )
    return IndexPage(
        has_links=bool(page.anchors),
        is_other=(page.has_password or not left_out) and is_other_page(url, page, entries),
        next_page=find_next_page(url, page),
        entries=tuple(entries),
        left_out=(
            *bad_names,
            *(
                Omission(place, reason.format(page=url), OmissionKind.NOT_A_FILE)
                for place, reason in left_out.items()
                if not place.startswith(folders)  # those are found there
            ),
        ),
        rows=sum_rows(
            sorted(
                f"{child} {' '.join(behind.split())}" for links in children.values() for child, behind in links.items()
            )
        ),
    )


def _choose_link(links: Iterable[str]) -> tuple[str | None, str]:
    """Return which of several links to one name is meant, or why none can be chosen.

    A folder goes before a file, a link without a query before those with one.
    """
    known = tuple(links)
    folder = next((child for child in known if child.partition("?")[0].endswith("/")), None)
    plain = next((child for child in known if "?" not in child), None)
    if folder is not None or plain is not None:
        return folder if folder is not None else plain, ""
    if is_program_name(known[0].partition("?")[0]):
        return None, _IS_A_SCRIPT
    return (known[0], "") if len(known) == 1 else (None, _HAS_TWO_QUERIES)


def _find_file_behind_folder(chosen: str, links: Mapping[str, str]) -> str | None:
    """Return the link to a file of the same name as the chosen folder; its row states a size, which no icon has."""
    if not chosen.partition("?")[0].endswith("/"):
        return None
    plain = chosen.partition("?")[0].removesuffix("/")
    return plain if plain in links and _DATE_AND_SIZE.search(links[plain]) else None


def _read_row(url: Url, child: str, behind: str) -> ListingEntry:
    """Return the entry of a link and the text behind it."""
    if child.partition("?")[0].endswith("/"):
        return _make_entry(url, child, None)
    match = _DATE_AND_SIZE.search(behind)
    if match is None:
        return _make_entry(url, child, None, SizeTrust.ROUNDED, may_be_folder=True)
    is_exact = not match["unit"] and "." not in match["number"]
    size_bytes = parse_size(round(float(match["number"]) * _UNIT_BYTES[match["unit"].upper()]))
    if is_exact:
        return _make_entry(url, child, size_bytes)
    return replace(
        _make_entry(url, child, size_bytes, SizeTrust.ROUNDED),
        least_bytes=_compute_least_bytes(match["number"], match["unit"]),
    )


def _compute_least_bytes(number: str, unit: str) -> int:
    """Return the smallest size that may be shown as ``number``: rounded up, in units of 1000."""
    decimals, power = len(number.partition(".")[2]), _UNITS.index(unit.upper())
    least = float(number) - float(f"1e-{decimals}")
    return max(round(least * float(f"1e{3 * power}")), 0)


def _parse_child(url: Url, base: Url, href: str) -> str | None:
    """Return the escaped name and query of a link to a direct child of the folder.

    ``None`` for all other links: the folder itself (sorted another way), its parent, other places.
    """
    if base is url and _PLAIN_CHILD.fullmatch(href):
        return href
    if not href or href.startswith(("?", "#")):
        return None
    linked = _try_join(base, href)
    if linked is None or linked.origin != url.origin or not linked.path.startswith(url.folder):
        return None
    child = linked.target[len(url.folder) :]
    name = child.partition("?")[0]
    return child if name and "/" not in name.removesuffix("/") else None


def _find_outside_link(url: Url, base: Url, anchor: Anchor) -> Url | None:
    """Return the target of a link to a file or folder elsewhere, as portals and mirrors have them."""
    linked = _try_join(base, anchor.href) if anchor.href else None
    if linked is None or linked.target == base.target:
        return None
    if not linked.name:
        is_above = linked.origin == url.origin and url.path.startswith(linked.path)
        shown = linked.path.rstrip("/").rpartition("/")[2]
        return linked if shown and not is_above and anchor.is_shown_as(unquote(shown) + "/") else None
    keys = {key.lower() for key, _ in parse_qsl(linked.target.partition("?")[2], keep_blank_values=True)}
    is_download = anchor.is_download or bool(keys & _DOWNLOAD_KEYS)
    is_shown = "." in linked.name.strip(".") and anchor.is_shown_as(linked.name)
    return linked if is_download or is_shown else None
