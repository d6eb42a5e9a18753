"""Which class moves the bytes of a job as they are."""

from collections.abc import Callable

from tradewind_agent.engine.checked_upload import CheckedUpload
from tradewind_agent.engine.download import FileDownload
from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.jobs import DownloadJob, Job, UploadJob
from tradewind_agent.engine.transfer_host import TransferHost

MakeTransfer = Callable[[Job, TransferHost], FileTransfer]
"""Makes the transfer of one job: that of its bytes as they are, or one that encodes them on their way."""


def make_plain_transfer(job: Job, host: TransferHost) -> FileTransfer:
    """Return a transfer of the file's bytes as they are."""
    if isinstance(job, DownloadJob):
        return FileDownload(job, host)
    assert isinstance(job, UploadJob)
    return (host.options.hooks.find_upload(job.destination.origin) or CheckedUpload)(job, host)
