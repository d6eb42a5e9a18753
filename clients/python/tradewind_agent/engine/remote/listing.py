"""Index pages as lists of entries, whatever their form. Pure: bytes in, values out."""

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.html_index import parse_html_index
from tradewind_agent.engine.remote.index_page import IndexPage
from tradewind_agent.engine.remote.json_index import parse_json_index
from tradewind_agent.engine.remote.xml_index import XML_TYPES, parse_bucket_list
from tradewind_agent.errors import UnusableSource

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})

ERROR_TYPES = HTML_TYPES | {"application/problem+json", "application/problem+xml"}
"""Types of answers that speak of a file instead of carrying it (RFC 9457)."""

MESSAGE_TYPES = frozenset({"text/plain", "application/json", "application/xml", "text/xml"})
"""Types in which programs write messages, and which files have as well."""

_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".shtml")


def is_page_name(name: str) -> bool:
    """Return whether a file of this name is HTML by right."""
    return name.lower().endswith(_PAGE_SUFFIXES)


def parse_media_type(content_type: str) -> str:
    """Return a Content-Type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def parse_index(url: Url, content_type: str, body: bytes) -> IndexPage:
    """Return what the index page that ``url`` answered with lists.

    Raises
    ------
    UnusableSource : neither JSON nor XML of a known form, nor HTML.
    """
    kind = parse_media_type(content_type)
    if kind == "application/json":
        return parse_json_index(url, body)
    if kind in HTML_TYPES:
        return parse_html_index(url, body)
    if kind in XML_TYPES:
        return parse_bucket_list(url, body)
    raise UnusableSource(f"{url} is no index page but {kind or 'of unknown type'}; name its files in a manifest")
