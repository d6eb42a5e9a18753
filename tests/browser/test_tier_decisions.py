"""A provider finds on the overview what would become of priced tiers, and decides; a double click decides once."""

from playwright.sync_api import Page, expect

from services.application.models.priced_tiers import UndecidedModel
from services.bootstrap import Container
from tests.browser.accessibility import offences
from tests.stack import Tenant
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.wire.releases import ChangeKind, TierBounds, TierChange


def raise_decision(parts: Container, tenant: Tenant) -> int:
    """Let the current model wait as if it would remove a tier; return the current release."""
    with parts.store.unit_of_work(tenant.id) as uow:
        release = uow.releases.find_current()
        assert release is not None
        stored = uow.models.of_link(release, uow.links.list_all()[0].id)
        assert stored is not None
        now, tiers = parts.clock.now(), [leaf.tiers for leaf in stored.leaves]
        change = TierChange(
            tier_id=tiers[0][0].id,
            link_id=stored.link_id,
            name=None,
            kind=SlaKind.THROUGHPUT_AT_LEAST,
            confidence=0.9,
            energy_basis=EnergyBasis.TOTAL,
            change=ChangeKind.LOST,
            before=TierBounds(lower=4e7, upper=8e7),
            after=None,
        )
        model_id = uow.models.add(stored.link_id, stored.model(), tiers, fitted_at=now)
        undecided = UndecidedModel(model_id=model_id, release_id=release, raised_at=now, changes=[change])
        uow.tier_decisions.raise_for(stored.link_id, undecided)
        uow.commit()
    return release


def test_provider_decides_on_the_overview(provider: Page, parts: Container, learned: Tenant) -> None:
    release = raise_decision(parts, learned)
    page = provider
    page.goto("/admin")
    expect(page.get_by_role("heading", name="Priced tiers wait for your decision")).to_be_visible()
    expect(page.get_by_text("40 to 80 Mbit/s")).to_be_visible()
    expect(page.get_by_text("would change 1 tier that has a price")).to_be_visible()
    assert offences(page) == []
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Take the new model").dblclick()
    expect(page.get_by_role("status")).to_contain_text("is current, with the new model")
    expect(page.get_by_role("heading", name="Priced tiers wait for your decision")).to_have_count(0)
    assert len(sent) == 1, "the second click of a double click is no second form"
    with parts.store.unit_of_work(learned.id) as uow:
        current_release = uow.releases.find_current()
        assert current_release is not None
        assert current_release > release
        assert uow.releases.get(current_release).parent_id == release
