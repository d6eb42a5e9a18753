"""The links of an HTML index, by what they are to its folder: entries, omissions, or none of its business.

A link below the folder is an entry where the page shows it as a file or folder. A link that names one in its query
alone is left out with its reason. One to a page of the index that is not read forbids to remove anything.
"""

import re
from collections.abc import Mapping
from urllib.parse import unquote

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.anchors import Anchor, AnchorReader
from tradewind_agent.engine.remote.link_paths import (
    find_below,
    list_folders_above,
    list_pairs,
    normalise_path,
    resolve_link,
)
from tradewind_agent.engine.remote.next_page import has_page_key, is_later_page

PLAIN_CHILD = re.compile(r"[A-Za-z0-9_~%-][A-Za-z0-9_~%.-]*/?")
"""A link to a direct child that needs no resolving, as nearly all links of an index are."""

DATE_AND_SIZE = re.compile(
    r"(?:\d{2}-\w{3}-\d{4}|\d{4}-\d{2}-\d{2})\s+\d{2}:\d{2}(?::\d{2})?\s+"
    r"(?P<number>\d{1,18}(?:\.\d{1,9})?)\s*(?P<unit>[KMGTP]?)(?:i?B|bytes?)?(?![\w.,])",
    re.IGNORECASE,
)
"""What stands behind a link: "21-Nov-2026 03:58   1024" (nginx), "2026-11-21 03:58  1.2M" (Apache), "19.07 MB"."""

_DOWNLOAD_KEYS = frozenset({"download", "dl"})
_NAME_KEYS = frozenset({"dir", "subdir", "folder", "path", "file", "filename", "download", "prefix"})
_ARCHIVES = frozenset({"zip", "tar", "tar_gz"})
"""Forms in which servers offer all that is in a folder, such as ``?download=zip``."""

_FILE_NAME = re.compile(r"\S+\.(?!\d+$)\w{1,8}")
_PAGE_LABEL = re.compile(r"\d|\b(?:last|next)\b|[»›→>]", re.IGNORECASE)

_IS_ELSEWHERE = "is linked from {page} but is not in that folder; copy it by its own address or a manifest"
_IS_IN_QUERY = "is linked from {page}, which names it in a query alone; copy it by its own address or a manifest"


class PageLinks:
    """The links of a page.

    Attributes
    ----------
    children : path below the folder → what links to it, escaped, with its query → the text behind that link.
    targets : request targets of those links whose folder is written in another way.
    left_out : addresses that look like files and cannot be copied from here → why.
    unread_pages : further pages of the index that nothing leads to in order.
    """

    def __init__(self, url: Url, page: AnchorReader, next_page: Url | None = None) -> None:
        self.children: dict[str, dict[str, str]] = {}
        self.targets: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self.unread_pages: dict[str, None] = {}
        self._url, self._is_paged = url, next_page is not None or has_page_key(url)
        self._base = (resolve_link(url, url, page.base) or url) if page.base else url
        self._ignores_case = False
        others = self._take_children(page)
        if not self.children and any(self._is_written_so(page, linked) for _, linked in others):
            self._ignores_case = True
            others = self._take_children(page)
        below: list[tuple[Anchor, Url, str]] = []
        for anchor, linked in others:
            child = self._find_below(linked)
            if child:
                below.append((anchor, linked, child))
            elif child is None:
                self._see_outside(anchor, linked)
            else:
                self._see_query(anchor, linked)
        # Folders first, and names before icons and buttons that lead to the same file.
        below.sort(key=lambda each: (not each[2].endswith("/"), not _is_shown(each[0], each[2])))
        for anchor, linked, child in below:
            self._see_below(anchor, linked, child)

    def _take_children(self, page: AnchorReader) -> list[tuple[Anchor, Url]]:
        """Take the direct children of the folder; return the other links."""
        others = []
        for anchor in page.anchors:
            if self._base is self._url and PLAIN_CHILD.fullmatch(anchor.href):
                self._add(anchor.href, anchor)
                continue
            if not anchor.href or anchor.href.startswith("#"):
                continue
            linked = resolve_link(self._url, self._base, anchor.href)
            if linked is None:
                continue
            child = self._find_below(linked) or ""
            name = child.partition("?")[0].removesuffix("/")
            if name and "/" not in name:
                self._note_target(child, linked)
                self._add(child, anchor)
            else:
                others.append((anchor, linked))
        return others

    def _add(self, child: str, anchor: Anchor) -> None:
        links = self.children.setdefault(_read_path(child), {})
        # Icons link to the same file as its name does; the longer text says more.
        links[child] = max(links.get(child, ""), anchor.behind, key=lambda behind: len(behind.strip()))

    def _note_target(self, child: str, linked: Url) -> None:
        if linked.target != self._url.folder + child:
            self.targets[child] = linked.target

    def _find_below(self, linked: Url) -> str | None:
        """Return the path and query of a link below the folder, as linked; empty for the folder itself."""
        if linked.origin != self._url.origin:
            return None
        below = find_below(self._url.folder, linked.path, ignores_case=self._ignores_case)
        if below is None:
            return None
        return below + linked.target[len(linked.path) :] if below else ""

    def _is_written_so(self, page: AnchorReader, linked: Url) -> bool:
        """Return whether a link leads below the folder in another case, in which the page names the folder as well."""
        below = find_below(self._url.folder, linked.path, ignores_case=True)
        if not below or linked.origin != self._url.origin:
            return False
        folder = unquote(linked.path.removesuffix(below), errors="surrogateescape")
        return folder.rstrip("/") in page.title + page.heading

    def _see_below(self, anchor: Anchor, linked: Url, child: str) -> None:
        """Take a link to something deeper, if it is shown as that; what is in a listed folder is found there."""
        path = _read_path(child)
        folders = [self.children[above] for above in list_folders_above(path) if above in self.children]
        if path in self.children or any(link.partition("?")[0].endswith("/") for links in folders for link in links):
            return
        is_shown = _is_shown(anchor, child)
        if is_shown and not folders:
            self._note_target(child, linked)
            self._add(child, anchor)
        elif is_shown or _is_download(anchor, linked):
            self.left_out[str(linked)] = _IS_ELSEWHERE

    def _see_query(self, anchor: Anchor, linked: Url) -> None:
        """Look at a link to the folder itself: it may name a file or a folder in its query, or a page of the index."""
        own = dict(list_pairs(self._url))
        pairs = [pair for pair in list_pairs(linked) if own.get(pair[0]) != pair[1]]
        if any(own.get(key, "").startswith(value.rstrip("/") + "/") for key, value in pairs):
            return  # a folder above this one
        if any(self._is_named(anchor, *pair) for pair in pairs):
            self.left_out[str(linked)] = _IS_IN_QUERY
        elif is_later_page(linked) and not self._is_paged and _PAGE_LABEL.search(anchor.label):
            self.unread_pages[str(linked)] = None

    def _is_named(self, anchor: Anchor, key: str, value: str) -> bool:
        """Return whether a link shows that ``value``, of its query, is a file or a folder that the page has not yet."""
        name, label = value.rstrip("/").rpartition("/")[2], anchor.label.rstrip("/")
        if key.lower() not in _NAME_KEYS or not name or (key == "download" and name in _ARCHIVES):
            return False
        if name in self.children or label in self.children:
            return False
        return label in (name, value.rstrip("/")) or _FILE_NAME.fullmatch(label) is not None

    def _see_outside(self, anchor: Anchor, linked: Url) -> None:
        """Look at a link to another place: portals and mirrors have files and folders there."""
        if linked.target == self._base.target:
            return
        path = normalise_path(linked.path)
        if linked.name:
            has_row = DATE_AND_SIZE.search(anchor.behind) is not None
            is_shown = (has_row or "." in linked.name.strip(".")) and anchor.is_shown_as(linked.name)
            is_file = is_shown or _is_download(anchor, linked)
        else:
            is_above = linked.origin == self._url.origin and normalise_path(self._url.path).startswith(path)
            shown = unquote(path.rstrip("/").rpartition("/")[2])
            is_file = bool(shown) and not is_above and anchor.is_shown_as(shown + "/")
        if is_file:
            self.left_out[str(linked)] = _IS_ELSEWHERE


def _is_shown(anchor: Anchor, child: str) -> bool:
    """Return whether a page shows what is deeper below its folder as a file or folder of its own, by its name."""
    path, slash = _read_path(child), "/" * child.partition("?")[0].endswith("/")
    if anchor.is_shown_as(path) or anchor.is_shown_as(path + slash):
        return True
    name = path.rpartition("/")[2]
    is_plain = bool(slash) or "." in name.strip(".") or DATE_AND_SIZE.search(anchor.behind) is not None
    return is_plain and anchor.is_shown_as(name + slash)


def _read_path(child: str) -> str:
    return unquote(child.partition("?")[0].removesuffix("/"), errors="surrogateescape")


def _is_download(anchor: Anchor, linked: Url) -> bool:
    return anchor.is_download or any(key.lower() in _DOWNLOAD_KEYS for key, _ in list_pairs(linked))


def find_file_behind_folder(chosen: str, links: Mapping[str, str]) -> str | None:
    """Return the link to a file of the same name as the chosen folder; its row states a size, which no icon has."""
    if not chosen.partition("?")[0].endswith("/"):
        return None
    plain = chosen.partition("?")[0].removesuffix("/")
    return plain if plain in links and DATE_AND_SIZE.search(links[plain]) else None
