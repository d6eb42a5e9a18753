"""Build the tuning loop of a copy: its request, its basis, and its exchange of heartbeats with the service."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tradewind.dataset import bin_sizes
from tradewind.parameters import Caps, Parameters
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.plan import PlannedCopy
from tradewind_agent.copy.resources import CopyResources
from tradewind_agent.session.live_ticks import LiveTicks
from tradewind_agent.session.plan_request import PlanRequest
from tradewind_agent.session.planning import GIVEN
from tradewind_agent.tuning.local_controller import LocalController, build_basis
from tradewind_agent.tuning.loop import Adjust, Tuning
from tradewind_agent.tuning.pace import Pace
from tradewind_agent.tuning.sampling import Sampling

if TYPE_CHECKING:
    from tradewind_agent.tuning.heartbeat_exchange import Heartbeats

ANSWER_PATIENCE_S = 2.0
"""How long the loop waits for an answer before it decides by itself; the transfer never waits."""


def build_tuning(
    planned: PlannedCopy,
    listing: Listing,
    options: CopyOptions,
    resources: CopyResources,
    *,
    service: "Heartbeats | None",
    live: LiveTicks,
    say: Callable[[str], None],
) -> Tuning | None:
    """Return the loop of a copy; ``None`` if nothing is to be tuned and no service enforces caps.

    A plan that must not change still needs a share of what the path's transfers may use together.
    """
    stated = replace(planned.plan, chunks=resources.state_resources(planned.plan.chunks))
    return build_tuning_for_sizes(
        replace(planned, plan=stated),
        listing.sizes_bytes,
        options,
        sees_path=options.engine.proxies.find_proxy(listing.remote) is None,
        service=service,
        live=live,
        say=say,
        adjust=resources.adjust,
    )


def build_tuning_for_sizes(
    planned: PlannedCopy,
    sizes_bytes: Sequence[int],
    options: CopyOptions,
    *,
    sees_path: bool,
    service: "Heartbeats | None",
    live: LiveTicks,
    say: Callable[[str], None],
    adjust: Adjust | None = None,
) -> Tuning | None:
    """Return the loop of a transfer of files of these sizes.

    See `Sampling` for ``sees_path``, and `Tuning` for ``adjust``.
    """
    if planned.request is None:
        return None
    is_given = planned.plan.source == GIVEN
    fixed = is_given or not options.tune
    request = planned.request if fixed else _build_cap_request(planned.request, options.by_hand)
    exchange = None
    if service is not None and planned.is_key_accepted:
        from tradewind_agent.tuning.heartbeat_exchange import HeartbeatExchange  # noqa: PLC0415 -- loads the wire models

        exchange = HeartbeatExchange(service, planned.plan.transfer_id, patience_s=ANSWER_PATIENCE_S)
    if fixed and exchange is None:
        return None
    return Tuning(
        planned.plan.chunks,
        by_hand=options.by_hand,
        fixed=fixed,
        sampling=Sampling(
            request=request,
            sees_path=sees_path,
            now=lambda: datetime.now(UTC),
        ),
        local=LocalController(build_basis(planned.plan, request, bin_sizes(sizes_bytes))),
        exchange=exchange,
        is_unreachable=planned.plan.answer is None and not is_given,
        pace=Pace(tick_s=options.tick_s, share_patience_s=options.share_patience_s),
        tick_store=live,
        say=say,
        adjust=adjust,
    )


def _build_cap_request(request: PlanRequest, by_hand: Parameters) -> PlanRequest:
    """Return the request with the user's settings as caps, which no decision exceeds."""
    user_caps = Caps(
        concurrency=by_hand.concurrency, parallelism=by_hand.parallelism, pipelining=by_hand.pipelining or None
    )
    return replace(request, caps=request.caps.tighten(user_caps))
