"""The beginning of a download: what of the file is on the local disk already, and whether that will do."""

from abc import abstractmethod
from asyncio import Future
from functools import partial

from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.local.file_version import FileVersion
from tradewind_agent.engine.local.local_copy import (
    LocalState,
    has_checksum,
    inspect_local_copy,
    is_not_older,
    matches_remote,
)
from tradewind_agent.engine.local.local_files import to_storage_error
from tradewind_agent.engine.local.ranges import RangeSet
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.engine.skipping import SkipRule
from tradewind_agent.engine.transfer_host import TransferHost
from tradewind_agent.errors import FileFault, StorageFailed


class LocalFirst(FileTransfer):
    """A download that inspects the local disk before it requests bytes."""

    job: DownloadJob

    def __init__(self, job: DownloadJob, host: TransferHost) -> None:
        super().__init__(job, job.source, host)
        self._version = FileVersion(job)
        self._part = PartFile(job.destination, str(job.source))
        self._received = RangeSet()
        self._undealt = RangeSet()
        self._local: LocalState | None = None
        self._opened = False
        self._comparing = False  # the sum of the file that is here
        self._must_compare_times = False  # of the file that is here and the server's, before anything replaces it
        self._generation = 0

    @abstractmethod
    def _publish(self) -> None:
        """Give the part its name: every byte is received."""

    @property
    def _is_all_received(self) -> bool:
        return self._version.size_bytes is not None and self._received.covers(self._version.size_bytes)

    def _open(self) -> None:
        self._opened = True
        try:
            self._local, self._received, identity = inspect_local_copy(
                self.job, self._version.identity, self._part, self.host.folder_names, rule=self.host.options.skip
            )
        except StorageFailed as error:
            self.host.stop(error)
            return
        except FileFault as fault:
            self.give_up(str(fault))
            return
        if self._local is LocalState.STAYS:
            self._skip()
            return
        self._must_compare_times = self._local is LocalState.PRESENT and self.host.options.skip is SkipRule.NEWER
        if self._local is None and (refusal := self.host.folder_names.find_refusal(self._part.folder)) is not None:
            self._refuse_place(refusal)
            return
        self._version.resume(identity)
        if self._version.size_bytes is not None:
            self._undealt = self._received.find_missing(self._version.size_bytes)
        is_here_already = self._local in (LocalState.CURRENT, LocalState.PRESENT)
        if is_here_already and self._version.checksum is not None:
            self._compare_sum()
        elif self._local is LocalState.CURRENT and self.host.options.checksum and self.job.size_bytes != 0:
            self._local = LocalState.PRESENT  # size and time prove nothing of the bytes
        elif self._local is LocalState.CURRENT:
            self._skip()

    def _refuse_place(self, refusal: OSError) -> None:
        """Fail before anything is requested."""
        error = to_storage_error(refusal, self.job.destination)
        if isinstance(error, StorageFailed):
            self.host.stop(error)
        else:
            self.give_up(str(error))

    def _compare_local(self) -> None:
        """Compare the server's version, known from a peek: keep the local file, or fetch."""
        state, self._local = self._local, None
        if self._must_compare_times and is_not_older(self.job, self._version.identity):
            self._skip()
            return
        self._must_compare_times = False
        version, checks_sum = self._version, self.host.options.checksum
        is_present = self._generation == 0 and state is LocalState.PRESENT
        is_present = is_present and matches_remote(self.job, version.identity, at_any_time=checks_sum)
        if is_present and not checks_sum:
            self._skip()
        elif is_present and version.checksum is not None:
            self._compare_sum()
        elif (state is LocalState.RECEIVED or self._received) and self._is_all_received:
            self._publish()
        else:
            self.host.make_available(self)

    def _compare_sum(self) -> None:
        """Keep the local file if it has the known sum, else fetch it."""
        assert self._version.checksum is not None
        self._local, self._comparing = None, True
        comparing = self.host.run_blocking(partial(has_checksum, self.job, self._version.checksum))
        comparing.add_done_callback(self._on_compared)

    def _on_compared(self, outcome: Future[object]) -> None:
        self._comparing = False
        if outcome.cancelled() or self.is_over:
            return
        if outcome.exception() is None and outcome.result():
            self._skip()
        else:
            self.host.make_available(self)

    def _skip(self) -> None:
        self.is_over = True
        self.host.note_done(self, skipped=True)
