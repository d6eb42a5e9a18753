"""The overview's numbers are those of the rows: change the rows, and the numbers change."""

import json
import re
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import DESTINATION, Transfer, client, learned
from tests.records import record
from tradewind.sla.kinds import EnergyBasis

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


def test_overview_of_an_empty_tenant_lists_the_first_steps(parts, api, tenant):
    with signed_in(api, person(parts, tenant)) as visitor:
        page = visitor.get("/admin").text
    assert numbers(page)["Current release"].startswith("none")
    assert page.index("First steps") < page.index("tradewind copy")
    assert 'href="/admin/keys"' in page
    assert "Against untuned" not in page


def test_first_steps_go_once_a_release_is_there(parts, api, learned):
    with signed_in(api, person(parts, learned)) as visitor:
        assert "First steps" not in visitor.get("/admin").text


def to_do(page):
    """Items of the list of what there is to do, by the page where it is done."""
    part = page[page.index('id="to-do"') : page.index("</section>", page.index('id="to-do"'))]
    return {
        address: " ".join(re.sub(r"<[^>]+>", " ", text).split())
        for address, text in re.findall(r'<li><a href="([^"]+)">(.*?)</a>', part)
    }


def test_each_thing_to_do_leads_to_its_page_and_goes_when_it_is_done(parts, api, learned):
    with signed_in(api, person(parts, learned)) as visitor:
        before = to_do(visitor.get("/admin").text)
        assert re.fullmatch(r"No price book is current", before["/admin/price-books"])
        with learned.client(api) as agent:
            rows = [record(number, source="", destination="nowhere") for number in range(2)] + [record(7)]
            agent.post("/v1/logs", content="\n".join(map(json.dumps, rows))).raise_for_status()
        with parts.store.unit_of_work(learned.id) as uow:
            uow.price_books.add("Spring", "EUR", EnergyBasis.TOTAL, parts.clock.now())
            release = uow.releases.find_current()
            tier = uow.sla_tiers.list_page(release, limit=1)[0].tier
            uow.connection.exec_driver_sql(
                "UPDATE sla_partitions SET needs_review = true WHERE tier_id = %(id)s", {"id": tier.id}
            )
            uow.commit()
        after = to_do(visitor.get("/admin").text)
        (draft,) = (address for address in after if address.startswith("/admin/price-books/"))
        assert after[draft] == "1 draft of prices"
        assert after["/admin/logs/quarantine"] == "2 rows in quarantine"
        assert re.fullmatch(r"\d+ tiers? to review", after["/admin/links?show=review"])
        for address in after:
            assert visitor.get(address).status_code == 200, address
        assert visitor.submit("/admin/logs/quarantine/dismiss-all").status_code == 303
        assert visitor.submit("/admin/tiers/accept", tier=tier.id, release=str(release)).status_code == 303
        done = to_do(visitor.get("/admin").text)
        assert "/admin/logs/quarantine" not in done
        assert done.get("/admin/links?show=review") == before.get("/admin/links?show=review")


@pytest.mark.parametrize(("period", "words"), [("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days"), ("x", "30")])
def test_ranges_sum_what_started_in_them(parts, api, learned, client, period, words):
    with signed_in(api, person(parts, learned, "analyst")) as visitor:
        address = f"/admin?range={period}"
        before = numbers(visitor.get(address).text)
        transfers = int(re.search(r"by (\d+) transfer", before["Moved"])[1])
        met = int(re.search(r"(\d+) met", before["SLAs met"])[1])
        end(client, {"kind": "deadline", "target": 41}, energy_j=300)
        page = visitor.get(address).text
        after = numbers(page)
    assert int(re.search(r"by (\d+) transfer", after["Moved"])[1]) == transfers + 1
    assert int(re.search(r"(\d+) met", after["SLAs met"])[1]) == met + 1
    assert f"in {words}" in after["Moved"]
    assert f'aria-current="true">{words}' in page


def test_the_shortest_range_leaves_out_what_started_before_it(parts, api, learned, client, admin_database_url):
    ended = end(client, {"kind": "deadline", "target": 41}, energy_j=300)
    with signed_in(api, person(parts, learned, "analyst")) as visitor:
        before = [numbers(visitor.get(f"/admin?range={each}").text)["SLAs met"] for each in ("24h", "30d")]
        with psycopg.connect(admin_database_url) as admin:
            earlier = "UPDATE transfers SET started_at = started_at - interval '25 hours' WHERE id = %s"
            admin.execute(earlier, [ended["transfer_id"]])
        after = [numbers(visitor.get(f"/admin?range={each}").text)["SLAs met"] for each in ("24h", "30d")]
    met = [int(re.search(r"(\d+) met", each)[1]) for each in (*before, *after)]
    assert met == [met[0], met[1], met[0] - 1, met[1]]


def test_revenue_is_what_the_page_of_usage_sums_and_for_providers_alone(parts, api, learned):
    with signed_in(api, person(parts, learned, "provider")) as visitor:
        assert 'hx-get="/admin/revenue"' in visitor.get("/admin").text
        shown = visitor.get("/admin/revenue")
        assert shown.status_code == 200
        assert "nothing yet" in shown.text
    with signed_in(api, person(parts, learned, "analyst")) as visitor:
        assert "Revenue" not in visitor.get("/admin").text
        assert visitor.get("/admin/revenue").status_code == 403
