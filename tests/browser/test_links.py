"""What was learned, as people look at it: links, a link's clusters, a cluster's surface with its data."""

import json
import math
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from services.bootstrap import Container
from tests.browser.conftest import to_page
from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import DESTINATION
from tests.stack import Tenant


def options(page: Page, heading: str) -> dict:
    card = page.locator("section.card").filter(has=page.get_by_role("heading", name=heading))
    return json.loads(card.locator("[data-chart]").get_attribute("data-chart"))


def test_surface_page_of_a_link_shows_the_points_that_the_api_returns(
    provider: Page, api: str, learned: Tenant
) -> None:
    page = provider
    to_page(page, "Links")
    page.get_by_role("row", name=DESTINATION).get_by_role("link").first.click()
    page.get_by_role("link", name="Surface and tiers").first.click()
    page.locator(".chart svg, .chart canvas").first.wait_for()
    cluster_id = page.url.rpartition("/")[2]
    with learned.client(api) as client:
        told = client.get(f"/v1/clusters/{cluster_id}/surface").json()
    series = {each["type"]: each for each in options(page, "Throughput by")["series"]}
    measured = [
        (each["concurrency"], each["parallelism"], math.exp(each["log_throughput_mean"]) / 1e6)
        for each in told["observed"]
    ]
    drawn = series["scatter3D"]["data"]
    assert drawn, "there are logs at this cut"
    assert all(any(point == pytest.approx(each, rel=1e-6) for each in measured) for point in map(tuple, drawn))
    axes = told["axes"]
    assert {tuple(point[:2]) for point in series["surface"]["data"]} == {
        (across, along) for across in axes["concurrency"] for along in axes["parallelism"]
    }
    shown = page.get_by_role("row").filter(has_text="throughput at least")
    at_90 = [
        each
        for each in told["partitions"]
        if (each["kind"], each["confidence"], each["energy_basis"]) == ("throughput_at_least", 0.9, "total")
    ]
    expect(shown).to_have_count(len(at_90))


def test_every_column_of_the_links_is_seen_on_a_usual_screen(provider: Page) -> None:
    provider.set_viewport_size({"width": 1440, "height": 900})
    to_page(provider, "Links")
    states = provider.locator("td.state")
    states.first.evaluate(
        "cell => { cell.querySelector('.badge').textContent = 'waiting for the next release';"
        " cell.closest('tr').querySelector('td.name').prepend('https://data.storage.example.org:8443') }"
    )
    hidden = provider.locator(".scroll").first.evaluate("box => box.scrollWidth - box.clientWidth")
    assert hidden <= 0


def test_unknown_cluster_is_refused_with_a_page(parts: Container, api: str, learned: Tenant) -> None:
    with signed_in(api, person(parts, learned)) as visitor:
        answer = visitor.get(f"/admin/clusters/{uuid4()}")
    assert answer.status_code == 404
    assert "No such cluster" in answer.text
