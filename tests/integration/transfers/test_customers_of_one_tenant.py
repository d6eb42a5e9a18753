"""Keys that belong to customers of one tenant: what a customer's new key takes over, and what none may use up."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from services.application.access.authenticate import Scope
from tests.integration.api.test_devices_api import PROFILE
from tests.integration.live_transfers import Transfer, learned
from tests.integration.transfers.test_owned_transfers import Customer, NewCustomer, new_customer, owner, revoke, rival
from tests.stack import Tenant

__all__ = ["learned", "new_customer", "owner", "revoke", "rival"]


def test_a_new_key_of_another_customer_with_the_same_name_replaces_nothing(
    owner: Customer, api: str, learned: Tenant, new_customer: NewCustomer, revoke: Callable[[Customer], None]
) -> None:
    """Names of revoked keys are free; "production" of one customer is not "production" of the next."""
    mine, name = Transfer(owner.client), f"router-{uuid4()}"
    mine.beat(0)
    owner.client.put(f"/v1/devices/{name}", json=PROFILE).raise_for_status()
    revoke(owner)
    foreign, nobodys, after = (new_customer(owner.name) for _ in range(3))
    with learned.client(api, Scope.PROVIDER) as provider:
        for holders in ([owner, after], [foreign]):
            keys = [str(each.key_id) for each in holders]
            sent = {"name": f"Customer {uuid4()}", "key_ids": keys}
            provider.post("/v1/customers", json=sent).raise_for_status()
    for each in (foreign, nobodys):
        assert mine.send(mine.body(1), each.client).status_code == 409
        assert each.client.get(f"/v1/transfers/{mine.id}").status_code == 404
        assert each.client.delete(f"/v1/devices/{name}").status_code == 404
    assert mine.beat(1, client=after.client)["sequence"] == 1


def test_profiles_of_one_customer_leave_room_to_the_others(
    owner: Customer, rival: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.application.advice.devices.MAX_OF_CUSTOMER", 2)
    puts = [rival.client.put(f"/v1/devices/rival-{uuid4()}", json=PROFILE) for _ in range(3)]
    assert [each.status_code for each in puts] == [200, 200, 409]
    assert "2 profiles of this key" in puts[2].json()["detail"]
    assert owner.client.put(f"/v1/devices/owner-{uuid4()}", json=PROFILE).status_code == 200
