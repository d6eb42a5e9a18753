"""Releases on real PostgreSQL: built link by link, current at one stroke, rolled back at one stroke."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import pytest
from sqlalchemy.exc import IntegrityError

from services.application.models.learned_model import Tier
from services.application.models.manage_releases import roll_back
from services.persistence.unit_of_work import UnitOfWork
from tests.link_models import FITTED_AT, VERDICT, link_model
from tests.records import ndjson, record
from tests.stack import Tenant
from tradewind.errors import Conflict, NotFound


def upload(api: str, tenant: Tenant, minute: int, destinations: Sequence[str] = ("omega",)) -> None:
    rows = [record(minute + n, destination=name) for n, name in enumerate(destinations)]
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=ndjson(rows)).status_code == 201


def opened(tenant: Tenant) -> UnitOfWork:
    return tenant.parts.store.unit_of_work(tenant.id)


def begin(tenant: Tenant) -> int | None:
    with opened(tenant) as uow:
        release_id = uow.release_work.begin(FITTED_AT)
        uow.commit()
    return release_id


def fit(tenant: Tenant, release_id: int, link_id: UUID) -> None:
    tiers = [[Tier(uuid4()), Tier(uuid4(), needs_review=True)] for _ in range(2)]
    with opened(tenant) as uow:
        assert uow.release_work.start_attempt(release_id, link_id, FITTED_AT) == 1
        uow.commit()
    with opened(tenant) as uow:
        assert uow.release_work.claim(release_id, link_id) is not None
        model_id = uow.models.add(link_id, link_model(), tiers, fitted_at=FITTED_AT)
        uow.release_work.finish(release_id, link_id, model_id, VERDICT, FITTED_AT)
        uow.commit()


def publish(tenant: Tenant, release_id: int) -> None:
    with opened(tenant) as uow:
        uow.releases.publish(release_id, {"accuracy": 0.9}, FITTED_AT)
        uow.commit()


def refresh(tenant: Tenant) -> int:
    release_id = begin(tenant)
    assert release_id is not None
    with opened(tenant) as uow:
        pending = uow.release_work.list_pending(release_id)
    for link_id in pending:
        fit(tenant, release_id, link_id)
    publish(tenant, release_id)
    return release_id


def current(tenant: Tenant) -> int | None:
    with opened(tenant) as uow:
        return uow.releases.find_current()


def models_of(uow: UnitOfWork, release_id: int) -> dict[UUID, UUID]:
    return {link_id: indexed.id for link_id, indexed in uow.models.index(release_id).items()}


def test_a_model_is_read_back_as_it_was_written(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    release_id = refresh(tenant)
    with opened(tenant) as uow:
        (indexed,) = uow.models.index(release_id).values()
        stored = uow.models.get(indexed.id)
    assert stored.model() == link_model()
    assert indexed.leaves == tuple(leaf.leaf for leaf in link_model().leaves)
    assert indexed.powered == (True, False)
    assert [tier.needs_review for tier in stored.leaves[0].tiers] == [False, True]


def test_two_tiers_of_a_model_never_share_an_id(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    release_id = begin(tenant)
    assert release_id is not None
    shared = [Tier(uuid4()), Tier(uuid4())]
    with opened(tenant) as uow:
        (link_id,) = uow.release_work.list_pending(release_id)
        with pytest.raises(IntegrityError, match="sla_partitions_link_model_id_tier_id_idx"):
            uow.models.add(link_id, link_model(), [shared, shared], fitted_at=FITTED_AT)


def test_model_outline_agrees_with_the_full_model(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    release_id = refresh(tenant)
    with opened(tenant) as uow:
        (link_id,) = uow.models.index(release_id)
        outline = uow.models.find_outline(release_id, link_id)
        lowest = dict(uow.models.find_lowest_settings(release_id, [link_id, uuid4()]))
        fit = uow.models.find_last_fit(release_id, link_id)
        assert uow.models.find_outline(release_id, uuid4()) is None
    leaves = link_model().leaves
    assert outline is not None
    assert [each.leaf for each in outline.clusters] == [leaf.leaf for leaf in leaves]
    assert [each.settings_seen for each in outline.clusters] == [len(leaf.observed) for leaf in leaves]
    assert [each.fastest_bps for each in outline.clusters] == [
        leaf.table.find_certifiable_throughput_bps(0.9) for leaf in leaves
    ]
    settings = [leaf.table.settings[0] for leaf in leaves]
    assert {(each.log_throughput_mean, each.log_power_mean) for each in lowest.pop(link_id)} == {
        (each.log_throughput_mean, each.log_power_mean) for each in settings
    }
    assert not lowest
    assert fit.verdict is not None
    assert fit.verdict["accuracy"] == VERDICT.accuracy


def test_a_release_has_nothing_to_do_without_new_logs(api: str, tenant: Tenant) -> None:
    assert begin(tenant) is None
    upload(api, tenant, 0)
    refresh(tenant)
    assert begin(tenant) is None


def test_only_links_with_new_logs_are_fitted_and_the_others_carried_over(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0, ["omega", "psi"])
    first = refresh(tenant)
    upload(api, tenant, 10, ["psi"])
    second = begin(tenant)
    assert second is not None
    with opened(tenant) as uow:
        (pending,) = uow.release_work.list_pending(second)
        assert uow.links.get(pending).key.destination == "psi"
    fit(tenant, second, pending)
    publish(tenant, second)
    with opened(tenant) as uow:
        before, after = models_of(uow, first), models_of(uow, second)
    assert before.keys() == after.keys()
    assert {link_id for link_id in before if before[link_id] != after[link_id]} == {pending}


def test_logs_that_come_while_the_work_list_is_made_do_not_drop_their_link(
    api: str, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(api, tenant, 0, ["omega", "psi"])
    first = refresh(tenant)
    upload(api, tenant, 10, ["psi"])
    with opened(tenant) as uow:
        is_complete = uow.release_work.is_complete

        def none_is_due(release_id: int) -> bool:
            upload(api, tenant, 20, ["omega"])
            return is_complete(release_id)

        monkeypatch.setattr(uow.release_work, "is_complete", none_is_due)
        second = uow.release_work.begin(FITTED_AT)
        uow.commit()
    assert second is not None
    with opened(tenant) as uow:
        (psi,) = uow.release_work.list_pending(second)
    fit(tenant, second, psi)
    publish(tenant, second)
    with opened(tenant) as uow:
        assert models_of(uow, second).keys() == models_of(uow, first).keys()
    third = begin(tenant)
    assert third is not None
    with opened(tenant) as uow:
        (waiting,) = uow.release_work.list_pending(third)
        assert uow.links.get(waiting).key.destination == "omega"


def test_starting_twice_gives_the_same_release(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    assert begin(tenant) == begin(tenant)


def test_a_claimed_link_is_nobody_elses_until_the_transaction_ends(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    release_id = begin(tenant)
    assert release_id is not None
    with opened(tenant) as uow, opened(tenant) as rival:
        (link_id,) = uow.release_work.list_pending(release_id)
        assert uow.release_work.claim(release_id, link_id) is not None
        assert rival.release_work.claim(release_id, link_id) is None
    with opened(tenant) as uow:  # the worker died: its transaction is gone, the link is free
        assert uow.release_work.claim(release_id, link_id) is not None


def test_a_link_that_cannot_be_fitted_keeps_its_current_model(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    first = refresh(tenant)
    upload(api, tenant, 10)
    second = begin(tenant)
    assert second is not None
    with opened(tenant) as uow:
        (link_id,) = uow.release_work.list_pending(second)
        uow.release_work.fail(second, link_id, "too few rows", None, FITTED_AT)
        uow.commit()
    publish(tenant, second)
    with opened(tenant) as uow:
        assert models_of(uow, second) == models_of(uow, first)
    assert begin(tenant) is None
    upload(api, tenant, 20, ["another"])
    third = refresh(tenant)
    with opened(tenant) as uow:
        assert uow.models.list_reasons(second) == uow.models.list_reasons(third) == {link_id: "too few rows"}


def test_reason_for_a_missing_model_is_shown_until_there_is_one(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    first = begin(tenant)
    assert first is not None
    with opened(tenant) as uow:
        (link_id,) = uow.release_work.list_pending(first)
        uow.release_work.fail(first, link_id, "too few rows", None, FITTED_AT)
        uow.commit()
    publish(tenant, first)
    for minute in (10, 20):
        upload(api, tenant, minute, ["another"])
        later = refresh(tenant)
        with opened(tenant) as uow:
            assert uow.models.list_reasons(later) == {link_id: "too few rows"}
            assert uow.release_work.count_outcomes(later) == {
                "passed": 1,
                "carried_over": 0,
                "kept_previous": 0,
                "without_model": 1,
            }
            assert uow.releases.get(later).links == 1
    upload(api, tenant, 30)
    fitted = refresh(tenant)
    with opened(tenant) as uow:
        assert uow.models.list_reasons(fitted) == {}
    with tenant.client(api) as client:
        assert {link["reason"] for link in client.get("/v1/links").json()} == {None}


def test_a_release_with_pending_links_is_not_published(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    release_id = begin(tenant)
    assert release_id is not None
    with pytest.raises(Conflict, match="not fitted yet"):
        publish(tenant, release_id)
    assert current(tenant) is None


def test_publishing_again_changes_nothing(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    release_id = refresh(tenant)
    publish(tenant, release_id)
    assert current(tenant) == release_id


def test_rollback_of_the_current_release_returns_to_its_parent(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    first = refresh(tenant)
    upload(api, tenant, 10)
    second = refresh(tenant)
    with tenant.client(api) as client:
        answer = client.post(f"/v1/releases/{second}/rollback")
        assert answer.status_code == 200
        assert (answer.json()["id"], answer.json()["current"]) == (first, True)
        states = {each["id"]: each["state"] for each in client.get("/v1/releases").json()}
        assert states == {first: "published", second: "rolled_back"}
        assert client.post(f"/v1/releases/{first}/rollback").status_code == 409
        assert client.post(f"/v1/releases/{second}/rollback").status_code == 409
    assert current(tenant) == first


def test_rollback_to_an_earlier_release_skips_those_between(api: str, tenant: Tenant) -> None:
    releases = []
    for minute in (0, 10, 20):
        upload(api, tenant, minute)
        releases.append(refresh(tenant))
    with tenant.client(api) as client:
        assert client.post(f"/v1/releases/{releases[0]}/rollback").json()["id"] == releases[0]
        states = [each["state"] for each in client.get("/v1/releases").json()]
    assert states == ["rolled_back", "rolled_back", "published"]


def test_releases_are_listed_page_by_page(api: str, tenant: Tenant) -> None:
    releases = []
    for minute in (0, 10, 20, 30, 40):
        upload(api, tenant, minute)
        releases.append(refresh(tenant))
    newest_first = releases[::-1]
    with tenant.client(api) as client:
        whole = client.get("/v1/releases").json()
        assert [each["id"] for each in whole] == newest_first
        assert [each["current"] for each in whole] == [True, False, False, False, False]
        assert {(each["links"], each["clusters"]) for each in whole} == {(1, 2)}
        pages, before = [], {}
        while page := client.get("/v1/releases", params={"limit": 2, **before}).json():
            pages.append([each["id"] for each in page])
            before = {"before": pages[-1][-1]}
    assert pages == [newest_first[:2], newest_first[2:4], newest_first[4:]]


def test_a_release_built_on_one_that_was_rolled_back_is_not_published(api: str, tenant: Tenant) -> None:
    for minute in (0, 10):
        upload(api, tenant, minute)
        last = refresh(tenant)
    upload(api, tenant, 20)
    building = begin(tenant)
    assert building is not None
    with opened(tenant) as uow:
        (link_id,) = uow.release_work.list_pending(building)
    fit(tenant, building, link_id)
    with opened(tenant) as uow:
        roll_back(last, uow=uow)
    with pytest.raises(Conflict, match="was built on"):
        publish(tenant, building)
    with opened(tenant) as uow:
        uow.releases.abandon(building, {"reason": "rolled back"})
        uow.commit()
    assert begin(tenant) not in (None, building)


def test_rollback_drops_what_was_to_be_sent(api: str, tenant: Tenant) -> None:
    with opened(tenant) as uow, pytest.raises(NotFound):
        roll_back(2**40, uow=uow)
    assert current(tenant) is None


def test_links_clusters_and_surfaces_are_read_through_the_api(api: str, tenant: Tenant) -> None:
    upload(api, tenant, 0)
    with tenant.client(api) as client:
        (link,) = client.get("/v1/links").json()
        assert (link["clusters"], link["release"], link["rows"]) == (0, None, 1)
        assert client.get(f"/v1/links/{link['id']}/clusters").json() == []
        release_id = refresh(tenant)
        (link,) = client.get("/v1/links").json()
        assert (link["clusters"], link["release"], link["bandwidth_bps"]) == (2, release_id, 1e9)
        metered, unmetered = client.get(f"/v1/links/{link['id']}/clusters").json()
        surface = client.get(f"/v1/clusters/{metered['id']}/surface").json()
        assert surface["axes"] == {"concurrency": [1, 2, 4], "parallelism": [1, 2]}
        assert len(surface["log_throughput_mean"]) == len(surface["power_w_mean"]) == 6
        assert len(surface["partitions"]) == 2
        assert client.get(f"/v1/clusters/{unmetered['id']}/surface").json()["power_w_mean"] is None
        assert client.get(f"/v1/clusters/{uuid4()}/surface").status_code == 404
        assert client.get(f"/v1/links/{uuid4()}/clusters").status_code == 404
