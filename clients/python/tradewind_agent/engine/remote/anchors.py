"""The links of an HTML page: where each leads, what it is shown as, and the text behind it."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_ROW_STARTS = frozenset({"br", "hr", "li", "p", "tr"})
"""Tags behind which a page speaks of the next entry; some servers put its size before the link."""

_LINKS = frozenset({"a", "link"})

_SIZE_IN_BRACKETS = re.compile(r" ?[(\[]~? ?[0-9][0-9.,]* ?[kKMGTP]?i?(?:B|[Bb]ytes?)?[)\]]")


@dataclass(slots=True)
class Anchor:
    """A link, its text, and the text between it and the next one."""

    href: str
    is_download: bool
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
        """Return whether the page shows the link as this name, with its size in brackets or none.

        Servers cut long names off with ``..>``.
        """
        label = self.label
        if label.endswith("..>"):
            return name.startswith(label.removesuffix("..>"))
        return label == name or (label.startswith(name) and _SIZE_IN_BRACKETS.fullmatch(label, len(name)) is not None)


class AnchorReader(HTMLParser):
    """Collects the links of a page.

    Attributes
    ----------
    anchors : in the order of the page.
    base : the address that relative links are resolved against, where the page states one.
    title : the page's title.
    heading : its topmost headings.
    next_href : where the page says that the next one is (``rel="next"``); empty where it does not.
    has_password : it has a field for a password.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: list[Anchor] = []
        self.base = ""
        self.title = self.heading = self.next_href = ""
        self.has_password = False
        self._is_inside = self._is_title = self._is_heading = self._is_row_over = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a":
            self.anchors.append(Anchor((values.get("href") or "").strip(), "download" in values))
            self._is_inside, self._is_row_over = True, False
        elif tag in _ROW_STARTS:
            self._is_row_over = True
        elif tag == "base":
            self.base = self.base or (values.get("href") or "").strip()
        elif tag == "input" and (values.get("type") or "").lower() == "password":
            self.has_password = True
        if tag in _LINKS and "next" in (values.get("rel") or "").lower().split():
            self.next_href = self.next_href or (values.get("href") or "").strip()
        self._is_title, self._is_heading = tag == "title", tag == "h1"

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._is_inside = False
        self._is_title = self._is_heading = False

    def handle_data(self, data: str) -> None:
        if self._is_title:
            self.title += data
        elif self._is_heading:
            self.heading += data
        elif self.anchors and not self._is_row_over:
            self.anchors[-1].add_text(data, is_inside=self._is_inside)
