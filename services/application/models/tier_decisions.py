"""Decisions of a provider on models that would remove or move priced tiers."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from services.application.models.custom_tiers import apply_custom_boundaries, store_split_boundaries
from services.application.models.sla_tiers import format_path
from services.application.models.tier_identity import list_tier_origins, match_tiers
from services.application.shared.jobs import PricesChanged, ReleaseChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import Conflict
from tradewind.wire.releases import ChangeKind, TierChange, UndecidedTiers


@dataclass(frozen=True, slots=True, kw_only=True)
class TierDecision:
    """An open decision: a link keeps its model until a provider has decided on these changes of its tiers.

    ``release_id`` : the release in which the link kept its model first.
    """

    id: UUID
    link_id: UUID
    model_id: UUID
    release_id: int
    raised_at: datetime
    changes: tuple[TierChange, ...]


def list_undecided(uow: UnitOfWork) -> tuple[UndecidedTiers, ...]:
    """Return the open decisions, the oldest first, each with the path of its link."""
    decisions = uow.tier_decisions.list_all()
    keys = {link.id: link.key for link in uow.links.list_all()} if decisions else {}
    return tuple(
        UndecidedTiers(
            decision_id=decision.id,
            link_id=decision.link_id,
            source=keys[decision.link_id].source,
            destination=keys[decision.link_id].destination,
            network=keys[decision.link_id].network,
            mover=keys[decision.link_id].mover,
            release=decision.release_id,
            raised_at=decision.raised_at,
            tiers=decision.changes,
        )
        for decision in decisions
    )


def decide_tiers(decision_id: UUID, *, accept: bool, uow: UnitOfWork, clock: Clock) -> int | None:
    """Publish the waiting model, or leave the previous one; return the release that is current afterwards.

    The tiers follow the current model and the current custom boundaries, not those at the time of the fit.

    Raises
    ------
    NotFound : it was decided already, or a newer model has replaced it.
    Conflict : no release is current, or another one became current at the same moment.
    """
    decision = uow.tier_decisions.claim(decision_id)
    release = uow.releases.find_current()
    if accept:
        if release is None:
            raise Conflict("there is no current release that could take over the model")
        release = _publish_model(decision, release, uow, clock)
        uow.publish(PricesChanged(uow.tenant_id))
        uow.publish(ReleaseChanged(uow.tenant_id, release))
    uow.tier_decisions.drop(decision.link_id)
    lost = sum(tier.change is ChangeKind.LOST for tier in decision.changes)
    uow.audit.note(
        "tier.model_accepted" if accept else "tier.model_declined",
        format_path(uow.links.get(decision.link_id).key),
        decision=str(decision.id),
        lost=lost,
        moved=len(decision.changes) - lost,
        tier_ids=[str(tier.tier_id) for tier in decision.changes],
        release=release,
    )
    uow.commit()
    return release


def _publish_model(decision: TierDecision, release: int, uow: UnitOfWork, clock: Clock) -> int:
    waiting = uow.models.get(decision.model_id)
    before, model = uow.models.of_link(release, decision.link_id), waiting.model()
    own = uow.custom_tiers.of_link(decision.link_id)
    cut = apply_custom_boundaries(model, match_tiers(before, model), own, before)
    model_id = uow.models.add(decision.link_id, cut.model, cut.tiers, fitted_at=waiting.fitted_at)
    store_split_boundaries(decision.link_id, cut, uow)
    uow.price_books.inherit(list_tier_origins(cut.tiers))
    return uow.releases.with_model(
        decision.link_id, model_id, built_on=release, at=clock.now(), why="tiers_decided", refits=True
    )
