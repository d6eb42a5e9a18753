"""Types of answers: pages and messages, which may take the place of a file."""

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
