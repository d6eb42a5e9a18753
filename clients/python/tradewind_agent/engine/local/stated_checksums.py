"""The checksum of a file that an answer states, in the headers that servers have for it."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping

from tradewind_agent.engine.local.checksums import ALGORITHMS, Checksum, make_checksum, sum_bytes

_NAMES = {
    "sha-512": "sha512",
    "sha-256": "sha256",
    "sha-1": "sha1",
    "sha": "sha1",
    "crc-32": "crc32",
    "adler": "adler32",
    "id-sha-512": "sha512",
    "id-sha-256": "sha256",
}
"""Algorithms by the names of the headers, where those of `ALGORITHMS` differ."""

CHECKSUM_REQUEST: Mapping[str, str] = {
    "Want-Repr-Digest": "sha-256=10",
    "Want-Digest": "sha-256, sha;q=0.7, md5;q=0.5, adler32;q=0.3",
}
"""Headers that request a sum of the file: the current ones, and those of WebDAV servers of science sites."""

_ENCRYPTED = "x-amz-server-side-encryption"
"""The field of stores that encrypt; with keys of their own alone (``AES256``) some tags remain sums."""

_MD5_TAG = re.compile(r'"[0-9a-f]{32}"')

_SHORT_HEX = re.compile("[0-9A-Fa-f]{1,8}")

Decode = Callable[[str], bytes]


def _decode_base64(text: str) -> bytes:
    return b64decode(text.strip().strip(":"), validate=True)


def _decode_digest(text: str) -> bytes:
    """Decode a value of `Digest`: base64, or hex as the servers of science sites write Adler-32 and CRC-32."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return _decode_base64(text)


def _split_list(value: str) -> Iterator[tuple[str, str]]:
    for member in value.split(","):
        name, _, digest = member.strip().partition("=")
        yield name.strip().lower(), digest.partition(";")[0].strip()  # without parameters (RFC 9651, 3.1.2)


def _split_owncloud(value: str) -> Iterator[tuple[str, str]]:
    for member in value.split():
        name, _, digest = member.partition(":")
        yield name.lower(), digest


_LISTS: Mapping[str, tuple[Callable[[str], Iterable[tuple[str, str]]], Decode]] = {
    "repr-digest": (_split_list, _decode_base64),  # RFC 9530
    "digest": (_split_list, _decode_digest),  # RFC 3230
    "x-goog-hash": (_split_list, _decode_base64),
    "oc-checksum": (_split_owncloud, bytes.fromhex),
}
"""Headers that state sums of the stored file by several algorithms, also with an answer of a part of it."""

_OF_FULL_ANSWERS: Mapping[str, tuple[str, Decode]] = {
    "content-md5": ("md5", _decode_base64),
    "x-checksum-sha256": ("sha256", bytes.fromhex),
    "x-checksum-sha1": ("sha1", bytes.fromhex),
    "x-checksum-md5": ("md5", bytes.fromhex),
    "x-amz-checksum-sha256": ("sha256", _decode_base64),
    "x-amz-checksum-sha1": ("sha1", _decode_base64),
    "x-amz-checksum-crc64nvme": ("crc64nvme", _decode_base64),
    "x-amz-checksum-crc32c": ("crc32c", _decode_base64),
    "x-amz-checksum-crc32": ("crc32", _decode_base64),
}
"""Headers that state one sum of what the answer carries. A sum of sums of parts (``…-3``) does not decode."""

_OF_CONTENT = "content-digest"
"""Sums of what the answer carries by several algorithms (RFC 9530)."""

_OF_STORED = ("oc-checksum", "x-goog-hash", *(name for name in _OF_FULL_ANSWERS if name.startswith("x-amz-")))
"""Headers that state sums of the stored file also in an answer to its upload."""

_OF_STORED_OR_ANSWER = ("repr-digest", "digest")
"""Headers that may instead state sums of what an answer to an upload carries: a page that reports it (RFC 9530, B)."""

_STATING = frozenset((*_LISTS, *_OF_FULL_ANSWERS, _OF_CONTENT))
_RANKS = {algorithm: rank for rank, algorithm in enumerate(ALGORITHMS)}


def find_stated_checksum(headers: Mapping[str, str], *, is_full: bool, has_content: bool = True) -> Checksum | None:
    """Return the strongest sum that an answer states of the file and that can be computed here.

    ``headers`` : by their names in lower case; ``is_full`` : the answer carries the entire file.
    """
    if _STATING.isdisjoint(headers):
        return None
    stated = _list_stated(headers, is_full=is_full, has_content=has_content)
    found = [checksum for checksum in stated if checksum is not None]
    return min(found, key=lambda checksum: _RANKS[checksum.algorithm], default=None)


def _list_stated(headers: Mapping[str, str], *, is_full: bool, has_content: bool) -> Iterator[Checksum | None]:
    for header, (split, decode) in _LISTS.items():
        if header == "x-goog-hash" and headers.get("x-goog-stored-content-encoding", "identity") != "identity":
            continue  # the store may have unpacked it: the sum is of what it holds
        for name, text in split(headers.get(header, "")):
            yield _read_checksum(_NAMES.get(name, name), text, decode)
    if not is_full:
        return
    for name, text in _split_list(headers.get(_OF_CONTENT, "") if has_content else ""):
        yield _read_checksum(_NAMES.get(name, name), text, _decode_base64)
    for header, (algorithm, decode) in _OF_FULL_ANSWERS.items():
        if header in headers:
            yield _read_checksum(algorithm, headers[header], decode)


def _read_checksum(algorithm: str, text: str, decode: Decode) -> Checksum | None:
    digest = _decode(algorithm, text, decode)
    return None if digest is None else make_checksum(algorithm, digest)


def _decode(algorithm: str, text: str, decode: Decode) -> bytes | None:
    if algorithm == "adler32" and decode is not _decode_base64 and _SHORT_HEX.fullmatch(text):
        text = text.zfill(8)  # some servers leave zeros out
    try:
        return decode(text)
    except ValueError:
        return None


def list_field_sums(field: str, value: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield the sums of one header field by their algorithms; ``None`` for a sum that cannot be read.

    ``field`` : its name in lower case. Algorithms may be others than those of `ALGORITHMS`.
    """
    if field in _OF_FULL_ANSWERS:
        algorithm, decode = _OF_FULL_ANSWERS[field]
        yield algorithm, _decode(algorithm, value, decode)
        return
    split, decode = (_split_list, _decode_base64) if field == _OF_CONTENT else _LISTS[field]
    for name, text in split(value):
        algorithm = _NAMES.get(name, name)
        yield algorithm, _decode(algorithm, text, decode)


def find_stored_checksum(
    headers: Mapping[str, str], answer: bytes | None, *, has_sum_tags: bool = True
) -> Checksum | None:
    """Return the strongest sum of the stored file that an answer to its upload states.

    ``answer`` : the body, ``None`` where not all of it is known. A sum of it says nothing about the file.
    ``has_sum_tags`` : the tags of an object store may be sums; one counts where the answer states no other sum.
    """
    found = _list_sums(_OF_STORED, headers)
    if answer is not None and "content-encoding" not in headers:
        stated = _list_sums(_OF_STORED_OR_ANSWER, headers)
        found += [each for each in stated if each != sum_bytes(each.algorithm, answer)]
    if not found and has_sum_tags and _is_tag_of_store(headers):
        return find_tagged_checksum(headers)
    return min(found, key=lambda checksum: _RANKS[checksum.algorithm], default=None)


def _list_sums(fields: Iterable[str], headers: Mapping[str, str]) -> list[Checksum]:
    """Return the sums that header fields state and that can be computed here."""
    stated = (each for field in fields if field in headers for each in list_field_sums(field, headers[field]))
    sums = (make_checksum(algorithm, digest) for algorithm, digest in stated if digest is not None)
    return [each for each in sums if each is not None]


def _is_tag_of_store(headers: Mapping[str, str]) -> bool:
    """Return whether the tag in an answer is that of an object store, whose tags are sums unless it encrypts."""
    is_encrypted = headers.get(_ENCRYPTED, "") != ""
    return "x-amz-request-id" in headers and (not is_encrypted or headers.get("server") == "AmazonS3")


def has_encryption(headers: Mapping[str, str], besides: str = "") -> bool:
    """Return whether an answer says, in any store's own field, that the store encrypts the object."""
    return any("-encryption" in name and name != besides and not name.startswith("x-amz-meta-") for name in headers)


def find_tagged_checksum(headers: Mapping[str, str]) -> Checksum | None:
    """Return the MD5 sum that the tag of an object in a store is, unless it was sent in parts or is encrypted."""
    tag = headers.get("etag", "")
    is_keyed = headers.get(_ENCRYPTED, "AES256") != "AES256"
    if is_keyed or has_encryption(headers, besides=_ENCRYPTED) or not _MD5_TAG.fullmatch(tag):
        return None
    return Checksum("md5", bytes.fromhex(tag.strip('"')))
