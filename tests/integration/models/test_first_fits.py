"""Models that modules of tests share are those that each would have learned itself."""

from typing import Any

from services.persistence.log_reader import LogReader
from tests.integration.models.first_fits import FirstFits
from tests.integration.models.refreshes import Refreshes, rows, upload
from tests.stack import Tenant, new_tenant
from tradewind.model import LinkModel
from workers.learner import Learner


def learn(api: str, tenant: Tenant, logs: LogReader, learner: Learner, records: list[dict[str, Any]]) -> LinkModel:
    """Return the model of a new tenant of the same API, from records that it uploads."""
    own = new_tenant(tenant.parts, tenant.database_url)
    upload(api, own, records)
    release = Refreshes(own, logs, learner=learner).run()
    with own.parts.store.unit_of_work(own.id) as uow:
        (link,) = uow.links.list_all()
        stored = uow.models.of_link(release, link.id)
        assert stored is not None
        return stored.model()


def test_second_tenant_with_the_same_rows_gets_the_model_that_it_would_have_learned(
    api: str, tenant: Tenant, logs: LogReader
) -> None:
    once, records = FirstFits(), rows(60)
    first = learn(api, tenant, logs, once, records)
    assert learn(api, tenant, logs, once, records) == first == learn(api, tenant, logs, Learner(), records)
    assert once.computed == 1


def test_other_rows_get_a_model_of_their_own(api: str, tenant: Tenant, logs: LogReader) -> None:
    once = FirstFits()
    assert learn(api, tenant, logs, once, rows(60)) != learn(api, tenant, logs, once, rows(60, seed=2))
    assert once.computed == 2


def test_refit_is_computed_with_the_current_model(api: str, tenant: Tenant, logs: LogReader) -> None:
    once = FirstFits()
    refreshes = Refreshes(tenant, logs, learner=once)
    upload(api, tenant, rows(60))
    first = refreshes.run()
    upload(api, tenant, rows(20, seed=2, first_minute=100))
    assert refreshes.run() != first
    assert once.computed == 1
