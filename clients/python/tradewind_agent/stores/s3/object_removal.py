"""The removal of objects, a thousand a request (DeleteObjects)."""

import asyncio
import xml.etree.ElementTree as ET
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import md5
from zlib import crc32

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.xml_index import parse_xml
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.port import RemovalProgress
from tradewind_agent.stores.s3.bucket_listing import BucketListing
from tradewind_agent.stores.s3.refusals import explain_code, explain_refusal, find_error_code
from tradewind_agent.stores.s3.sending.multipart import make_subresource

KEYS_A_REQUEST = 1000
"""The most that stores take."""

_MOST_TRIES = 4
_PASSING = frozenset({"InternalError", "SlowDown", "ServiceUnavailable", "OperationAborted"})
_UNSUPPORTED_CODES = frozenset({"NotImplemented", "MethodNotAllowed"})
_OK, _NO_CONTENT, _NOT_FOUND = 200, 204, 404
_UNSUPPORTED = frozenset({405, 501})


async def remove_objects(
    listing: BucketListing, keys: Mapping[str, str], progress: RemovalProgress, *, sends_sums: bool = True
) -> None:
    """Remove the objects of ``keys``, each with the path that it has in reports.

    ``sends_sums`` : the store takes the CRC-32 of a document; else it gets the MD5 sum alone.
    """
    in_documents = [key for key in keys if _can_be_written(key)]
    batches = [in_documents[at : at + KEYS_A_REQUEST] for at in range(0, len(in_documents), KEYS_A_REQUEST)]
    await asyncio.gather(
        *(
            _remove_batch(listing, {key: keys[key] for key in batch}, progress, sends_sums=sends_sums)
            for batch in batches
        ),
        *(_remove_one(listing, key, keys[key], progress) for key in keys if not _can_be_written(key)),
    )


def _can_be_written(key: str) -> bool:
    """Return whether a document can hold a key: XML has no control characters, and no bytes that are no text."""
    return all(character >= " " and not "\ud800" <= character <= "\udfff" for character in key) and not (
        {"\ufffe", "\uffff"} & set(key)
    )


def write_removal(keys: Sequence[str]) -> bytes:
    """Return the document that names the objects to remove."""
    root = ET.Element("Delete", xmlns="http://s3.amazonaws.com/doc/2006-03-01/")
    for key in keys:
        ET.SubElement(ET.SubElement(root, "Object"), "Key").text = key
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def parse_removal(url: Url, body: bytes) -> tuple[set[str], dict[str, str]]:
    """Return the keys that were removed, and those that were not with the codes of their errors.

    Raises
    ------
    UnusableSource : another document.
    """
    root = parse_xml(url, body)
    if root.tag != "DeleteResult":
        raise UnusableSource(f"{url.origin} answers a removal with XML of an unknown form ({root.tag})")
    removed = {element.findtext("Key") or "" for element in root.iterfind("Deleted")}
    errors = {element.findtext("Key") or "": element.findtext("Code") or "" for element in root.iterfind("Error")}
    return removed, errors


async def _remove_batch(
    listing: BucketListing, keys: Mapping[str, str], progress: RemovalProgress, *, sends_sums: bool
) -> None:
    """Remove objects by one request; those whose refusal may pass are requested again."""
    left = dict(keys)
    for tries in range(1, _MOST_TRIES + 1):
        try:
            answer = await _request_removal(listing, list(left), sends_sums=sends_sums)
        except UnusableSource as refusal:
            answer = set(), dict.fromkeys(left, str(refusal))
        if answer is None:
            await asyncio.gather(*(_remove_one(listing, key, path, progress) for key, path in left.items()))
            return
        removed, errors = answer
        again = {}
        for key, path in left.items():
            reason = errors.get(key, "the store does not say that it was removed")
            if key in removed:
                progress.note_removed(path)
            elif reason in _PASSING and tries < _MOST_TRIES:
                again[key] = path
            else:
                progress.note_failure(path, explain_code(reason))
        if not again:
            return
        left = again
        await asyncio.sleep(listing.options.retry.wait_s(tries, listing.options.rng))


async def _request_removal(
    listing: BucketListing, keys: Sequence[str], *, sends_sums: bool
) -> tuple[set[str], dict[str, str]] | None:
    """Return the keys that were removed, and the errors of others; ``None`` from a store without such requests.

    Raises
    ------
    UnusableSource : the entire request was refused.
    """
    document = write_removal(keys)
    place, headers = make_subresource(listing.url, {"delete": ""}), _sum_document(document, sends_sums=sends_sums)
    answer = await listing.request(place, "POST", headers=headers, body=document)
    code = find_error_code(answer.url, answer.body)
    if code in _UNSUPPORTED_CODES or answer.head.status in _UNSUPPORTED:
        return None
    if answer.head.status != _OK:
        raise UnusableSource(explain_refusal(answer.head.status_line, code))
    return parse_removal(answer.url, answer.body)


async def _remove_one(listing: BucketListing, key: str, path: str, progress: RemovalProgress) -> None:
    try:
        answer = await listing.request(listing.url.join_path(key), "DELETE")
    except UnusableSource as refusal:
        progress.note_failure(path, str(refusal))
        return
    if answer.head.status in (_OK, _NO_CONTENT, _NOT_FOUND):
        progress.note_removed(path)
    else:
        code = find_error_code(answer.url, answer.body)
        progress.note_failure(path, explain_refusal(answer.head.status_line, code))


def _sum_document(document: bytes, *, sends_sums: bool) -> dict[str, str]:
    """Return the sums of a document: stores require one, older ones the MD5."""
    headers = {
        "Content-Type": "application/xml",
        "Content-MD5": b64encode(md5(document, usedforsecurity=False).digest()).decode("ascii"),
    }
    if sends_sums:
        headers["x-amz-checksum-crc32"] = b64encode(crc32(document).to_bytes(4, "big")).decode("ascii")
    return headers
