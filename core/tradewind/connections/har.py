"""Parsing of HAR logs, as browsers and other tools write them, to the loads of pages.

The format: "HAR 1.2 Spec", J. Odvarko, http://www.softwareishard.com/blog/har-12-spec/.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import Any

from pydantic_core import from_json

from tradewind.connections.har_entry import (
    Json,
    find_origin,
    parse_finite,
    parse_instant,
    parse_seconds,
    read_entry,
    slim_entry,
)
from tradewind.connections.page_load import LeftOut, PageLoad, WebObject
from tradewind.errors import InvalidValue, TooLarge

MAX_ENTRIES = 20_000
MAX_PAGES = 200
MAX_NAME_LENGTH = 200
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

NO_LOG = "is JSON, but no HAR: it has no object called log"
NO_ENTRIES = "is JSON, but no HAR: it has no list called log.entries"
NO_PAGES = "is JSON, but no HAR: its log.pages is no list"


@dataclass(frozen=True, slots=True)
class Har:
    """A log reduced to what is analysed: the tool that wrote it, its pages and its entries."""

    tool: str
    pages: Sequence[Json]
    entries: Sequence[Any]

    def slim(self) -> dict[str, Any]:
        """Return the reduced log as a HAR document."""
        creator = {"name": self.tool, "version": ""}
        return {"log": {"version": "1.2", "creator": creator, "pages": self.pages, "entries": self.entries}}


def decode_har(content: bytes) -> Har:
    """Decode a log in memory.

    Raises
    ------
    InvalidValue : no JSON, cut off, or no HAR.
    TooLarge : more than `MAX_ENTRIES` entries or `MAX_PAGES` pages.
    """
    require_utf_8(content)
    content = trim_to_characters(content.removeprefix(BYTE_ORDER_MARK))
    if not content.strip():
        raise InvalidValue("har", "is empty")
    try:
        document = from_json(content, allow_inf_nan=False)  # no JSON (RFC 8259, section 6), though some write it
    except ValueError as wrong:
        raise InvalidValue("har", describe_json_error(str(wrong))) from None
    return parse_har_document(document)


def require_utf_8(beginning: bytes) -> None:
    """Reject a log whose beginning is UTF-16, as some editors save it.

    Raises
    ------
    InvalidValue
    """
    if beginning.startswith(_UTF_16_MARKS) or beginning[1:2] == b"\0":
        raise InvalidValue("har", "is not JSON in UTF-8 but UTF-16; save it as UTF-8")


def trim_to_characters(content: bytes) -> bytes:
    r"""Replace escapes of unpaired surrogates, such as ``\\\\udc00``, by U+FFFD.

    Browsers write halves alone where a page's text has them, and parsers refuse them. No text that is analysed needs
    those that make a character together.
    """
    return _HALF_A_CHARACTER.sub(rb"\\ufffd", content)


_HALF_A_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def parse_har_document(document: Any) -> Har:
    """Parse a log from its decoded document.

    Raises
    ------
    InvalidValue : it is no HAR.
    TooLarge : more than `MAX_ENTRIES` entries or `MAX_PAGES` pages.
    """
    log = document.get("log") if isinstance(document, Mapping) else None
    if not isinstance(log, Mapping):
        raise InvalidValue("har", NO_LOG)
    entries, pages = log.get("entries"), log.get("pages") or []
    if not isinstance(entries, list):
        raise InvalidValue("har", NO_ENTRIES)
    if not isinstance(pages, list):
        raise InvalidValue("har", NO_PAGES)
    valid_pages = [page for page in pages if isinstance(page, Mapping)]
    if len(entries) > MAX_ENTRIES:
        raise TooLarge(f"a HAR may have {MAX_ENTRIES} entries; record fewer pages in one file")
    if len(valid_pages) > MAX_PAGES:
        raise TooLarge(f"a HAR may have {MAX_PAGES} pages; record fewer in one file")
    ids = [None if page.get("id") is None else str(page["id"]) for page in valid_pages]
    places = [f"page_{place}" for place in range(1, len(valid_pages) + 1)]
    counts = Counter(ids)
    names = {name: place for name, place in zip(ids, places, strict=True) if name is not None and counts[name] == 1}
    return Har(
        parse_tool(log),
        [_slim_page(page, place) for page, place in zip(valid_pages, places, strict=True)],
        [_rename_page(slim_entry(entry), names) for entry in entries],
    )


def _slim_page(page: Json, name: str) -> dict[str, Any]:
    """Keep a page's start and load time; its title, and an id that a tool made of its address, are dropped."""
    timings = page.get("pageTimings")
    load_ms = timings.get("onLoad") if isinstance(timings, Mapping) else None
    return {
        "id": name,
        "startedDateTime": parse_finite(page.get("startedDateTime")),
        "pageTimings": {"onLoad": parse_finite(load_ms)},
    }


def _rename_page(entry: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    named = entry.pop("pageref", None)
    return entry if named is None or str(named) not in names else entry | {"pageref": names[str(named)]}


def parse_tool(log: Json) -> str:
    """Return the browser, or else the creator, that the log names."""
    for who in ("browser", "creator"):
        found = log.get(who)
        if isinstance(found, Mapping) and isinstance(found.get("name"), str) and found["name"].strip():
            return _make_printable(found["name"].strip())
    return "unknown"


def describe_json_error(message: str) -> str:
    """Describe a parser's complaint in one phrase."""
    if "EOF" in message or "incomplete" in message.lower() or "premature" in message.lower():
        return "is cut off: it ends before its JSON does; save it again"
    if any(words in message for words in _NOT_UTF_8):
        return "is not JSON in UTF-8; save it as UTF-8"
    first_line = message.strip().removeprefix("b'").replace(r"\n", "\n").splitlines()[0]
    return f"is not JSON: {first_line[:120]}"


_NOT_UTF_8 = ("invalid bytes in UTF8", "codec can't decode", "invalid unicode code point")
"""Messages of the parsers for it, ijson's and pydantic's."""


@dataclass(slots=True)
class _Page:
    started_at: datetime | None
    load_s: float | None
    entries: list[Any] = field(default_factory=list)


def build_page_loads(har: Har) -> list[PageLoad]:
    """Return the loads of the pages that have entries, in the order of their start.

    An entry belongs to the page that it names, else to the last one started before it. A log without pages is the load
    of one. Where neither a page nor any of its entries has a time, there is nothing to say of its load: its entries
    are left out of the last page's.

    Raises
    ------
    InvalidValue : it has no entry, or none with a time.
    """
    if not har.entries:
        raise InvalidValue("har", "has no entries: nothing was recorded")
    started: list[tuple[datetime, _Page]] = []
    lost: list[Any] = []
    for page in _deal_entries(har):
        started_at = page.started_at or _find_first_start(page.entries)
        if started_at is None:
            lost += page.entries
        elif page.entries:
            started.append((started_at, page))
    if not started:
        raise InvalidValue("har", "has no entry with a start time")
    started.sort(key=itemgetter(0))
    started[-1][1].entries += lost
    return [_build_load(page, started_at, har.tool) for started_at, page in started]


def _deal_entries(har: Har) -> Collection[_Page]:
    pages = {str(page.get("id")): _build_page(page) for page in har.pages}
    by_begin = sorted(
        (page for page in pages.values() if page.started_at is not None), key=lambda page: page.started_at or 0
    )
    for entry in har.entries:
        _find_owner(entry, pages, by_begin).entries.append(entry)
    return pages.values()


def _find_first_start(entries: Sequence[Any]) -> datetime | None:
    counts = (parse_instant(entry.get("startedDateTime")) for entry in entries if isinstance(entry, Mapping))
    return min((each for each in counts if each is not None), default=None)


def _make_printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text[:MAX_NAME_LENGTH])


def _build_page(page: Json) -> _Page:
    timings = page.get("pageTimings")
    load_s = parse_seconds(timings.get("onLoad")) if isinstance(timings, Mapping) else None
    return _Page(parse_instant(page.get("startedDateTime")), load_s or None)


def _find_owner(entry: Any, pages: dict[str, _Page], by_begin: Sequence[_Page]) -> _Page:
    named = entry.get("pageref") if isinstance(entry, Mapping) else None
    if named is not None and str(named) in pages:
        return pages[str(named)]
    started_at = parse_instant(entry.get("startedDateTime")) if isinstance(entry, Mapping) else None
    started = [page for page in by_begin if started_at is None or (page.started_at or started_at) <= started_at]
    if started or by_begin:
        return started[-1] if started else by_begin[0]
    return pages.setdefault("", _Page(None, None))


def _build_load(page: _Page, started_at: datetime, tool: str) -> PageLoad:
    objects: list[WebObject] = []
    left_out: Counter[LeftOut] = Counter()
    for entry in page.entries:
        read = read_entry(entry, page_started_at=started_at, tool=tool)
        if isinstance(read, LeftOut):
            left_out[read] += 1
        else:
            objects.append(read)
    objects.sort(key=lambda each: each.started_s)
    return PageLoad(
        name=_find_name(page.entries),
        started_at=started_at,
        load_s=page.load_s,
        objects=tuple(objects),
        left_out=dict(left_out),
    )


def _find_name(entries: Sequence[Any]) -> str:
    """Return the origin of the first entry that has one: a title, or the rest of an address, may be private."""
    return next((_make_printable(origin) for entry in entries if (origin := find_origin(entry)) is not None), "page")
