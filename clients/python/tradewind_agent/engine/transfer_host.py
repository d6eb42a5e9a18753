"""The engine and the requests of its files, as files in transfer see them. Protocols: both are layers above files."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.local.folder_names import FolderNames
from tradewind_agent.engine.local.publishing import OnPublished, Publication
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.origin.limits import OriginLimits, SendContext
from tradewind_agent.engine.origin.pipelining import PipelinedExchange
from tradewind_agent.engine.origin.traits import OriginTraits
from tradewind_agent.errors import AgentError

if TYPE_CHECKING:
    from tradewind_agent.engine.file_transfer import FileTransfer


class FileExchange(PipelinedExchange, Protocol):
    """A request for a file or a part of it, with the bytes moved so far.

    Attributes
    ----------
    url : where it was sent to.
    send_context : state of the origin when the request was sent; set at that time.
    """

    url: Url
    send_context: SendContext | None

    @property
    def expected_bytes(self) -> int:
        """Return the file bytes that this request still has to move; 0 where unknown."""

    @property
    def moved_bytes(self) -> int:
        """Return the file bytes moved so far."""

    @property
    def can_be_divided(self) -> bool:
        """Return whether what it still has to move can be requested again in several parts, and nothing is lost."""


class TransferHost(Protocol):
    """The engine, as files in transfer see it."""

    options: EngineOptions
    folder_names: FolderNames

    def get_traits(self, origin: Origin) -> OriginTraits: ...

    def get_limits(self, origin: Origin) -> OriginLimits: ...

    def count_connections_in_use(self, origin: Origin) -> int:
        """Return the number of connections that carry requests to ``origin`` or are being made for them."""

    def retry_alone(self, file: "FileTransfer") -> None:
        """Request ``file`` once more when no other request to its origin is in flight."""

    def make_available(self, file: "FileTransfer") -> None:
        """Queue ``file``: it has bytes to deal."""

    def make_available_later(self, file: "FileTransfer", delay_s: float) -> None: ...

    def note_moved(self, file: "FileTransfer", nbytes: int) -> None:
        """Count bytes of ``file`` as moved; a negative number of those that are to be moved again."""

    def charge_rate(self, nbytes: float) -> None:
        """Charge the rate limit with more than what the connections carry."""

    def note_done(self, file: "FileTransfer", *, skipped: bool = False) -> None: ...

    def note_failure(self, file: "FileTransfer", reason: str) -> None: ...

    def stop(self, error: AgentError) -> None:
        """Stop the entire transfer with ``error``."""

    def give_up_origin(self, origin: Origin, error: AgentError) -> None:
        """Fail every file of an origin; stop the entire transfer where there are no others."""

    def run_blocking(self, work: Callable[[], object]) -> asyncio.Future[object]:
        """Run ``work``, which may wait for the disk, in a thread; the caller handles the outcome."""

    def make_remote_folder(self, url: Url, then: Callable[[str], None]) -> None:
        """Have the server make the folder of a file at ``url``, then call ``then`` with why it does not, if so."""

    def publish(self, publication: Publication, on_published: OnPublished) -> None:
        """Give a complete file its final name in a thread, then call ``on_published``."""

    def run_in_background(self, work: Callable[[], object]) -> None:
        """Run ``work`` in a thread; only a failed disk matters, which stops the transfer."""
