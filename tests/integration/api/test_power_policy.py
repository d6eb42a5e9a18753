"""The power policy of endpoints, through the API, the page and the command line, decides which energy counts."""

import httpx
import pytest

from benchmarks.api.cases import SOURCE
from services.application.access.authenticate import Scope
from tests.conditions import eventually, stretched
from tests.integration.admin.visitors import person, signed_in
from tests.integration.agent.support.command import environment, run
from tests.integration.live_transfers import ENQUIRY, Transfer, learned
from tests.stack import Tenant

__all__ = ["learned"]

FRUGAL = ENQUIRY | {"sla": {"kind": "min_energy"}}


def find(client: httpx.Client, name: str = SOURCE) -> dict[str, object]:
    return next(each for each in client.get("/v1/endpoints").json() if each["name"] == name)


def set_policy(client: httpx.Client, policy: str, name: str = SOURCE) -> None:
    answer = client.patch(f"/v1/endpoints/{find(client, name)['id']}", json={"power_policy": policy})
    assert answer.status_code == 200, answer.text
    assert answer.json()["power_policy"] == policy


def recommend_basis(client: httpx.Client, **sla: str) -> str:
    answer = client.post("/v1/recommend", json=FRUGAL | {"sla": {"kind": "min_energy"} | sla})
    assert answer.status_code == 200, answer.text
    basis: str = answer.json()["sla"]["energy_basis"]
    return basis


def test_policy_is_stored_and_left_alone_by_other_changes(api: str, tenant: Tenant) -> None:
    with tenant.client(api, Scope.PROVIDER) as client:
        created = client.post("/v1/endpoints", json={"name": "phone", "power_policy": "battery"}).json()
        assert created["power_policy"] == "battery"
        client.patch(f"/v1/endpoints/{created['id']}", json={"aliases": ["handset"]}).raise_for_status()
        assert find(client, "phone")["power_policy"] == "battery"
        client.post("/v1/endpoints", json={"name": "unknown"}).raise_for_status()
        assert find(client, "unknown")["power_policy"] is None
        wrong = client.patch(f"/v1/endpoints/{created['id']}", json={"power_policy": "sometimes"})
        assert wrong.status_code == 422


def test_policy_and_profile_are_removed_by_null_alone(api: str, tenant: Tenant) -> None:
    power = {"idle_w": 5.0, "full_w": 9.0, "source": "a meter"}
    with tenant.client(api, Scope.PROVIDER) as client:
        new = {"name": "phone", "power_policy": "battery", "power_profile": power}
        address = f"/v1/endpoints/{client.post('/v1/endpoints', json=new).json()['id']}"
        unchanged = client.patch(address, json={"aliases": []}).json()
        assert (unchanged["power_policy"], unchanged["power_profile"]) == ("battery", power)
        without = client.patch(address, json={"power_policy": None}).json()
        assert (without["power_policy"], without["power_profile"]) == (None, power)
        assert client.patch(address, json={"power_profile": None}).json()["power_profile"] is None
        assert client.get(address).json()["power_profile"] is None


def test_recommendations_follow_the_policy_and_name_the_basis(api: str, learned: Tenant) -> None:
    with learned.client(api) as client:
        set_policy(client, "battery")
        assert recommend_basis(client) == "total"
        set_policy(client, "always_on")
        assert recommend_basis(client) == "dynamic"
        assert recommend_basis(client, energy_basis="total") == "total"


def test_running_transfer_is_judged_on_the_basis_that_was_answered(api: str, learned: Tenant) -> None:
    with learned.client(api) as client:
        set_policy(client, "always_on")
        transfer = Transfer(client, sla=FRUGAL["sla"])
        transfer.beat(0)
        address = f"/v1/transfers/{transfer.id}"
        stored = eventually(lambda: client.get(address).json().get("enquiry"), patience_s=stretched(10))
        assert stored["sla"]["energy_basis"] == "dynamic"


def test_new_price_books_count_the_energy_of_the_endpoints_and_old_ones_stay_as_they_are(
    api: str, tenant: Tenant
) -> None:
    with tenant.client(api, Scope.PROVIDER) as client:
        draft = {"name": "first", "currency": "EUR"}
        before = client.post("/v1/price-books", json=draft).json()
        assert before["energy_basis"] == "total"
        for name in ("a", "b"):
            client.post("/v1/endpoints", json={"name": name, "power_policy": "always_on"}).raise_for_status()
        assert client.post("/v1/price-books", json=draft | {"name": "second"}).json()["energy_basis"] == "dynamic"
        named = draft | {"name": "third", "energy_basis": "total"}
        assert client.post("/v1/price-books", json=named).json()["energy_basis"] == "total"
        assert client.get(f"/v1/price-books/{before['id']}").json()["energy_basis"] == "total"
        client.post("/v1/endpoints", json={"name": "phone", "power_policy": "battery"}).raise_for_status()
        assert client.post("/v1/price-books", json=draft | {"name": "fourth"}).json()["energy_basis"] == "total"


def test_page_lists_policies_and_providers_set_them(api: str, learned: Tenant) -> None:
    with learned.client(api) as client:
        set_policy(client, "battery")
        endpoint = find(client)
    with signed_in(api, person(learned.parts, learned, Scope.PROVIDER)) as provider:
        assert SOURCE in provider.get("/admin/endpoints").text
        done = provider.submit(f"/admin/endpoints/{endpoint['id']}/policy", policy="always_on")
        assert done.status_code == 303
        assert "dynamic" in provider.get("/admin/endpoints").text
        tiers = provider.get("/admin/tiers").text
        assert '<option value="dynamic" selected' in tiers
        assert '<option value="total" selected' in provider.get("/admin/tiers", params={"basis": "total"}).text
        with learned.client(api) as client:
            assert find(client)["power_policy"] == "always_on"
        provider.submit(f"/admin/endpoints/{endpoint['id']}/policy", policy="unknown")
    with learned.client(api) as client:
        assert find(client)["power_policy"] is None


@pytest.mark.parametrize("scope", [Scope.ANALYST])
def test_policies_are_read_only_for_others(api: str, learned: Tenant, scope: Scope) -> None:
    with signed_in(api, person(learned.parts, learned, scope)) as reader:
        page = reader.get("/admin/endpoints").text
        assert SOURCE in page
        assert "/policy" not in page


def test_command_sets_a_policy_by_any_name_and_lists_it(api: str, tenant: Tenant, tmp_path) -> None:  # type: ignore[no-untyped-def]
    with tenant.client(api, Scope.PROVIDER) as client:
        client.post("/v1/endpoints", json={"name": "ocean", "aliases": ["ocean.example.org"]}).raise_for_status()
    at = environment(tmp_path, TRADEWIND_URL=api, TRADEWIND_KEY=tenant.secret)
    done = run("endpoints", "set", "ocean.example.org", "--power-policy", "always_on", "--json", env=at)
    assert done.code == 0, done.err
    assert done.document["endpoints"][0]["power_policy"] == "always_on"
    assert "always on" in run("endpoints", "list", env=at).out
    cleared = run("endpoints", "set", "ocean.example.org", "--power-policy", "unknown", "--json", env=at)
    assert cleared.document["endpoints"][0]["power_policy"] is None
    unknown = run("endpoints", "set", "lake", "--power-policy", "battery", env=at)
    assert unknown.code == 2
    assert "no endpoint of yours" in unknown.err
