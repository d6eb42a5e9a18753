"""SHA-256 sums of served files, for clients that compare them (RFC 9530)."""

import os
from base64 import b64encode
from collections import OrderedDict
from hashlib import sha256
from threading import Lock

from tradewind_agent.serve.messages import ReceivedRequest
from tradewind_agent.serve.validators import make_etag

MAX_SUMMED_BYTES = 1 << 30
"""A larger file is sent without a sum: nothing would come for as long as reading it takes."""

_MAX_CACHED = 10_000
_BLOCK_BYTES = 1 << 20


def wants_sum(request: ReceivedRequest, status: os.stat_result) -> bool:
    """Return whether a request asks for the sum of a file that is small enough."""
    digests = request.headers.get("want-repr-digest", "")
    preferences = (member.strip().partition("=") for member in digests.split(","))
    is_requested = any(name.lower() == "sha-256" and weight.strip() != "0" for name, _, weight in preferences)
    return is_requested and status.st_size <= MAX_SUMMED_BYTES


class FileSums:
    """Sums by version of a file, so that each version is read once; any thread may ask."""

    def __init__(self) -> None:
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._lock = Lock()

    def build_header(self, descriptor: int, status: os.stat_result) -> list[tuple[str, str]]:
        """Return the ``Repr-Digest`` of an open file; nothing if it changes while it is read."""
        version = f"{status.st_dev:x} {status.st_ctime_ns:x} {make_etag(status)}"
        with self._lock:
            digest = self._cache.get(version)
        if digest is None:
            digest = _compute_sum(descriptor)
            if os.fstat(descriptor).st_ctime_ns != status.st_ctime_ns:
                return []
            self._store(version, digest)
        return [("Repr-Digest", f"sha-256=:{b64encode(digest).decode('ascii')}:")]

    def _store(self, version: str, digest: bytes) -> None:
        with self._lock:
            self._cache[version] = digest
            if len(self._cache) > _MAX_CACHED:
                self._cache.popitem(last=False)


def _compute_sum(descriptor: int) -> bytes:
    digest, position = sha256(), 0
    while block := os.pread(descriptor, _BLOCK_BYTES, position):
        digest.update(block)
        position += len(block)
    return digest.digest()
