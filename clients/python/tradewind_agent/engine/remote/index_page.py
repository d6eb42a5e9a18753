"""An index page as values: the files and folders that it lists, and the links that it leaves out."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from tradewind_agent.columns import FieldColumn, NumberColumn, RecordColumns, TextColumn, TimeColumn
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import SizeTrust
from tradewind_agent.engine.local.journal import is_own_name
from tradewind_agent.engine.remote.omissions import Omission
from tradewind_agent.errors import UnsafeName

MOST_BYTES = 2**63 - 1
"""Of a file, by the systems that could store it."""

_SIZE = re.compile(r"[0-9]{1,18}")

_SEPARATORS = frozenset({"/", "\0", os.sep, os.altsep or os.sep})
"""A backslash is a character like any other where it separates no folders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingEntry:
    """A file or folder of an index; ``name`` is one safe path segment, or several of a file deep in a bucket.

    ``target`` : request target as the page links it; ``None`` where it is the folder's path and the escaped name.
    ``least_bytes`` : of a rounded size, the smallest that is shown so.
    ``may_be_folder`` : the page does not distinguish files from folders.
    """

    name: str
    is_folder: bool
    size_bytes: int | None = None
    size_trust: SizeTrust = SizeTrust.LISTED
    least_bytes: int = 0
    modified_at: datetime | None = None
    etag: str | None = None
    target: str | None = None
    may_be_folder: bool = False


class ListingEntries(RecordColumns[ListingEntry]):
    """Entries of a page that may have half a million of them."""

    def __init__(self, entries: Iterable[ListingEntry] = ()) -> None:
        columns: dict[str, FieldColumn] = {
            "name": TextColumn(""),
            "size_bytes": NumberColumn(),
            "modified_at": TimeColumn(),
            "etag": TextColumn(),
            "target": TextColumn(),
        }
        super().__init__(ListingEntry, columns, ("is_folder", "size_trust", "least_bytes", "may_be_folder"), entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPage:
    """What one page lists.

    ``left_out`` : links that look like files and cannot be copied from here.
    ``rows`` : sum of all entries as the page shows them, dates included; two pages of one sum show the same folder.
    ``has_links`` : whether a page of HTML links anything at all, as an index does, if only what is above it.
    ``unread_pages`` : further pages that it links and that nothing leads to in order: nothing may be removed.
    ``next_page`` : where the listing goes on.
    ``is_guess`` : whether that is a page which it numbers, and not one that it calls the next.
    ``is_exact`` : the page says of each entry whether it is a file; links may be anything.
    ``keeps_times`` : the server stores the times of files that are sent to it.
    ``is_other`` : the page is hardly an index: an error, or a form to log in.
    """

    entries: Sequence[ListingEntry]
    left_out: tuple[Omission, ...] = ()
    rows: bytes = b""
    unread_pages: tuple[str, ...] = ()
    next_page: Url | None = None
    is_guess: bool = False
    is_exact: bool = False
    keeps_times: bool = False
    has_links: bool = True
    is_other: bool = False


def sum_rows(rows: Iterable[str | bytes]) -> bytes:
    """Return a sum of the rows of a page: the same for the same rows in the same order."""
    digest = sha256()
    for row in rows:
        digest.update(row if isinstance(row, bytes) else row.encode("utf-8", errors="surrogateescape"))
        digest.update(b"\n")
    return digest.digest()


def parse_size(stated: object) -> int | None:
    """Return a size that a listing states, as text or number; ``None`` where no file can have it."""
    if isinstance(stated, str):
        return int(stated) if _SIZE.fullmatch(stated) else None
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        return None
    return int(stated) if 0 <= stated <= MOST_BYTES else None


def parse_instant(text: str) -> datetime | None:
    """Return an instant in UTC; ``None`` where the calendar ends before it, as programs write that know none."""
    try:
        instant = datetime.fromisoformat(text)
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except OverflowError:
        return None


def check_segment(name: str, where: object) -> str:
    """Return ``name`` if it is one plain path segment, such as may be created in a folder.

    Raises
    ------
    UnsafeName : empty, ``.`` or ``..``, with a separator or a NUL in it, no name on any disk, or one of those that
        unfinished files have here, whose bytes it would replace.
    """
    if not name.isascii():
        try:
            os.fsencode(name)
        except UnicodeEncodeError as error:
            raise UnsafeName(f"{where} lists {name!r}, which no disk can store") from error
    if is_own_name(name):
        raise UnsafeName(f"{where} lists {name!r}, which is the name of an unfinished copy")
    if name in ("", ".", "..") or not _SEPARATORS.isdisjoint(name):
        raise UnsafeName(f"{where} lists {name!r}, which is no plain file name")
    return name


def check_path(path: str, where: object) -> str:
    """Return ``path`` if it is made of plain path segments.

    Raises
    ------
    UnsafeName : see `check_segment`.
    """
    for segment in path.split("/"):
        check_segment(segment, where)
    return path
