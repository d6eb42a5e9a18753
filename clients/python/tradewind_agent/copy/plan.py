"""The plan of a copy: set by hand, the service's, or by the closed-form rules."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from pydantic import ValidationError

from tradewind.dataset import SizeBin, bins_of_sizes
from tradewind.path import Path
from tradewind.units import format_bps
from tradewind.wire.base import reason_of
from tradewind.wire.recommendations import RecommendRequest, WireLimits, WireSizeBin, WireSla, WireWorkload
from tradewind.wire.records import WirePath
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.errors import KeyRefused, ScopeMissing
from tradewind_agent.session.planning import Plan, override_settings, plan_by_rules, plan_set_by_hand, request_plan

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client

MOVER = "tradewind"
_SETTING = ("concurrency", "parallelism", "pipelining")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCopy:
    """The plan, and how it came about.

    ``enquiry`` : what the service was asked, or would have been; ``None`` for a tool that is only measured.
    ``is_key_accepted`` : whether the service has not refused the key.
    ``notes`` : what the user should know.
    """

    plan: Plan
    enquiry: RecommendRequest | None = None
    is_key_accepted: bool = True
    notes: tuple[str, ...] = ()


def plan_copy(
    listing: Listing, path: Path, names: tuple[str, str], options: CopyOptions, client: "Client | None"
) -> PlannedCopy:
    """The plan of a copy with our own engine; otherwise as ``plan_sizes``."""
    return plan_sizes(listing.sizes_bytes, path, names, options, client, mover=MOVER)


def plan_sizes(
    sizes_bytes: Iterable[int],
    path: Path,
    names: tuple[str, str],
    options: CopyOptions,
    client: "Client | None",
    *,
    mover: str,
) -> PlannedCopy:
    """Parameters of each chunk.

    Whatever is wrong with the service or the key, there is a plan: data are moved today and the key is mended tomorrow.

    Parameters
    ----------
    sizes_bytes : of the files to move, at least one.
    names : of source and destination.
    mover : name of the program that will move them.

    Raises
    ------
    InvalidValue : what no service could be asked, such as a name of a thousand characters.
    """
    by_hand = options.by_hand
    bins = bins_of_sizes(sizes_bytes)
    try:
        enquiry = _request(bins, path, names, options, mover)
    except ValidationError as invalid:
        raise reason_of(invalid.errors(include_url=False, include_context=False)[0]) from None
    if all(getattr(by_hand, name) is not None for name in _SETTING):
        return PlannedCopy(plan=plan_set_by_hand(uuid4(), by_hand), enquiry=enquiry)
    notes: tuple[str, ...] = ()
    try:
        plan = request_plan(client, enquiry)
    except (KeyRefused, ScopeMissing) as refused:
        plan, notes = str(refused), (str(refused),)
    if isinstance(plan, str):
        most_bps = options.rate_limit_bps
        because = plan if most_bps is None else f"{plan}; no more than {format_bps(most_bps)}, as set"
        own = path.at_most(most_bps)
        plan = plan_by_rules(uuid4(), bins, own, options.sla, options.limits, load=options.load, because=because)
    plan = override_settings(plan, by_hand)
    return PlannedCopy(plan=plan, enquiry=enquiry, is_key_accepted=not notes, notes=notes)


def _request(
    bins: Sequence[SizeBin], path: Path, names: tuple[str, str], options: CopyOptions, mover: str
) -> RecommendRequest:
    file_count, total_bytes = sum(each.file_count for each in bins), sum(each.total_bytes for each in bins)
    return RecommendRequest(
        source=names[0],
        destination=names[1],
        mover=mover,
        network=options.network,
        dataset=WireWorkload(
            file_count=file_count,
            total_bytes=total_bytes,
            mean_file_bytes=total_bytes / file_count,
            size_histogram=tuple(WireSizeBin(**each._asdict()) for each in bins),
        ),
        sla=WireSla(**asdict(options.sla)),
        path=WirePath(**asdict(path)),
        load=options.load,
        limits=_limits(options),
    )


def _limits(options: CopyOptions) -> WireLimits | None:
    """What the user permits at most: of settings, and as a rate."""
    limits = WireLimits(**asdict(options.limits), throughput_bps=options.rate_limit_bps)
    return None if limits == WireLimits() else limits
