"""Server time of the overview, links and one link's page over 10^7 log rows; daily rollups of a new day and of all.

The rows are made in the database by one statement a day, over the project's own links, settings and data sets, and are
stored as uploads are: every index, check and trigger is at work. A tenth of them are transfers of the service, with an
agreement. A small part is uploaded as a file, and the service's own workers make models of its links; the other links
are over the same endpoints by other networks, and have the same models. The clock of a page runs from its request, by a
signed-in session over HTTP on this host, to its last byte; pages are asked for in turn, and before each fifth turn new
rows come in on many links, so that pages make days anew while they are asked for. Beside it stand the same sums
straight from the rows, as the overview would ask for them without rollups.
"""

import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg

from benchmarks.ingest import api_process
from benchmarks.pipeline import Unsent, refresh, store_logs, workers
from benchmarks.report import Value, arguments, write
from benchmarks.workload import ndjson_lines
from services.application.passwords import hashed
from services.application.roll_up import RollUp
from services.application.users import ROLES
from services.bootstrap import SystemClock, container
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.store import Store, prepare_database
from tradewind.units import GB

DAYS = 80
TURNS_BETWEEN_NEW_ROWS = 5
ROWS_A_TIME = 100
LEARNED_LINKS = 5
LEARNED_ROWS_A_LINK = 200
BYTES_A_ROW = 750
"""Of the database: the row, its indexes, and what a transfer of the service has beside it."""
SPARE = 1.5
"""Of the write-ahead log."""
ROWS_A_SECOND = 40_000
"""Stored, vacuumed and rolled up on two cores: for the time that is told at the start."""
PASSWORD = "the benchmark's own"


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    rows: int
    links: int
    requests: int


FULL = Scale(rows=10_000_000, links=100, requests=100)
QUICK = Scale(rows=100_000, links=10, requests=40)


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/pages.json``."""
    options = arguments(__doc__.partition("\n")[0]).parse_args(argv)
    scale, started_at = QUICK if options.quick else FULL, datetime.now(UTC)
    announce(scale)
    with EmbeddedPostgres.temporary() as postgres, EmbeddedValkey.temporary() as valkey:
        database_url, tenant_id = prepare_database(postgres.url()), uuid4()
        learn(database_url, valkey.url(), tenant_id, options.seed)
        with (
            psycopg.connect(postgres.url(), autocommit=True) as admin,
            Store(database_url, Unsent()) as store,
        ):
            admin.execute(MORE_LINKS, {"each": scale.links // LEARNED_LINKS - 1})
            results = [*fill(admin, store, tenant_id, scale)]
            with api_process(database_url, valkey.url()) as (address, _):
                results += measure(address, admin, store, tenant_id, scale)
    write("pages", quick=options.quick, results=results, summary=summary(results, scale), started_at=started_at)
    return 0


def announce(scale: Scale) -> None:
    """Say what the run takes, and refuse it where the disk has no room.

    Raises
    ------
    SystemExit : there is no room.
    """
    needed, free = scale.rows * BYTES_A_ROW * SPARE, shutil.disk_usage(tempfile.gettempdir()).free
    tell(
        f"{scale.rows:,} rows: about {needed / GB:.1f} GB in {tempfile.gettempdir()} ({free / GB:.0f} GB are free), "
        f"removed at the end; about {2 + scale.rows / ROWS_A_SECOND / 60:.0f} minutes"
    )
    if free < needed:
        raise SystemExit("pages: too little room; TMPDIR may name another folder, --quick takes a hundredth")


def tell(what: str) -> None:
    print(what, flush=True)


def learn(database_url: str, redis_url: str, tenant_id: UUID, seed: int) -> None:
    """Links with endpoints and models, as uploads and workers make them."""
    rows = LEARNED_LINKS * LEARNED_ROWS_A_LINK
    tell(f"learning {LEARNED_LINKS} links from {rows:,} rows")
    store_logs(database_url, tenant_id, ndjson_lines(rows, links=LEARNED_LINKS, seed=seed))
    with container(database_url=database_url, redis_url=redis_url) as parts, workers(database_url, redis_url):
        refresh(parts, tenant_id)


def fill(admin: psycopg.Connection, store: Store, tenant_id: UUID, scale: Scale) -> Iterator[dict[str, Value]]:
    """Store the rows and roll them up: all days at once, then one new day."""
    tomorrow = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    first, per_day, began = tomorrow - timedelta(days=DAYS), scale.rows // DAYS, time.monotonic()
    months = sorted({(first + timedelta(days=day)).date().replace(day=1) for day in range(DAYS)})
    admin.execute("SELECT ensure_log_partitions(%s)", [months])
    for day in range(DAYS - 1):
        store_rows(admin, tenant_id, first + timedelta(days=day), per_day)
        if (day + 1) % 10 == 0:
            tell(f"{(day + 1) * per_day:,} rows stored in {time.monotonic() - began:.0f} s")
    admin.execute(COUNT_LINKS)
    admin.execute("VACUUM ANALYZE")  # as autovacuum does while logs come in
    admin.execute("CHECKPOINT")
    days, seconds = rolled_up(store, tenant_id)
    size = one(admin, "SELECT pg_database_size(current_database())")
    tell(f"rolled up in {seconds:.0f} s; the database has {size / GB:.1f} GB")
    yield {"case": "rollup of all", "days_of_links": days, "seconds": seconds}
    store_rows(admin, tenant_id, tomorrow - timedelta(days=1), per_day)
    days, seconds = rolled_up(store, tenant_id)
    yield {"case": "rollup of a new day", "days_of_links": days, "seconds": seconds}


def store_rows(admin: psycopg.Connection, tenant_id: UUID, begins_at: datetime, rows: int) -> None:
    """Rows of one day, spread over it."""
    with admin.transaction():
        admin.execute(LOGS, {"tenant": tenant_id, "rows": rows, "begins": begins_at, "batch": uuid4()})
        admin.execute(ENDS, {"tenant": tenant_id, "begins": begins_at})


def rolled_up(store: Store, tenant_id: UUID) -> tuple[int, float]:
    """Days of links that were made, and s."""
    began, made = time.perf_counter(), 0
    while days := RollUp(store.unit_of_work).run(tenant_id):
        made += days
    return made, time.perf_counter() - began


def measure(
    address: str, admin: psycopg.Connection, store: Store, tenant_id: UUID, scale: Scale
) -> list[dict[str, Value]]:
    """Ask for the pages in turn, and for the same sums straight from the rows."""
    link = one(admin, "SELECT id FROM links ORDER BY id LIMIT 1")
    pages = {"overview": "/admin", "links": "/admin/links", "one link": f"/admin/links/{link}"}
    took: dict[str, list[float]] = {name: [] for name in pages}
    with signed_in(address, store, tenant_id) as visitor:
        for turn in range(scale.requests + 1):
            if turn % TURNS_BETWEEN_NEW_ROWS == 0:
                store_rows(admin, tenant_id, datetime.now(UTC) - timedelta(days=2), ROWS_A_TIME)
            for name, path in pages.items():
                seconds = timed(lambda path=path: visitor.get(path).raise_for_status())  # type: ignore[misc]  # bound
                if turn:  # the first one warms up
                    took[name].append(seconds)
    straight = [timed(lambda: admin.execute(STRAIGHT, [tenant_id]).fetchall()) for _ in range(3)]
    return [
        *({"case": name, "requests": len(times), **percentiles(times)} for name, times in took.items()),
        {"case": "sums straight from the rows", "requests": len(straight), "p50_ms": 1e3 * statistics.median(straight)},
    ]


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def percentiles(times: Sequence[float]) -> dict[str, Value]:
    """Of s, in ms."""
    ordered = statistics.quantiles(times, n=20, method="inclusive")
    return {"p50_ms": 1e3 * statistics.median(times), "p95_ms": 1e3 * ordered[-1], "max_ms": 1e3 * max(times)}


@contextmanager
def signed_in(address: str, store: Store, tenant_id: UUID) -> Iterator[httpx.Client]:
    """A browser's session of a new provider."""
    with store.unit_of_work(tenant_id) as uow:
        user = uow.users.add("benchmark", hashed(PASSWORD), ROLES, at=SystemClock().now())
        uow.users.set_password(user.id, hashed(PASSWORD), must_change=False)
        uow.commit()
    with httpx.Client(base_url=address, timeout=300) as visitor:
        answer = visitor.post("/admin/sign-in", data={"login": "benchmark", "password": PASSWORD})
        assert answer.status_code == httpx.codes.SEE_OTHER, answer.text
        moved = visitor.get("/admin").text
        assert re.search(r"<dt>Moved</dt>\s*<dd><strong>[1-9]", moved), "the overview tells of no row"
        yield visitor


def summary(results: Sequence[dict[str, Value]], scale: Scale) -> dict[str, Value]:
    """The worst page, and what a new day costs of a rebuild."""
    told = {str(each["case"]): each for each in results}
    p95 = {name: float(each["p95_ms"]) for name, each in told.items() if "p95_ms" in each}  # type: ignore[arg-type]  # figures
    one_day, all_days = (float(told[f"rollup of {what}"]["seconds"]) for what in ("a new day", "all"))  # type: ignore[arg-type]  # figures
    return {
        "rows": scale.rows,
        "p95_ms": max(p95.values()),
        **{f"{name.replace(' ', '_')}_p95_ms": value for name, value in p95.items()},
        "straight_ms": told["sums straight from the rows"]["p50_ms"],
        "new_day_s": one_day,
        "rebuild_s": all_days,
        "new_day_share": one_day / all_days,
    }


def one(admin: psycopg.Connection, query: str) -> Any:
    (value,) = admin.execute(query).fetchone() or (None,)
    return value


# Settings, data sets and rates as the workload of benchmarks draws them, by the row's number instead of at random.
LOGS = """
    INSERT INTO transfer_logs (
        tenant_id, id, link_id, batch_id, received_at, started_at, ended_at, protocol, direction, mover_version, chunk,
        transfer_id, bandwidth_bps, rtt_s, min_rtt_s, loss_rate, buffer_bytes, file_count, total_bytes, mean_file_bytes,
        concurrency, parallelism, pipelining, io_block_bytes, status, bytes_moved, files_done, files_failed,
        throughput_bps, retransmitted_bytes, usage_cpu, usage_memory, usage_nic, source_energy_j, source_dynamic_j,
        source_base_w, source_energy_method, source_energy_quality)
    SELECT %(tenant)s, uuidv7(), link, %(batch)s, at + interval '2 minutes', at, at + seconds * interval '1 s', 'https',
           'download', '0.1.0', 'whole', CASE WHEN n %% 10 = 0 THEN gen_random_uuid() END, 1e9, 0.06, 0.05, 1e-5,
           4194304, files, files * size, size, (ARRAY[1,2,3,4,6,8,12,16,24,32])[1 + n %% 10],
           (ARRAY[1,2,3,4,6,8])[1 + n / 10 %% 6], (ARRAY[0,1,2,4,8,16,32])[1 + n / 60 %% 7], 262144, 'succeeded',
           files * size, files, 0, 8.0 * files * size / seconds, n %% 1000, 0.3, 0.31, 0.5,
           (60 + n %% 20) * seconds, (25 + n %% 20) * seconds, 35, CASE n %% 2 WHEN 0 THEN 'rapl' ELSE 'cpu_model' END,
           CASE n %% 2 WHEN 0 THEN 'measured' ELSE 'calibrated' END
      FROM (
          SELECT n, (10 + n %% 190)::bigint AS files, (ARRAY[65536, 2097152, 134217728])[1 + n %% 3] AS size,
                 20.0 + n %% 40 AS seconds, known.ids[1 + n * 7919 %% cardinality(known.ids)] AS link,
                 %(begins)s::timestamptz + n * (interval '1 day' / (%(rows)s + 1)) AS at
            FROM generate_series(1, %(rows)s) n,
                 (SELECT array_agg(id ORDER BY id) AS ids FROM links WHERE tenant_id = %(tenant)s) known
      ) drawn
"""

ENDS = """
    INSERT INTO transfers (tenant_id, id, started_at, source, destination, network, mover, sla, file_count, total_bytes,
        sequence, journalled_sequence, bytes_moved, throughput_bps, ended_at, status, energy_j, agreement_kept, link_id)
    SELECT g.tenant_id, g.transfer_id, g.started_at, s.name, d.name, l.network, l.mover, 'deadline', g.file_count,
           g.total_bytes, 8, 8, g.bytes_moved, g.throughput_bps, g.ended_at, g.status, g.source_energy_j,
           g.total_bytes %% 11 <> 0, g.link_id
      FROM transfer_logs g JOIN links l ON l.id = g.link_id
      JOIN endpoints s ON s.id = l.source_id JOIN endpoints d ON d.id = l.destination_id
     WHERE g.tenant_id = %(tenant)s AND g.transfer_id IS NOT NULL
       AND g.started_at >= %(begins)s AND g.started_at < %(begins)s::timestamptz + interval '1 day'
    ON CONFLICT DO NOTHING
"""

MORE_LINKS = """
    WITH made AS (
        INSERT INTO links (tenant_id, source_id, destination_id, network, mover)
        SELECT tenant_id, source_id, destination_id, concat_ws(' ', network, 'by way', n), mover
          FROM links, generate_series(1, %(each)s) n RETURNING *
    )
    INSERT INTO release_links (tenant_id, release_id, link_id, link_model_id, state, verdict, logs_version)
    SELECT r.tenant_id, r.release_id, made.id, r.link_model_id, r.state, r.verdict, r.logs_version
      FROM made JOIN links l USING (tenant_id, source_id, destination_id, mover)
      JOIN release_links r ON r.link_id = l.id
     WHERE made.network LIKE concat_ws(' ', l.network, 'by way %%')
"""

COUNT_LINKS = """
    UPDATE links SET rows = counted.rows, last_log_at = counted.last_log_at
      FROM (SELECT link_id, count(*) AS rows, max(ended_at) AS last_log_at FROM transfer_logs GROUP BY 1) counted
     WHERE counted.link_id = links.id
"""

STRAIGHT = """
    SELECT (started_at AT TIME ZONE 'UTC')::date, count(*), sum(bytes_moved),
           sum(source_energy_j) FILTER (WHERE source_energy_quality = 'measured'),
           sum(source_energy_j) FILTER (WHERE source_energy_quality <> 'measured')
      FROM transfer_logs
     WHERE tenant_id = %s AND started_at >= now() - interval '30 days' AND (chunk IS NULL OR chunk = 'whole') GROUP BY 1
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
