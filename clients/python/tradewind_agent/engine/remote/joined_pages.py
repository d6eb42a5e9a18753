"""The pages of one index, read one by one and joined."""

from dataclasses import replace

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.index_page import IndexPage, ListingEntries, ListingEntry
from tradewind_agent.engine.remote.link_paths import normalise_path
from tradewind_agent.engine.remote.next_page import IS_UNREAD_PAGE
from tradewind_agent.engine.remote.omissions import Omission, OmissionKind
from tradewind_agent.errors import UnusableSource

_MOST_EMPTY_PAGES = 1000
"""Pages of a bucket without a key, one behind the other, as where very many were removed."""

_MOST_KNOWN_PAGES = 3
"""Pages of another index without an entry that those before did not have, one behind the other: a server ignores which
page is requested, and shows something else than names that differs."""

_MOST_PAGES = 10_000
"""Of an index that is no bucket; a program may link a next one without end."""


class JoinedPages:
    """What several pages of an index list together: each page once, each entry once.

    Where pages of HTML lead back to one another, they end; those of a bucket are refused then.

    Attributes
    ----------
    next_page : the page to be read next; ``None`` where the index ends.
    is_guess : the last page does not call it the next.
    """

    def __init__(self, place: Url, page: IndexPage) -> None:
        self._place, self._first = place, page
        self._entries = ListingEntries()
        self._left_out: list[Omission] = []
        self._unread: dict[str, None] = {}
        self._known: set[tuple[str, bool]] = set()
        self._rows: set[bytes] = set()
        self._ends: set[tuple[str, str]] = set()
        self._seen = {place.target}
        self._idle_pages = 0
        self._is_exact, self._is_other = True, False
        self.next_page: Url | None = None
        self.is_guess = False
        self.add(place, page)

    def add(self, place: Url, page: IndexPage) -> None:
        """Add a page that ``place`` answered with; one whose rows an earlier one had ends the index."""
        following, self.next_page = self.next_page, None
        if following is not None and normalise_path(place.path) != normalise_path(self._place.path):
            self.leave_out(following, IS_UNREAD_PAGE.format(page=self._place))
            return
        if self.is_guess and page.is_other and following is not None:
            self.leave_out(following, "answers with a web page that is no index")
            return
        if page.rows and page.rows in self._rows:
            return
        self._rows.add(page.rows)
        fresh = [entry for entry in page.entries if self._is_new(entry)] if page.rows else page.entries
        self._entries.extend(fresh)
        self._left_out.extend(page.left_out)
        self._unread.update(dict.fromkeys(page.unread_pages))
        self._is_exact = self._is_exact and page.is_exact
        self._is_other = self._is_other or page.is_other
        self._idle_pages = 0 if fresh else self._idle_pages + 1
        if page.next_page is not None:
            self._follow(page, page.next_page)

    def leave_out(self, place: Url, reason: str) -> None:
        """Note a page that cannot be read, behind which the index ends."""
        self.next_page = None
        self._left_out.append(Omission(str(place), reason, OmissionKind.UNREADABLE))

    def _is_new(self, entry: ListingEntry) -> bool:
        key = (entry.name, entry.is_folder)
        is_new = key not in self._known
        self._known.add(key)
        return is_new

    def _follow(self, page: IndexPage, following: Url) -> None:
        is_known = following.target in self._seen
        if not page.rows:  # keys stand in order: the same ends are the same page
            ends = (page.entries[0].name, page.entries[-1].name) if page.entries else None
            if is_known or ends in self._ends or self._idle_pages > _MOST_EMPTY_PAGES:
                raise UnusableSource(f"cannot list {following}: its pages lead back to one another")
            if ends is not None:
                self._ends.add(ends)
        elif is_known or self._idle_pages >= _MOST_KNOWN_PAGES:
            return
        elif len(self._seen) > _MOST_PAGES:
            self.leave_out(following, f"is not read: its index has more than {_MOST_PAGES} pages")
            return
        self._seen.add(following.target)
        self.next_page, self.is_guess = following, page.is_guess

    def join(self) -> IndexPage:
        """Return all pages as one."""
        return replace(
            self._first,
            entries=self._entries,
            left_out=tuple(dict.fromkeys(self._left_out)),
            unread_pages=tuple(self._unread),
            next_page=None,
            is_exact=self._is_exact,
            is_other=self._is_other,
        )
