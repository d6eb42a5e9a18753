"""Index pages in JSON: of serve-files, nginx and Caddy."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.retry import parse_http_date
from tradewind_agent.engine.remote.index_page import (
    IndexPage,
    ListingEntry,
    check_segment,
    parse_instant,
    parse_size,
    sum_rows,
)
from tradewind_agent.engine.remote.omissions import Omission, OmissionKind, make_name_omission
from tradewind_agent.errors import UnsafeName, UnusableSource

_IS_FOLDER = {"file": False, "directory": True}
"""Of serve-files and nginx."""

_GOES_ON = (
    *("next", "next_page", "nextPage", "next_token", "nextPageToken"),
    *("has_more", "hasMore", "truncated", "isTruncated"),
)
"""Keys of documents that are not all of the index."""

_ENTRY_COUNTS = frozenset({"total_count", "totalCount", "total_entries", "totalEntries", "total_items", "totalItems"})
_PAGE_COUNTS = frozenset({"total_pages", "totalPages", "page_count", "pageCount"})

_PAGE_KEYS = frozenset({"page", "limit", "offset", "per_page", "perPage", "next"})
"""Keys of objects that speak of a page: in them, ``total`` and ``count`` are entries, which may be bytes elsewhere."""

_PARTS = ("pagination", "paging", "meta", "links")
"""Objects of a document that speak of its pages."""

_UNSERVED = {
    "other": (OmissionKind.NOT_A_FILE, "is a pipe, a device or a socket"),
    "link": (OmissionKind.LINK, "is a symbolic link that leads out of what is served"),
}
"""Of nginx and serve-files: what is listed and cannot be had."""


def parse_json_index(url: Url, body: bytes) -> IndexPage:
    """Return what the JSON page ``body`` of ``url`` lists.

    Raises
    ------
    UnusableSource : not JSON of a known form.
    """
    try:
        # A server may write names as the bytes that they are.
        document = json.loads(body.decode(json.detect_encoding(body), errors="surrogateescape"))
        rows: list[Mapping[str, Any]] = document["entries"] if isinstance(document, dict) else document
        if isinstance(document, dict) and _goes_on(document, len(rows)):
            raise UnusableSource(f"the index {url} is the first of several pages, of an unknown form")
        entries: list[ListingEntry] = []
        left_out: list[Omission] = []
        for row in rows:
            name = _parse_name(row)
            try:
                if row.get("type") in _UNSERVED:
                    kind, reason = _UNSERVED[row["type"]]
                    left_out.append(Omission(f"{url}{name}", reason, kind))
                else:
                    entries.append(_parse_entry(url, name, row))
            except UnsafeName as error:
                left_out.append(make_name_omission(f"{url}{name}" + "/" * _is_folder(row), error))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UnusableSource(f"the index {url} is JSON of an unknown form") from error
    return IndexPage(
        entries=tuple(entries),
        left_out=tuple(left_out),
        rows=sum_rows(sorted(json.dumps(row, sort_keys=True) for row in rows)),
        is_exact=True,
        keeps_times=any("size_bytes" in row for row in rows),  # serve-files
    )


def _goes_on(document: Mapping[str, Any], rows: int) -> bool:
    """Return whether a document says that it does not have all rows, itself or in an object such as ``pagination``."""
    parts = (document, *(document.get(key) for key in _PARTS))
    return any(_says_more(part, rows) for part in parts if isinstance(part, dict))


def _says_more(part: Mapping[str, Any], rows: int) -> bool:
    if any(part.get(key) for key in _GOES_ON):
        return True
    is_page = not _PAGE_KEYS.isdisjoint(part)
    counts = _ENTRY_COUNTS | {"total", "count"} if is_page else _ENTRY_COUNTS
    pages = _PAGE_COUNTS | {"pages"} if is_page else _PAGE_COUNTS
    numbers = [(key, value) for key, value in part.items() if isinstance(value, int)]
    return any((key in counts and value > rows) or (key in pages and value > 1) for key, value in numbers)


def _parse_name(row: Mapping[str, Any]) -> str:
    """Return the name of a row; Caddy ends those of folders with a slash."""
    name = row["name"]
    if not isinstance(name, str):
        raise TypeError("a name that is no text")
    return name.removesuffix("/") if row.get("is_dir") is True else name


def _is_folder(row: Mapping[str, Any]) -> bool:
    return row["is_dir"] if isinstance(row.get("is_dir"), bool) else _IS_FOLDER[row["type"]]


def _parse_entry(url: Url, name: str, row: Mapping[str, Any]) -> ListingEntry:
    """Read a row of serve-files (size_bytes, modified_at, etag), nginx (size, mtime) or Caddy (size, mod_time)."""
    is_folder = _is_folder(row)
    etag = row.get("etag")
    size = None if is_folder else row.get("size_bytes", row.get("size"))
    return ListingEntry(
        name=check_segment(name, url),
        is_folder=is_folder,
        size_bytes=parse_size(size),
        modified_at=_parse_modified_at(row),
        etag=etag if isinstance(etag, str) else None,
    )


def _parse_modified_at(row: Mapping[str, Any]) -> datetime | None:
    if exact := row.get("modified_at"):
        return parse_instant(exact)
    if text := row.get("mod_time"):
        instant = parse_instant(text)
        return None if instant is None else instant.replace(microsecond=0)  # Last-Modified has no fractions either
    return parse_http_date(row.get("mtime", ""))
