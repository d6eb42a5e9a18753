"""The links of an HTML index, by what they are to its folder: entries, omissions, or none of its business.

Each link at or below the folder is an entry, is left out with its reason, or at least is unclear, which forbids to
remove anything. Only links to other views of the page, such as one in another order, are without meaning.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, unquote

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.anchors import Anchor, AnchorReader
from tradewind_agent.engine.remote.link_paths import find_below, list_folders_above, normalise_path, resolve_link
from tradewind_agent.engine.remote.next_page import has_page_key

PLAIN_CHILD = re.compile(r"[A-Za-z0-9_~%-][A-Za-z0-9_~%.-]*/?")
"""A link to a direct child that needs no resolving, as nearly all links of an index are."""

DATE_AND_SIZE = re.compile(
    r"(?:\d{2}-\w{3}-\d{4}|\d{4}-\d{2}-\d{2})\s+\d{2}:\d{2}(?::\d{2})?\s+"
    r"(?P<number>\d{1,18}(?:\.\d{1,9})?)\s*(?P<unit>[KMGTP]?)(?:i?B|bytes?)?(?![\w.,])",
    re.IGNORECASE,
)
"""What stands behind a link: "21-Nov-2026 03:58   1024" (nginx), "2026-11-21 03:58  1.2M" (Apache), "19.07 MB"."""

_DOWNLOAD_KEYS = frozenset({"download", "dl"})
_NAME_KEYS = frozenset({"dir", "directory", "subdir", "folder", "path", "file", "filename", "name"})
_VIEW_KEYS = frozenset(
    {
        *("sort", "sortby", "sort_by", "order", "orderby", "order_by", "direction", "desc", "asc", "reverse", "by"),
        *("view", "layout", "mode", "style", "theme", "format", "lang", "language", "locale", "hl"),
        *("limit", "per_page", "perpage", "pagesize", "page_size", "search", "filter", "query", "pattern"),
        *("phpsessid", "sid"),
    }
)
"""Of links to the same folder, in another order or form."""

_VIEW_OF_APACHE = re.compile(r"[CNMSDOFV]=[NMSDA0-9](?:;.*)?|P=.*|[NMSD][AD]=")

_FILE_NAME = re.compile(r"\S+\.\w{1,8}")

_IS_ELSEWHERE = "is linked from {page} but is not in that folder; copy it by its own address or a manifest"
_IS_IN_QUERY = "is linked from {page}, which names it in a query alone; copy it by its own address or a manifest"


class PageLinks:
    """The links of a page.

    Attributes
    ----------
    children : path below the folder → what links to it, escaped, with its query → the text behind that link.
    targets : request targets of those links whose folder is written in another way.
    left_out : addresses that look like files and cannot be copied from here → why.
    unclear : addresses at or below the folder that may be anything.
    """

    def __init__(self, url: Url, page: AnchorReader, *, pages: Iterable[Url] = ()) -> None:
        self.children: dict[str, dict[str, str]] = {}
        self.targets: dict[str, str] = {}
        self.left_out: dict[str, str] = {}
        self.unclear: dict[str, None] = {}
        self._url, self._pages = url, {each.target for each in pages}
        self._base = (resolve_link(url, url, page.base) or url) if page.base else url
        self._groups: set[int] = set()
        self._ignores_case = False
        others = self._take_children(page)
        self._ignores_case = not self.children and any(self._leads_below(each) for _, each in others)
        if self._ignores_case:
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
        below.sort(key=lambda each: (not each[2].endswith("/"), not self._is_shown(each[0], each[2])))
        for anchor, linked, child in below:
            self._see_below(anchor, linked, child)

    def _take_children(self, page: AnchorReader) -> list[tuple[Anchor, Url]]:
        """Take the direct children of the folder; return the other links."""
        others = []
        for anchor in page.anchors:
            child: str | None = None
            if self._base is self._url and PLAIN_CHILD.fullmatch(anchor.href):
                child = anchor.href
            elif not anchor.href or anchor.href.startswith("#"):
                continue
            elif (linked := resolve_link(self._url, self._base, anchor.href)) is not None:
                child = self._find_below(linked)
                name = "" if child is None else child.partition("?")[0]
                if not name or "/" in name.removesuffix("/"):
                    others.append((anchor, linked))
                    continue
                self._note_target(child, linked)
            if child:
                self._add(child, anchor)
                self._groups.add(anchor.group)
        self._groups.discard(0)
        return others

    def _add(self, child: str, anchor: Anchor) -> None:
        links = self.children.setdefault(_read_path(child), {})
        # Icons link to the same file as its name does; the longer text says more.
        links[child] = max(links.get(child, ""), anchor.behind, key=lambda behind: len(behind.strip()))

    def _note_target(self, child: str | None, linked: Url) -> None:
        if child and linked.target != self._url.folder + child:
            self.targets[child] = linked.target

    def _find_below(self, linked: Url) -> str | None:
        """Return the path and query of a link below the folder, as linked; empty for the folder itself."""
        if linked.origin != self._url.origin:
            return None
        below = find_below(self._url.folder, linked.path, ignores_case=self._ignores_case)
        if below is None:
            return None
        return below + linked.target[len(linked.path) :] if below else ""

    def _leads_below(self, linked: Url) -> bool:
        """Return whether a link leads below the folder where case makes no difference."""
        return linked.origin == self._url.origin and bool(find_below(self._url.folder, linked.path, ignores_case=True))

    def _see_below(self, anchor: Anchor, linked: Url, child: str) -> None:
        """Take a link to something deeper, if it is shown as that; what is in a listed folder is found there."""
        path = _read_path(child)
        folders = [self.children[above] for above in list_folders_above(path) if above in self.children]
        if path in self.children or any(link.partition("?")[0].endswith("/") for links in folders for link in links):
            return
        is_shown = self._is_shown(anchor, child)
        if is_shown and not folders:
            self._note_target(child, linked)
            self._add(child, anchor)
        elif is_shown or _is_download(anchor, linked):
            self.left_out[str(linked)] = _IS_ELSEWHERE
        else:
            self.unclear[str(linked)] = None

    def _is_shown(self, anchor: Anchor, child: str) -> bool:
        """Return whether the page shows what is deeper below the folder as a file or folder of its own."""
        path, slash = _read_path(child), "/" * child.partition("?")[0].endswith("/")
        name = path.rpartition("/")[2]
        if anchor.is_shown_as(path) or anchor.is_shown_as(path + slash) or DATE_AND_SIZE.search(anchor.behind):
            return True
        is_plain = bool(slash) or "." in name.strip(".") or anchor.group in self._groups
        return is_plain and anchor.is_shown_as(name + slash)

    def _see_query(self, anchor: Anchor, linked: Url) -> None:
        """Look at a link to the folder itself: it may name a file or a folder in its query."""
        own = dict(_list_pairs(self._url))
        pairs = [pair for pair in _list_pairs(linked) if not _is_view(*pair) and own.get(pair[0]) != pair[1]]
        if not pairs:
            return
        is_page = any(has_page_key(key) for key, _ in pairs)
        if linked.target in self._pages or (is_page and (self._pages or any(map(has_page_key, own)))):
            return
        if any(value and own.get(key, "").startswith(value) for key, value in pairs):
            return  # a folder above this one
        if not is_page and any(self._is_named(anchor, linked, *pair) for pair in pairs):
            self.left_out[str(linked)] = _IS_IN_QUERY
        else:
            self.unclear[str(linked)] = None

    def _is_named(self, anchor: Anchor, linked: Url, key: str, value: str) -> bool:
        """Return whether a link shows that ``value``, of its query, is a file or a folder that the page has not yet."""
        name, label = value.rstrip("/").rpartition("/")[2], anchor.label.rstrip("/")
        if not name or name in self.children or label in self.children:
            return False
        is_plain = anchor.label != label or _FILE_NAME.fullmatch(label) is not None
        is_listed = anchor.group in self._groups
        if label == name:
            return is_plain or is_listed or key.lower() in _NAME_KEYS
        return (is_plain and is_listed) or ("." in name and _is_download(anchor, linked))

    def _see_outside(self, anchor: Anchor, linked: Url) -> None:
        """Look at a link to another place: portals and mirrors have files and folders there."""
        if linked.target == self._base.target:
            return
        if self._is_file_elsewhere(anchor, linked) if linked.name else self._is_folder_elsewhere(anchor, linked):
            self.left_out[str(linked)] = _IS_ELSEWHERE
        elif linked.origin.host == self._url.origin.host and find_below(self._url.folder, linked.path):
            self.unclear[str(linked)] = None

    def _is_folder_elsewhere(self, anchor: Anchor, linked: Url) -> bool:
        path = normalise_path(linked.path)
        is_above = linked.origin == self._url.origin and normalise_path(self._url.path).startswith(path)
        shown = unquote(path.rstrip("/").rpartition("/")[2])
        return bool(shown) and not is_above and anchor.is_shown_as(shown + "/")

    def _is_file_elsewhere(self, anchor: Anchor, linked: Url) -> bool:
        if _is_download(anchor, linked):
            return True
        if "." in linked.name.strip("."):
            return anchor.is_shown_as(linked.name) or anchor.label.startswith(linked.name + " ")
        return anchor.group in self._groups and anchor.is_shown_as(linked.name)


def _read_path(child: str) -> str:
    return unquote(child.partition("?")[0].removesuffix("/"), errors="surrogateescape")


def _list_pairs(url: Url) -> list[tuple[str, str]]:
    return parse_qsl(url.target.partition("?")[2], keep_blank_values=True, errors="surrogateescape")


def _is_download(anchor: Anchor, linked: Url) -> bool:
    return anchor.is_download or any(key.lower() in _DOWNLOAD_KEYS for key, _ in _list_pairs(linked))


def _is_view(key: str, value: str) -> bool:
    """Return whether a part of a query chooses how the folder is shown, such as ``C=N;O=D``."""
    return key.lower() in _VIEW_KEYS or _VIEW_OF_APACHE.fullmatch(f"{key}={value}") is not None


def find_file_behind_folder(chosen: str, links: Mapping[str, str]) -> str | None:
    """Return the link to a file of the same name as the chosen folder; its row states a size, which no icon has."""
    if not chosen.partition("?")[0].endswith("/"):
        return None
    plain = chosen.partition("?")[0].removesuffix("/")
    return plain if plain in links and DATE_AND_SIZE.search(links[plain]) else None
