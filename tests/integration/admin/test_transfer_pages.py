"""A transfer's page: what was expected at its begin, what was agreed, what it reached, each as it is stored."""

import itertools
import json
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import quote

import psycopg
import pytest
import redis

from services.admin.formatting.field_labels import LABELS
from services.admin.pages import overview, transfers
from services.queue.sessions import JOURNAL
from tests.integration.admin.test_overview import GB, end
from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import Transfer, client, learned
from tests.integration.transfers.test_journal import Journal
from tradewind.units import format_bps

__all__ = ["client", "learned"]


@pytest.fixture
def journal(parts, redis_url):
    with redis.Redis.from_url(redis_url) as store:
        store.delete(JOURNAL)
        yield Journal(parts, store)


@pytest.fixture
def analyst(parts, api, learned):
    with signed_in(api, person(parts, learned, "analyst")) as visitor:
        yield visitor


def figures(text):
    """Rows of the table of quantities, by name: agreed, expected, interval, reached."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', text)
    return {name: re.findall(r"<td>(?:<strong>)?(.*?)(?:</strong>)?</td>", cells) for name, cells in rows}


def test_expected_and_target_values_are_shown_next_to_measured_ones(analyst, client, journal, admin_database_url):
    ended = end(client, {"kind": "throughput_at_least", "target": 100e6}, energy_j=300)
    journal.run()
    with psycopg.connect(admin_database_url) as admin:  # a model of so few logs promises nothing
        promised = """UPDATE transfers SET expected = expected || '{"feasible": true}' WHERE id = %s"""
        admin.execute(promised, [ended["transfer_id"]])
    told = client.get(f"/v1/transfers/{ended['transfer_id']}").json()
    predicted = told["expected"]["predicted"]["throughput_bps"]
    assert 0 < predicted["low"] < predicted["mean"] <= predicted["high"]
    text = analyst.get(f"/admin/transfers/{ended['transfer_id']}").text
    rows = figures(text)
    agreed, expected, interval, reached = rows["Throughput"]
    assert (agreed, reached) == ("at least 100 Mbit/s", "200 Mbit/s")
    assert expected == format_bps(predicted["mean"])
    assert interval == f"{format_bps(predicted['low'])} to {format_bps(predicted['high'])}"
    assert rows["Duration"][3] == "40 s"
    assert rows["Energy, total"][3] == "300 J (source and destination)"
    assert rows["Power, total"][3] == "7.5 W (source and destination)"
    assert "Promised at least 100 Mbit/s; reached 200 Mbit/s." in text
    assert re.search(r'class="badge good">met<', text)
    drawn = json.loads(re.search(r"data-chart=\"([^\"]+)\"", text)[1].replace("&#34;", '"'))
    levels = {each["name"]: each["yAxis"] for each in drawn["series"][0]["markLine"]["data"] if "yAxis" in each}
    assert levels == {"expected": predicted["mean"] / 1e6, "promised": 100.0}


def test_a_row_that_is_changed_changes_the_page_of_its_transfer(analyst, client, journal, admin_database_url):
    ended = end(client, {"kind": "deadline", "target": 41}, energy_j=300)
    journal.run()
    with psycopg.connect(admin_database_url) as admin:
        admin.execute(
            """
            UPDATE transfers SET throughput_bps = 3e6, duration_s = 50, agreement_kept = false,
                   energy = '[{"host": "source", "total_j": 77, "method": "rapl", "quality": "measured"}]',
                   expected = jsonb_set(expected, '{predicted,throughput_bps,mean}', '12e6') || '{"feasible": true}'
             WHERE id = %s
            """,
            [ended["transfer_id"]],
        )
    text = analyst.get(f"/admin/transfers/{ended['transfer_id']}").text
    rows = figures(text)
    assert rows["Throughput"][1] == "12 Mbit/s"
    assert rows["Throughput"][3] == "3 Mbit/s"
    assert rows["Energy, total"][3] == "77 J (source)"
    assert "source: 77 J in all (measured, rapl)" in text
    assert "Promised within 41 s; reached 50 s." in text
    assert re.search(r'class="badge bad">missed<', text)


def test_target_that_could_not_be_promised_is_not_counted_as_missed(
    analyst, client, journal, admin_database_url, parts, learned
):
    def sla_outcomes():
        with parts.store.unit_of_work(learned.id) as uow:
            uow.rollups.compute_marked_days(1_000)
            found = uow.outcomes.count_sla_outcomes(datetime.now(UTC).date() - timedelta(days=2))
            uow.commit()
            return found

    ended = end(client, {"kind": "deadline", "target": 39}, energy_j=300)
    journal.run()
    with psycopg.connect(admin_database_url) as admin:
        changed = "UPDATE transfers SET expected = expected || %s WHERE id = %s"
        admin.execute(changed, ['{"feasible": true}', ended["transfer_id"]])
        admin.commit()
        before = sla_outcomes()
        admin.execute(changed, ['{"feasible": false, "probability": 0.46}', ended["transfer_id"]])
        admin.commit()
    after = sla_outcomes()
    assert (after.missed, after.unpromised) == (before.missed - 1, before.unpromised + 1)
    text = analyst.get(f"/admin/transfers/{ended['transfer_id']}").text
    assert "within 39 s; could not be promised (46 %)" in text
    assert "Requested within 39 s, which could not be promised (46 %); reached 40 s." in text
    assert "Promised within" not in text
    assert "requested, not promised" in analyst.get("/admin").text


def test_page_states_why_an_sla_is_not_judged(analyst, client):
    def why(sla, **ended):
        known = end(client, sla, **ended)
        return re.search(r"</h2>\s*<p>(.*?)</p>", analyst.get(f"/admin/transfers/{known['transfer_id']}").text)[1]

    assert "neither end was metered" in why({"kind": "energy_at_most", "target": 500})
    assert "no target that could be missed" in why({"kind": "max_throughput"})
    assert "cancelled" in why({"kind": "deadline", "target": 900}, status="cancelled")
    assert "failed" in why({"kind": "deadline", "target": 900}, status="failed")


def test_expectation_is_that_of_the_first_heartbeat(client, journal, parts, learned):
    transfer = Transfer(client)
    transfer.beat(0)
    transfer.beat(1)
    assert journal.run().stored == 2
    expected = client.get(f"/v1/transfers/{transfer.id}").json()["expected"]
    recommended = transfer.recommended
    assert expected["predicted"]["throughput_bps"] == pytest.approx(recommended["predicted"]["throughput_bps"])
    assert (expected["source"], expected["release"]) == (recommended["source"], recommended["release"])


def listed(text):
    return re.findall(r'<a href="/admin/transfers/([0-9a-f-]{36})">', text)


def test_list_is_filtered_by_sla_key_endpoint_and_day(analyst, client, journal, learned):
    ended = end(client, {"kind": "deadline", "target": 900})
    live = Transfer(client, sla={"kind": "min_energy"})
    live.beat(0)
    journal.run()
    (newest, *_) = client.get("/v1/transfers", params={"sla": "min_energy"}).json()
    assert newest["transfer_id"] == live.id
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    with learned.parts.store.unit_of_work(learned.id) as uow:
        of_key = "SELECT k.name FROM api_keys k JOIN transfers t ON t.key_id = k.id WHERE t.id = %s"
        key = quote(uow.connection.exec_driver_sql(of_key, (live.id,)).scalar_one())
    for question, there in (
        ("sla=min_energy", {live.id}),
        ("sla=deadline&state=ended", {ended["transfer_id"]}),
        (f"key={key}&state=live&sla=min_energy&source=&until=", {live.id}),
        (f"since={today}&sla=min_energy&destination=amber", {live.id}),
        ("until=2001-01-01", set()),
        ("since=2099-12-31&until=2099-12-31", set()),
        ("destination=nowhere", set()),
    ):
        answer = analyst.get(f"/admin/transfers?{question}")
        assert answer.status_code == 200, answer.text
        assert {ended["transfer_id"], live.id} & set(listed(answer.text)) == there, question
        assert there or "No transfer matches" in answer.text
    for question, field in (
        ("state=planet", "state"),
        ("sla=planet", "sla"),
        ("outcome=planet", "outcome"),
        ("since=soon", "since"),
        ("since=1989-12-31", "since"),
        ("until=9999-12-31", "until"),
        ("key=nobody", "key nobody"),
        ("since=2026-02-02&until=2026-02-01", "until"),
        ("source=%00", "source"),
        ("before=7", "before"),
        ("page=0", "page"),
        ("sort=planet", "sort"),
        ("planet=3", "planet"),
    ):
        wrong = analyst.get(f"/admin/transfers?{question}")
        assert wrong.status_code == 200
        sentence = re.search(r'role="alert">([^<]+)\.</p>', wrong.text)[1]
        assert LABELS.get(field, field).casefold() in unescape(sentence).casefold()
        assert listed(wrong.text) == []
        assert 'aria-label="Pages"' in wrong.text


def test_ends_are_found_by_a_part_of_their_name(analyst, client, journal):
    ended = end(client, {"kind": "deadline", "target": 900})
    live = Transfer(client)
    live.beat(0)
    journal.run()
    for question in ("destination=mbe", "destination=AMB&source=rig", "source=origin"):
        assert {ended["transfer_id"], live.id} <= set(listed(analyst.get(f"/admin/transfers?{question}").text))
    assert listed(analyst.get("/admin/transfers?destination=m_e").text) == []


def test_list_is_filtered_by_outcome(analyst, client, journal, admin_database_url):
    met, missed = (end(client, {"kind": "deadline", "target": target}) for target in (41, 39))
    failed = end(client, status="failed")
    journal.run()
    with psycopg.connect(admin_database_url) as admin:
        admin.execute(
            """UPDATE transfers SET expected = expected || '{"feasible": true}' WHERE id = ANY(%s)""",
            [[met["transfer_id"], missed["transfer_id"]]],
        )
    mine = {met["transfer_id"], missed["transfer_id"], failed["transfer_id"]}
    for outcome, there in (("met", met), ("missed", missed), ("failed", failed)):
        found = set(listed(analyst.get(f"/admin/transfers?outcome={outcome}").text))
        assert mine & found == {there["transfer_id"]}, outcome


def test_list_is_sorted_by_a_value_and_paged(analyst, client, journal, parts, learned, monkeypatch):
    monkeypatch.setattr(transfers, "PAGE", 2)
    ended = [end(client, moved=moved, seconds=40)["transfer_id"] for moved in (3 * GB, 1 * GB, 2 * GB)]
    journal.run()
    found, address = [], "/admin/transfers?sort=-moved"
    while address and len(found) < 40:
        text = analyst.get(address).text
        found += listed(text)
        older = re.search(r'rel="next" href="([^"]+)"', text)
        address = older and f"/admin/transfers{unescape(older[1])}"
    assert [each for each in found if each in ended] == [ended[0], ended[2], ended[1]]
    assert len(found) == len(set(found))
    text = analyst.get("/admin/transfers?sort=moved").text
    assert 'aria-sort="ascending"' in text


def test_every_older_transfer_is_reached_once(analyst, client, journal, monkeypatch):
    monkeypatch.setattr(transfers, "PAGE", 2)
    for _ in range(3):
        end(client)
    found, address = [], "/admin/transfers?state=ended"
    while address:
        text = analyst.get(address).text
        found += listed(text)
        older = re.search(r'rel="next" href="([^"]+)"', text)
        address = older and f"/admin/transfers{unescape(older[1])}"
        assert address is None or "state=ended" in address
    assert len(found) == len(set(found)) >= 3


@pytest.mark.parametrize(
    ("sla", "rate_bps", "standing"),
    [
        ({"kind": "throughput_at_least", "target": 50e6}, 80e6, "on track"),
        ({"kind": "throughput_at_least", "target": 500e6}, 80e6, "at risk"),
        ({"kind": "deadline", "target": 9000}, 80e6, "on track"),
        ({"kind": "deadline", "target": 20}, 80e6, "at risk"),
        ({"kind": "max_throughput"}, 80e6, ""),
    ],
)
def test_live_transfer_shows_its_progress_and_whether_it_is_on_track(analyst, client, journal, sla, rate_bps, standing):
    live = Transfer(client, sla=sla)
    live.beat(0)
    live.beat(1, rate_bps)
    journal.run()
    text = analyst.get("/admin/transfers?state=live").text
    row = next(each for each in text.split("<tr>") if live.id in each)
    words = " ".join(re.sub(r"<[^>]+>", " ", row).split())
    assert "17 %, 25 s left" in words
    for each in ("on track", "at risk"):
        assert (each in words) == (each == standing)
    assert "25 s left" in analyst.get(f"/admin/transfers/{live.id}").text


def test_number_of_live_transfers_is_streamed(analyst, client, journal):
    """Silent transfers of other tests may stop counting meanwhile, so each number is compared with its own rows."""

    def read_event():
        text = "\n".join(itertools.takewhile(bool, lines))
        count = int(re.search(r'id="live-count">(\d+)<', text)[1])
        assert min(count, overview.LIVE_SHOWN) == text.count("<tr>") - 1  # a row is the head
        return text

    assert 'hx-sse:connect="/admin/live"' in analyst.get("/admin").text
    with analyst.stream("GET", "/admin/live") as stream:
        lines = stream.iter_lines()
        transfer = Transfer(client)
        assert transfer.id not in read_event()
        transfer.beat(0)
        journal.run()
        assert any(transfer.id in read_event() for _ in range(10))  # how long ago something was changes it too


def test_page_of_a_failed_transfer_says_how_far_it_came(analyst, client, journal):
    failed = end(client, status="failed", moved=GB // 4)["transfer_id"]
    journal.run()
    text = analyst.get(f"/admin/transfers/{failed}").text
    assert re.search(r'class="problem">It failed: \d+ files? arrived', text)
    assert re.search(r"250 MB of .* were moved", text)
    row = next(each for each in analyst.get("/admin/transfers?outcome=failed").text.split("<tr>") if failed in each)
    assert "stopped at" in row
    cancelled = end(client, status="cancelled")["transfer_id"]
    assert "It was cancelled" in analyst.get(f"/admin/transfers/{cancelled}").text
    succeeded = end(client)["transfer_id"]
    assert 'class="problem' not in analyst.get(f"/admin/transfers/{succeeded}").text
