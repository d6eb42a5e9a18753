"""From uploaded logs to a release, by the use cases of the workers on real PostgreSQL."""

import math
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import event

from services.application.models.refresh import MAX_ATTEMPTS
from services.application.shared.events import LinkFitted, LinkRefused, ReleasePublished, ReleaseRefused
from services.application.shared.jobs import RefreshModels
from services.persistence.log_reader import LogReader
from tests.integration.models.refreshes import STALE_AFTER, Refreshes, rows, upload
from tests.records import record
from tests.stack import Tenant


def test_uploaded_logs_become_the_current_release(api: str, tenant: Tenant, logs: LogReader) -> None:
    upload(api, tenant, rows(200))
    release = Refreshes(tenant, logs).run()
    assert release is not None
    with tenant.client(api) as client:
        (link,) = client.get("/v1/links").json()
        assert link["release"] == release
        (cluster,) = client.get(f"/v1/links/{link['id']}/clusters").json()
        assert cluster["rows"] == 200
        assert cluster["accuracy"]["throughput.accuracy"] > 0.8
        surface = client.get(f"/v1/clusters/{cluster['id']}/surface").json()
    assert math.prod(len(values) for values in surface["axes"].values()) == len(surface["log_throughput_mean"])
    assert surface["power_w_mean"] is not None
    assert {p["kind"] for p in surface["partitions"]} >= {"max_throughput", "min_energy", "throughput_at_least"}


def test_a_task_that_is_delivered_twice_does_nothing_the_second_time(api: str, tenant: Tenant, logs: LogReader) -> None:
    upload(api, tenant, rows())
    fixture = Refreshes(tenant, logs)
    first = fixture.run()
    (job,) = fixture.fits()
    fixture.refresh.fit(job)
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.releases.find_current() == first
        assert len(uow.releases.list_page(limit=2)) == 1


def test_only_links_with_new_logs_are_fitted_again(api: str, tenant: Tenant, logs: LogReader) -> None:
    upload(api, tenant, rows() + rows(destination="psi", seed=2))
    fixture = Refreshes(tenant, logs)
    fixture.run()
    assert len(fixture.fits()) == 2
    upload(api, tenant, rows(20, seed=3, first_minute=100))
    second = fixture.run()
    assert len(fixture.fits()) == 1
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.releases.get(second).links == 2
        assert uow.releases.get(second).gate["carried_over"] == 1


def test_a_link_that_cannot_be_fitted_says_why_and_stops_no_other(api: str, tenant: Tenant, logs: LogReader) -> None:
    constant = [record(i, destination="psi") for i in range(30)]
    upload(api, tenant, rows() + constant)
    release = Refreshes(tenant, logs).run()
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.releases.get(release).gate == {
            "passed": 1,
            "carried_over": 0,
            "kept_previous": 0,
            "without_model": 1,
        }
        assert uow.releases.get(release).links == 1
    with tenant.client(api) as client:
        fitted, unfitted = sorted(client.get("/v1/links").json(), key=lambda link: link["clusters"], reverse=True)
    assert (fitted["reason"], fitted["release"]) == (None, release)
    assert (unfitted["destination"], unfitted["release"]) == ("psi", None)
    assert unfitted["reason"]


def test_row_of_more_bytes_than_a_float_counts_exactly_stops_no_fit(api: str, tenant: Tenant, logs: LogReader) -> None:
    absurd = record(300, destination="psi")
    absurd["outcome"] |= {"bytes_moved": 2**63 - 1}
    absurd["dataset"] = {"file_count": 2**63 - 1, "total_bytes": 2**63 - 1}
    upload(api, tenant, [*rows(200), absurd, absurd | {"id": str(uuid4()), "destination": "omega"}])
    release = Refreshes(tenant, logs).run()
    with tenant.client(api) as client:
        (link,) = (each for each in client.get("/v1/links").json() if each["destination"] == "omega")
        assert link["release"] == release
        accuracies = [each["accuracy"] for each in client.get(f"/v1/links/{link['id']}/clusters").json()]
    assert max(each["throughput.accuracy"] for each in accuracies) > 0.8


def test_refresh_reports_its_events_after_the_commit(api: str, tenant: Tenant, logs: LogReader) -> None:
    fixture = Refreshes(tenant, logs)
    upload(api, tenant, rows() + [record(i, destination="psi") for i in range(30)])
    release = fixture.run()
    refused, fitted = sorted(fixture.facts[:2], key=lambda fact: isinstance(fact, LinkFitted))
    assert isinstance(refused, LinkRefused)
    assert "vary at least one parameter" in refused.reason
    assert isinstance(fitted, LinkFitted)
    assert (fitted.rows, fitted.verdict.passed) == (60, True)
    (published,) = fixture.facts[2:]
    assert isinstance(published, ReleasePublished)
    assert (published.release_id, published.outcomes["passed"], published.outcomes["without_model"]) == (release, 1, 1)


def test_a_second_refresh_waits_for_its_interval(api: str, tenant: Tenant, logs: LogReader) -> None:
    fixture = Refreshes(tenant, logs, interval=timedelta(minutes=5))
    upload(api, tenant, rows())
    first = fixture.run()
    upload(api, tenant, rows(20, seed=3, first_minute=100))
    assert fixture.run() == first
    assert fixture.fits() == []
    fixture.time += timedelta(minutes=5)
    assert fixture.run() != first


def test_a_release_without_models_makes_new_logs_wait_for_nothing(api: str, tenant: Tenant, logs: LogReader) -> None:
    fixture = Refreshes(tenant, logs, interval=timedelta(minutes=5))
    upload(api, tenant, rows(3))
    empty = fixture.run()
    upload(api, tenant, rows(60, seed=3, first_minute=100))
    assert fixture.run() != empty
    assert isinstance(fixture.facts[-2], LinkFitted)


def test_jobs_lost_after_the_commit_are_sent_again_by_the_sweep(api: str, tenant: Tenant, logs: LogReader) -> None:
    upload(api, tenant, rows())
    fixture = Refreshes(tenant, logs)
    fixture.refresh.start(RefreshModels(tenant.id))
    assert len(fixture.fits()) == 1
    fixture.sent.clear()  # lost on the way
    assert tenant.id in tenant.parts.store.registry.list_tenants_with_work()
    fixture.refresh.start(RefreshModels(tenant.id))
    assert fixture.fits() == []
    fixture.time += STALE_AFTER
    assert fixture.run() is not None
    assert tenant.id not in tenant.parts.store.registry.list_tenants_with_work()


def test_retries_are_no_attempts_of_their_own_and_keep_the_sweep_away(
    api: str, tenant: Tenant, logs: LogReader
) -> None:
    upload(api, tenant, rows())
    fixture = Refreshes(tenant, logs)
    fixture.refresh.start(RefreshModels(tenant.id))
    (job,) = fixture.fits()
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        started = uow.release_work.start_attempt
        # The database was away when it was to be counted.
        assert started(job.release_id, job.link_id, fixture.time, is_retry=True) == 1
        for _ in range(MAX_ATTEMPTS):
            fixture.time += STALE_AFTER
            assert started(job.release_id, job.link_id, fixture.time, is_retry=True) == 1
        assert uow.release_work.find_last_activity(job.release_id) == fixture.time
        uow.commit()
    fixture.sent.clear()
    fixture.refresh.start(RefreshModels(tenant.id))
    assert fixture.fits() == []
    fixture.refresh.fit(job, is_retry=True)
    assert tenant.id not in tenant.parts.store.registry.list_tenants_with_work()


def test_a_link_that_kills_its_workers_is_given_up(api: str, tenant: Tenant, logs: LogReader) -> None:
    upload(api, tenant, rows() + rows(destination="psi", seed=2))
    fixture = Refreshes(tenant, logs)
    fixture.refresh.start(RefreshModels(tenant.id))
    deadly, harmless = fixture.fits()
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        for _ in range(MAX_ATTEMPTS):
            uow.release_work.start_attempt(deadly.release_id, deadly.link_id, fixture.time)
        uow.commit()
    fixture.refresh.fit(deadly)
    fixture.refresh.fit(harmless)
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.releases.get(deadly.release_id).gate["without_model"] == 1
        assert uow.releases.find_current() == deadly.release_id


def test_the_rows_of_a_shared_endpoint_are_counted_and_read_once_a_release(
    api: str, tenant: Tenant, logs: LogReader
) -> None:
    upload(api, tenant, [row for n in range(3) for row in rows(seed=n, destination=f"site {n}")])
    counted, read = [], []

    def note(_connection, _cursor, statement, parameters, *_):
        if "date_trunc" in statement or "SELECT endpoint_curves.times_s" in statement:
            end_id = next(value for value in parameters.values() if isinstance(value, UUID))
            (counted if "date_trunc" in statement else read).append(end_id)

    engine = tenant.parts.store._engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        Refreshes(tenant, logs).run()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    assert len(counted) == len(set(counted)) == 4
    assert sorted(read) == sorted(counted)


def test_links_that_share_a_busy_end_are_fitted_one_after_the_other(api: str, tenant: Tenant, logs: LogReader) -> None:
    by_way = {"source": "hub"}, {"destination": "other hub"}
    made = [
        row | end | {"source" if "destination" in end else "destination": f"site {n}"}
        for n in range(3)
        for end in by_way
        for row in rows(20, seed=n)
    ]
    upload(api, tenant, [row | {"id": str(UUID(int=n + 1))} for n, row in enumerate(made)])
    fixture = Refreshes(tenant, logs)
    fixture.refresh.start(RefreshModels(tenant.id))
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        keys = {link.id: link.key for link in uow.links.list_all()}
    hubs = [keys[job.link_id].source == "hub" for job in fixture.fits()]
    assert len(hubs) == 6
    assert hubs in (sorted(hubs), sorted(hubs, reverse=True))


def test_logs_that_come_later_are_known_load_of_the_next_release(api: str, tenant: Tenant, logs: LogReader) -> None:
    fixture = Refreshes(tenant, logs)
    upload(api, tenant, rows())
    fixture.run()
    upload(api, tenant, rows(20, seed=3, destination="psi"))
    fixture.run()
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        omega = next(link for link in uow.links.list_all() if link.key.destination == "omega")
        span = uow.links.find_span(omega.id)
        (at_source,), (at_destination,) = (
            uow.curves.sum_during(end, span).read() for end in (omega.source_id, omega.destination_id)
        )
    assert sum(step for step in at_source.rate_steps if step > 0) > sum(
        step for step in at_destination.rate_steps if step > 0
    )


def test_only_months_in_which_a_link_moved_anything_are_read_for_it(api: str, tenant: Tenant, logs: LogReader) -> None:
    a_month = 31 * 24 * 60
    upload(api, tenant, rows(destination="psi", first_minute=-a_month) + rows() + rows(first_minute=a_month, seed=2))
    Refreshes(tenant, logs).run()
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        by_name = {link.key.destination: link for link in uow.links.list_all()}
        source_id = by_name["psi"].source_id
        read = {
            name: len(uow.curves.sum_during(source_id, uow.links.find_span(link.id)).read())
            for name, link in by_name.items()
        }
    assert read == {"psi": 1, "omega": 2}


def test_rollback_under_way_restarts_the_refresh(api: str, tenant: Tenant, logs: LogReader) -> None:
    fixture = Refreshes(tenant, logs)
    upload(api, tenant, rows())
    first = fixture.run()
    upload(api, tenant, rows(20, seed=3, first_minute=100))
    fixture.run()
    upload(api, tenant, rows(20, seed=4, first_minute=200))
    fixture.sent.clear()
    fixture.refresh.start(RefreshModels(tenant.id))
    with tenant.client(api) as client:
        assert client.post(f"/v1/releases/{first}/rollback").status_code == 200
    for job in fixture.fits():
        fixture.refresh.fit(job)
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.releases.find_current() == first
    assert isinstance(fixture.facts[-1], ReleaseRefused)
    assert fixture.run() not in {None, first}


@pytest.mark.parametrize("whole_too", [False, True])
def test_total_of_a_chunked_transfer_is_not_learned_with_its_chunks(
    api: str, tenant: Tenant, logs: LogReader, *, whole_too: bool
) -> None:
    made = rows(40)
    for i, row in enumerate(made):
        row |= {"chunk": "small", "transfer_id": str(UUID(int=1000 + i))}
    wholes = [row | {"id": str(UUID(int=9000 + i)), "chunk": "whole"} for i, row in enumerate(made)]
    upload(api, tenant, made + wholes if whole_too else made)
    Refreshes(tenant, logs).run()
    with tenant.client(api) as client:
        (link,) = client.get("/v1/links").json()
        (cluster,) = client.get(f"/v1/links/{link['id']}/clusters").json()
    assert cluster["rows"] == 40
