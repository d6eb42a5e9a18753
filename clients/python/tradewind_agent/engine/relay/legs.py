"""The two halves of a relayed file, and who owns them."""

from abc import abstractmethod
from typing import TYPE_CHECKING, NamedTuple, Protocol

from tradewind_agent.engine.file_transfer import FileTransfer
from tradewind_agent.engine.local.ranges import RangeSet

if TYPE_CHECKING:
    from tradewind_agent.engine.relay.relayed_file import RelayedFile


class SendingLeg(FileTransfer):
    """The sending half of a relayed file."""

    @abstractmethod
    def note_unit_ready(self, number: int) -> None:
        """Note that a unit can be sent."""


class ReadingLeg(FileTransfer):
    """The fetching half of a relayed file."""

    @abstractmethod
    def note_skipped(self, ranges: RangeSet) -> None:
        """Note that the receiver has some ranges, which need not be requested."""


class Instead(NamedTuple):
    """Why the servers do not move a file themselves; ``holds_for_all`` : for the other files neither."""

    reason: str
    holds_for_all: bool


class ServerCopy(FileTransfer):
    """A file that the servers move themselves.

    Attributes
    ----------
    instead : why it is to be relayed instead, once that is known.
    """

    instead: Instead | None = None


class RelayOwner(Protocol):
    """The relay engine, as its files see it. A protocol, because it owns them."""

    def start_sending(self, file: "RelayedFile") -> SendingLeg:
        """Return the sending leg of a file whose source has answered, once it is admitted."""

    def note_sent(self, file: "RelayedFile", *, skipped: bool = False) -> None:
        """Note that the receiver has the file."""

    def note_failed(self, file: "RelayedFile", reason: str) -> None: ...

    def send_again(self, file: "RelayedFile", reason: str) -> None:
        """Relay the file from its beginning, some time later; fail it where that was done too often."""
