"""The report of gains: page, API and agent show the same computation over a release that a real refresh made."""

import json
from pathlib import Path

import httpx
import pytest

from services.application.access.authenticate import Scope
from services.bootstrap import Container
from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import DESTINATION, learned
from tests.integration.models.refreshes import rows, upload
from tests.stack import Tenant, new_tenant
from tradewind.wire.gain import GainReport
from tradewind_agent.history.gain_page import write_gain_page
from tradewind_agent.history.gain_report import format_total, list_report_lines

__all__ = ["learned"]


@pytest.fixture
def report(api: str, learned: Tenant) -> GainReport:
    with learned.client(api, Scope.ANALYST) as client:
        return GainReport.model_validate_json(client.get("/v1/links/gain").raise_for_status().content)


def test_report_adds_up_what_was_moved(report: GainReport, learned: Tenant, api: str) -> None:
    [link] = report.links
    with learned.client(api, Scope.ANALYST) as client:
        query = (
            "SELECT count(*) AS transfers, sum(bytes_moved)::bigint AS bytes_moved, sum(duration_s) AS duration_s "
            "FROM transfers WHERE chunk IS NULL OR chunk = 'whole'"
        )
        [row] = client.post("/v1/warehouse/query", json={"sql": query}).raise_for_status().json()["rows"]
    assert link.destination == DESTINATION
    assert (link.transfers, link.bytes_moved) == (row["transfers"], row["bytes_moved"])
    assert link.duration_s == pytest.approx(row["duration_s"])


def test_report_states_what_the_recommended_setting_reaches(report: GainReport) -> None:
    [link] = report.links
    certain = [each for each in link.data_sets if each.rate_bps is not None]
    assert certain
    for data_set in certain:
        assert data_set.recommended is not None
        assert data_set.gain is not None
        assert data_set.rate_bps is not None
        assert data_set.rate_bps.low < data_set.rate_bps.mean < data_set.rate_bps.high
        assert sum(each.share_of_time for each in data_set.used) <= 1 + 1e-9
    assert link.saved_hours_a_month is not None
    assert report.saved_hours_a_month == link.saved_hours_a_month
    assert link.saved_hours_a_month.mean < link.hours_a_month


def test_logs_without_a_release_wait_for_it(api: str, tenant: Tenant, parts: Container) -> None:
    upload(api, tenant, rows(25))
    with tenant.client(api, Scope.ANALYST) as client:
        waiting = GainReport.model_validate_json(client.get("/v1/links/gain").raise_for_status().content)
    lines = list(list_report_lines(waiting))
    assert sum("25 logs wait for the next release" in line for line in lines) == 2
    assert not any("needs at least" in line for line in lines)
    with signed_in(api, person(parts, tenant, "analyst")) as visitor:
        assert "25 logs wait for the next release." in visitor.get("/admin/gain").text


def test_page_shows_the_same_report(report: GainReport, learned: Tenant, parts: Container, api: str) -> None:
    with signed_in(api, person(parts, learned, "analyst")) as visitor:
        page = visitor.get("/admin/gain").raise_for_status().text
    assert DESTINATION in page
    assert report.saved_hours_a_month is not None
    assert f"{report.saved_hours_a_month.mean:.3g} h" in page
    assert "Recommended" in page


def test_agent_writes_text_and_a_page_that_loads_nothing(report: GainReport, tmp_path: Path) -> None:
    lines = list(list_report_lines(report))
    assert lines[0] == format_total(report)
    assert any("recommended" in line for line in lines)
    write_gain_page(report, tmp_path / "gain.html")
    page = (tmp_path / "gain.html").read_text(encoding="utf-8")
    assert DESTINATION in page
    assert "<script" not in page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")


def test_names_of_links_are_text_of_the_page(report: GainReport, tmp_path: Path) -> None:
    link = report.links[0].model_copy(update={"source": "<b onload=x>"})
    write_gain_page(report.model_copy(update={"links": (link,)}), tmp_path / "gain.html")
    assert "<b onload" not in (tmp_path / "gain.html").read_text(encoding="utf-8")


def test_report_is_of_its_own_tenant(api: str, learned: Tenant, parts: Container, database_url: str) -> None:
    assert learned.id
    other = new_tenant(parts, database_url)
    with other.client(api, Scope.ANALYST) as client:
        found = client.get("/v1/links/gain").raise_for_status().json()
    assert found["links"] == []
    assert found["saved_hours_a_month"] is None
    with signed_in(api, person(parts, other, "analyst")) as visitor:
        assert "No logs yet" in visitor.get("/admin/gain").raise_for_status().text


def test_link_without_model_says_what_to_try(api: str, parts: Container, database_url: str) -> None:
    tenant = new_tenant(parts, database_url)
    record = {
        "id": "6d0b9b8e-31c5-4a59-8d64-9d4c2c0a0f11",
        "started_at": "2026-11-01T10:00:00Z",
        "ended_at": "2026-11-01T10:01:00Z",
        "source": "north",
        "destination": "south",
        "mover": {"name": "rclone"},
        "protocol": "https",
        "direction": "download",
        "dataset": {"file_count": 10, "total_bytes": 10**9},
        "outcome": {
            "status": "succeeded",
            "bytes_moved": 10**9,
            "files_done": 10,
            "files_failed": 0,
            "throughput_bps": 8e9 / 60,
        },
    }
    with tenant.client(api) as client:
        client.post("/v1/logs", content=json.dumps(record).encode()).raise_for_status()
        found = GainReport.model_validate_json(client.get("/v1/links/gain").raise_for_status().content)
    [link] = found.links
    assert link.saved_hours_a_month is None
    assert link.data_sets == ()
    assert any("files at once" in advice for advice in link.advice)
    assert "nothing is certified yet" in format_total(found)


def test_report_needs_a_key(api: str) -> None:
    assert httpx.get(f"{api}/v1/links/gain").status_code == 401


def test_customers_do_not_see_what_others_move(learned: Tenant, api: str) -> None:
    with learned.client(api, Scope.AGENT) as client:
        assert client.get("/v1/links/gain").status_code == 403
