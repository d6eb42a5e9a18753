"""The links of an HTML page: where each leads, what it is shown as, and the text behind it."""

import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

_ROW_STARTS = frozenset({"br", "hr", "li", "p", "tr"})
"""Tags behind which a page speaks of the next entry; some servers put its size before the link."""

_LINKS = frozenset({"a", "link"})
_REFERENCE = re.compile(r"""(?<![\w-])href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*))""", re.IGNORECASE)
_BARE_AMPERSAND = re.compile(r"&(?=[A-Za-z][A-Za-z0-9]*+(?!;))")
"""One that separates parts of a query, whose key may begin like a character's name (``&copy=2``)."""

_LISTS = frozenset({"table", "ul", "ol", "dl", "pre"})


@dataclass(slots=True)
class Anchor:
    """A link, its text, and the text between it and the next one.

    ``group`` : number of the table or list that it is in, the innermost; 0 for none.
    """

    href: str
    is_download: bool
    group: int = 0
    _label: list[str] = field(default_factory=list)
    _behind: list[str] = field(default_factory=list)

    def add_text(self, text: str, *, is_inside: bool) -> None:
        """Add text of the link itself, or behind it."""
        (self._label if is_inside else self._behind).append(text)

    @property
    def behind(self) -> str:
        return " ".join(self._behind)

    @property
    def label(self) -> str:
        """Return the text of the link, its spaces made single ones."""
        return " ".join("".join(self._label).split())

    def is_shown_as(self, name: str) -> bool:
        """Return whether the page shows the link as this name; servers cut long names off with ``..>``."""
        label = self.label
        return label == name or (label.endswith("..>") and name.startswith(label.removesuffix("..>")))


class AnchorReader(HTMLParser):
    """Collects the links of a page.

    Attributes
    ----------
    anchors : in the order of the page.
    base : the address that relative links are resolved against, where the page states one.
    title : the page's title.
    next_href : where the page says that the next one is (``rel="next"``); empty where it does not.
    has_password : it has a field for a password.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: list[Anchor] = []
        self.base = ""
        self.title = self.next_href = ""
        self.has_password = False
        self._is_inside = self._is_title = self._is_row_over = False
        self._open_lists: list[tuple[str, int]] = []
        self._lists = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a":
            group = self._open_lists[-1][1] if self._open_lists else 0
            self.anchors.append(Anchor(self._read_href(values), "download" in values, group))
            self._is_inside, self._is_row_over = True, False
        elif tag in _ROW_STARTS:
            self._is_row_over = True
        elif tag in _LISTS:
            self._lists += 1
            self._open_lists.append((tag, self._lists))
        elif tag == "base":
            self.base = self.base or (values.get("href") or "").strip()
        elif tag == "input" and (values.get("type") or "").lower() == "password":
            self.has_password = True
        if tag in _LINKS and "next" in (values.get("rel") or "").lower().split():
            self.next_href = self.next_href or self._read_href(values)
        self._is_title = tag == "title"

    def _read_href(self, values: dict[str, str | None]) -> str:
        """Return the address of a link; ``&`` without a semicolon behind its name is no character (HTML 13.2.5.73)."""
        href = values.get("href") or ""
        tag = self.get_starttag_text() or ""
        if "&" in tag and (found := _REFERENCE.search(tag)) is not None:
            href = unescape(_BARE_AMPERSAND.sub("&amp;", found[found.lastindex or 0]))
        return href.strip()

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._is_inside = False
        elif tag in _LISTS:
            self._close_list(tag)
        self._is_title = False

    def _close_list(self, tag: str) -> None:
        while any(opened == tag for opened, _ in self._open_lists):
            if self._open_lists.pop()[0] == tag:
                return

    def handle_data(self, data: str) -> None:
        if self._is_title:
            self.title += data
        elif self.anchors and not self._is_row_over:
            self.anchors[-1].add_text(data, is_inside=self._is_inside)
