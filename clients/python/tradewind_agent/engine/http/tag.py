"""The name of a transfer on its requests, for a server that meters its own end and may limit its resources."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.session.transfer_naming import RESOURCES_HEADER, TRANSFER_HEADER


@dataclass(frozen=True, slots=True)
class TransferTag:
    """Requests to ``origin`` carry the transfer's id.

    ``read_resources`` : returns the resources that suffice there at present, for `RESOURCES_HEADER`; empty for all.
    """

    transfer_id: UUID
    origin: Origin
    read_resources: Callable[[], str] | None = None

    def build_headers(self, url: Url) -> dict[str, str]:
        if url.origin != self.origin:
            return {}
        resources = "" if self.read_resources is None else self.read_resources()
        return {TRANSFER_HEADER: str(self.transfer_id)} | ({RESOURCES_HEADER: resources} if resources else {})
