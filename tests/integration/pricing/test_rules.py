"""A draft is priced by rules and files, on the pages and over the API; what it changed stays with the book."""

import csv
from io import StringIO
from uuid import uuid4

import pytest

from services.application.access.authenticate import Scope
from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import learned
from tests.stack import new_tenant

__all__ = ["learned"]

PRICE = {"base": "0.1", "per_gb": "0.02", "per_kwh": "0.3", "margin": "0.2"}
DEARER = PRICE | {"base": "0.5"}


@pytest.fixture
def provider(api, learned):
    with learned.client(api, Scope.PROVIDER, Scope.AGENT) as opened:
        yield opened


@pytest.fixture
def visitor(parts, api, learned):
    with signed_in(api, person(parts, learned, "provider")) as opened:
        yield opened


@pytest.fixture
def draft(provider):
    answer = provider.post("/v1/price-books", json={"name": f"Rules {uuid4()}", "currency": "EUR"})
    return f"/v1/price-books/{answer.raise_for_status().json()['id']}"


@pytest.fixture
def link(provider):
    return provider.get("/v1/links").json()[0]["id"]


def put_rules(client, draft, *rules):
    answer = client.put(f"{draft}/rules", json={"rules": rules})
    assert answer.status_code == 200, answer.text
    return answer.json()


def prices(client, draft):
    return {each["tier_id"]: each for each in client.get(draft).json()["prices"]}


def tiers(client, **conditions):
    listed = []
    while more := client.get("/v1/sla-tiers", params={"limit": 200, "offset": len(listed)}).json():
        listed += more
    return {each["tier_id"]: each for each in listed if all(each[name] == value for name, value in conditions.items())}


def rows_of(text):
    return list(csv.DictReader(StringIO(text)))


def test_kind_rate_and_label_choose_the_tiers_of_a_rule(provider, draft, link):
    label = f"group-{uuid4().hex[:8]}"
    rules = (
        {"kind": "min_energy", "label": label, "price": DEARER},
        {"kind": "throughput_at_least", "to_bps": 1, "price": DEARER},
        {"kind": "throughput_at_least", "from_bps": 1, "price": PRICE},
    )
    made = put_rules(provider, draft, *rules)
    fast = [each for each in tiers(provider, kind="throughput_at_least").values() if each["lower"] >= 1]
    slow = [each for each in tiers(provider, kind="throughput_at_least").values() if each["lower"] < 1]
    assert made["tiers"] == [0, len(slow), len(fast)]
    assert made["unpriced"] == len(tiers(provider)) - len(slow) - len(fast)
    provider.put(f"/v1/links/{link}/labels", json={"labels": [label]}).raise_for_status()
    labelled = put_rules(provider, draft, *rules)
    assert labelled["tiers"][0] == len(tiers(provider, kind="min_energy", link_id=link)) > 0
    assert {each["tier_id"] for each in fast} <= prices(provider, draft).keys()


def test_price_of_a_tier_overrides_the_rules_until_it_is_removed(provider, draft):
    put_rules(provider, draft, {"price": PRICE})
    tier = next(iter(tiers(provider)))
    provider.put(f"{draft}/tiers/{tier}", json=DEARER).raise_for_status()
    made = put_rules(provider, draft, {"price": PRICE | {"base": "0.2"}})
    assert (made["overridden"], float(prices(provider, draft)[tier]["base"])) == (1, 0.5)
    provider.delete(f"{draft}/tiers/{tier}").raise_for_status()
    assert float(prices(provider, draft)[tier]["base"]) == 0.2
    assert put_rules(provider, draft)["unpriced"] == len(tiers(provider))
    assert prices(provider, draft) == {}


@pytest.mark.parametrize(
    "rule",
    [
        {"price": PRICE | {"base": "-1"}},
        {"price": PRICE, "label": ""},
        {"price": PRICE, "label": "<script>"},
        {"price": PRICE, "from_bps": 5, "to_bps": 5},
        {"price": PRICE, "kind": "cheapest"},
        {"price": PRICE | {"per_gb": "1e30"}},
    ],
)
def test_invalid_rule_is_refused_and_nothing_changes(provider, draft, rule):
    put_rules(provider, draft, {"price": PRICE})
    before = provider.get(f"{draft}/rules").json()
    assert provider.put(f"{draft}/rules", json={"rules": [rule]}).status_code == 422
    assert provider.get(f"{draft}/rules").json() == before


def test_rules_of_two_editors_and_of_a_published_book_are_refused(provider, draft):
    made = put_rules(provider, draft, {"price": PRICE})
    stale = provider.put(f"{draft}/rules", json={"rules": []}, headers={"If-Match": f'"{made["version"] - 1}"'})
    assert stale.status_code == 409
    provider.post(f"{draft}/publish", json={}).raise_for_status()
    assert provider.put(f"{draft}/rules", json={"rules": []}).status_code == 409
    assert provider.put(f"{draft}/prices.csv", content=b"x").status_code == 422
    assert len(provider.get(f"{draft}/rules").json()["rules"]) == 1


def test_copy_of_a_book_has_its_rules(provider, draft):
    put_rules(provider, draft, {"price": PRICE, "kind": "min_energy"})
    tier = next(iter(tiers(provider, kind="max_throughput")))
    provider.put(f"{draft}/tiers/{tier}", json=DEARER).raise_for_status()
    copied = provider.post(
        "/v1/price-books", json={"name": f"Copy {uuid4()}", "copy_of": draft.rpartition("/")[2]}
    ).json()
    rules = provider.get(f"/v1/price-books/{copied['id']}/rules").json()
    assert (len(rules["rules"]), rules["overridden"]) == (1, 1)
    assert prices(provider, f"/v1/price-books/{copied['id']}").keys() == prices(provider, draft).keys()


def test_file_of_prices_is_changed_and_read_back(provider, draft):
    put_rules(provider, draft, {"price": PRICE, "kind": "min_energy"})
    exported = provider.get(f"{draft}/prices.csv")
    assert exported.headers["content-type"].startswith("text/csv")
    rows = rows_of(exported.text)
    assert {row["tier_id"] for row in rows} == tiers(provider).keys()
    assert {row["priced_by"] for row in rows if row["kind"] == "min_energy"} == {"rule"}
    unchanged = provider.put(f"{draft}/prices.csv", content=exported.content)
    assert unchanged.status_code == 200, unchanged.text
    assert unchanged.json()["version"] == provider.get(draft).json()["version"]
    first, second = [row for row in rows if row["kind"] == "max_throughput"][:2]
    header = "tier_id,base,per_gb,per_kwh,margin_percent\n"
    sent = f"{header}{first['tier_id']},7,0,0,25\n{second['tier_id']},7,0,0,-25\n"
    refused = provider.put(f"{draft}/prices.csv", content=sent.encode())
    assert (refused.status_code, "row 3" in refused.text) == (422, True)
    assert first["tier_id"] not in prices(provider, draft)
    read = provider.put(f"{draft}/prices.csv", content=sent.replace("-25", "25").encode()).json()
    assert (read["priced"], read["removed"]) == (2, 0)
    assert float(prices(provider, draft)[first["tier_id"]]["margin"]) == 0.25
    again = {row["tier_id"]: row for row in rows_of(provider.get(f"{draft}/prices.csv").text)}
    assert again[first["tier_id"]]["priced_by"] == "tier"


def test_review_counts_what_changes_and_the_book_keeps_the_differences(provider, visitor, draft):
    put_rules(provider, draft, {"price": DEARER, "kind": "min_energy"})
    review = provider.get(f"{draft}/review").json()
    assert review["unpriced_tiers"] == review["tiers"] - len(tiers(provider, kind="min_energy"))
    assert review["changes"]
    page = f"/admin/price-books/{draft.rpartition('/')[2]}"
    shown = visitor.get(page).text
    assert "Review and publish" in shown
    assert f"{review['unpriced_tiers']} of {review['tiers']}" in shown
    provider.post(f"{draft}/publish", json={}).raise_for_status()
    kept = visitor.get(page).text
    assert "What it changed" in kept
    assert "0.5 + 0.02/GB + 0.3/kWh" in kept.partition("What it changed")[2]


def test_rules_are_edited_on_their_page(visitor, provider, draft):
    page = f"/admin/price-books/{draft.rpartition('/')[2]}/rules"
    version = provider.get(draft).json()["version"]
    row = {"kind.0": "min_energy", "label.0": "", "from_mbps.0": "", "to_mbps.0": "", "order.0": "2"}
    price = {"base.0": "0.1", "per_gb.0": "0.02", "per_kwh.0": "0.3", "margin.0": "20"}
    other = {f"{name.partition('.')[0]}.1": value for name, value in (row | price).items()}
    other |= {"kind.1": "", "order.1": "1", "to_mbps.1": "0.5", "base.1": "9"}
    for wrong, named in (
        ({"base.0": "-1"}, "rule 1, Base"),
        ({"base.0": "", "per_gb.0": "1"}, "rule 1, Base is empty"),
        ({"to_mbps.1": "x"}, "rule 2, Below, Mbit/s"),
        ({"to_mbps.1": "0"}, "rule 2, Below, Mbit/s must be above"),
        ({"kind.0": "<script>"}, "rule 1, kind"),
        ({"order.0": "-1"}, "rule 1, order"),
    ):
        refused = visitor.submit(page, version=version, **(row | price | other | wrong))
        assert refused.status_code == 422
        assert named.lower() in refused.text.lower()
        assert "<script>" not in refused.text.partition("<main")[2].replace("</script>", "")
    assert provider.get(f"{draft}/rules").json()["rules"] == []
    saved = visitor.submit(page, version=version, **row, **price, **other)
    priced = sum(provider.get(f"{draft}/rules").json()["tiers"])
    assert (saved.status_code, f"price%20{priced}%20tiers" in saved.headers["set-cookie"]) == (303, True)
    rules = provider.get(f"{draft}/rules").json()["rules"]
    assert [(rule.get("kind"), rule.get("to_bps")) for rule in rules] == [(None, 500_000.0), ("min_energy", None)]
    assert visitor.submit(page, version=version, **row, **price).status_code == 409
    assert 'value="0.5"' in visitor.get(page).text


def test_file_is_read_on_the_page_of_the_book(visitor, provider, draft):
    page = f"/admin/price-books/{draft.rpartition('/')[2]}"
    text = visitor.get(f"{page}/prices.csv").text
    first = rows_of(text)[0]["tier_id"]
    version = provider.get(draft).json()["version"]
    header = "tier_id,base,per_gb,per_kwh,margin_percent\n"
    refused = visitor.submit(f"{page}/prices.csv", version=version, prices=f"{header}{first},x,0,0,0")
    assert (refused.status_code, "Row 2, Base" in refused.text) == (422, True)
    read = visitor.submit(f"{page}/prices.csv", version=version, prices=f"{header}{first},1,0,0,0")
    assert read.status_code == 303
    assert prices(provider, draft).keys() == {first}


def test_links_are_labelled_together(visitor, provider, link):
    label = f"bulk-{uuid4().hex[:8]}"
    sent = {"change": "add", "label": label, "links": [link]}
    assert visitor.submit("/admin/links/labels", **sent).status_code == 303
    assert label in provider.get(f"/v1/links/{link}/labels").json()["labels"]
    assert label in visitor.get("/admin/links").text
    for wrong in ({"links": []}, {"label": ""}, {"label": "<b>"}, {"label": "x" * 64}, {"change": "burn"}):
        assert visitor.submit("/admin/links/labels", **(sent | wrong)).status_code == 422
    assert visitor.submit("/admin/links/labels", **(sent | {"links": [str(uuid4())]})).status_code == 404
    all_found = {"label": label, "all_listed": "true", "links": []}
    for shown, is_labelled in ((f"label={label}&page=1", False), ("q=nowhere+at+all", False), ("", True)):
        change = "remove" if "label=" in shown else "add"
        visitor.submit("/admin/links/labels", **(all_found | {"change": change, "shown": shown}))
        assert (label in provider.get(f"/v1/links/{link}/labels").json()["labels"]) is is_labelled
    assert visitor.submit("/admin/links/labels", **(sent | {"change": "remove"})).status_code == 303
    assert label not in provider.get(f"/v1/links/{link}/labels").json()["labels"]


def test_neighbour_sees_and_changes_no_rules_files_or_labels(parts, api, database_url, provider, draft, link):
    put_rules(provider, draft, {"price": PRICE})
    with new_tenant(parts, database_url).client(api, Scope.PROVIDER) as neighbour:
        for path in (f"{draft}/rules", f"{draft}/prices.csv", f"{draft}/review", f"/v1/links/{link}/labels"):
            assert neighbour.get(path).status_code == 404
        assert neighbour.put(f"{draft}/rules", json={"rules": []}).status_code == 404
        assert neighbour.put(f"/v1/links/{link}/labels", json={"labels": ["mine"]}).status_code == 404
    with parts.store.unit_of_work(uuid4()) as uow:
        assert uow.links.list_labels() == {}
