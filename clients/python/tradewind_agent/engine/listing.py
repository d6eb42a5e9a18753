"""Index pages as lists of entries: nginx (HTML, JSON), Apache (HTML), serve-files (JSON). Pure: text in, values out."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote

from tradewind_agent.engine.address import Url
from tradewind_agent.engine.jobs import SizeTrust
from tradewind_agent.engine.retry import parse_http_date
from tradewind_agent.errors import UnsafeName, UnusableSource

# "21-Nov-2026 03:58   1024" (nginx), "2026-11-21 03:58  1.2M" (Apache), whatever tags stand between.
_DATE_AND_SIZE = re.compile(
    r"(?:\d{2}-\w{3}-\d{4}|\d{4}-\d{2}-\d{2})\s+\d{2}:\d{2}(?::\d{2})?\s+(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMGT]?)\b"
)
_PLAIN_CHILD = re.compile(r"[A-Za-z0-9_~%-][A-Za-z0-9_~%.-]*/?")
"""A link to a direct child that needs no resolving, as nearly all links of an index are."""

_NGINX_ROWS = re.compile(r'<pre><a href="\.\./">\.\./</a>\r\n(?P<rows>.*)</pre><hr></body>\r\n</html>\r\n', re.DOTALL)
_NGINX_ROW = re.compile(
    rf'<a href="({_PLAIN_CHILD.pattern})">[^<]*</a> +\d{{2}}-\w{{3}}-\d{{4}} \d{{2}}:\d{{2}} +(\d+|-)'
)

_UNIT_BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file or folder of an index; ``name`` is one safe path segment."""

    name: str
    is_folder: bool
    size_bytes: int | None = None
    size_trust: SizeTrust = SizeTrust.LISTED
    modified_at: datetime | None = None
    etag: str | None = None


def parse_index(url: Url, content_type: str, body: bytes) -> list[Entry]:
    """Entries of the index page that ``url`` answered with.

    Raises
    ------
    UnusableSource : neither JSON of a known form nor HTML.
    UnsafeName : a name that would leave the folder it is listed in.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        return _from_json(url, body)
    if kind in ("text/html", "application/xhtml+xml"):
        return _from_html(url, body.decode("utf-8", errors="replace"))
    raise UnusableSource(f"{url} is no index page but {kind or 'of unknown type'}; name its files in a manifest")


def safe_segment(name: str, where: object) -> str:
    """``name`` if it is one plain path segment, such as may be created in a folder.

    Raises
    ------
    UnsafeName : empty, ``.`` or ``..``, or with a separator or a NUL in it.
    """
    if name in ("", ".", "..") or any(bad in name for bad in ("/", "\\", "\0")):
        raise UnsafeName(f"{where} lists {name!r}, which is no plain file name: nothing was copied")
    return name


def _from_json(url: Url, body: bytes) -> list[Entry]:
    try:
        document = json.loads(body)
        rows = document["entries"] if isinstance(document, dict) else document
        return [_json_entry(url, row) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableSource(f"the index {url} is JSON of an unknown form") from error


def _json_entry(url: Url, row: dict[str, Any]) -> Entry:
    """One row of ours (size_bytes, modified_at, etag) or of nginx (size, mtime)."""
    size = row.get("size_bytes", row.get("size"))
    modified = row.get("modified_at")
    return Entry(
        name=safe_segment(str(row["name"]), url),
        is_folder=row["type"] == "directory",
        size_bytes=int(size) if size is not None else None,
        modified_at=datetime.fromisoformat(modified) if modified else parse_http_date(row.get("mtime", "")),
        etag=row.get("etag"),
    )


def _from_html(url: Url, text: str) -> list[Entry]:
    plain = _from_nginx(url, text)
    return _from_anchors(url, text) if plain is None else plain


def _from_nginx(url: Url, text: str) -> list[Entry] | None:
    """Entries of a page that nginx wrote: the same as by its anchors, in a fraction of the time.

    ``None`` where a single row is of another form.
    """
    page = _NGINX_ROWS.search(text)
    if page is None:
        return None
    entries = []
    for row in page["rows"].split("\r\n")[:-1]:
        match = _NGINX_ROW.fullmatch(row)
        if match is None:
            return None
        name, size = match.groups()
        entries.append(
            Entry(
                name=safe_segment(unquote(name.removesuffix("/")), url),
                is_folder=name.endswith("/"),
                size_bytes=None if size == "-" else int(size),
            )
        )
    return entries


def _from_anchors(url: Url, text: str) -> list[Entry]:
    reader = _AnchorReader()
    reader.feed(text)
    reader.close()
    entries: dict[str, Entry] = {}
    for href, behind in reader.anchors:
        name = _child_name(url, href)
        if name is None:
            continue
        is_folder = name.endswith("/")
        size, trust = (None, SizeTrust.LISTED) if is_folder else _size(behind)
        segment = safe_segment(unquote(name.removesuffix("/")), url)
        # Icons link to the same file as its name does; the one with the size says more.
        if segment not in entries or entries[segment].size_bytes is None:
            entries[segment] = Entry(name=segment, is_folder=is_folder, size_bytes=size, size_trust=trust)
    return list(entries.values())


def _child_name(url: Url, href: str) -> str | None:
    """Escaped name of a link to a direct child of the folder; ``None`` for all other links (parent, sorting, icons)."""
    if _PLAIN_CHILD.fullmatch(href):
        return href
    if not href or href.startswith(("?", "#")):
        return None
    try:
        linked = url.join(href)
    except UnusableSource:
        return None
    if linked.origin != url.origin or "?" in linked.target or not linked.path.startswith(url.folder):
        return None
    name = linked.path[len(url.folder) :]
    return name if name and "/" not in name.removesuffix("/") else None


def _size(behind: str) -> tuple[int | None, SizeTrust]:
    match = _DATE_AND_SIZE.search(behind)
    if match is None:
        return None, SizeTrust.ROUNDED
    trust = SizeTrust.ROUNDED if match["unit"] else SizeTrust.LISTED
    return round(float(match["number"]) * _UNIT_BYTES[match["unit"]]), trust


class _AnchorReader(HTMLParser):
    """Collects each link with the text behind it, up to the next link."""

    def __init__(self) -> None:
        super().__init__()
        self._links: list[tuple[str, list[str]]] = []
        self._inside = False

    @property
    def anchors(self) -> Iterator[tuple[str, str]]:
        return ((href, " ".join(texts)) for href, texts in self._links)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._links.append((dict(attrs).get("href") or "", []))
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._links and not self._inside:
            self._links[-1][1].append(data)
