"""The port of receivers: how files from elsewhere become files of a store."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.http1 import ResponseHead
from tradewind_agent.engine.jobs import RelayJob
from tradewind_agent.engine.options import EngineOptions

if TYPE_CHECKING:
    from tradewind_agent.engine.relay.legs import SendingLeg, ServerCopy
    from tradewind_agent.engine.relay.relayed_file import RelayedFile
    from tradewind_agent.engine.transfer_host import TransferHost


class RelayReceiver(Protocol):
    """The receiving store of relayed files."""

    def is_there(self, job: RelayJob, options: EngineOptions, /) -> bool:
        """Return whether the store has the file already."""

    def choose_unit_bytes(self, size_bytes: int, /) -> int:
        """Return the length of the parts of a file; one that is not longer goes in one request."""

    def make_sending(self, file: "RelayedFile", host: "TransferHost", /) -> "SendingLeg":
        """Return the sending part of a file whose source has answered."""

    def make_server_copy(self, job: RelayJob, host: "TransferHost", /) -> "ServerCopy | None":
        """Return a transfer of a file that the servers move themselves; ``None`` where they cannot."""


class RelaySource(Protocol):
    """The store that files come from, whether to another store or to this host."""

    def describe(self, url: Url, headers: Mapping[str, str], /) -> dict[str, str]:
        """Return what an answer says about the file that another store of the kind is to know."""

    def explain(self, url: Url, head: ResponseHead, body: bytes, /) -> str | None:
        """Return why the store has refused a request, and what to do; ``None`` where the answer does not say."""
