"""Each number of a link's page is of rows: all of them are changed, and each number is the one that they have now."""

import json
import re
from html import unescape
from math import log
from typing import Any

import httpx
import psycopg

from services.application.monitoring.overview import MIN_TRANSFERS
from services.bootstrap import Container
from tests.integration.admin.test_overview import end, numbers
from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import client, learned
from tests.stack import Tenant

__all__ = ["client", "learned"]

CHANGES = """
UPDATE links SET rows = 65432, last_log_at = now() - interval '5 days' WHERE id = %(link)s;
DELETE FROM transfer_logs WHERE link_id = %(link)s AND transfer_id IS DISTINCT FROM %(transfer)s;
UPDATE transfer_logs SET bytes_moved = 5e12, source_energy_j = 6e9, destination_energy_j = 3e9,
    destination_energy_quality = 'calibrated' WHERE link_id = %(link)s;
UPDATE transfers SET agreement_kept = NULL, throughput_bps = 1e9, energy_j = 1000 WHERE tenant_id = %(tenant)s;
UPDATE transfers SET agreement_kept = false WHERE id = %(transfer)s;
UPDATE link_models SET bandwidth_bps = 7.77e8, rtt_s = 0.0777, load_median = 0.37, rows = 54321,
    fitted_at = now() - interval '9 days' WHERE link_id = %(link)s;
UPDATE release_links SET verdict = '{"accuracy": 0.4321, "coverage90": 0.5678, "held_out_rows": 4711}'
    WHERE link_id = %(link)s;
UPDATE clusters SET rows = 1234, load = 0.41, log2_file_count = 5, log2_mean_file_bytes = 20,
    accuracy = '{"throughput.accuracy": 0.1234}' WHERE tenant_id = %(tenant)s;
UPDATE surfaces SET observed = jsonb_build_array(observed -> 0, observed -> 1),
    log_throughput_mean = array_fill(%(log_400_mbps)s::float8, ARRAY[cardinality(certified)]),
    log_throughput_sd = array_fill(1e-9::float8, ARRAY[cardinality(certified)]),
    log_power_mean = array_fill(%(log_100_w)s::float8, ARRAY[cardinality(certified)]) WHERE tenant_id = %(tenant)s
"""
"""Of everything that the page tells, to what no row says before."""

SHOWN = {
    "Logs": "65 432 the last 5 d ago",
    "Moved": "5 TB by 1 transfer in 30 days",
    "Energy": "9 GJ 6 GJ measured, 3 GJ by a model; for 5 TB, at both ends",
    "SLAs met": "0 % 0 met, 1 missed in 30 days; 9 without a target or not metered",
    "Faster than untuned": (
        "2.5 × 2.5 to 2.5 × at 90 %: 1 Gbit/s against 400 Mbit/s expected by the release;"
        " energy saved 50 %, of both ends"
    ),
    "Path": "777 Mbit/s 77.7 ms round trip",
    "External load": "37 % median share of the path that others take",
    "Learned": "9 d ago release {release}, 54 321 rows",
    "Accuracy": "43 % on 4711 rows held out",
    "90 % interval holds": "57 % of held-out rows",
}
CLUSTER = ["32 files of 1.05 MB", "41 %", "1\u202f234", "2", "400 Mbit/s at 90 %", "12 %"]
DRAWN = [[5000.0], [9e9 / 5000]]


def cells(page: str) -> list[list[str]]:
    """The table of clusters without the buttons at its right, row by row."""
    body = page.partition("<h2>Clusters</h2>")[2].partition("<tbody>")[2].partition("</tbody>")[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in body.split("<tr>")[1:]]
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in row[:-1]] for row in rows]


def drawn(page: str) -> list[Any]:
    found = re.search(r"data-chart=(['\"])(.*?)\1", page)
    assert found is not None
    return [series["data"] for series in json.loads(unescape(found[2]))["series"]]


def test_each_number_of_a_link_is_of_its_rows(
    parts: Container, api: str, learned: Tenant, client: httpx.Client, admin_database_url: str
) -> None:
    kept, *_ = [end(client, {"kind": "deadline", "target": 40 + n % 2}, energy_j=300) for n in range(MIN_TRANSFERS)]
    with parts.store.unit_of_work(learned.id) as uow:
        (link,) = uow.links.list_all()
        release = uow.releases.find_current()
    asked = {"tenant": learned.id, "link": link.id, "transfer": kept["transfer_id"]}
    asked |= {"log_400_mbps": log(4e8), "log_100_w": log(100)}
    with signed_in(api, person(parts, learned, "analyst")) as visitor:
        before = visitor.get(f"/admin/links/{link.id}").text
        with psycopg.connect(admin_database_url) as admin:
            for change in CHANGES.split(";"):
                admin.execute(change, asked)
        after = visitor.get(f"/admin/links/{link.id}").text
    shown = {name: told.format(release=release) for name, told in SHOWN.items()}
    assert numbers(after) == shown  # of a number that is added here say too which rows it is of
    assert {name for name, told in numbers(before).items() if told == shown[name]} == set()
    clusters = cells(before)
    assert cells(after) == [CLUSTER] * len(clusters)
    assert all(now not in row for row in clusters for now in CLUSTER)
    assert drawn(after) == DRAWN
    assert drawn(before) != DRAWN
