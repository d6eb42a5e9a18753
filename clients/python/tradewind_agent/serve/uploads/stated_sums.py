"""Sums that a request states of the file that it brings, or of the bytes that it carries (RFC 9530, ownCloud)."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from tradewind.units import MIB
from tradewind_agent.engine.local.checksums import ALGORITHMS, Checksum, make_checksum
from tradewind_agent.engine.local.stated_checksums import list_field_sums
from tradewind_agent.serve.messages import RequestRefused

_OWN_FIELD = "tradewind-sha256"
_OF_FILE = ("repr-digest", "digest", "oc-checksum")
_OF_CONTENT = ("content-digest", "content-md5")
SUM_FIELDS = frozenset((*_OF_FILE, *_OF_CONTENT))
"""Fields that may also come behind a body in chunks, as its trailer (RFC 9530, section 2)."""

_NAMES = {
    "repr-digest": "Repr-Digest",
    "digest": "Digest",
    "oc-checksum": "OC-Checksum",
    "content-digest": "Content-Digest",
    "content-md5": "Content-MD5",
    _OWN_FIELD: "Tradewind-Sha256",
}
_BLOCK_BYTES = 4 * MIB
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class StatedSum:
    """A sum that bytes must have.

    Attributes
    ----------
    field : of the request, as it is written.
    status : of the refusal of bytes with another sum.
    """

    field: str
    checksum: Checksum
    status: HTTPStatus

    def require(self, found: bytes) -> None:
        """See that bytes have this sum.

        Raises
        ------
        RequestRefused : 422 for the field of this agent, 400 for those of others, as ownCloud and object stores do.
        """
        if found != self.checksum.digest:
            name = self.checksum.algorithm.upper()
            raise RequestRefused(
                self.status,
                f"{self.field} states {name} {self.checksum.digest.hex()}, and the bytes that came have {found.hex()}; "
                "send them again",
            )


def parse_file_sums(headers: Mapping[str, str]) -> Sequence[StatedSum]:
    """Return the sums of the entire file that a request states; algorithms that are unknown here are left aside.

    Raises
    ------
    RequestRefused : 400 for a sum that cannot be read.
    """
    own = _parse_own_sum(headers)
    return [*own, *_parse_fields(_OF_FILE, headers)]


def parse_content_sums(headers: Mapping[str, str]) -> Sequence[StatedSum]:
    """Return the sums of the body that a request states, as `parse_file_sums` does."""
    return _parse_fields(_OF_CONTENT, headers)


def make_own_sum(sha256: str) -> StatedSum:
    """Return a sum, in hex, that the field of this agent has stated."""
    return StatedSum(_NAMES[_OWN_FIELD], Checksum("sha256", bytes.fromhex(sha256)), HTTPStatus.UNPROCESSABLE_ENTITY)


def _parse_own_sum(headers: Mapping[str, str]) -> Sequence[StatedSum]:
    text = headers.get(_OWN_FIELD, "").lower()
    if _OWN_FIELD not in headers:
        return []
    if _SHA256.fullmatch(text) is None:
        raise RequestRefused(HTTPStatus.BAD_REQUEST, "Tradewind-Sha256 must be 64 hexadecimal digits")
    return [make_own_sum(text)]


def _parse_fields(fields: Iterable[str], headers: Mapping[str, str]) -> Sequence[StatedSum]:
    found = []
    for field in fields:
        for algorithm, digest in list_field_sums(field, headers[field]) if field in headers else ():
            if algorithm not in ALGORITHMS:
                continue
            if digest is None or len(digest) != ALGORITHMS[algorithm].digest_bytes:
                raise RequestRefused(HTTPStatus.BAD_REQUEST, f"{_NAMES[field]} states no {algorithm.upper()} sum")
            if (checksum := make_checksum(algorithm, digest)) is not None:  # it can be computed here
                found.append(StatedSum(_NAMES[field], checksum, HTTPStatus.BAD_REQUEST))
    return found


def compute_sums(descriptor: int, size_bytes: int, algorithms: Iterable[str]) -> Mapping[str, bytes]:
    """Return the sums of the first bytes of an open file, by algorithm."""
    running = {name: ALGORITHMS[name].begin() for name in algorithms}
    for offset in range(0, size_bytes, _BLOCK_BYTES):
        block = os.pread(descriptor, _BLOCK_BYTES, offset)
        for each in running.values():
            each.update(block)
    return {name: each.digest() for name, each in running.items()}


class BodySums:
    """The sums of bytes as they come, by those algorithms whose sums are stated or may be in a trailer."""

    def __init__(self, stated: Sequence[StatedSum], announced: str = "") -> None:
        self._stated = stated
        algorithms = {each.checksum.algorithm for each in stated}
        if any(name.strip().lower() in SUM_FIELDS for name in announced.split(",")):
            algorithms |= {name for name, algorithm in ALGORITHMS.items() if algorithm.is_built_in}
        self._running = {name: ALGORITHMS[name].begin() for name in algorithms}

    def update(self, blocks: Sequence[bytes]) -> None:
        for running in self._running.values():
            for block in blocks:
                running.update(block)

    def require(self, trailing: Sequence[StatedSum] = ()) -> None:
        """See that all bytes have the stated sums, and those of the trailer.

        Raises
        ------
        RequestRefused : see `StatedSum.require`.
        """
        for each in (*self._stated, *trailing):
            if (running := self._running.get(each.checksum.algorithm)) is not None:
                each.require(running.digest())
