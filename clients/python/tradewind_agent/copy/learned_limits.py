"""Report to the service what a copy has learned of the connections that a server permits."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tradewind_agent.engine.origin.book import PermittedConnections
from tradewind_agent.errors import ServiceProblem, ServiceUnreachable

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client


def report_learned_limit(endpoint: str, permitted: Mapping[str, PermittedConnections], client: "Client | None") -> None:
    """Report the limit of the one server behind ``endpoint``, for other agents and the next recommendation.

    Servers of several origins say nothing of one endpoint. A report that is lost costs nothing: this host remembers the
    limit itself.

    Parameters
    ----------
    permitted : the limits of origins that have refused more.
    """
    if client is None or len(permitted) != 1:
        return
    from tradewind.wire.limits import LearnedLimit  # noqa: PLC0415 -- few copies are refused anything

    (known,) = permitted.values()
    learned = LearnedLimit(
        endpoint=endpoint, streams=known.count, refused_at=datetime.fromtimestamp(known.refused_at_s, UTC)
    )
    with suppress(ServiceProblem, ServiceUnreachable):
        client.report_learned_limit(learned)
