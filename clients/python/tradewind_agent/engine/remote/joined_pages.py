"""The pages of one index, read one by one and joined."""

from collections import deque
from dataclasses import replace

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.index_page import IndexPage, ListingEntries, ListingEntry
from tradewind_agent.errors import UnusableSource

_MOST_EMPTY_PAGES = 1000
"""Pages of a bucket without a key, one behind the other, as where very many were removed."""

_MOST_KNOWN_PAGES = 8
"""Pages of another index without an entry that those before did not have, one behind the other: a server ignores which
page is requested, and shows something else than names that differs."""


class JoinedPages:
    """What several pages of an index list together: each page once, each entry once.

    Where pages of HTML lead back to one another, they end; those of a bucket are refused then.
    """

    def __init__(self, place: Url, page: IndexPage) -> None:
        self._first = page
        self._pages = [page]
        self._entries = ListingEntries()
        self._known: set[tuple[str, bool, str | None]] = set()
        self._rows: set[bytes] = set()
        self._seen = {place.target}
        self._waiting: deque[Url] = deque()
        self._idle_pages = 0
        self._ends: set[tuple[str, str]] = set()
        self.add(page)

    def add(self, page: IndexPage) -> None:
        """Add a page; one whose rows an earlier one had adds nothing."""
        if page.rows and page.rows in self._rows:
            return
        self._rows.add(page.rows)
        if page is not self._first:
            self._pages.append(page)
        fresh = [entry for entry in page.entries if self._is_new(entry)] if page.rows else page.entries
        self._entries.extend(fresh)
        self._idle_pages = 0 if fresh else self._idle_pages + 1
        for following in page.list_pages():
            self._follow(page, following)

    def _is_new(self, entry: ListingEntry) -> bool:
        key = (entry.name, entry.is_folder, entry.target)
        is_new = key not in self._known
        self._known.add(key)
        return is_new

    def _follow(self, page: IndexPage, following: Url) -> None:
        is_known = following.target in self._seen
        if not page.rows:  # keys stand in order: the same ends are the same page
            ends = (page.entries[0].name, page.entries[-1].name) if page.entries else None
            is_known = is_known or ends in self._ends or self._idle_pages > _MOST_EMPTY_PAGES
            if is_known:
                raise UnusableSource(f"cannot list {following}: its pages lead back to one another")
            if ends is not None:
                self._ends.add(ends)
        if not is_known:
            self._seen.add(following.target)
            self._waiting.append(following)

    def find_next(self) -> Url | None:
        """Return the next page to be read."""
        is_over = self._first.rows and self._idle_pages > _MOST_KNOWN_PAGES
        return self._waiting.popleft() if self._waiting and not is_over else None

    def join(self) -> IndexPage:
        """Return all pages as one."""
        left_out = dict.fromkeys(each for page in self._pages for each in page.left_out)
        unclear = dict.fromkeys(each for page in self._pages for each in page.unclear)
        return replace(
            self._first,
            entries=self._entries,
            left_out=tuple(left_out),
            unclear=tuple(unclear),
            next_page=None,
            more_pages=(),
            is_exact=all(page.is_exact for page in self._pages),
            is_other=any(page.is_other for page in self._pages),
        )
