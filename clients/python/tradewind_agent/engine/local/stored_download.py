"""The local side of a download: what has arrived is synced, summed and published."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial

from tradewind.units import MIB
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.local.followed_sum import FollowedSum
from tradewind_agent.engine.local.local_first import LocalFirst
from tradewind_agent.engine.local.publishing import Publication
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.errors import StorageFailed

_WRITTEN_AT_ONCE_BYTES = 32 * MIB
"""Bytes after which the disk begins to write them: the sync at the end of a long file then has little left to do."""


class StoredDownload(LocalFirst):
    """A download whose bytes are written to a part.

    Where a sum of the file is known, the sum of the part follows the bytes that have arrived without a gap.
    """

    def __init__(self, job: DownloadJob, host: TransferHost) -> None:
        super().__init__(job, host)
        self._publishing = False
        self._unsynced_bytes = 0
        self._unfollowed_bytes = self._unwritten_bytes = 0
        self._sum: FollowedSum | None = None

    @abstractmethod
    def _find_arrived(self) -> RangeSet:
        """Return the bytes that are written, those of running requests included."""

    @property
    @abstractmethod
    def _unbroken_bytes(self) -> int:
        """Return the bytes from the first one on that have arrived without a gap, and are not written again."""

    @property
    def is_summed_in_order(self) -> bool:
        return self._version.checksum is not None

    def _note_written(self, nbytes: int) -> None:
        """Count bytes that were written."""
        self._unsynced_bytes += nbytes
        self._unfollowed_bytes += nbytes
        if self._unfollowed_bytes >= FollowedSum.LEAST_BYTES:
            self._unfollowed_bytes = 0
            self._follow()
        self._unwritten_bytes += nbytes
        if self._unwritten_bytes >= _WRITTEN_AT_ONCE_BYTES and self.host.options.durable:
            self._unwritten_bytes = 0
            self.host.run_in_background(self._part.write_behind)

    def _follow(self) -> None:
        """Have the sum follow what has arrived."""
        checksum = self._version.checksum
        if checksum is None or self._publishing:
            return
        if self._sum is not None and self._sum.running.algorithm != checksum.algorithm:
            self._discard_sum()
        if self._sum is None:
            self._sum = FollowedSum(self._part, checksum.algorithm, self.host.run_blocking)
        self._sum.follow(self._unbroken_bytes)

    def _check_sum(self) -> None:
        """Start the sum again where bytes that it may have are to be written again."""
        if self._sum is not None and self._sum.end > self._unbroken_bytes:
            self._discard_sum()

    def _discard_sum(self) -> None:
        """Start the sum again with the next bytes."""
        if self._sum is not None:
            self._sum.stop()
            self._sum = None

    def checkpoint(self) -> None:
        if self._unsynced_bytes < self.host.options.checkpoint_bytes or self._publishing or self.is_over:
            return
        self._unsynced_bytes = 0
        self.host.run_in_background(
            partial(self._part.checkpoint, self._version.answered_identity, self._find_arrived())
        )

    def _publish(self) -> None:
        if (objection := self._version.find_late_objection()) is not None:
            self._received = RangeSet()  # so that no other run goes on with it
            self.give_up(objection)
            return
        self._publishing = True
        running = None if self._sum is None else self._sum.running
        self.host.publish(
            Publication(self._part, self._version.identity, self._version.checksum, running), self._on_published
        )

    def _on_published(self, error: BaseException | None) -> None:
        if isinstance(error, StorageFailed):
            self.host.stop(error)
        elif error is not None:
            self.give_up(str(error))
        else:
            self.is_over = True
            self.host.note_done(self)

    def make_closer(self) -> Callable[[], None]:
        self._discard_sum()
        return partial(self._part.close_for_resume, self._version.answered_identity, self._find_arrived())
