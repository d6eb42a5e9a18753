"""One page of a bucket's listing (ListObjectsV2) as values."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from urllib.parse import quote, unquote_plus, urlencode

from tradewind_agent.columns import (
    FieldColumn,
    NumberColumn,
    PathColumn,
    RecordBlocks,
    RecordColumns,
    TagColumn,
    TimeColumn,
)
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.index_page import parse_size
from tradewind_agent.engine.remote.xml_index import parse_xml
from tradewind_agent.errors import UnusableSource

KEYS_A_PAGE = 1000
"""The most that stores give."""

_LONGEST_KEY_BYTES = 1024
_LAST = "\U0010ffff"
"""The last character in the order of keys."""


class Restoration(Enum):
    """What a store has done to make an archived object readable."""

    RUNNING = "it is being restored"
    DONE = "a copy of it can be read for a while"


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as a listing has it; ``storage_class`` is empty where the store names none.

    ``restoration`` : of an archived object, where the listing states it.
    """

    key: str
    size_bytes: int | None
    etag: str | None
    modified_at: datetime | None
    storage_class: str
    restoration: Restoration | None = None


class StoredObjects(RecordBlocks[StoredObject]):
    """Objects of a bucket, which may be millions."""

    def __init__(self, objects: Iterable[StoredObject] = ()) -> None:
        super().__init__(_make_block, objects)


def _make_block() -> RecordColumns[StoredObject]:
    columns: dict[str, FieldColumn] = {
        "key": PathColumn(),
        "size_bytes": NumberColumn(),
        "etag": TagColumn(),
        "modified_at": TimeColumn(),
    }
    return RecordColumns(StoredObject, columns, ("storage_class", "restoration"))


@dataclass(frozen=True, slots=True)
class BucketPage:
    """Objects, the prefixes that stand for more of them, and the token of the next page."""

    objects: tuple[StoredObject, ...]
    prefixes: tuple[str, ...]
    next_token: str | None


def make_page_url(
    bucket: Url,
    prefix: str,
    token: str | None = None,
    *,
    begin: str | None = None,
    by_folder: bool = False,
    most_keys: int = KEYS_A_PAGE,
) -> Url:
    """Return the address of a page: of all keys with a prefix, behind ``begin``, or of those up to the next slash."""
    query = {"list-type": "2", "encoding-type": "url", "max-keys": str(most_keys), "prefix": prefix}
    if by_folder:
        query["delimiter"] = "/"
    if begin is not None:
        query["start-after"] = begin
    if token is not None:
        query["continuation-token"] = token
    return Url(
        bucket.origin,
        f"{bucket.path}?{urlencode(query, quote_via=quote, safe='', errors='surrogateescape')}",
        bucket.login,
    )


def encode_key(key: str) -> bytes:
    """Return a key as stores order them."""
    return key.encode("utf-8", "surrogateescape")


def find_key_before(key: str) -> str:
    """Return a key that comes before another one, with hardly any between them."""
    last = ord(key[-1])
    if len(encode_key(key)) > _LONGEST_KEY_BYTES - len(_LAST.encode()) or last == 0 or 0xD800 <= last <= 0xE000:
        return key[:-1]
    return f"{key[:-1]}{chr(last - 1)}{_LAST}"


def parse_bucket_page(url: Url, body: bytes, prefix: str) -> BucketPage:
    """Read a page of the keys that begin with ``prefix``.

    Raises
    ------
    UnusableSource : no page of a listing, one that leads nowhere, or one with other keys.
    """
    root = parse_xml(url, body)
    if root.tag == "Error":
        stated = ": ".join(filter(None, (root.findtext("Code"), root.findtext("Message"))))
        raise UnusableSource(f"{url.origin} answers 200 OK with an error in place of a listing ({stated}); try again")
    if root.tag != "ListBucketResult":
        raise UnusableSource(f"{url.origin} answers with XML of an unknown form ({root.tag}); is it an object store?")
    is_escaped = root.findtext("EncodingType") == "url"
    stated_cut = (root.findtext("IsTruncated") or "").strip().lower()
    goes_on = root.findtext("NextContinuationToken") or root.findtext("NextMarker")
    is_cut = stated_cut == "true" or (not stated_cut and bool(goes_on))
    token = root.findtext("NextContinuationToken") if is_cut else None
    if is_cut and not token:
        raise UnusableSource(f"{url.origin} lists a part of the bucket and does not say how to go on")
    objects = tuple(_read_object(element, is_escaped=is_escaped) for element in root.iterfind("Contents"))
    prefixes = tuple(
        _unescape(element.findtext("Prefix") or "", is_escaped=is_escaped)
        for element in root.iterfind("CommonPrefixes")
    )
    if not all(each.key and each.key.startswith(prefix) for each in objects):
        raise UnusableSource(f"{url.origin} lists keys that do not begin with {prefix!r}")
    if not all(each.startswith(prefix) and len(each) > len(prefix) for each in prefixes):
        raise UnusableSource(f"{url.origin} lists prefixes that are not below {prefix!r}")
    return BucketPage(objects, prefixes, token)


def _read_object(element: ET.Element, *, is_escaped: bool) -> StoredObject:
    fields = {child.tag: child.text or "" for child in element}
    return StoredObject(
        key=_unescape(fields.get("Key", ""), is_escaped=is_escaped),
        size_bytes=parse_size(fields.get("Size")),
        etag=fields.get("ETag") or None,
        modified_at=_parse_time(fields.get("LastModified", "")),
        storage_class=fields.get("StorageClass", ""),
        restoration=_read_restoration(element.find("RestoreStatus")),
    )


def _read_restoration(element: ET.Element | None) -> Restoration | None:
    """Return what a listing states of a restoration; ``None`` where there was none, or the store states none."""
    if element is None:
        return None
    if (element.findtext("IsRestoreInProgress") or "").lower() == "true":
        return Restoration.RUNNING
    return Restoration.DONE if element.findtext("RestoreExpiryDate") else None


def _unescape(text: str, *, is_escaped: bool) -> str:
    return unquote_plus(text, errors="surrogateescape") if is_escaped else text


def _parse_time(text: str) -> datetime | None:
    """Return a time, to the second as the answers to requests have it."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).replace(microsecond=0)
