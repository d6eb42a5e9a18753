"""Index pages as lists of entries, whatever their form. Pure: bytes in, values out."""

import re
from dataclasses import replace

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.remote.html_index import parse_html_index
from tradewind_agent.engine.remote.index_page import IndexPage
from tradewind_agent.engine.remote.json_index import parse_json_index
from tradewind_agent.engine.remote.media_types import HTML_TYPES, parse_media_type
from tradewind_agent.engine.remote.next_page import IS_UNREAD_PAGE, find_linked_page, find_stated_link, find_unread_next
from tradewind_agent.engine.remote.omissions import Omission, OmissionKind
from tradewind_agent.engine.remote.page_checks import is_cut_short
from tradewind_agent.engine.remote.xml_index import XML_TYPES, parse_xml_index
from tradewind_agent.errors import UnusableSource

_HTML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)


def parse_answer(url: Url, head: ResponseHead, body: bytes) -> IndexPage:
    """Return what an index page lists, with the page that its ``Link`` field names as the next.

    Raises
    ------
    UnusableSource : see `parse_index`; or a page that may have lost its end with the connection.
    """
    content_type = head.headers.get("content-type", "")
    if head.until_close and _find_type(content_type, body) in HTML_TYPES and is_cut_short(body):
        raise UnusableSource(f"cannot list {url}: its index has no end, so that files may be missing in it")
    page = parse_index(url, content_type, body)
    if page.next_page is not None and not page.is_guess:
        return page
    if (linked := find_linked_page(url, head.headers)) is not None:
        return replace(page, next_page=linked, is_guess=False)
    unread = find_unread_next(url, find_stated_link(head.headers))
    if unread is None:
        return page
    reason = IS_UNREAD_PAGE.format(page=url)
    return replace(page, left_out=(*page.left_out, Omission(str(unread), reason, OmissionKind.NOT_A_FILE)))


def parse_index(url: Url, content_type: str, body: bytes) -> IndexPage:
    """Return what the index page that ``url`` answered with lists.

    Raises
    ------
    UnusableSource : neither JSON nor XML of a known form, nor HTML.
    """
    kind = _find_type(content_type, body)
    if kind == "application/json":
        return parse_json_index(url, body)
    if kind in HTML_TYPES:
        return parse_html_index(url, body)
    if kind in XML_TYPES:
        return parse_xml_index(url, body)
    raise UnusableSource(f"{url} is no index page but {kind or 'of unknown type'}; name its files in a manifest")


def _find_type(content_type: str, body: bytes) -> str:
    """Return the type of a page; one without any is HTML if it starts so."""
    kind = parse_media_type(content_type)
    return "text/html" if not kind and _HTML_START.match(body) else kind
