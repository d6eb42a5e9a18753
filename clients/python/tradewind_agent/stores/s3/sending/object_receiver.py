"""Buckets as receivers: which objects are there already, how others are sent, which the store copies itself."""

import re
from collections.abc import Callable

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import RelayJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.relay.relayed_file import RelayedFile
from tradewind_agent.engine.skipping import CLOCKS_DIFFER_S
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.stores.s3.object_source import ObjectSource
from tradewind_agent.stores.s3.sending.multipart import choose_part_bytes
from tradewind_agent.stores.s3.sending.object_copy import ObjectCopy
from tradewind_agent.stores.s3.sending.relayed_object import RelayedObject
from tradewind_agent.stores.s3.session import StoreSession

_OBJECT_TAG = re.compile(r'"[0-9a-f]{32}(-\d+)?"')
_CLOCK_STEP_S = 1.0


class ObjectReceiver:
    """A bucket that takes files from elsewhere.

    ``session`` : by which the store is reached, if it may copy objects itself.
    """

    def __init__(
        self,
        bucket: Url,
        find_key: Callable[[Url], str],
        session: StoreSession | None = None,
    ) -> None:
        self._bucket, self._find_key, self._session = bucket, find_key, session

    def is_there(self, job: RelayJob, options: EngineOptions) -> bool:
        """Return whether the bucket has the file: an object of its size that is younger, or has its tag.

        As the clocks of two stores differ, it must be younger by a while; else, and with checksums, its tag has to be
        that of the source, where both are those of objects.
        """
        stored, source = job.stored, job.fetched
        if stored is None or source.size_bytes is None or stored.size_bytes != source.size_bytes:
            return False
        if (
            stored.content_tag is not None
            and _OBJECT_TAG.fullmatch(stored.content_tag)
            and stored.content_tag == source.etag
        ):
            return True
        if options.checksum or stored.modified_at is None or source.modified_at is None:
            return False
        is_one_clock = source.source.origin == job.destination.origin
        least_s = _CLOCK_STEP_S if is_one_clock else CLOCKS_DIFFER_S
        return (stored.modified_at - source.modified_at).total_seconds() >= least_s

    def choose_unit_bytes(self, size_bytes: int) -> int:
        return choose_part_bytes(size_bytes)

    def make_sending(self, file: RelayedFile, host: TransferHost) -> RelayedObject:
        key = self._find_key(file.job.destination)
        sends_sums = self._session is None or self._session.sends_sums
        return RelayedObject(file, host, self._bucket, key, sends_sums=sends_sums)

    def make_server_copy(self, job: RelayJob, host: TransferHost) -> ObjectCopy | None:
        """Return the copy of an object that the store makes itself.

        It does so with objects that it has under the same credentials, of the size and version that were listed.
        """
        source = host.options.hooks.find_source(job.source.origin)
        if not isinstance(source, ObjectSource) or None in (job.size_bytes, job.fetched.etag, self._session):
            return None
        address = source.find_address(job.source, self._session)
        if address is None:
            return None
        is_there = self.is_there(job, host.options)
        return ObjectCopy(job, host, self._bucket, self._find_key(job.destination), address, is_there=is_there)
