"""What a refit keeps and what it must pass: the identity of tiers, the verdict compared with the current model."""

from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
import pytest

from services.application.models.gate import REFIT_AFTER
from services.application.models.remove_old_releases import ReleaseRetention
from services.application.shared.jobs import RemoveOldReleases
from services.persistence.log_reader import LogReader
from tests.integration.models.refreshes import Refreshes, rows, upload
from tests.records import record
from tests.stack import Tenant


def test_tiers_keep_their_identity_over_a_refit(api: str, tenant: Tenant, logs: LogReader) -> None:
    upload(api, tenant, rows())
    fixture = Refreshes(tenant, logs)
    fixture.run()
    before = tiers(api, tenant)
    upload(api, tenant, rows(20, seed=3, first_minute=100))
    fixture.run()
    after = tiers(api, tenant)
    assert before["max_throughput"] == after["max_throughput"]


def test_tiers_keep_their_identity_though_the_release_that_first_had_them_is_removed(
    api: str, tenant: Tenant, logs: LogReader
) -> None:
    fixture = Refreshes(tenant, logs)
    named = []
    for n in range(3):
        upload(api, tenant, rows(60, seed=n, first_minute=100 * n))
        fixture.run()
        named.append(tiers(api, tenant)["max_throughput"])
        ReleaseRetention(fixture._unit_of_work, retained=1, reporter=fixture).remove(RemoveOldReleases(tenant.id))
    assert len(set(named)) == 1


def tiers(api: str, tenant: Tenant) -> dict[str, str]:
    with tenant.client(api) as client:
        (link,) = client.get("/v1/links").json()
        (cluster,) = client.get(f"/v1/links/{link['id']}/clusters").json()
        surface = client.get(f"/v1/clusters/{cluster['id']}/surface").json()
    return {p["kind"]: p["id"] for p in surface["partitions"] if p["confidence"] == 0.9}


def test_refit_is_compared_with_the_current_model_on_rows_new_to_both(
    api: str, tenant: Tenant, logs: LogReader
) -> None:
    fixture = Refreshes(tenant, logs)
    upload(api, tenant, rows(200))
    fixture.run_now()
    assert only_link(api, tenant)["verdict"]["compared_rows"] == 0
    upload(api, tenant, rows(100, seed=3, first_minute=300))
    fixture.run_now()
    link = only_link(api, tenant)
    assert link["reason"] is None
    verdict = link["verdict"]
    assert 8 < verdict["compared_rows"] < 60  # some 30 of 100: each is held out, or not, by its id
    assert verdict["error"] == pytest.approx(0.05, abs=0.03)
    assert verdict["error_in_force"] == pytest.approx(0.05, abs=0.03)


def test_refit_worse_than_the_current_model_leaves_it_and_says_so(
    api: str, tenant: Tenant, logs: LogReader, admin_database_url: str
) -> None:
    fixture = Refreshes(tenant, logs)
    upload(api, tenant, rows(400))
    before = fixture.run_now()
    model = only_model(tenant, before)
    with psycopg.connect(admin_database_url, autocommit=True) as admin:  # the history is given up
        admin.execute("DELETE FROM transfer_logs WHERE tenant_id = %s", [tenant.id])
    upload(api, tenant, rows(20, seed=5, first_minute=500))
    release = fixture.run_now()
    assert release != before
    assert only_model(tenant, release) == model
    link = only_link(api, tenant)
    assert "new rows, the current model by" in link["reason"]
    assert link["verdict"]["error"] > link["verdict"]["error_in_force"] + 0.05
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.releases.get(release).gate["kept_previous"] == 1


def test_a_link_that_was_refused_is_fitted_again_once_its_logs_have_grown_by_a_tenth_or_a_day_later(
    api: str, tenant: Tenant, logs: LogReader
) -> None:
    fixture = Refreshes(tenant, logs)

    def fits_after(count: int, first_minute: int) -> int:
        upload(api, tenant, [record(first_minute + minute, destination="psi") for minute in range(count)])
        fixture.run()
        return len(fixture.fits())

    assert fits_after(30, 0) == 1
    link = only_link(api, tenant)
    assert "vary at least one parameter" in link["reason"]
    assert link["refit_rows"] == 33
    assert datetime.fromisoformat(link["refit_at"]) == fixture.time + REFIT_AFTER
    assert fits_after(2, 100) == 0
    assert tenant.id not in tenant.parts.store.registry.list_tenants_with_work()
    assert fits_after(1, 200) == 1
    assert fits_after(1, 300) == 0
    fixture.time += REFIT_AFTER
    assert fits_after(1, 400) == 1
    upload(api, tenant, rows(60, destination="psi", first_minute=500))
    fixture.run()
    link = only_link(api, tenant)
    assert (link["reason"], link["refit_rows"], link["refit_at"]) == (None, None, None)


def only_link(api: str, tenant: Tenant) -> dict[str, Any]:
    with tenant.client(api) as client:
        (link,) = client.get("/v1/links").json()
    return link


def only_model(tenant: Tenant, release: int) -> UUID:
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        (indexed,) = uow.models.index(release).values()
    return indexed.id


@pytest.mark.parametrize("limit", [{"nic_bps": 2e6}, {"disk_bps": 2e6}, {"cores": 1}])
def test_transfers_that_their_user_limited_change_nothing_of_what_is_promised(
    api: str, tenant: Tenant, logs: LogReader, limit: dict[str, float]
) -> None:
    fixture = Refreshes(tenant, logs)
    upload(api, tenant, rows(400))
    fixture.run_now()
    before = promised(api, tenant)
    limited = rows(40, seed=3, first_minute=500)
    for each in limited:
        each["parameters"] |= limit
        each["outcome"]["throughput_bps"] = 1.9e6
    upload(api, tenant, limited)
    fixture.run_now()
    assert only_link(api, tenant)["reason"] is None
    assert promised(api, tenant) == pytest.approx(before, rel=0.05)


def test_a_link_of_which_every_transfer_was_limited_says_that_it_has_none_to_learn_from(
    api: str, tenant: Tenant, logs: LogReader
) -> None:
    limited = rows(30)
    for each in limited:
        each["parameters"]["nic_bps"] = 1e6
    upload(api, tenant, limited)
    Refreshes(tenant, logs).run()
    assert "no transfer without a limit of its user" in only_link(api, tenant)["reason"]


def promised(api: str, tenant: Tenant) -> float:
    """The highest throughput that is promised on the only link."""
    with tenant.client(api) as client:
        told = client.get("/v1/sla-tiers", params={"limit": 1000}).json()
    return max(each["upper"] for each in told if each["kind"] == "throughput_at_least")
