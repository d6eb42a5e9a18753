"""Index pages in HTML, as web servers and portals write them: nginx, Apache, and any list of links."""

import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote, unquote

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import SizeTrust
from tradewind_agent.engine.remote.anchors import AnchorReader
from tradewind_agent.engine.remote.index_page import (
    IndexPage,
    ListingEntries,
    ListingEntry,
    check_segment,
    parse_size,
    sum_rows,
)
from tradewind_agent.engine.remote.link_paths import find_below, resolve_link
from tradewind_agent.engine.remote.next_page import IS_UNREAD_PAGE, find_next_page, find_unread_next
from tradewind_agent.engine.remote.omissions import Omission, OmissionKind, make_name_omission
from tradewind_agent.engine.remote.page_checks import INDEX_TITLE, is_other_page, is_program_name
from tradewind_agent.engine.remote.page_links import DATE_AND_SIZE, PLAIN_CHILD, PageLinks, find_file_behind_folder
from tradewind_agent.errors import UnsafeName

_UNITS = ("", "K", "M", "G", "T", "P")
_UNIT_BYTES = {unit: 1024**power for power, unit in enumerate(_UNITS)}

_NGINX_ROWS = re.compile(rb'<pre><a href="\.\./">\.\./</a>\r\n(?P<rows>.*)</pre><hr></body>\r\n</html>\r\n', re.DOTALL)
_NGINX_ROW = re.compile(
    rb'<a href="(' + PLAIN_CHILD.pattern.encode() + rb')">[^<\r]*</a> +\d\d-\w{3}-\d{4} \d\d:\d\d +(\d{1,18}|-)\r\n'
)

_FOLDER_TITLE = re.compile(r"(?:index of|directory listing for) (/.*)", re.IGNORECASE)

_SUMMED_AT_ONCE = 1 << 16

_FOLDER_BLOCK_BYTES = 4096
_EXTENSION = re.compile(r"\.(?!\d+(?:\?|$))\w{1,8}(?:\?|$)")
"""Of a file's name; the last number of ``v1.2`` is none."""

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
    page = AnchorReader(_decode(body))
    return INDEX_TITLE.match(page.title) is not None or any(_leads_below(url, anchor.href) for anchor in page.anchors)


def is_titled_folder(url: Url, body: bytes) -> bool:
    """Return whether the page of ``url``, without a slash at its end, is titled as its index, and lists anything."""
    page = AnchorReader(_decode(body))
    titled = _FOLDER_TITLE.fullmatch(" ".join(page.title.split()))
    path = unquote(url.path, errors="surrogateescape")
    return (
        titled is not None
        and titled[1].rstrip("/") == path
        and any(_leads_below(url, each.href) for each in page.anchors)
    )


def _leads_below(url: Url, href: str) -> bool:
    linked = resolve_link(url, url, href)
    return linked is not None and linked.origin == url.origin and bool(find_below(url.path + "/", linked.path))


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
    """Return the entry that ``child`` names: an escaped path, a slash behind that of a folder, a query or none."""
    path, _, query = child.partition("?")
    names = path.removesuffix("/").split("/")
    name = "/".join(check_segment(unquote(each, errors="surrogateescape"), url) for each in names)
    is_plain = PLAIN_CHILD.fullmatch(path) is not None and "%" not in path
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
    next_page, is_guess = find_next_page(url, page)
    links = PageLinks(url, page, next_page)
    left_out = dict(links.left_out)
    if (unread := find_unread_next(url, page.next_href)) is not None:
        left_out[str(unread)] = IS_UNREAD_PAGE
    entries, bad_names = _make_entries(url, links, left_out)
    folders = tuple(
        _format_child(url, child) for each in links.children.values() for child in each if child[-1:] == "/"
    )
    return IndexPage(
        has_links=bool(page.anchors),
        is_other=(page.has_password or not left_out) and is_other_page(url, page, entries),
        next_page=next_page,
        is_guess=is_guess,
        entries=tuple(entries),
        left_out=(
            *bad_names,
            *(
                Omission(place, reason.format(page=url), OmissionKind.NOT_A_FILE)
                for place, reason in left_out.items()
                if not place.startswith(folders)  # those are found there
            ),
        ),
        unread_pages=tuple(links.unread_pages),
        rows=sum_rows(
            sorted(
                f"{child} {' '.join(behind.split())}"
                for each in links.children.values()
                for child, behind in each.items()
            )
        ),
    )


def _make_entries(url: Url, links: PageLinks, left_out: dict[str, str]) -> tuple[list[ListingEntry], list[Omission]]:
    """Return the entries of the links, and those without a name; add to ``left_out`` what cannot be copied."""
    entries, bad_names = [], []
    for known in links.children.values():
        child, reason = _choose_link(known)
        if child is None:
            left_out[_format_child(url, next(iter(known)))] = reason
            continue
        if (file := find_file_behind_folder(child, known)) is not None:
            left_out[_format_child(url, file)] = _IS_FOLDER_TOO
        try:
            entry = _read_row(url, child, known[child])
        except UnsafeName as error:
            bad_names.append(make_name_omission(_format_child(url, child), error))
        else:
            target = links.targets.get(child)
            entries.append(entry if target is None else replace(entry, target=target))
    return entries, bad_names


def _format_child(url: Url, child: str) -> str:
    return f"{url.origin}{url.folder}{child}"


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


def _read_row(url: Url, child: str, behind: str) -> ListingEntry:
    """Return the entry of a link and the text behind it."""
    if child.partition("?")[0].endswith("/"):
        return _make_entry(url, child, None)
    match = DATE_AND_SIZE.search(behind)
    if match is None:
        return _make_entry(url, child, None, SizeTrust.ROUNDED, may_be_folder=True)
    is_exact = not match["unit"] and "." not in match["number"]
    size_bytes = parse_size(round(float(match["number"]) * _UNIT_BYTES[match["unit"].upper()]))
    may_be_folder = _has_size_of_folder(child, size_bytes, is_exact=is_exact)
    if is_exact:
        return _make_entry(url, child, size_bytes, may_be_folder=may_be_folder)
    return replace(
        _make_entry(url, child, size_bytes, SizeTrust.ROUNDED, may_be_folder=may_be_folder),
        least_bytes=_compute_least_bytes(match["number"], match["unit"]),
    )


def _has_size_of_folder(child: str, size_bytes: int | None, *, is_exact: bool) -> bool:
    """Return whether a link without a slash may be a folder: some servers show its size on disk."""
    if not size_bytes or _EXTENSION.search(child) is not None:
        return False
    return size_bytes % _FOLDER_BLOCK_BYTES == 0 if is_exact else size_bytes == _FOLDER_BLOCK_BYTES


def _compute_least_bytes(number: str, unit: str) -> int:
    """Return the smallest size that may be shown as ``number``: rounded up, in units of 1000."""
    decimals, power = len(number.partition(".")[2]), _UNITS.index(unit.upper())
    least = float(number) - float(f"1e-{decimals}")
    return max(round(least * float(f"1e{3 * power}")), 0)
