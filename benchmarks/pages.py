"""Server time and size of the pages over 10^7 log rows, 50,000 transfers and 500 links; what rollups cost.

The rows are those of `benchmarks/support/stored_rows.py`, made by the first run and stored for the next. The clock of a
page runs from its request, by a signed-in session over HTTP on this host, to its last byte. The report adds the
processor time that the API and the database took for it, and what other programs took of the machine meanwhile. Pages
are requested in rounds. Before each fifth round new rows come in on many links, so that pages roll days up again while
they are requested. The baseline is the same sums straight from the rows, as the overview would need them without
rollups.
"""

import os
import re
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from urllib.parse import quote
from uuid import UUID, uuid4

import httpx
import psutil

from benchmarks.ingest import run_api
from benchmarks.pipeline import DroppingOutbox
from benchmarks.support.command import run_command
from benchmarks.support.processes import ProcessorWatch
from benchmarks.support.report import Value, make_parser, open_scratch_folder, write_report
from benchmarks.support.server_time import ServerTime, ServiceProcesses
from benchmarks.support.stored_database import print_now
from benchmarks.support.stored_rows import (
    DAYS,
    FOLDER,
    LEARNED_LINKS,
    TRANSFERS,
    StoredRows,
    fetch_value,
    mark_days,
    open_stored_rows,
    store_rows,
)
from services.application.access.passwords import Passwords
from services.application.access.users import ROLES
from services.application.billing.draft_prices import set_rules
from services.application.billing.price_books import draft_book
from services.application.billing.publish import publish_book
from services.application.billing.refresh_usage import RefreshUsage
from services.application.billing.usage import Month
from services.application.logs.roll_up import RollUp
from services.embedded.valkey import EmbeddedValkey
from services.persistence.store import Store
from services.processes import NICENESS
from services.system_clock import SystemClock
from tradewind.sla.kinds import EnergyBasis
from tradewind.sla.price_rules import PriceRule
from tradewind.sla.pricing import PriceModel

ROUNDS_BETWEEN_NEW_ROWS = 5
ROWS_A_TIME = 100
PASSWORD = "the benchmark's own"


@dataclass(frozen=True)
class PagesScale:
    """The size of a run."""

    rows: int
    links: int
    requests: int
    days: int = DAYS


FULL = PagesScale(rows=10_000_000, links=500, requests=40)
QUICK = PagesScale(rows=500_000, links=500, requests=20)

SMOKE = PagesScale(rows=200, links=LEARNED_LINKS, requests=2, days=4)


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/pages.json``."""
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, help="log rows in the database; else 10,000,000, or 500,000 with --quick")
    parser.add_argument("--transfers", type=int, default=TRANSFERS, help="of the service among them; default: 50,000")
    options = parser.parse_args(argv)
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    started_at = datetime.now(UTC)
    with (
        open_scratch_folder("pages", FOLDER, is_removed=options.smoke) as folder,
        open_stored_rows(
            options.rows or scale.rows,
            links=scale.links,
            seed=options.seed,
            folder=folder,
            transfers=options.transfers,
            days=scale.days,
            niceness={} if options.smoke else NICENESS,
        ) as stored,
        EmbeddedValkey.temporary() as valkey,
        Store(stored.database_url, DroppingOutbox()) as store,
    ):
        pages = list_pages(stored, store)
        results = [*roll_up(stored, store), store_usage(stored, store)]
        with run_api(stored.database_url, valkey.url()) as (address, process):
            assert process.pid is not None
            service = ServiceProcesses(process.pid, stored.server_id)
            with sign_in(address, store, stored.tenant_id) as visitor:
                results += measure_pages(visitor, service, stored, pages, scale)
        rows = fetch_value(stored.admin, "SELECT count(*) FROM transfer_logs")
    write_report(
        "pages",
        quick=options.quick,
        smoke=options.smoke,
        results=results,
        summary=summarise(results, rows),
        started_at=started_at,
    )
    return 0


def roll_up(stored: StoredRows, store: Store) -> Iterator[dict[str, Value]]:
    """Make all days again from their rows, and the last one alone, as after a day of uploads."""
    for name, since in (("all", None), ("a new day", datetime.now(UTC).date())):
        mark_days(stored, since)
        began, made = time.perf_counter(), 0
        while days := RollUp(store.unit_of_work).run(stored.tenant_id):
            made += days
        seconds = time.perf_counter() - began
        print_now(f"rollup of {name}: {made:,} days of links in {seconds:.1f} s")
        yield {"case": f"rollup of {name}", "days_of_links": made, "seconds": seconds}


def store_usage(stored: StoredRows, store: Store) -> dict[str, Value]:
    """Store what is billed of each transfer, as workers do; new rows of the rounds are left to who reads them."""
    began, made = time.perf_counter(), 0
    while transfers := RefreshUsage(store.unit_of_work).run(stored.tenant_id):
        made += transfers
    seconds = time.perf_counter() - began
    print_now(f"usage of {made:,} transfers stored in {seconds:.1f} s")
    return {"case": "usage stored", "transfers": made, "seconds": seconds}


def measure_pages(
    visitor: httpx.Client, service: ServiceProcesses, stored: StoredRows, pages: Mapping[str, str], scale: PagesScale
) -> list[dict[str, Value]]:
    """Request the pages in turn, and the same sums straight from the rows."""
    took: dict[str, list[ServerTime]] = {name: [] for name in pages}
    size_bytes = dict.fromkeys(pages, 0)

    def load(name: str) -> None:
        answer = visitor.get(pages[name]).raise_for_status()
        size_bytes[name] = max(size_bytes[name], len(answer.content))

    shared = ProcessorWatch(psutil.Process())
    for round_number in range(scale.requests + 1):
        if round_number % ROUNDS_BETWEEN_NEW_ROWS == 0:
            store_rows(stored.admin, stored, datetime.now(UTC) - timedelta(days=2), ROWS_A_TIME)
        for name in pages:
            each = service.measure(partial(load, name))
            if round_number:  # the first one warms up
                took[name].append(each)
    share = shared.measure_share()
    straight = [measure_sums_s(stored) for _ in range(3)]
    return [
        *(
            {"case": name, "requests": len(times), "kb": size_bytes[name] / 1000, **take_percentiles(times)}
            for name, times in took.items()
        ),
        {"case": "sums straight from the rows", "requests": len(straight), "p50_ms": 1e3 * statistics.median(straight)},
        {
            "case": "the machine meanwhile",
            "others_share": share.others,
            "waited_share": share.waited,
            "stolen_share": share.stolen,
            "load_average": os.getloadavg()[0],
        },
    ]


def list_pages(stored: StoredRows, store: Store) -> dict[str, str]:
    """Return the addresses of the pages, lists sorted and searched too; a rule prices all tiers of the tenant."""
    admin = stored.admin
    link = fetch_value(admin, "SELECT id FROM links ORDER BY id LIMIT 1")
    release = fetch_value(admin, "SELECT max(id) FROM releases")
    middle = fetch_value(admin, "SELECT id FROM transfers ORDER BY started_at DESC, id OFFSET 1000 LIMIT 1")
    name = fetch_value(admin, "SELECT name FROM endpoints ORDER BY name LIMIT 1")
    cluster = fetch_value(admin, "SELECT id FROM clusters ORDER BY id LIMIT 1")
    customer, month = fetch_value(admin, "SELECT id FROM customers WHERE number = 7"), Month.of(SystemClock().now())
    book = publish_prices(store, stored.tenant_id)
    return {
        "overview": "/admin",
        "revenue of the overview": "/admin/revenue",
        "overview of 24 hours": "/admin?range=24h",
        "links": "/admin/links",
        "links by tiers": "/admin/links?sort=-tiers&q=way&page=3",
        "one link": f"/admin/links/{link}",
        "transfers": "/admin/transfers",
        "older transfers": f"/admin/transfers?before={middle}" if middle else "/admin/transfers?state=ended",
        "transfers by rate": "/admin/transfers?sort=-throughput&page=20",
        "transfers of an end": f"/admin/transfers?source={quote(name[:-1])}&outcome=missed",
        "transfers of a key": "/admin/transfers?key=customer+7",
        "one cluster": f"/admin/clusters/{cluster}",
        "gain": "/admin/gain",
        "usage": "/admin/usage",
        "statement": f"/admin/usage/statement?month={month}&customer={customer}",
        "customers": "/admin/customers",
        "one customer": f"/admin/customers/{customer}",
        "tiers": f"/admin/tiers?link={link}",
        "price books": "/admin/price-books",
        "one price book": f"/admin/price-books/{book}",
        "endpoints": "/admin/endpoints",
        "keys": "/admin/keys",
        "users": "/admin/users",
        "releases": "/admin/releases",
        "one release": f"/admin/releases/{release}",
        "logs": "/admin/logs",
        "quarantine": "/admin/logs/quarantine",
        "audit": "/admin/audit",
    }


def publish_prices(store: Store, tenant_id: UUID) -> UUID:
    """Return the price book of the tenant: one rule prices every tier."""
    with store.unit_of_work(tenant_id) as uow:
        books = uow.price_books.list_without_prices()
        if books:
            return books[0].id
        book = draft_book(
            "Prices", currency="EUR", energy_basis=EnergyBasis.TOTAL, copy_of=None, uow=uow, clock=SystemClock()
        )
    with store.unit_of_work(tenant_id) as uow:
        set_rules(book.id, [PriceRule(price=PriceModel(per_gb=Decimal("0.02")))], version=None, uow=uow)
    with store.unit_of_work(tenant_id) as uow:
        publish_book(book.id, effective_from=None, version=None, uow=uow, clock=SystemClock())
    return book.id


def measure_sums_s(stored: StoredRows) -> float:
    began = time.perf_counter()
    stored.admin.execute(STRAIGHT, [stored.tenant_id]).fetchall()
    return time.perf_counter() - began


def take_percentiles(times: Sequence[ServerTime]) -> dict[str, Value]:
    """Return the percentiles of wall time and of processor time, ms."""
    wall_ms, cpu_ms = [1e3 * each.wall_s for each in times], [1e3 * each.cpu_s for each in times]
    return {
        "p50_ms": statistics.median(wall_ms),
        "p95_ms": _compute_p95(wall_ms),
        "max_ms": max(wall_ms),
        "cpu_p50_ms": statistics.median(cpu_ms),
        "cpu_p95_ms": _compute_p95(cpu_ms),
    }


def _compute_p95(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20, method="inclusive")[-1]


@contextmanager
def sign_in(address: str, store: Store, tenant_id: UUID) -> Iterator[httpx.Client]:
    """Sign in as a new provider; yield the session."""
    login = f"benchmark {uuid4().hex}"
    password_hash = Passwords().hash(PASSWORD)
    with store.unit_of_work(tenant_id) as uow:
        user = uow.users.add(login, password_hash, ROLES, at=SystemClock().now())
        uow.users.set_password(user.id, password_hash, must_change=False)
        uow.commit()
    with httpx.Client(base_url=address, timeout=300) as visitor:
        answer = visitor.post("/admin/sign-in", data={"login": login, "password": PASSWORD})
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        moved = visitor.get("/admin").text
        assert re.search(r"<dt>(?:<a[^>]*>)?Moved(?:</a>)?</dt>\s*<dd><strong>[1-9]", moved), (
            "the overview shows no row"
        )
        yield visitor


def summarise(results: Sequence[dict[str, Value]], rows: int) -> dict[str, Value]:
    """Return the worst page, and what a new day costs of a rebuild."""
    by_case = {str(each["case"]): each for each in results}
    pages = {name.replace(" ", "_"): each for name, each in by_case.items() if "p95_ms" in each}
    straight_ms = float(by_case["sums straight from the rows"]["p50_ms"])  # type: ignore[arg-type]  # a figure
    one_day, all_days = (float(by_case[f"rollup of {what}"]["seconds"]) for what in ("a new day", "all"))  # type: ignore[arg-type]  # figures
    return {
        "rows": rows,
        "p95_ms": max(float(each["p95_ms"]) for each in pages.values()),  # type: ignore[arg-type]  # figures
        "cpu_p95_ms": max(float(each["cpu_p95_ms"]) for each in pages.values()),  # type: ignore[arg-type]  # figures
        **{f"{name}_p95_ms": each["p95_ms"] for name, each in pages.items()},
        "page_kb": max(float(each["kb"]) for each in pages.values()),  # type: ignore[arg-type]  # figures
        "straight_ms": straight_ms,
        "new_day_s": one_day,
        "rebuild_s": all_days,
        "new_day_share": one_day / all_days,
        "overview_vs_straight": float(by_case["overview"]["p50_ms"]) / straight_ms,  # type: ignore[arg-type]  # a figure
        "others_share": by_case["the machine meanwhile"]["others_share"],
    }


STRAIGHT = """
    SELECT (started_at AT TIME ZONE 'UTC')::date, count(*), sum(bytes_moved),
           sum(source_energy_j) FILTER (WHERE source_energy_quality = 'measured'),
           sum(source_energy_j) FILTER (WHERE source_energy_quality <> 'measured')
      FROM transfer_logs
     WHERE tenant_id = %s AND started_at >= now() - interval '30 days' AND (chunk IS NULL OR chunk = 'whole') GROUP BY 1
"""


if __name__ == "__main__":
    sys.exit(run_command("pages", lambda: main(sys.argv[1:])))
