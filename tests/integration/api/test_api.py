"""Keys, endpoints, probes and problems of the API through HTTP."""

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import httpx
import pytest

from services.application.access.authenticate import Scope
from services.application.shared.jobs import KeyChanged, Notice, ReleaseChanged
from services.bootstrap import build_container
from services.observability.telemetry import create_logger
from services.queue.notices import CHANNEL, NoticeListener, encode
from tests.conditions import eventually
from tests.integration.models.test_releases import refresh
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant, serving
from tradewind.errors import Conflict
from tradewind.transfer import LinkKey
from tradewind.wire.inventory import NewEndpoint

PROBLEM = "application/problem+json"
SOONER_THAN_BY_ITSELF_S = 15.0
"""A snapshot is read again after 30 s in any case."""


@pytest.mark.parametrize("header", [None, "Bearer", "Bearer tw_wrong", "Basic dXNlcjpwYXNz", "Bearer tw_\xff"])
def test_a_missing_or_wrong_key_is_not_authenticated(api: str, header: str | None) -> None:
    answer = httpx.get(f"{api}/v1/links", headers={} if header is None else {"Authorization": header.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.headers["content-type"] == PROBLEM
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_new_key_works_within_its_scopes_until_it_is_revoked(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as operator:
        created = operator.post("/v1/keys", json={"name": "ci", "scopes": ["agent"]})
        assert created.status_code == 201
        secret = created.json()["secret"]
        assert secret.startswith(created.json()["prefix"])
        headers = {"Authorization": f"Bearer {secret}"}
        assert httpx.get(f"{api}/v1/links", headers=headers).status_code == 200
        assert httpx.get(f"{api}/v1/keys", headers=headers).status_code == 403
        listed = {each["id"]: each for each in operator.get("/v1/keys").json()}
        assert "secret" not in listed[created.json()["id"]]
        assert listed[created.json()["id"]]["last_used_at"] is not None
        assert operator.delete(f"/v1/keys/{created.json()['id']}").status_code == 204
        assert httpx.get(f"{api}/v1/links", headers=headers).status_code == 401
        assert operator.delete(f"/v1/keys/{uuid4()}").status_code == 404


def test_a_key_changed_in_one_process_is_forgotten_by_the_others(
    api: str, tenant: Tenant, database_url: str, redis_url: str
) -> None:
    with build_container(database_url=database_url, redis_url=redis_url) as other, serving(other) as elsewhere:
        with tenant.client(api) as operator:
            created = operator.post("/v1/keys", json={"name": "k", "scopes": ["agent"]}).json()
            headers = {"Authorization": f"Bearer {created['secret']}"}
            assert httpx.get(f"{elsewhere}/v1/links", headers=headers).status_code == 200
            assert other.keyring.recall(created["secret"]) is not None
            operator.delete(f"/v1/keys/{created['id']}")
            eventually(lambda: other.keyring.recall(created["secret"]) is None)
        assert httpx.get(f"{elsewhere}/v1/links", headers=headers).status_code == 401


def test_a_change_of_endpoints_is_heard_of_by_other_processes(
    api: str, tenant: Tenant, database_url: str, redis_url: str
) -> None:
    def listening() -> int:
        return tenant.parts.client.pubsub_numsub(CHANNEL)[0][1]

    def is_heard() -> bool:
        return other.snapshots.get_fresh(tenant.id) is None

    before = listening()
    with (
        build_container(database_url=database_url, redis_url=redis_url) as other,
        serving(other),
        tenant.client(api) as client,
    ):
        eventually(lambda: listening() > before)
        other.snapshots.load(tenant.id)
        created = client.post("/v1/endpoints", json={"name": "a"}).json()
        eventually(is_heard, patience_s=SOONER_THAN_BY_ITSELF_S)
        other.snapshots.load(tenant.id)
        client.patch(f"/v1/endpoints/{created['id']}", json={"aliases": ["b"]}).raise_for_status()
        eventually(is_heard, patience_s=SOONER_THAN_BY_ITSELF_S)


def test_notices_reach_every_listener(tenant: Tenant) -> None:
    heard: list[Notice] = []
    subscribed = threading.Event()
    listener = NoticeListener(
        tenant.parts.client, on_notice=heard.append, on_subscribed=subscribed.set, log=tenant.parts.log
    )
    listener.start()
    try:
        assert subscribed.wait(10)
        sent = [ReleaseChanged(tenant.id, 7), KeyChanged(tenant.id, uuid4())]
        with tenant.parts.store.unit_of_work(tenant.id) as uow:
            uow.publish(ReleaseChanged(tenant.id, 6))  # dropped: nothing is committed
        with tenant.parts.store.unit_of_work(tenant.id) as uow:
            for notice in sent:
                uow.publish(notice)
            uow.commit()
        eventually(lambda: len(heard) >= 2)
        assert heard == sent
    finally:
        listener.stop()


def test_a_notice_that_cannot_be_read_or_acted_on_is_logged_and_later_ones_are_heard(tenant: Tenant) -> None:
    heard: list[Notice] = []
    subscribed = threading.Event()
    output = io.StringIO()

    def on_notice(notice: Notice) -> None:
        heard.append(notice)
        if len(heard) == 1:
            raise RuntimeError("the first one fails")

    client = tenant.parts.client
    listener = NoticeListener(
        client, on_notice=on_notice, on_subscribed=subscribed.set, log=create_logger("api", output=output)
    )
    listener.start()
    try:
        assert subscribed.wait(10)
        sent: list[Notice] = [ReleaseChanged(tenant.id, 7), KeyChanged(tenant.id, uuid4())]
        for message in (b"{}", b"no JSON", b"[]", *(encode(notice) for notice in sent)):
            client.publish(CHANNEL, message)
        eventually(lambda: len(heard) == 2)
        assert heard == sent
    finally:
        listener.stop()
    assert output.getvalue().count('"notice.failed"') == 4


@pytest.mark.parametrize("scope", [Scope.AGENT, Scope.ANALYST])
def test_only_providers_and_operators_change_endpoints(api: str, tenant: Tenant, scope: Scope) -> None:
    with tenant.client(api, scope) as client:
        assert client.post("/v1/endpoints", json={"name": "a"}).status_code == 403


def test_an_endpoint_keeps_its_former_name_as_an_alias(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        created = client.post("/v1/endpoints", json={"name": "old", "aliases": ["x"]}).json()
        place = f"/v1/endpoints/{created['id']}"
        pairs = [{"destination": "far", "bandwidth_bps": 1e9, "rtt_s": None, "buffer_bytes": None}]
        changed = client.patch(place, json={"name": "new", "known_pairs": pairs}).json()
        assert (changed["name"], changed["aliases"], changed["known_pairs"]) == ("new", ["old", "x"], pairs)
        profile = {"idle_w": 40.0, "full_w": 90.0, "source": "data sheet"}
        assert client.patch(place, json={"power_profile": profile}).json()["power_profile"] == profile
        assert client.get(place).json()["known_pairs"] == pairs
        assert client.post("/v1/logs", content=ndjson([record(source="old")])).status_code == 201
        assert [link["source"] for link in client.get("/v1/links").json()] == ["new"]
        assert {each["name"] for each in client.get("/v1/endpoints").json()} == {"new", "far", "omega"}


def test_a_name_belongs_to_one_endpoint(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        client.post("/v1/endpoints", json={"name": "a", "aliases": ["b"]})
        for body in ({"name": "a"}, {"name": "b"}, {"name": "c", "aliases": ["b"]}, {"name": "d", "aliases": ["d"]}):
            assert client.post("/v1/endpoints", json=body).status_code == 409


def test_former_name_that_is_also_an_alias_is_stored_once(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        place = f"/v1/endpoints/{client.post('/v1/endpoints', json={'name': 'a'}).json()['id']}"
        renamed = client.patch(place, json={"name": "b", "aliases": ["a", "c"]})
        assert (renamed.status_code, renamed.json()["aliases"]) == (200, ["a", "c"])
        back = client.patch(place, json={"name": "a"}).json()
        assert (back["name"], back["aliases"]) == ("a", ["b", "c"])


@pytest.mark.parametrize(
    "change", [{"aliases": ["a"]}, {"aliases": ["b", "b"]}, {"name": "b", "aliases": ["b"]}, {"name": "taken"}]
)
def test_a_change_gives_no_name_twice(api: str, tenant: Tenant, change: dict[str, object]) -> None:
    with tenant.client(api) as client:
        place = f"/v1/endpoints/{client.post('/v1/endpoints', json={'name': 'a'}).json()['id']}"
        client.post("/v1/endpoints", json={"name": "taken"}).raise_for_status()
        assert client.patch(place, json=change).status_code == 409
        unchanged = client.get(place).json()
        assert (unchanged["name"], unchanged["aliases"]) == ("a", [])


def test_only_one_of_simultaneous_requests_gets_a_name(api: str, tenant: Tenant) -> None:
    bodies = [{"name": "a"}, {"name": "b", "aliases": ["a"]}] * 4

    def create(body: dict[str, object]) -> int:
        with tenant.client(api) as client:
            return client.post("/v1/endpoints", json=body).status_code

    with ThreadPoolExecutor(len(bodies)) as threads:
        statuses = list(threads.map(create, bodies))
    assert sorted(statuses) == [201, *[409] * 7]


def test_a_name_that_logs_bring_meanwhile_is_a_conflict(tenant: Tenant) -> None:
    with tenant.parts.store.unit_of_work(tenant.id) as logs, ThreadPoolExecutor(1) as threads:
        logs.links.resolve([LinkKey("a", "b", None, "rclone")])

        def create() -> None:
            with tenant.parts.store.unit_of_work(tenant.id) as uow:
                uow.endpoints.add(NewEndpoint(name="a"))

        creating = threads.submit(create)
        eventually(tenant.waits_for_a_lock)
        logs.commit()
        with pytest.raises(Conflict):
            creating.result()


def test_another_tenants_things_are_not_found(api: str, tenant: Tenant, database_url: str) -> None:
    with tenant.client(api) as owner:
        batch = owner.post("/v1/logs", content=ndjson([record()])).json()["batch_id"]
        endpoint = owner.get("/v1/endpoints").json()[0]["id"]
        link = owner.get("/v1/links").json()[0]["id"]
        key = owner.get("/v1/keys").json()[0]["id"]
        releases = [refresh(tenant)]
        assert owner.post("/v1/logs", content=ndjson([record(1)])).status_code == 201
        releases.append(refresh(tenant))
        cluster = owner.get(f"/v1/links/{link}/clusters").json()[0]["id"]
    with new_tenant(tenant.parts, database_url).client(api) as stranger:
        assert stranger.get(f"/v1/logs/batches/{batch}").status_code == 404
        assert stranger.get(f"/v1/endpoints/{endpoint}").status_code == 404
        assert stranger.patch(f"/v1/endpoints/{endpoint}", json={"name": "mine"}).status_code == 404
        assert stranger.get(f"/v1/links/{link}/clusters").status_code == 404
        assert stranger.get(f"/v1/clusters/{cluster}/surface").status_code == 404
        assert stranger.delete(f"/v1/keys/{key}").status_code == 404
        for release in releases:
            assert stranger.get(f"/v1/releases/{release}").status_code == 404
            assert stranger.post(f"/v1/releases/{release}/rollback").status_code == 404
        for noun in ("links", "endpoints", "releases"):
            assert stranger.get(f"/v1/{noun}").json() == []
    with tenant.client(api) as owner:  # the other tenant's attempts changed nothing
        assert owner.get(f"/v1/releases/{releases[-1]}").json()["current"]
        assert owner.get(f"/v1/clusters/{cluster}/surface").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "field"),
    [
        ("POST", "/v1/endpoints", {"name": "a", "colour": "red"}, 422, "colour"),
        ("POST", "/v1/endpoints", {}, 422, "name"),
        ("POST", "/v1/endpoints", {"name": "a\x00"}, 422, "name"),
        ("POST", "/v1/endpoints", {"name": "a", "known_pairs": [{"destination": "b", "rtt_s": -1}]}, 422,
         "known_pairs.0.rtt_s"),
        ("POST", "/v1/endpoints", [1], 422, "body"),
        ("POST", "/v1/keys", {"name": "k", "scopes": ["root"]}, 422, "scopes"),
        ("GET", "/v1/logs/batches/1", None, 422, "batch_id"),
        ("GET", "/v1/releases?limit=0", None, 422, "limit"),
        ("GET", "/v1/releases?limit=201", None, 422, "limit"),
        ("GET", "/v1/releases?before=99999999999999999999", None, 422, "before"),
        ("POST", "/v1/releases/0/rollback", None, 422, "release_id"),
        ("POST", "/v1/releases/99999999999999999999/rollback", None, 422, "release_id"),
    ],
)  # fmt: skip
def test_a_bad_request_names_the_field(
    api: str, tenant: Tenant, method: str, path: str, body: object, status: int, field: str
) -> None:
    with tenant.client(api) as client:
        answer = client.request(method, path, json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM)
    assert answer.json()["errors"][0]["field"] == field
    assert answer.json()["status"] == status


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"{", 422), (b"\xff", 400), (b"[" * 100_000, 400), (b'{"name": "\\ud800"}', 422), (b'{"name": NaN}', 422)],
    ids=range(5),
)
def test_a_body_that_is_no_json_is_a_problem(api: str, tenant: Tenant, content: bytes, status: int) -> None:
    with tenant.client(api) as client:
        answer = client.post("/v1/endpoints", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status
    assert answer.headers["content-type"] == PROBLEM


@pytest.mark.parametrize(
    ("content", "content_type", "reason"),
    [
        (b'{"name": }', "application/json", "is not valid JSON: Expecting value at character 9"),
        (b'{"name": "a"}', "application/x-www-form-urlencoded", "send it with Content-Type: application/json"),
        (b"[1]", "application/json", "must be a JSON object"),
        (b"\xff", "application/json", "send JSON in UTF-8"),
        (b"[" * 100_000, "application/json", "not nested deeply"),
    ],
)
def test_a_body_that_cannot_be_taken_says_how_it_must_be(
    api: str, tenant: Tenant, content: bytes, content_type: str, reason: str
) -> None:
    with tenant.client(api) as client:
        answer = client.post("/v1/endpoints", content=content, headers={"Content-Type": content_type})
    (wrong,) = answer.json()["errors"]
    assert wrong["field"] == "body"
    assert reason in wrong["reason"]


def test_a_body_that_is_too_large_is_refused(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        answer = client.post("/v1/endpoints", json={"name": "a" * 2_000_000})
    assert answer.status_code == 413
    assert answer.headers["content-type"] == PROBLEM


def test_an_unknown_path_or_method_is_a_problem(api: str) -> None:
    for answer, status in ((httpx.get(f"{api}/v1/nothing"), 404), (httpx.put(f"{api}/v1/logs"), 405)):
        assert answer.status_code == status
        assert answer.headers["content-type"] == PROBLEM


def test_probes_and_metrics_answer_without_a_key(api: str) -> None:
    assert httpx.get(f"{api}/healthz").json() == {"status": "ok"}
    assert httpx.get(f"{api}/readyz").json() == {"status": "ready"}
    metrics = httpx.get(f"{api}/metrics").text
    assert 'tradewind_requests_total{method="GET",route="/healthz",status="200"}' in metrics


def test_a_process_without_its_database_or_redis_is_alive_but_not_ready(database_url: str, redis_url: str) -> None:
    nowhere = "postgresql://tradewind_app@127.0.0.1:1/none"
    for database, queue in ((nowhere, redis_url), (database_url, "redis://127.0.0.1:1/0")):
        with build_container(database_url=database, redis_url=queue) as parts, serving(parts) as address:
            assert httpx.get(f"{address}/healthz").status_code == 200
            answer = httpx.get(f"{address}/readyz")
            assert (answer.status_code, answer.headers["content-type"]) == (503, PROBLEM)
            assert "retry-after" in answer.headers
            if database is nowhere:
                headers = {"Authorization": "Bearer tw_x"}
                assert httpx.get(f"{address}/v1/links", headers=headers).status_code == 503


def test_rows_are_stored_while_redis_is_away(tenant: Tenant, database_url: str) -> None:
    with (
        build_container(database_url=database_url, redis_url="redis://127.0.0.1:1/0") as parts,
        serving(parts) as address,
        tenant.client(address) as client,
    ):
        assert client.post("/v1/logs", content=ndjson([record()])).status_code == 201
