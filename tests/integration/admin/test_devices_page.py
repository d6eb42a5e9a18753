"""The page of devices: figures with their origin, one's own beside the service's, and bursts for a queue."""

from dataclasses import replace
from html import unescape

import pytest

from services.admin.formatting.field_labels import LABELS
from services.application.access.authenticate import Scope
from services.application.shared.slots import Slots
from services.bootstrap import build_container
from tests.integration.admin.visitors import person, signed_in
from tests.integration.api.test_devices_api import PROFILE
from tests.stack import serving


@pytest.fixture
def visitor(parts, api, tenant):
    with signed_in(api, person(parts, tenant, Scope.ANALYST)) as opened:
        yield opened


def test_every_device_is_listed_with_the_origin_of_its_figures(api, tenant, visitor):
    with tenant.client(api) as agent:
        assert agent.put("/v1/devices/router-1", json=PROFILE).status_code == 200
    page = visitor.get("/admin/devices?device=router-1").text
    assert "Samsung Galaxy S5" in page
    assert "Acme Router" in page
    assert "calibrated" in page
    assert 'title="meter.csv, ladder of 2026-11-22"' in page
    assert "goes: Acme Router" in page


def test_calibrated_radio_of_a_custom_device_is_shown_for_that_device_only(api, tenant, visitor):
    figure = {"value": 0.777, "origin": "calibrated", "source": "a meter"}
    with tenant.client(api) as agent:
        (lte,) = [each for each in agent.get("/v1/devices").json()["radios"] if each["name"] == "lte"]
        own = PROFILE | {"radios": [lte | {"active_w": figure}]}
        answer = agent.put("/v1/devices/router-2", json=own)
        assert answer.status_code == 200, answer.text
    shown = visitor.get("/admin/devices?device=router-2").text
    assert "0.777 W" in shown
    assert "of Acme Router" in shown
    assert "0.777 W" not in visitor.get("/admin/devices?device=router-1").text


def test_a_queue_is_planned_by_the_price_of_waiting(visitor):
    queue = "/admin/devices?device=galaxy-s5&radio=lte&jobs=4&job_mb=1&rate_mbps=8&apart_s=30&patience_s=0"
    assert "job 1, job 2, job 3, job 4" in visitor.get(f"{queue}&price_w=0").text
    dear = visitor.get(f"{queue}&price_w=100").text
    assert "job 1, job 2" not in dear
    assert dear.count("<td>single</td>") == 4


def test_devices_are_shown_while_other_queues_are_planned(database_url, redis_url, parts, tenant):
    busy = Slots("queues of jobs", at_once=0, patience_s=0.05)
    analyst = person(parts, tenant, Scope.ANALYST)
    with (
        build_container(database_url=database_url, redis_url=redis_url) as process,
        serving(replace(process, planning_slots=busy)) as address,
        signed_in(address, analyst) as visitor,
    ):
        page = visitor.get("/admin/devices")
    assert (page.status_code, "Samsung Galaxy S5" in page.text) == (200, True)
    assert "Other queues are being planned" in page.text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("device=removed", "No device 'removed'; the page of devices lists"),
        ("device=nexus-s&radio=lte", "Nexus-s has no radio 'lte'; it has"),
    ],
)
def test_unknown_device_or_radio_is_not_found_and_not_replaced_by_another(visitor, query, told):
    refused = visitor.get(f"/admin/devices?{query}")
    assert refused.status_code == 404
    assert told in unescape(refused.text)


def test_page_without_a_chosen_device_shows_one_with_a_radio(visitor):
    page = visitor.get("/admin/devices?device=&radio=")
    assert (page.status_code, "selected" in page.text) == (200, True)


def test_jobs_that_would_last_for_years_are_refused_in_words(visitor):
    refused = visitor.get("/admin/devices?jobs=3&job_mb=1000000&rate_mbps=0.07&apart_s=7.3&patience_s=0&price_w=0.05")
    assert refused.status_code == 422
    assert "30 days is the maximum" in refused.text


@pytest.mark.parametrize("query", ["jobs=0", "jobs=1000", "job_mb=nan", "rate_mbps=0", "apart_s=-1", "price_w=x"])
def test_invalid_queue_is_refused_with_its_field(visitor, query):
    refused = visitor.get(f"/admin/devices?{query}")
    assert refused.status_code == 422
    field = query.partition("=")[0]
    assert LABELS.get(field, field.capitalize()) in refused.text
