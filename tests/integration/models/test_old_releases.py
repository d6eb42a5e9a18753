"""Old releases on real PostgreSQL: what goes, what stays because a kept release holds it, and the way back."""

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from services.application.models.manage_releases import roll_back
from services.application.models.remove_old_releases import ReleaseRetention, RemovalResult
from services.application.shared.events import OldReleasesRemoved, WorkEvent
from services.application.shared.jobs import RemoveOldReleases
from tests.integration.models.test_releases import begin, current, fit, models_of, opened, publish, refresh, upload
from tests.link_models import link_model
from tests.stack import Tenant, new_tenant
from tradewind.errors import Conflict, NotFound

KEPT = 3
OF_A_MODEL = ("link_models", "clusters", "surfaces", "sla_partitions")


class Facts(list[WorkEvent]):
    """What was reported."""

    report = list.append


@pytest.fixture
def admin(admin_database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(admin_database_url, autocommit=True) as connection:
        yield connection


def remove(tenant: Tenant, kept: int = KEPT) -> RemovalResult:
    facts = Facts()
    removed = ReleaseRetention(tenant.parts.store.unit_of_work, kept, facts).remove(RemoveOldReleases(tenant.id))
    told = OldReleasesRemoved(tenant_id=tenant.id, releases=removed.releases, models=removed.models)
    assert facts == ([told] if removed != RemovalResult() else [])
    return removed


def release_a_minute(api: str, tenant: Tenant, count: int, first_minute: int = 0) -> list[int]:
    made = []
    for minute in range(first_minute, first_minute + 10 * count, 10):
        upload(api, tenant, minute)
        made.append(refresh(tenant))
    return made


def listed(tenant: Tenant) -> list[int]:
    with opened(tenant) as uow:
        return [each.id for each in uow.releases.list_page(limit=100)][::-1]


def counts(admin: psycopg.Connection, tenant: Tenant, *tables: str) -> list[int]:
    query = "SELECT count(*) FROM {} WHERE tenant_id = %s"
    return [admin.execute(query.format(table), [tenant.id]).fetchone()[0] for table in tables]


def test_the_newest_releases_stay_with_their_models_and_the_others_go(
    api: str, tenant: Tenant, admin: psycopg.Connection
) -> None:
    releases = release_a_minute(api, tenant, 5)
    with opened(tenant) as uow:
        kept_models = [models_of(uow, each) for each in releases[2:]]
    assert remove(tenant) == RemovalResult(releases=2, models=2)
    assert listed(tenant) == releases[2:]
    with opened(tenant) as uow:
        assert [models_of(uow, each) for each in releases[2:]] == kept_models
        for (model_id,) in map(dict.values, kept_models):
            assert uow.models.get(model_id).model() == link_model()
    assert counts(admin, tenant, *OF_A_MODEL, "release_links") == [3, 6, 6, 12, 3]
    assert remove(tenant) == RemovalResult()


def test_a_model_that_is_carried_from_release_to_release_outlives_the_one_it_was_made_in(
    api: str, tenant: Tenant
) -> None:
    upload(api, tenant, 0, ["rarely", "omega"])
    first = refresh(tenant)
    with opened(tenant) as uow:
        made = models_of(uow, first)
    releases = release_a_minute(api, tenant, 5, first_minute=10)
    assert remove(tenant) == RemovalResult(releases=3, models=3)
    with opened(tenant) as uow:
        (rarely,) = (link.id for link in uow.links.list_all() if link.key.destination == "rarely")
        assert {models_of(uow, each)[rarely] for each in releases[-KEPT:]} == {made[rarely]}
    with tenant.client(api) as client:
        (cluster, _) = client.get(f"/v1/links/{rarely}/clusters").json()
        assert client.get(f"/v1/clusters/{cluster['id']}/surface").status_code == 200


def test_rollback_reaches_stored_releases_and_not_removed_ones(api: str, tenant: Tenant) -> None:
    removed, *kept = release_a_minute(api, tenant, KEPT + 1)
    remove(tenant)
    with tenant.client(api) as client:
        answer = client.post(f"/v1/releases/{removed}/rollback")
        assert answer.status_code == 404
        assert "too old to be kept" in answer.json()["detail"]
        assert client.get(f"/v1/releases/{removed}").status_code == 404
        assert client.post(f"/v1/releases/{kept[0]}/rollback").json()["current"]
        assert client.get("/v1/links").json()[0]["release"] == kept[0]
        answer = client.post(f"/v1/releases/{kept[0]}/rollback")  # its parent is gone
        assert answer.status_code == 409
        assert "still kept" in answer.json()["detail"]
    assert current(tenant) == kept[0]


def test_releases_that_were_rolled_back_do_not_push_out_the_one_before(api: str, tenant: Tenant) -> None:
    first, *others = release_a_minute(api, tenant, KEPT + 1)
    with opened(tenant) as uow:
        roll_back(others[0], uow=uow)
    (newest,) = release_a_minute(api, tenant, 1, first_minute=100)
    assert remove(tenant, kept=2) == RemovalResult(releases=1, models=1)
    assert listed(tenant) == [*others, newest]
    with opened(tenant) as uow:
        assert roll_back(newest, uow=uow) == others[0]
    with opened(tenant) as uow, pytest.raises(NotFound):
        roll_back(first, uow=uow)


def test_a_release_that_is_being_built_stays_and_is_published(api: str, tenant: Tenant) -> None:
    *_, last = release_a_minute(api, tenant, KEPT + 1)
    upload(api, tenant, 100)
    building = begin(tenant)
    assert building is not None
    remove(tenant, kept=1)
    assert listed(tenant) == [last, building]
    with opened(tenant) as uow:
        (link_id,) = uow.release_work.list_pending(building)
    fit(tenant, building, link_id)
    publish(tenant, building)
    assert current(tenant) == building


def test_a_removal_that_was_cut_short_leaves_no_half_release_to_return_to(
    api: str, tenant: Tenant, admin: psycopg.Connection
) -> None:
    upload(api, tenant, 0, ["psi", "chi", "omega"])
    oldest = refresh(tenant)
    upload(api, tenant, 10, ["psi", "chi", "omega"])
    newest = refresh(tenant)
    with opened(tenant) as uow:
        assert uow.old_releases.expire(1) == 1
        uow.commit()
    with opened(tenant) as uow:
        assert uow.old_releases.remove_some(2) == RemovalResult(models=2)
        uow.commit()  # and here the worker died
    assert listed(tenant) == [newest]
    for wanted, error in ((oldest, NotFound), (newest, Conflict)):
        with opened(tenant) as uow, pytest.raises(error):
            roll_back(wanted, uow=uow)
    assert tenant.id in tenant.parts.store.registry.list_tenants_with_old_releases(2)
    assert remove(tenant) == RemovalResult(releases=1, models=1)
    assert counts(admin, tenant, "link_models", "release_links") == [3, 3]


def test_only_tenants_with_old_releases_are_found_and_nobody_elses_are_removed(
    api: str, tenant: Tenant, database_url: str
) -> None:
    other = new_tenant(tenant.parts, database_url)
    theirs = release_a_minute(api, other, KEPT + 1)
    mine = release_a_minute(api, tenant, KEPT)
    find = tenant.parts.store.registry.list_tenants_with_old_releases
    assert other.id in find(KEPT)
    assert tenant.id not in find(KEPT)
    remove(tenant, kept=1)
    assert (listed(tenant), listed(other)) == (mine[-1:], theirs)
    remove(other)
    assert other.id not in find(KEPT)


def test_a_release_and_its_removal_wait_for_each_other(api: str, tenant: Tenant) -> None:
    """What a removal gives up cannot come into force before it has committed."""
    releases = release_a_minute(api, tenant, 2)
    with opened(tenant) as uow, opened(tenant) as rival:
        assert uow.old_releases.expire(1) == 1
        rival.connection.exec_driver_sql("SET LOCAL lock_timeout = '50ms'")
        with pytest.raises(Exception, match="lock timeout"):
            rival.releases.roll_back(releases[1])
        uow.commit()
    assert current(tenant) == releases[1]


def held_models(tenant: Tenant, release_id: int) -> set[UUID]:
    with opened(tenant) as uow:
        return set(models_of(uow, release_id).values())


def test_two_removals_at_once_remove_everything_once(api: str, tenant: Tenant) -> None:
    releases = release_a_minute(api, tenant, 6)
    with opened(tenant) as uow:
        uow.old_releases.expire(1)
        uow.commit()
    totals = []
    with opened(tenant) as one:
        first = one.old_releases.remove_some(64)
        with opened(tenant) as rival:
            rival.connection.exec_driver_sql("SET LOCAL lock_timeout = '50ms'")
            with pytest.raises(Exception, match="lock timeout"):
                rival.old_releases.remove_some(64)
        one.commit()
    totals.append(first)
    totals.append(remove(tenant, kept=1))
    assert totals == [RemovalResult(1, 1), RemovalResult(4, 4)]
    assert listed(tenant) == releases[-1:]
    assert held_models(tenant, releases[-1])
