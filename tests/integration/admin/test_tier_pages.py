"""Tiers on pages: renamed, merged, split, adjusted with the effect shown first, kept over refits; what is refused."""

import re
from collections.abc import Iterator
from html import escape
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from benchmarks.api.cases import make_log_lines
from services.application.access.authenticate import Scope
from services.application.models.custom_tiers import accept_tiers, set_boundaries
from services.bootstrap import Container
from services.persistence.log_reader import LogReader
from tests.integration.admin.visitors import Visitor, person, signed_in
from tests.integration.billing.quotes import SEEN
from tests.integration.live_transfers import DESTINATION, learned
from tests.integration.models.refreshes import Refreshes
from tests.stack import Tenant, new_tenant
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.tiers.partitions import PartitionKey

__all__ = ["learned"]

KIND = "throughput_at_least"


@pytest.fixture(autouse=True)
def cut_in_three(learned: Tenant, client: httpx.Client, parts: Container) -> None:
    """The provider has cut the throughput of the first cluster in three, from which each test goes on."""
    held = tiers(client)
    third = (held[-1]["upper"] - held[0]["lower"]) / 3
    cuts = [round(held[0]["lower"] + n * third, -6) for n in (1, 2)]
    key = PartitionKey(SlaKind.THROUGHPUT_AT_LEAST, 0.9, EnergyBasis.TOTAL)
    with parts.store.unit_of_work(learned.id) as uow:
        release = uow.releases.find_current()
        assert release is not None
        model = uow.models.of_link(release, uow.links.list_all()[0].id)
        assert model is not None
        set_boundaries(UUID(held[0]["cluster_id"]), key, cuts, version=model.id, uow=uow, clock=parts.clock)
    for each in tiers(client):
        with parts.store.unit_of_work(learned.id) as uow:
            release = uow.releases.find_current()
            assert release is not None
            accept_tiers([UUID(each["tier_id"])], seen_in=release, uow=uow)


@pytest.fixture
def visitor(parts: Container, api: str, learned: Tenant) -> Iterator[Visitor]:
    with signed_in(api, person(parts, learned, "provider")) as opened:
        yield opened


@pytest.fixture
def client(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api) as opened:
        yield opened


def tiers(client: httpx.Client, kind: str = KIND) -> list[dict[str, Any]]:
    """The tiers of the first cluster that has several of a kind, ascending."""
    found = client.get("/v1/sla-tiers", params={"limit": 1000}).json()
    mine = [each for each in found if (each["kind"], each["confidence"], each["energy_basis"]) == (kind, 0.9, "total")]
    cluster = next(each["cluster_id"] for each in mine)
    return sorted((each for each in mine if each["cluster_id"] == cluster), key=lambda each: each["lower"])


def shown_release(visitor: Visitor) -> str:
    """The release that the form of the list of tiers carries."""
    found = re.search(r'name="release" value="(\d+)"', visitor.get("/admin/tiers").text)
    assert found is not None
    return found[1]


def here(client: httpx.Client) -> str:
    return f"/admin/tiers/{tiers(client)[0]['cluster_id']}/{KIND}"


def edges(text: str) -> tuple[list[str], list[str]]:
    """The bounds in the first table, as they are shown: the lower ones in words, each upper one in a field."""
    table = text.partition("</table>")[0]
    return re.findall(r'data-shows="to-\d+">([^<]+)<', table), re.findall(r'name="to" value="([^"]+)"', table)


def sent(visitor: Visitor, address: str, lower: list[str], upper: list[str], **changes: str) -> httpx.Response:
    fields = {"confidence": "0.9", "basis": "total", "from": lower, "to": upper}
    version = changes.get("version") or _version(visitor, address)
    return visitor.submit(address, **fields, version=version)


def _version(visitor: Visitor, address: str) -> str:
    """The model that a change is made on, as the form of a change that is not kept yet carries it."""
    lower, upper = edges(visitor.get(address).text)
    middle = f"{(float(lower[0]) + float(upper[-1])) / 2.5:.6g}"
    text = visitor.get(address, params={"from": [lower[0], middle], "to": [middle, upper[-1]]}).text
    found = re.search(r'name="version" value="([^"]+)"', text)
    assert found is not None, text
    return found[1]


def test_preview_of_tiers_shows_the_effect_and_stores_nothing(visitor: Visitor, client: httpx.Client) -> None:
    before, address = tiers(client), here(client)
    assert len(before) == 3
    lower, upper = edges(visitor.get(address).text)
    shown = visitor.get(address, params={"from": [lower[0]], "to": [upper[-1]]}).text
    assert "Loss of the worst tier" in shown
    assert "Save these tiers" in shown
    assert tiers(client) == before


def test_merged_tiers_go_on_as_the_one_that_shares_most(visitor: Visitor, client: httpx.Client) -> None:
    before, address = tiers(client), here(client)
    release = client.get("/v1/links").json()[0]["release"]
    lower, upper = edges(visitor.get(address).text)
    merged = sent(visitor, address, [lower[0], *lower[2:]], upper[1:])
    assert merged.status_code == 303, merged.text
    after = tiers(client)
    assert (after[0]["lower"], after[0]["upper"]) == (before[0]["lower"], before[1]["upper"])
    assert after[0]["tier_id"] in (before[0]["tier_id"], before[1]["tier_id"])
    assert after[0]["parameters"] == before[1]["parameters"]  # those of the safe end
    assert [each["tier_id"] for each in after[1:]] == [each["tier_id"] for each in before[2:]]
    assert client.get("/v1/links").json()[0]["release"] > release
    target = (after[0]["lower"] + after[0]["upper"]) / 2
    made = client.post("/v1/recommend", json=SEEN | {"sla": {"kind": KIND, "target": target}}).json()
    assert made["release"] == client.get("/v1/links").json()[0]["release"]
    assert visitor.get(merged.headers["location"]).status_code == 200
    link = f"/admin/links/{client.get('/v1/links').json()[0]['id']}"
    for kept in (
        address,
        address.removesuffix(f"/{KIND}").replace("tiers", "clusters"),
    ):  # in a bookmark, or behind Back
        led = visitor.get(kept)
        assert (led.status_code, led.headers["location"]) == (303, link)
    assert "That cluster is of an earlier release" in visitor.get(link).text


def test_a_tier_is_split_and_its_new_part_is_to_be_reviewed(visitor: Visitor, client: httpx.Client) -> None:
    before, address = tiers(client), here(client)
    lower, upper = edges(visitor.get(address).text)
    middle = f"{(3 * float(lower[0]) + float(upper[0])) / 4:.6g}"
    assert sent(visitor, address, [lower[0], middle, *lower[1:]], [middle, *upper]).status_code == 303
    after = tiers(client)
    assert len(after) == len(before) + 1
    assert after[1]["tier_id"] == before[0]["tier_id"]  # the larger part
    assert after[0]["tier_id"] not in {each["tier_id"] for each in before}
    assert (after[0]["needs_review"], after[1]["needs_review"]) == (True, True)
    assert (
        visitor.submit("/admin/tiers/accept", tier=after[1]["tier_id"], release=shown_release(visitor)).status_code
        == 303
    )
    assert [each["needs_review"] for each in tiers(client)[:2]] == [True, False]


def test_tiers_are_reviewed_together_with_the_bounds_that_they_had(visitor: Visitor, client: httpx.Client) -> None:
    before, address = tiers(client), here(client)
    lower, upper = edges(visitor.get(address).text)
    middle = f"{(3 * float(lower[0]) + float(upper[0])) / 4:.6g}"
    assert sent(visitor, address, [lower[0], middle, *lower[1:]], [middle, *upper]).status_code == 303
    part, larger = tiers(client)[:2]
    assert part["reviewed"] is None
    assert larger["reviewed"] == {"lower": before[0]["lower"], "upper": before[0]["upper"]}
    page = visitor.get("/admin/tiers?show=review").text
    assert "new: it was split off" in page
    assert f"was {before[0]['name']}" in page
    assert "Keep the prices of all 2 tiers to review above" in page
    both = [each["tier_id"] for each in (part, larger)]
    assert visitor.submit("/admin/tiers/accept", tier=both, release=shown_release(visitor)).status_code == 303
    assert [(each["needs_review"], each["reviewed"]) for each in tiers(client)[:2]] == [(False, None)] * 2


def test_bounds_that_moved_again_since_they_were_shown_are_not_accepted(visitor: Visitor, client: httpx.Client) -> None:
    before, address = tiers(client), here(client)
    lower, upper = edges(visitor.get(address).text)
    middles = [f"{(share * float(lower[0]) + float(upper[0])) / (share + 1):.6g}" for share in (1, 3)]
    assert sent(visitor, address, [lower[0], middles[0], *lower[1:]], [middles[0], *upper]).status_code == 303
    seen = shown_release(visitor)
    assert sent(visitor, here(client), [lower[0], middles[1], *lower[1:]], [middles[1], *upper]).status_code == 303
    tier = before[0]["tier_id"]
    refused = visitor.submit("/admin/tiers/accept", tier=tier, release=seen)
    assert refused.status_code == 409
    assert "have moved again meanwhile" in refused.text
    assert next(each["needs_review"] for each in tiers(client) if each["tier_id"] == tier)
    assert visitor.submit("/admin/tiers/accept", tier=tier, release=shown_release(visitor)).status_code == 303
    assert not next(each["needs_review"] for each in tiers(client) if each["tier_id"] == tier)


def test_bounds_that_were_set_hold_after_the_next_fit(
    visitor: Visitor, client: httpx.Client, learned: Tenant, logs: LogReader
) -> None:
    address = here(client)
    lower, upper = edges(visitor.get(address).text)
    middle = f"{(float(lower[0]) + float(upper[-1])) / 2:.6g}"
    assert sent(visitor, address, [lower[0], middle], [middle, upper[-1]]).status_code == 303
    cut = tiers(client)
    assert [each["upper"] for each in cut[:-1]] == [float(middle) * 1e6]
    client.post("/v1/logs", content=b"".join(make_log_lines(2, (DESTINATION,)))).raise_for_status()
    release = client.get("/v1/links").json()[0]["release"]
    assert Refreshes(learned, logs).run_now() != release
    again = tiers(client)
    assert again[0]["cluster_id"] != cut[0]["cluster_id"]
    assert [(each["tier_id"], each["upper"]) for each in again[:-1]] == [
        (each["tier_id"], each["upper"]) for each in cut[:-1]
    ]
    given_up = {"confidence": "0.9", "basis": "total"}
    assert visitor.submit(f"{here(client)}/proposed", **given_up).status_code == 303
    client.post("/v1/logs", content=b"".join(make_log_lines(3, (DESTINATION,)))).raise_for_status()
    Refreshes(learned, logs).run_now()
    assert [each["upper"] for each in tiers(client)][:-1] != [each["upper"] for each in cut][:-1]


@pytest.mark.parametrize(
    "wrong", ["gap", "overlap", "range", "", "-5", "0", "1e30", "NaN", "<script>alert(1)</script>"]
)
def test_bounds_that_cannot_be_are_refused_and_nothing_changes(
    visitor: Visitor, client: httpx.Client, wrong: str
) -> None:
    before, address = tiers(client), here(client)
    lower, upper = edges(visitor.get(address).text)
    match wrong:
        case "gap":
            lower[1] = f"{float(lower[1]) * 1.01:.6g}"
        case "overlap":
            lower[1] = f"{float(lower[1]) * 0.99:.6g}"
        case "range":
            upper[-1] = f"{float(upper[-1]) * 2:.6g}"
        case text:
            lower[1] = upper[0] = text
    refused = sent(visitor, address, lower, upper)
    assert refused.status_code == 422, refused.text
    assert "Tier limits" in refused.text
    assert {"gap": "leave a gap", "overlap": "overlap", "range": "must cover"}.get(wrong, "Tier limits") in refused.text
    assert "<script>alert" not in refused.text
    assert tiers(client) == before


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("2<b>50", "is not a number; write it like 250"),
        ("-5", "out of range"),
        ("1", "is too low: it must be at least 0.1% above"),
        ("900000", "is too high: it must be at least 0.1% below"),
    ],
)
def test_invalid_boundary_shows_its_error_and_preserves_all_typed_values(
    visitor: Visitor, client: httpx.Client, typed: str, said: str
) -> None:
    address = here(client)
    _, upper = edges(visitor.get(address).text)
    other = f"{float(upper[0]) * 1.05:.6g}"  # of the first tier, which is to stay as it was typed
    refused = visitor.get(address, params={"to": [other, typed, upper[-1]]})
    assert refused.status_code == 422
    lower_again, again = edges(refused.text)
    assert (again, lower_again[1:]) == ([other, escape(typed), upper[-1]], [other, escape(typed)])
    (row,) = (row for row in refused.text.split("<tr>") if 'role="alert"' in row)
    assert (f'value="{escape(typed)}"' in row, said in row) == (True, True)
    assert "As it is" in refused.text


def test_a_gap_cannot_be_typed_and_the_page_says_which_cluster_it_is_of(visitor: Visitor, client: httpx.Client) -> None:
    text = visitor.get(here(client)).text
    lower, upper = edges(text)
    assert lower[1:] == upper[:-1]
    assert 'name="from"' not in text
    heading = re.search(r"<h1>(.*?)</h1>", text, re.DOTALL)
    assert heading is not None
    assert re.search(r"\d+ files? of [\d.]+ .?B", heading[1])


def test_second_of_two_users_who_edit_the_same_tiers_gets_a_conflict(visitor: Visitor, client: httpx.Client) -> None:
    address = here(client)
    lower, upper = edges(visitor.get(address).text)
    version = _version(visitor, address)
    assert sent(visitor, address, [lower[0]], [upper[-1]], version=version).status_code == 303
    after = tiers(client)
    late = sent(visitor, here(client), [lower[0], upper[0]], [upper[0], upper[-1]], version=version)
    assert late.status_code == 409, late.text
    assert "meanwhile" in late.text
    assert tiers(client) == after


def test_only_providers_of_the_tenant_change_tiers_on_forms_of_ours(
    visitor: Visitor, client: httpx.Client, api: str, parts: Container, learned: Tenant
) -> None:
    before, address = tiers(client), here(client)
    tier = before[0]["tier_id"]
    lower, upper = edges(visitor.get(address).text)
    fields = {"confidence": "0.9", "basis": "total", "from": lower[0], "to": upper[-1], "name": "Mine", "tier": tier}
    fields |= {"version": _version(visitor, address), "form_token": visitor.token, "release": "1"}
    stranger = new_tenant(parts, learned.database_url)
    with signed_in(api, person(parts, learned, "analyst")) as analyst, signed_in(api, person(parts, stranger)) as other:
        for form in (address, f"{address}/proposed", f"/admin/tiers/{tier}/name", "/admin/tiers/accept"):
            elsewhere = visitor.post(form, data=fields, headers={"Origin": "https://elsewhere.example"})
            assert elsewhere.status_code == 403
            assert visitor.post(form, data=fields | {"form_token": "0" * 64}).status_code == 403
            assert analyst.submit(form, **{k: v for k, v in fields.items() if k != "form_token"}).status_code == 403
            assert other.submit(form, **{k: v for k, v in fields.items() if k != "form_token"}).status_code == 404
        assert other.get(address).status_code == 404
    assert tiers(client) == before


@pytest.mark.parametrize(
    "address", ["max_throughput", "deadline", "nonsense", f"{KIND}?confidence=0.7", f"{KIND}?basis=both"]
)
def test_limits_page_is_refused_where_no_tiers_exist(visitor: Visitor, client: httpx.Client, address: str) -> None:
    assert visitor.get(here(client).rpartition("/")[0] + f"/{address}").status_code == 422
    assert visitor.get(f"/admin/tiers/{uuid4()}/{KIND}").status_code == 404


def test_a_tier_goes_by_the_name_it_was_given(
    visitor: Visitor, client: httpx.Client, learned: Tenant, logs: LogReader
) -> None:
    name = "Gold <script>alert(1)</script>"
    (tier,) = tiers(client, "max_throughput")
    assert visitor.submit(f"/admin/tiers/{tier['tier_id']}/name", name=name).status_code == 303
    assert tiers(client, "max_throughput")[0]["name"] == name
    shown = visitor.get("/admin/tiers").text
    assert "Gold &lt;script&gt;" in shown
    assert "<script>alert" not in shown
    client.post("/v1/logs", content=b"".join(make_log_lines(2, (DESTINATION,)))).raise_for_status()
    Refreshes(learned, logs).run_now()
    assert tiers(client, "max_throughput")[0]["name"] == name
    for bad in ("x" * 201, "two\nlines", "null\x00"):
        assert visitor.submit(f"/admin/tiers/{tier['tier_id']}/name", name=bad).status_code == 422
    visitor.submit(f"/admin/tiers/{tier['tier_id']}/name", name="  ")
    assert tiers(client, "max_throughput")[0]["name"] == tier["name"]
    assert visitor.submit(f"/admin/tiers/{uuid4()}/name", name="Mine").status_code == 404
    with learned.parts.store.unit_of_work(learned.id) as uow:
        assert [each.action for each in uow.audit.list_page(limit=2, about="tier.")] == ["tier.renamed"] * 2


def test_two_tiers_of_a_link_have_two_names(visitor: Visitor, client: httpx.Client) -> None:
    first, second, third = tiers(client)
    assert visitor.submit(f"/admin/tiers/{first['tier_id']}/name", name="Bronze").status_code == 303
    for taken in ("bronze ", third["name"]):
        refused = visitor.submit(f"/admin/tiers/{second['tier_id']}/name", name=taken)
        assert (refused.status_code, "is another tier of this link" in refused.text) == (409, True)
    assert [each["name"] for each in tiers(client)] == ["Bronze", second["name"], third["name"]]
    assert visitor.submit(f"/admin/tiers/{first['tier_id']}/name", name="Bronze").status_code == 303
    visitor.submit(f"/admin/tiers/{first['tier_id']}/name", name="")


def test_agent_receives_the_name_of_its_tier(visitor: Visitor, client: httpx.Client, api: str, learned: Tenant) -> None:
    with learned.client(api, Scope.AGENT) as agent:
        tier_id = agent.post("/v1/recommend", json=SEEN).json()["sla"]["tier_id"]
        visitor.submit(f"/admin/tiers/{tier_id}/name", name="Silver")
        assert agent.post("/v1/recommend", json=SEEN).json()["sla"]["tier"] == "Silver"
