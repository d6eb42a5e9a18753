"""Folders in XML: the listing of an object store's bucket, and a WebDAV server's properties (RFC 4918 §9.1)."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from urllib.parse import parse_qsl, unquote, unquote_plus, urlencode

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.retry import parse_http_date
from tradewind_agent.engine.remote.index_page import (
    IndexPage,
    ListingEntry,
    check_path,
    check_segment,
    parse_instant,
    parse_size,
    sum_rows,
)
from tradewind_agent.engine.remote.link_paths import find_below, normalise_path
from tradewind_agent.engine.remote.omissions import Omission, OmissionKind, make_name_omission
from tradewind_agent.errors import UnsafeName, UnusableSource

XML_TYPES = frozenset({"application/xml", "text/xml"})
MULTI_STATUS = 207

_ERROR_STATUS = re.compile(r"HTTP/\S+\s+([45][0-9]{2}\b.*)")
_PAGING = frozenset({"delimiter", "marker", "start-after", "continuation-token"})


def parse_xml(url: Url, body: bytes) -> ET.Element:
    """Return the root of a document, its elements named without namespaces.

    Raises
    ------
    UnusableSource : no XML, or a document with declarations, which may unpack to anything.
    """
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise UnusableSource(f"{url} answers with XML that has declarations; name its files in a manifest")
    try:
        root = ET.fromstring(body)  # noqa: S314 — without declarations there is nothing to expand
    except ET.ParseError as error:
        raise UnusableSource(f"{url} answers with XML that is not understood: {error}") from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def parse_xml_index(url: Url, body: bytes) -> IndexPage:
    """Return what an index in XML lists: a folder, as nginx writes it, or one page of a bucket.

    Raises
    ------
    UnusableSource : neither of them, or a part of a bucket that does not say how to go on.
    """
    root = parse_xml(url, body)
    if root.tag == "ListBucketResult":
        return _list_bucket(url, root)
    if root.tag == "list":
        return _list_folder(url, root)
    raise UnusableSource(f"{url} answers with XML of an unknown form ({root.tag}); name its files in a manifest")


def _list_folder(url: Url, root: ET.Element) -> IndexPage:
    """Return what nginx lists: a row for each ``file``, ``directory`` and ``other``, such as a pipe."""
    entries, left_out = [], []
    for row in root:
        name, is_folder = row.text or "", row.tag == "directory"
        place = f"{url}{name}"
        if row.tag not in ("file", "directory"):
            left_out.append(Omission(place, "is a pipe, a device or a socket", OmissionKind.NOT_A_FILE))
            continue
        try:
            name = check_segment(name, url)
        except UnsafeName as error:
            left_out.append(make_name_omission(place + "/" * is_folder, error))
            continue
        entries.append(
            ListingEntry(
                name=name,
                is_folder=is_folder,
                size_bytes=None if is_folder else parse_size(row.get("size")),
                modified_at=_read_instant(row.get("mtime", "")),
            )
        )
    rows = sum_rows(sorted(f"{row.tag} {row.text} {row.attrib}" for row in root))
    return IndexPage(entries=tuple(entries), left_out=tuple(left_out), rows=rows, is_exact=True)


def _read_instant(text: str) -> datetime | None:
    try:
        return parse_instant(text)
    except ValueError:
        return None


def _list_bucket(url: Url, root: ET.Element) -> IndexPage:
    """Return one page of a bucket: all files below its prefix, and where the next page is.

    A page that was requested by folders (``delimiter``) leaves out what is in them: the one that has all keys is next.
    """
    query = parse_qsl(url.target.partition("?")[2], keep_blank_values=True, errors="surrogateescape")
    if root.find("CommonPrefixes/Prefix") is not None or "delimiter" in dict(query):
        return IndexPage(entries=(), next_page=_list_all_keys(url, query))
    is_escaped = root.findtext("EncodingType", "") == "url"
    keys = [(_read_key(each, is_escaped=is_escaped), each) for each in root.iter("Contents")]
    prefix = _unescape(root.findtext("Prefix") or "", is_escaped=is_escaped)
    folder = prefix.rpartition("/")[0] + "/" if "/" in prefix else ""
    bucket = Url(url.origin, url.path.rstrip("/") + "/", url.login)
    entries, left_out = [], []
    for key, element in keys:
        if key.endswith("/") and not parse_size(element.findtext("Size")):  # which stands for a folder
            continue
        target = bucket.join_path(key)
        try:
            entries.append(_read_object(target, key.removeprefix(folder), element))
        except UnsafeName as error:
            left_out.append(make_name_omission(target, error))
    return IndexPage(
        entries=tuple(entries),
        left_out=tuple(left_out),
        next_page=_find_next_page(url, root, keys[-1][0] if keys else None),
    )


def _list_all_keys(url: Url, query: list[tuple[str, str]]) -> Url:
    """Return the address of the same listing by keys, from its beginning."""
    without = urlencode([each for each in query if each[0] not in _PAGING], errors="surrogateescape")
    return Url(url.origin, f"{url.path}?{without}" if without else url.path, url.login)


def _read_key(element: ET.Element, *, is_escaped: bool) -> str:
    return _unescape(element.findtext("Key") or "", is_escaped=is_escaped)


def _unescape(text: str, *, is_escaped: bool) -> str:
    return unquote_plus(text, errors="surrogateescape") if is_escaped else text


def _read_object(target: Url, path: str, element: ET.Element) -> ListingEntry:
    return ListingEntry(
        name=check_path(path, target),
        is_folder=False,
        size_bytes=parse_size(element.findtext("Size")),
        etag=element.findtext("ETag") or None,
        target=target.target,
    )


def _find_next_page(url: Url, root: ET.Element, last_key: str | None) -> Url | None:
    if (root.findtext("IsTruncated") or "").lower() != "true":
        return None
    query = dict(parse_qsl(url.target.partition("?")[2], keep_blank_values=True))
    if token := root.findtext("NextContinuationToken"):
        query |= {"list-type": "2", "continuation-token": token}
    elif marker := root.findtext("NextMarker") or last_key:
        query["marker"] = marker
    else:
        raise UnusableSource(f"{url} lists a part of the bucket and does not say how to go on")
    return Url(url.origin, f"{url.path}?{urlencode(query, errors='surrogateescape')}", url.login)


def parse_multistatus(url: Url, body: bytes) -> IndexPage:
    """Return what the answer to PROPFIND with ``Depth: 1`` says of a folder.

    Raises
    ------
    UnusableSource : not such an answer, or one with an error of the folder, such as 507 where there are too many files.
    """
    root = parse_xml(url, body)
    if root.tag != "multistatus":
        raise UnusableSource(f"{url} answers PROPFIND with XML of an unknown form ({root.tag})")
    if (status := _find_folder_error(url, root)) is not None:
        raise UnusableSource(f"cannot list {url}: the server could not list all of it ({status})")
    entries: list[ListingEntry] = []
    left_out: list[Omission] = []
    folders = {path for path, is_folder in _list_resources(url, root) if is_folder}
    for response in root.iter("response"):
        text = (response.findtext("href") or "").strip()
        is_folder = any(element.tag == "collection" for element in response.iter())
        try:
            href = url.join(text)
            if _find_key(href) == _find_key(url):
                continue  # the folder itself
            if _find_folder_below(url, href) in folders:
                continue  # a server that answers more than it was asked for: this is found in its folder
            entries.append(_read_resource(url, href, response, is_folder=is_folder))
        except UnusableSource as error:
            left_out.append(make_name_omission(f"{url}: {text}", error))
    rows = sum_rows(sorted(_list_rows(root)))
    return IndexPage(entries=tuple(entries), left_out=tuple(left_out), rows=rows, is_exact=True)


def _find_folder_error(url: Url, root: ET.Element) -> str | None:
    """Return the error status of the folder itself: not all of it is listed then (RFC 4918 §14.28, RFC 6578 §3.6)."""
    for response in root.iter("response"):
        error = _ERROR_STATUS.fullmatch((response.findtext("status") or "").strip())
        if error is None:
            continue
        with suppress(UnusableSource):
            if _find_key(url.join((response.findtext("href") or "").strip())) == _find_key(url):
                return error[1]
    return None


def _list_resources(url: Url, root: ET.Element) -> Iterator[tuple[str, bool]]:
    """Yield the path of each resource, without a slash at its end, and whether it is a folder."""
    for response in root.iter("response"):
        is_folder = any(element.tag == "collection" for element in response.iter())
        with suppress(UnusableSource):
            yield _find_key(url.join((response.findtext("href") or "").strip())), is_folder


def _find_key(url: Url) -> str:
    """Return the path of a resource as it can be compared: servers escape it in other ways than it was requested in."""
    return normalise_path(url.path).rstrip("/")


def _find_folder_below(url: Url, href: Url) -> str | None:
    """Return the path of the folder in ``url`` that ``href`` lies in; ``None`` where it lies in ``url`` itself."""
    below = find_below(url.folder, href.path) or ""
    child, slash, name = below.partition("/")
    return normalise_path(url.folder + child) if slash and name else None


def _read_resource(url: Url, href: Url, response: ET.Element, *, is_folder: bool) -> ListingEntry:
    below = find_below(url.folder, href.path)
    if below is None:
        raise UnsafeName(f"{url} lists {href.path!r}, which is not in it")
    size = _find_text(response, "getcontentlength")
    return ListingEntry(
        name=check_segment(unquote(below.rstrip("/"), errors="surrogateescape"), url),
        is_folder=is_folder,
        size_bytes=None if is_folder else parse_size(size),
        modified_at=parse_http_date(_find_text(response, "getlastmodified")),
        etag=_find_text(response, "getetag") or None,
        target=href.path.rstrip("/") + "/" * is_folder,
    )


def _find_text(response: ET.Element, name: str) -> str:
    return next((element.text.strip() for element in response.iter(name) if element.text), "")


def _list_rows(root: ET.Element) -> Iterator[str]:
    for response in root.iter("response"):
        href = (response.findtext("href") or "").rstrip("/").rpartition("/")[2]
        yield f"{href} {_find_text(response, 'getcontentlength')} {_find_text(response, 'getlastmodified')}"
