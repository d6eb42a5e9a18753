"""Whether a page of HTML is all of the index of a folder: not cut short, and not a page about something else."""

import re
from collections.abc import Sequence

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.anchors import AnchorReader
from tradewind_agent.engine.remote.index_page import ListingEntry

_PAIRED_TAGS = ("html", "pre", "table", "ul", "ol")
"""Elements that an index is made of. A page that opens one and does not end it has lost its end."""

_TAG = {name: (re.compile(rb"<%s[\s>]" % name.encode(), re.IGNORECASE), b"</" + name.encode()) for name in _PAIRED_TAGS}

INDEX_TITLE = re.compile(r"\s*(?:index|contents|listing|directory|files|folder)\b", re.IGNORECASE)
_ERROR_TITLE = re.compile(
    r"\b(?:[45]\d\d|not found|error|denied|forbidden|unauthori[sz]ed|unavailable|maintenance|log ?in|sign ?in)\b",
    re.IGNORECASE,
)
_PROGRAM = re.compile(r"\.(?:php\d?|phtml|cgi|pl|aspx?|jspx?|do|action)$", re.IGNORECASE)
_PARENT_LINKS = frozenset({"..", "../", "./..", "./../", ".", "./"})
_PARENT_LABEL = re.compile(r"\s*(?:\.\./?|\[?\W*(?:to )?(?:parent|up|back)\b.*)\s*", re.IGNORECASE)


def is_program_name(name: str) -> bool:
    """Return whether this names a program: the file that one answers with is named in the query, or nowhere."""
    return _PROGRAM.search(name) is not None


def is_cut_short(body: bytes) -> bool:
    """Return whether a page whose length nobody states has lost its end: it ends in a tag, or in an open element."""
    if body.rfind(b"<") > body.rfind(b">"):
        return True
    lower = body.lower()
    return any(len(opened.findall(body)) > lower.count(closing) for opened, closing in _TAG.values())


def is_other_page(url: Url, page: AnchorReader, entries: Sequence[ListingEntry]) -> bool:
    """Return whether a page that ``url``, a folder, answers with is no index, such as an error or a form to log in.

    A page with sizes is one. A page without anything is one if it says so by its title, or by links to the folder
    above or to itself in another order.
    """
    if any(entry.size_bytes is not None for entry in entries):
        return False
    if page.has_password:
        return True
    if entries or INDEX_TITLE.match(page.title):
        return False
    if _ERROR_TITLE.search(page.title):
        return True
    is_named = url.path.strip("/").rpartition("/")[2] in page.title and bool(page.title.strip())
    return not is_named and not any(
        anchor.href in _PARENT_LINKS or anchor.href.startswith("?") or _PARENT_LABEL.fullmatch(anchor.label)
        for anchor in page.anchors
    )
