"""The name of a transfer on its requests, for a server that meters its own end."""

from dataclasses import dataclass
from uuid import UUID

from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.session.transfer_naming import TRANSFER_HEADER


@dataclass(frozen=True, slots=True)
class TransferTag:
    """Requests to ``origin`` carry the transfer's id."""

    transfer_id: UUID
    origin: Origin

    def build_headers(self, url: Url) -> dict[str, str]:
        return {TRANSFER_HEADER: str(self.transfer_id)} if url.origin == self.origin else {}
