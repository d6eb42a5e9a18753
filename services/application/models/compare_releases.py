"""Compare a release with the current one: changed links and tiers, and the accuracy of each model."""

from collections.abc import Sequence

from services.application.models.learned_model import StoredRelease
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.wire.releases import ChangeKind, Release, ReleaseComparison, TierChange, UndecidedTiers

MAX_TIERS_LISTED = 50
"""Tiers that are listed, those that move most."""


def compare_releases(release_id: int, *, uow: UnitOfWork) -> ReleaseComparison:
    """Return what publishing a release would change.

    Raises
    ------
    NotFound : the tenant has no such release.
    """
    release, current = uow.releases.get(release_id), uow.releases.find_current()
    tiers = sorted(uow.release_differences.list_tiers(current, release_id), key=measure_tier_shift, reverse=True)
    return ReleaseComparison(
        release=to_wire_release(release),
        in_force=current,
        same=uow.release_differences.count_same(current, release_id),
        links=tuple(uow.release_differences.list_links(current, release_id)),
        tiers_changed=len(tiers),
        tiers_gained=sum(tier.change is ChangeKind.GAINED for tier in tiers),
        tiers_lost=sum(tier.change is ChangeKind.LOST for tier in tiers),
        tiers=tuple(tiers[:MAX_TIERS_LISTED]),
    )


def measure_tier_shift(tier: TierChange) -> float:
    """Return the shift of a tier as a share of its wider bound; 1 for a new or lost tier."""
    before, after = tier.before, tier.after
    if before is None or after is None:
        return 1.0
    widest = max(abs(before.upper), abs(after.upper), abs(before.lower), abs(after.lower))
    return max(abs(after.lower - before.lower), abs(after.upper - before.upper)) / widest if widest else 0.0


def to_wire_release(release: StoredRelease, undecided: Sequence[UndecidedTiers] = ()) -> Release:
    """Return the release for the API; ``undecided`` is included for the current release only."""
    return Release(
        id=release.id,
        state=release.state,
        created_at=release.created_at,
        published_at=release.published_at,
        links=release.links,
        clusters=release.clusters,
        gate=release.gate,
        current=release.current,
        undecided=tuple(undecided) if release.current else (),
    )
