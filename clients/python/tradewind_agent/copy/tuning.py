"""The tuning loop of a copy: what it is asked with, on which basis, and with whom it corresponds."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from tradewind.dataset import bins_of_sizes
from tradewind.parameters import Caps, Parameters
from tradewind.wire.recommendations import RecommendRequest, WireLimits
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.plan import PlannedCopy
from tradewind_agent.session.live_ticks import LiveTicks
from tradewind_agent.session.planning import GIVEN
from tradewind_agent.tuning.heartbeat_exchange import HeartbeatExchange, Heartbeats
from tradewind_agent.tuning.local_controller import LocalController, build_basis
from tradewind_agent.tuning.loop import Tuning
from tradewind_agent.tuning.pace import Pace
from tradewind_agent.tuning.sampling import Sampling

ANSWER_PATIENCE_S = 2.0
"""How long the loop, but never the transfer, waits for an answer before it decides by itself."""


def build_tuning(
    planned: PlannedCopy,
    listing: Listing,
    options: CopyOptions,
    *,
    service: Heartbeats | None,
    live: LiveTicks,
    say: Callable[[str], None],
) -> Tuning | None:
    """The loop of a copy that is about to begin; ``None`` where nothing is to be tuned, and nobody holds any caps.

    A plan that is not to be changed still needs its share of what the path's transfers may use together.
    """
    return build_tuning_for_sizes(
        planned,
        listing.sizes_bytes,
        options,
        sees_path=options.engine.proxies.leading_to(listing.remote) is None,
        service=service,
        live=live,
        say=say,
    )


def build_tuning_for_sizes(
    planned: PlannedCopy,
    sizes_bytes: Sequence[int],
    options: CopyOptions,
    *,
    sees_path: bool,
    service: Heartbeats | None,
    live: LiveTicks,
    say: Callable[[str], None],
) -> Tuning | None:
    """The loop of whatever moves files of these sizes; see ``Sampling`` for ``sees_path``."""
    if planned.enquiry is None:
        return None
    given = planned.plan.source == GIVEN
    fixed = given or not options.tune
    enquiry = planned.enquiry if fixed else _capped(planned.enquiry, options.by_hand)
    exchange = None
    if service is not None and planned.is_key_accepted:
        exchange = HeartbeatExchange(service, planned.plan.transfer_id, patience_s=ANSWER_PATIENCE_S)
    if fixed and exchange is None:
        return None
    return Tuning(
        planned.plan.chunks,
        by_hand=options.by_hand,
        fixed=fixed,
        sampling=Sampling(
            enquiry=enquiry,
            sees_path=sees_path,
            now=lambda: datetime.now(UTC),
        ),
        local=LocalController(build_basis(planned.plan, enquiry, bins_of_sizes(sizes_bytes))),
        exchange=exchange,
        away=planned.plan.answer is None and not given,
        pace=Pace(tick_s=options.tick_s, share_patience_s=options.share_patience_s),
        keeping=live,
        say=say,
    )


def _capped(enquiry: RecommendRequest, by_hand: Parameters) -> RecommendRequest:
    """The enquiry with what the user has set as caps: no decision goes beyond it."""
    of_user = Caps(
        concurrency=by_hand.concurrency, parallelism=by_hand.parallelism, pipelining=by_hand.pipelining or None
    )
    limits = enquiry.limits
    caps = of_user if limits is None else limits.to_caps().tightened_by(of_user)
    known = {name: value for name, value in asdict(caps).items() if value is not None}
    if enquiry.rate_limit_bps is not None:
        known["throughput_bps"] = enquiry.rate_limit_bps
    return enquiry.model_copy(update={"limits": WireLimits(**known)}) if known else enquiry
