"""Release the share of a transfer that has nothing to log, so that others need not wait until it counts as silent."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from tradewind.failure import Failure
from tradewind.transfer import Status
from tradewind.wire.heartbeats import Completion
from tradewind.wire.records import WireFailure
from tradewind_agent.errors import AgentError, BodyTooLarge, RequestRefused
from tradewind_agent.session.live_ticks import LiveTicks

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client

PATIENCE_S = 2.0
"""Without an answer the share expires by itself after three ticks."""


def release_share(
    client: "Client", transfer_id: UUID, live: LiveTicks, status: Status, failure: Failure | None = None
) -> None:
    """Report to the service that the transfer has finished, with the ticks that it may not have.

    Ticks that the service does not confirm stay on disk for the next command.
    """
    end: dict[str, Any] = {"status": status}
    if failure is not None:
        end["failure"] = WireFailure(kind=failure.kind, reason=failure.reason)
    try:
        try:
            client.complete(transfer_id, Completion(heartbeats=live.pending, **end), timeout_s=PATIENCE_S)
        except (BodyTooLarge, RequestRefused):
            client.complete(transfer_id, Completion(**end), timeout_s=PATIENCE_S)
    except AgentError:
        live.close()
    else:
        live.remove()
