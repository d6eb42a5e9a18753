"""A transfer belongs to the API key that began it: no other customer of the tenant steers, ends, bills or reads it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import httpx
import pytest
import redis

from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import revoke_key
from services.bootstrap import Container
from services.queue.quote_recorder import QUOTES
from services.queue.sessions import JOURNAL
from tests.conditions import eventually
from tests.integration.api.test_devices_api import PROFILE
from tests.integration.billing.quotes import (
    SEEN,
    journalled,
    logged,
    outcome,
    publish_book,
    quoted,
    statement,
    store,
    valkey,
)
from tests.integration.live_transfers import Transfer, learned
from tests.integration.transfers.test_journal import Journal
from tests.integration.transfers.test_transfers_api import complete, completion
from tests.records import ndjson, record
from tests.stack import Tenant

__all__ = ["learned", "store", "valkey"]


class Customer:
    """An agent key of its own name, and a client with it."""

    def __init__(self, client: httpx.Client, key_id: UUID, name: str) -> None:
        self.client, self.key_id, self.name = client, key_id, name


NewCustomer = Callable[..., Customer]


@pytest.fixture
def new_customer(api: str, learned: Tenant, parts: Container) -> Iterator[NewCustomer]:
    with ExitStack() as closing:

        def new(name: str | None = None) -> Customer:
            name = name or f"customer {uuid4()}"
            with parts.store.unit_of_work(learned.id) as uow:
                # Two keys of one name are refused now; a tenant may have them from before.
                secret, at = make_secret(), parts.clock.now()
                key = uow.keys.add(
                    name=name,
                    prefix=secret.prefix,
                    secret_sha256=secret.sha256,
                    scopes=[Scope.AGENT],
                    weight=1.0,
                    rate_factor=1.0,
                    at=at,
                )
                uow.commit()
            headers = {"Authorization": f"Bearer {secret.secret}"}
            client = closing.enter_context(httpx.Client(base_url=api, headers=headers, timeout=60))
            return Customer(client, key.id, name)

        yield new


@pytest.fixture
def owner(new_customer: NewCustomer) -> Customer:
    return new_customer()


@pytest.fixture
def rival(new_customer: NewCustomer) -> Customer:
    return new_customer()


@pytest.fixture
def revoke(learned: Tenant, parts: Container) -> Callable[[Customer], None]:
    def revoke_of(customer: Customer) -> None:
        with parts.store.unit_of_work(learned.id) as uow:
            revoke_key(customer.key_id, uow=uow, clock=parts.clock)

    return revoke_of


@pytest.fixture
def heartbeats(redis_url: str) -> Iterator[redis.Redis]:
    """The store, whose journal has the heartbeats of this test alone."""
    with redis.Redis.from_url(redis_url) as opened:
        opened.delete(JOURNAL)
        yield opened


@pytest.fixture(scope="module")
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api, Scope.PROVIDER) as opened:
        publish_book(opened)
        yield opened


def billed(provider: httpx.Client, customer: Customer) -> list[int]:
    """Transfers of each line that the customer is billed for."""
    mine = [each for each in statement(provider) if each["key"] == customer.name]
    return [line["transfers"] for each in mine for line in each["billed"]]


def flushed(redis_url: str) -> None:
    """Lose the store of sessions, as a restart without its file does."""
    with redis.Redis.from_url(redis_url) as opened:
        for key in opened.scan_iter("tradewind:session:*"):
            opened.delete(key)


def test_another_key_does_not_steer_a_live_transfer(owner: Customer, rival: Customer) -> None:
    mine = Transfer(owner.client)
    mine.beat(0)
    for sequence in (0, 1, 7):
        assert mine.send(mine.body(sequence), rival.client).status_code == 409
    assert mine.beat(1)["sequence"] == 1


def test_another_key_does_not_take_over_a_transfer_whose_session_was_lost(
    owner: Customer, rival: Customer, parts: Container, heartbeats: redis.Redis, redis_url: str
) -> None:
    mine = Transfer(owner.client)
    mine.beat(0)
    Journal(parts, heartbeats).run()
    flushed(redis_url)
    for sequence in (0, 1):
        assert mine.send(mine.body(sequence), rival.client).status_code == 409
    assert mine.beat(1)["sequence"] == 1


def test_a_transfer_that_was_quoted_belongs_to_whom_it_was_quoted_to(
    owner: Customer, rival: Customer, provider: httpx.Client, parts: Container, store: redis.Redis
) -> None:
    mine = Transfer(owner.client, dataset=SEEN["dataset"])
    journalled(parts, store, mine.recommended)
    assert mine.send(mine.body(0), rival.client).status_code == 409
    refused = rival.client.post(f"/v1/transfers/{mine.id}/complete", json=completion(mine.id))
    assert refused.status_code == 409
    assert mine.beat(0)["granted"] is True


def test_a_transfer_belongs_to_whom_it_was_quoted_to_before_the_quote_is_stored(
    owner: Customer, rival: Customer, provider: httpx.Client
) -> None:
    mine = Transfer(owner.client, dataset=SEEN["dataset"])
    refused = rival.client.post(f"/v1/transfers/{mine.id}/complete", json=completion(mine.id))
    assert refused.status_code == 409
    assert mine.send(mine.body(0), rival.client).status_code == 409
    assert mine.beat(0)["granted"] is True


def test_a_live_transfer_comes_back_to_whom_it_was_quoted_to_once_the_quote_is_stored(
    owner: Customer, rival: Customer, provider: httpx.Client, parts: Container, store: redis.Redis
) -> None:
    mine = Transfer(owner.client, dataset=SEEN["dataset"])
    eventually(lambda: str(mine.id) in str(store.xrange(QUOTES)))
    store.delete(*store.keys("tradewind:quoted:*"))  # as if the store had been away
    assert mine.send(mine.body(0), rival.client).status_code == 200
    journalled(parts, store, mine.recommended)
    assert mine.beat(0)["granted"] is True
    assert mine.send(mine.body(1), rival.client).status_code == 409
    assert mine.beat(1)["sequence"] == 1


def test_a_log_of_another_key_neither_ends_nor_bills_a_transfer(
    owner: Customer, rival: Customer, provider: httpx.Client, parts: Container, store: redis.Redis
) -> None:
    made = quoted(owner.client)
    journalled(parts, store, made)
    now = datetime.now(UTC)
    forged = record(
        transfer_id=made["transfer_id"],
        quote=made["sla"]["price"]["quote"],
        started_at=(now - timedelta(minutes=3)).isoformat(),
        ended_at=now.isoformat(),
    )
    refused = rival.client.post("/v1/logs", content=ndjson([forged]))
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "transfer_id")
    assert (billed(provider, owner), billed(provider, rival)) == ([], [])
    logged(owner.client, made, **outcome("failed"))
    assert billed(provider, owner) == []


def test_a_log_that_came_before_the_quote_was_known_bills_nobody_else(
    owner: Customer, rival: Customer, provider: httpx.Client, parts: Container, store: redis.Redis
) -> None:
    made = quoted(owner.client)
    logged(rival.client, made)
    journalled(parts, store, made)
    assert billed(provider, owner) == []
    logged(owner.client, made)
    assert billed(provider, owner) == [1]


def test_a_log_of_last_month_by_another_key_does_not_take_a_transfer_off_the_bill(
    owner: Customer, rival: Customer, provider: httpx.Client, parts: Container, store: redis.Redis
) -> None:
    made = quoted(owner.client)
    began = datetime.now(UTC).replace(day=1) - timedelta(days=2)
    logged(
        rival.client,
        made,
        started_at=began.isoformat(),
        ended_at=(began + timedelta(minutes=2)).isoformat(),
        quote=None,
    )
    journalled(parts, store, made)
    logged(owner.client, made)
    assert billed(provider, owner) == [1]


def test_a_provider_uploads_logs_for_its_customers(
    owner: Customer, api: str, learned: Tenant, provider: httpx.Client, parts: Container, store: redis.Redis
) -> None:
    made = quoted(owner.client)
    journalled(parts, store, made)
    with learned.client(api, Scope.AGENT, Scope.PROVIDER) as collecting:
        logged(collecting, made)
    assert billed(provider, owner) == [1]


def test_revoked_key_is_not_billed_for_an_upload_of_another_customer(
    owner: Customer,
    rival: Customer,
    new_customer: NewCustomer,
    revoke: Callable[[Customer], None],
    provider: httpx.Client,
    parts: Container,
    store: redis.Redis,
) -> None:
    made = quoted(owner.client)
    journalled(parts, store, made)
    revoke(owner)
    refused = rival.client.post("/v1/logs", content=ndjson([completion(made["transfer_id"])["records"][0]]))
    assert refused.status_code == 422
    assert billed(provider, owner) == []
    logged(new_customer(owner.name).client, made)
    assert billed(provider, owner) == [1]


def test_a_new_key_of_the_same_name_goes_on_with_a_live_transfer(
    owner: Customer, rival: Customer, new_customer: NewCustomer, revoke: Callable[[Customer], None]
) -> None:
    mine = Transfer(owner.client)
    mine.beat(0)
    after = new_customer(owner.name)
    assert mine.send(mine.body(1), after.client).status_code == 409
    revoke(owner)
    assert mine.send(mine.body(1), rival.client).status_code == 409
    assert mine.beat(1, client=after.client)["sequence"] == 1


def test_a_customer_reads_its_own_transfers_alone(
    owner: Customer, rival: Customer, api: str, learned: Tenant, parts: Container, heartbeats: redis.Redis
) -> None:
    ended, live = Transfer(owner.client), Transfer(owner.client)
    complete(owner.client, ended.id, completion(ended.id))
    live.beat(0)
    for each in (ended, live):
        assert rival.client.get(f"/v1/transfers/{each.id}").status_code == 404
        assert owner.client.get(f"/v1/transfers/{each.id}").status_code == 200
    Journal(parts, heartbeats).run()
    with learned.client(api, Scope.ANALYST) as analyst:
        seen = {
            whose: {each["transfer_id"] for each in client.get("/v1/transfers").raise_for_status().json()}
            for whose, client in (("owner", owner.client), ("rival", rival.client), ("analyst", analyst))
        }
        assert analyst.get(f"/v1/transfers/{live.id}").status_code == 200
    assert (seen["owner"], seen["rival"]) == ({ended.id, live.id}, set())
    assert {ended.id, live.id} <= seen["analyst"]


def test_idempotency_keys_of_two_customers_do_not_collide(owner: Customer, rival: Customer) -> None:
    named = {"Idempotency-Key": f"night-{uuid4()}"}
    answers = [
        customer.client.post("/v1/logs", content=ndjson([record()]), headers=named) for customer in (owner, rival)
    ]
    assert [each.status_code for each in answers] == [201, 201]
    assert answers[0].json()["batch_id"] != answers[1].json()["batch_id"]


def test_a_customer_reads_the_receipts_of_its_own_uploads_alone(
    owner: Customer, rival: Customer, api: str, learned: Tenant
) -> None:
    batch = owner.client.post("/v1/logs", content=ndjson([record()])).json()["batch_id"]
    with learned.client(api, Scope.OPERATOR) as operator:
        found = [
            client.get(f"/v1/logs/batches/{batch}").status_code for client in (owner.client, rival.client, operator)
        ]
    assert found == [200, 404, 200]


def test_a_transfer_that_is_over_is_not_revived_once_the_store_has_forgotten_it(
    owner: Customer, redis_url: str
) -> None:
    mine = Transfer(owner.client)
    mine.beat(0)
    complete(owner.client, mine.id, completion(mine.id))
    flushed(redis_url)
    assert mine.send(mine.body(1)).status_code == 409


def test_device_profiles_are_seen_and_changed_by_the_customer_that_uploaded_them(
    owner: Customer, rival: Customer, new_customer: NewCustomer, revoke: Callable[[Customer], None]
) -> None:
    name = f"router-{uuid4()}"
    owner.client.put(f"/v1/devices/{name}", json=PROFILE).raise_for_status()
    assert rival.client.put(f"/v1/devices/{name}", json=PROFILE | {"model": "Other"}).status_code == 409
    assert rival.client.delete(f"/v1/devices/{name}").status_code == 404
    assert rival.client.get(f"/v1/devices/{name}").status_code == 404
    assert owner.client.get(f"/v1/devices/{name}").json()["model"] == PROFILE["model"]
    after = new_customer(owner.name)
    revoke(owner)
    assert after.client.delete(f"/v1/devices/{name}").status_code == 204


def test_a_profile_of_one_customer_does_not_stand_in_for_the_packages_with_another(
    owner: Customer, rival: Customer
) -> None:
    rival.client.put("/v1/devices/galaxy-s5", json=PROFILE).raise_for_status()
    assert owner.client.get("/v1/devices/galaxy-s5").json()["own"] is False
    listed = owner.client.get("/v1/devices").json()["devices"]
    assert [each["own"] for each in listed if each["name"] == "galaxy-s5"] == [False]


def test_a_profile_of_the_provider_is_for_all_customers_and_changed_by_none(
    owner: Customer, api: str, learned: Tenant
) -> None:
    name = f"router-{uuid4()}"
    with learned.client(api) as provider:
        provider.put(f"/v1/devices/{name}", json=PROFILE).raise_for_status()
        assert owner.client.get(f"/v1/devices/{name}").status_code == 200
        assert owner.client.put(f"/v1/devices/{name}", json=PROFILE).status_code == 409
        assert owner.client.delete(f"/v1/devices/{name}").status_code == 404
        assert provider.delete(f"/v1/devices/{name}").status_code == 204
