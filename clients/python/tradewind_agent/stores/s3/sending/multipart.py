"""Uploads in parts, as values: how a file is divided, and the documents that stores exchange about it."""

import re
import xml.etree.ElementTree as ET
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import md5
from urllib.parse import quote, unquote_plus
from zlib import crc32

from tradewind.flags import LEAST_PART_BYTES
from tradewind.units import MIB
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.xml_index import parse_xml
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.s3.sending.body_sums import encode_crc32

USUAL_PART_BYTES = 8 * MIB
MOST_PARTS = 10_000
PARTS_A_PAGE = 500
LARGEST_SINGLE_BYTES = 5 * 1024 * MIB
"""Larger files must go in parts."""


_USUAL_ELSEWHERE_MIB = (5, 10, 15, 16, 25, 32, 50, 64, 100, 128, 256, 512, 1024)
"""Sizes that other tools choose, or their users."""

_MD5 = re.compile(r"[0-9a-f]{32}")


def choose_part_bytes(size_bytes: int, planned_bytes: int | None = None) -> int:
    """Return the size of the parts of a file, such that it needs no more parts than the store permits.

    Parameters
    ----------
    planned_bytes : the size to choose if the store permits it; otherwise the next larger one in full MiB.
    """
    least = max(LEAST_PART_BYTES, -(-size_bytes // MOST_PARTS // MIB) * MIB)
    return max(planned_bytes or USUAL_PART_BYTES, least)


def list_possible_part_bytes(size_bytes: int, count: int, planned_bytes: int) -> Sequence[int]:
    """Return the sizes that parts of a file may have had if it went in ``count``: as planned, or as usual somewhere."""
    least = -(-size_bytes // count // MIB) * MIB if count else 0
    usual = (size * MIB for size in _USUAL_ELSEWHERE_MIB)
    sizes = dict.fromkeys((planned_bytes, choose_part_bytes(size_bytes), least, *usual))
    return [each for each in sizes if each > 0 and Division(size_bytes, each).count == count]


@dataclass(frozen=True, slots=True)
class Division:
    """A file in parts of ``part_bytes``, numbered from 1; the last one may be shorter."""

    size_bytes: int
    part_bytes: int

    @property
    def count(self) -> int:
        return -(-self.size_bytes // self.part_bytes)

    def get_range(self, number: int) -> tuple[int, int]:
        """Return the first byte of a part, and its length: at most 0 beyond the end of the file."""
        first = (number - 1) * self.part_bytes
        return first, min(self.part_bytes, self.size_bytes - first)


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part that the store has; ``etag`` with its quotes."""

    number: int
    size_bytes: int
    etag: str


def make_subresource(url: Url, query: Mapping[str, str]) -> Url:
    """Return the address of something about an object or a bucket, such as its uploads."""
    pairs = "&".join(
        f"{quote(name)}={quote(value, safe='', errors='surrogateescape')}" for name, value in query.items()
    )
    return Url(url.origin, f"{url.path}?{pairs}", url.login)


def parse_upload_id(url: Url, body: bytes) -> str:
    """Return the id that the store gives to a new upload.

    Raises
    ------
    UnusableSource : another document.
    """
    found = parse_xml(url, body).findtext("UploadId")
    if not found:
        raise UnusableSource(f"{url.origin} gives the upload no id")
    return found


def find_upload_id(url: Url, body: bytes, key: str, preferred_id: str = "") -> str | None:
    """Return the id of the preferred or newest upload of a key in a list of unfinished ones; ``None`` without any.

    Raises
    ------
    UnusableSource : another document.
    """
    root = parse_xml(url, body)
    is_escaped = root.findtext("EncodingType") == "url"
    found: list[tuple[str, str]] = []
    for element in root.iterfind("Upload"):
        name = element.findtext("Key") or ""
        if (unquote_plus(name, errors="surrogateescape") if is_escaped else name) == key:
            found.append((element.findtext("Initiated") or "", element.findtext("UploadId") or ""))
    if preferred_id and any(upload_id == preferred_id for _, upload_id in found):
        return preferred_id
    return max(found)[1] or None if found else None


def parse_parts(url: Url, body: bytes) -> tuple[Sequence[StoredPart], str | None]:
    """Return the parts on a page of a list, and the marker of the next page.

    Raises
    ------
    UnusableSource : another document.
    """
    root = parse_xml(url, body)
    parts = [_read_part(element) for element in root.iterfind("Part")]
    is_cut = (root.findtext("IsTruncated") or "").lower() == "true"
    return parts, root.findtext("NextPartNumberMarker") if is_cut else None


def _read_part(element: ET.Element) -> StoredPart:
    number, size = element.findtext("PartNumber") or "", element.findtext("Size") or ""
    if not (number.isdecimal() and size.isdecimal()):
        raise UnusableSource("the store lists a part without number and size")
    return StoredPart(int(number), int(size), element.findtext("ETag") or "")


def compute_joined_tag(etags: Mapping[int, str]) -> str | None:
    """Return the tag of the object that the parts become, where their tags are MD5 sums; else ``None``."""
    tags = [etags[number].strip('"') for number in sorted(etags)]
    if not all(_MD5.fullmatch(tag) for tag in tags):
        return None
    return f'"{md5(bytes.fromhex("".join(tags)), usedforsecurity=False).hexdigest()}-{len(tags)}"'


def find_joined_sum(url: Url, body: bytes) -> str | None:
    """Return the CRC-32 that the answer to a completion states of the sums of the parts; ``None`` without one.

    Raises
    ------
    UnusableSource : no document.
    """
    stated = parse_xml(url, body).findtext("ChecksumCRC32") or ""
    return stated if "-" in stated else None  # one of the object itself is not known here


def find_joined_tag(url: Url, body: bytes) -> str | None:
    """Return the tag of the object that the answer to a completion states; ``None`` without one.

    Raises
    ------
    UnusableSource : no document.
    """
    stated = (parse_xml(url, body).findtext("ETag") or "").strip().strip('"')
    return f'"{stated}"' if stated else None


def compute_joined_sum(sums: Mapping[int, str]) -> str:
    """Return the CRC-32 of the sums of parts, as stores write it."""
    crc = crc32(b"".join(b64decode(sums[number]) for number in sorted(sums)))
    return f"{encode_crc32(crc)}-{len(sums)}"


def write_completion(etags: Mapping[int, str], sums: Mapping[int, str]) -> bytes:
    """Return the document that joins the parts: tags and sums by number."""
    root = ET.Element("CompleteMultipartUpload", xmlns="http://s3.amazonaws.com/doc/2006-03-01/")
    for number in sorted(etags):
        part = ET.SubElement(root, "Part")
        ET.SubElement(part, "PartNumber").text = str(number)
        ET.SubElement(part, "ETag").text = etags[number]
        if number in sums:
            ET.SubElement(part, "ChecksumCRC32").text = sums[number]
    return ET.tostring(root)


def is_completed(url: Url, body: bytes) -> bool:
    """Return whether the answer to a completion says that it was done: stores may answer 200 with an error in it.

    Raises
    ------
    UnusableSource : no document.
    """
    return parse_xml(url, body).tag == "CompleteMultipartUploadResult"
