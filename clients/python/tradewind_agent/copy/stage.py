"""A stage of a copy that encodes files on their way, as the copy sees it."""

from collections.abc import Callable
from typing import Any, Protocol

from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.jobs import Job
from tradewind_agent.engine.transfer_host import TransferHost


class EncodedBytes(Protocol):
    """What encoding made of the bytes of a copy, for its report."""

    def format_line(self) -> str:
        """Return the part of the closing line that other copies have not."""

    def build_document(self) -> dict[str, Any]:
        """Return the fields of the report's document that other copies have not."""


class TransferStage(Protocol):
    """The stage. A protocol, because packing is built on copies.

    Attributes
    ----------
    mover : name of the mover in records: what encoded files reach says nothing of what others would.
    """

    @property
    def mover(self) -> str: ...

    def make_transfer(self, job: Job, host: TransferHost) -> FileTransfer:
        """Return the transfer of one job."""

    def encodes(self, job: Job) -> bool:
        """Return whether the file of a job is encoded; the receiver retains no part of an encoded upload."""

    def note_end(self) -> None:
        """Handle the end of the transfer, before it is logged."""

    def count_wire_bytes(self, moved_bytes: int) -> int:
        """Return what went over the path for ``moved_bytes`` of all files."""

    def find_codec(self, holds: Callable[[int], bool]) -> str | None:
        """Return the codec of most bytes of the encoded files whose sizes ``holds`` accepts; ``None`` without any."""

    def report_bytes(self, moved_bytes: int) -> EncodedBytes:
        """Return what became of ``moved_bytes`` of all files."""

    def list_notes(self) -> tuple[str, ...]:
        """Return what the user should know."""
