"""Buckets as ends of relays: which objects are there already, how others are sent, what a source says of them."""

import re
from collections.abc import Callable, Mapping

from tradewind_agent.engine.file_transfer import TransferHost
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import RelayJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.relay.relayed_file import RelayedFile
from tradewind_agent.stores.s3.bucket_pages import StoredObject
from tradewind_agent.stores.s3.compared_upload import CLOCKS_DIFFER_S
from tradewind_agent.stores.s3.multipart import choose_part_bytes
from tradewind_agent.stores.s3.relayed_object import RelayedObject

_MD5_TAG = re.compile(r'"([0-9a-f]{32})"')
_OBJECT_TAG = re.compile(r'"[0-9a-f]{32}(-\d+)?"')
_DESCRIBING = ("cache-control", "content-disposition", "content-encoding", "content-language", "expires")
_DIRECTORY_BUCKET = "--x-s3"
_CLOCK_STEP_S = 1.0
_OWN_META = "x-amz-meta-"
_KEYED = frozenset({"aws:kms", "aws:kms:dsse"})
"""Encryptions under which the tag of an object is not the MD5 sum of its bytes."""


class ObjectReceiver:
    """A bucket that takes files from elsewhere. ``stored`` : the objects that it had before, by key."""

    def __init__(self, bucket: Url, find_key: Callable[[Url], str], stored: Mapping[str, StoredObject]) -> None:
        self._bucket, self._find_key, self._stored = bucket, find_key, stored

    def is_there(self, job: RelayJob, options: EngineOptions) -> bool:
        """Return whether the bucket has the file: an object of its size that is younger, or has its tag.

        As the clocks of two stores differ, it must be younger by a while; else, and with checksums, its tag has to be
        that of the source, where both are those of objects.
        """
        stored, source = self._stored.get(self._find_key(job.destination)), job.fetched
        if stored is None or source.size_bytes is None or stored.size_bytes != source.size_bytes:
            return False
        if stored.etag is not None and _OBJECT_TAG.fullmatch(stored.etag) and stored.etag == source.etag:
            return True
        if options.checksum or stored.modified_at is None or source.modified_at is None:
            return False
        is_one_clock = source.source.origin == job.destination.origin
        least_s = _CLOCK_STEP_S if is_one_clock else CLOCKS_DIFFER_S
        return (stored.modified_at - source.modified_at).total_seconds() >= least_s

    def choose_unit_bytes(self, size_bytes: int) -> int:
        return choose_part_bytes(size_bytes)

    def make_sending(self, file: RelayedFile, host: TransferHost) -> RelayedObject:
        return RelayedObject(file, host, self._bucket, self._find_key(file.job.destination))


class ObjectSource:
    """Objects as a source of relays."""

    def find_md5(self, url: Url, headers: Mapping[str, str]) -> str | None:
        """Return the MD5 sum of an object that was stored in one piece, unless a key of its own encrypts it.

        Tags in directory buckets look like sums and are none.
        """
        if _DIRECTORY_BUCKET in str(url):
            return None
        is_keyed = headers.get("x-amz-server-side-encryption") in _KEYED
        if is_keyed or "x-amz-server-side-encryption-customer-algorithm" in headers:
            return None
        found = _MD5_TAG.fullmatch(headers.get("etag", ""))
        return found[1] if found is not None else None

    def describe(self, _url: Url, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the metadata of an object, the user's own included."""
        own = {name: value for name, value in headers.items() if name.startswith(_OWN_META)}
        return own | {name.title(): headers[name] for name in _DESCRIBING if name in headers}


OBJECT_SOURCE = ObjectSource()
