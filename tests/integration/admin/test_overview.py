"""The overview's numbers are those of the rows: change the rows, and the numbers change."""

import re
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import DESTINATION, Transfer, client, learned
from tests.records import record

__all__ = ["client", "learned"]

GB = 10**9


def end(client, sla=None, status="succeeded", moved=GB, seconds=40, energy_j=None):
    """A transfer that is told from its first heartbeat to its end; the answer of its timeline."""
    transfer = Transfer(client, **({} if sla is None else {"sla": sla}))
    transfer.beat(0)
    known = record(transfer_id=transfer.id, source="origin", destination=DESTINATION, chunk="whole")
    begun_at = datetime.now(UTC) - timedelta(hours=1)
    known |= {"started_at": begun_at.isoformat(), "ended_at": (begun_at + timedelta(seconds=seconds)).isoformat()}
    known["outcome"] |= {"status": status, "bytes_moved": moved, "throughput_bps": 8 * moved / seconds}
    ends = ("source", "destination")
    known["energy"] = (
        []
        if energy_j is None
        else [{"host": each, "total_j": energy_j / 2, "method": "rapl", "quality": "measured"} for each in ends]
    )
    heartbeat = transfer.body(1)
    told = {"records": [known], "heartbeats": [{"heartbeat": heartbeat}]}
    client.post(f"/v1/transfers/{transfer.id}/complete", json=told).raise_for_status()
    return client.get(f"/v1/transfers/{transfer.id}").json()["transfer"]


@pytest.mark.parametrize(
    ("sla", "ended", "kept"),
    [
        ({"kind": "throughput_at_least", "target": 100e6}, {}, True),
        ({"kind": "throughput_at_least", "target": 900e6}, {}, False),
        ({"kind": "deadline", "target": 41}, {}, True),
        ({"kind": "deadline", "target": 39}, {}, False),
        ({"kind": "energy_at_most", "target": 500}, {"energy_j": 400}, True),
        ({"kind": "energy_at_most", "target": 500}, {"energy_j": 600}, False),
        ({"kind": "energy_at_most", "target": 500}, {}, None),
        ({"kind": "max_throughput"}, {}, None),
        ({"kind": "deadline", "target": 900}, {"status": "failed"}, False),
        ({"kind": "deadline", "target": 900}, {"status": "cancelled"}, None),
    ],
)
def test_sla_is_judged_by_the_measured_values(client, sla, ended, kept):
    told = end(client, sla, **ended)
    assert told.get("agreement_kept") is kept
    assert told.get("energy_j") == ended.get("energy_j")


def numbers(page):
    return {
        name: re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", value)).strip()
        for name, value in re.findall(r"<dt>(?:<a[^>]*>)?([^<]+)(?:</a>)?</dt>\s*<dd>(.*?)</dd>", page, re.DOTALL)
    }


def test_the_overview_adds_up_what_ended(parts, api, learned, client):
    with signed_in(api, person(parts, learned, "analyst")) as visitor:
        before = numbers(visitor.get("/admin").text)
        counted = [int(number) for number in re.findall(r"(\d+) (?:met|missed)", before["SLAs met"])]
        end(client, {"kind": "deadline", "target": 41}, energy_j=300)
        end(client, {"kind": "deadline", "target": 39}, energy_j=300)
        page = visitor.get("/admin").text
        after = numbers(page)
    assert [int(number) for number in re.findall(r"(\d+) (?:met|missed)", after["SLAs met"])] == [
        counted[0] + 1,
        counted[1] + 1,
    ]
    assert "Against untuned transfers" in page
    assert f"origin → {DESTINATION}" in page
    assert "what the current release expects of the lowest setting" in page


def test_a_row_that_is_changed_changes_the_number(parts, api, learned, client, admin_database_url):
    ended = end(client, {"kind": "deadline", "target": 41}, energy_j=300)
    with signed_in(api, person(parts, learned, "analyst")) as visitor:
        before = numbers(visitor.get("/admin").text)
        with psycopg.connect(admin_database_url) as admin:
            whose = "WHERE tenant_id = %s AND transfer_id = %s"
            values = [learned.id, ended["transfer_id"]]
            admin.execute(f"UPDATE transfer_logs SET bytes_moved = 5e12, source_energy_j = 9e9 {whose}", values)
            admin.execute("UPDATE transfers SET agreement_kept = false WHERE id = %s", values[1:])
            links = admin.execute(f"SELECT link_id FROM transfer_logs {whose}", values).fetchall()
        overview, link = (numbers(visitor.get(page).text) for page in ("/admin", f"/admin/links/{links[0][0]}"))
    assert before["Moved"] != overview["Moved"] == link["Moved"]
    assert before["Energy"] != overview["Energy"] == link["Energy"]
    assert overview["Moved"].startswith("5")
    assert "9 GJ" in overview["Energy"]
    assert before["SLAs met"] != overview["SLAs met"] == link["SLAs met"]


def test_overview_of_an_empty_tenant_explains_the_first_steps(parts, api, tenant):
    with signed_in(api, person(parts, tenant)) as visitor:
        page = visitor.get("/admin").text
    assert numbers(page)["Current release"].startswith("none")
    assert "tradewind copy" in page
    assert "Against untuned" not in page
