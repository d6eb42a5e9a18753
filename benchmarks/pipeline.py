"""From stored logs to the current release: seconds, their growth with the rows, and memory of the workers.

Each case has a database server and a broker of its own. Its logs are stored before the clock starts. Then a refresh is
asked for, as an upload asks for it, and the clock stops when the release is current. The workers are those of
`./run serve`: one Celery worker with two processes.
"""

import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

import psutil
import psycopg

from benchmarks.support.command import run_command
from benchmarks.support.processes import measure_cpu_s, read_peak_rss_mb
from benchmarks.support.report import Value, make_parser, write_report
from benchmarks.support.workload import draw_ndjson_lines
from services.application.logs.ingest import LogBatch, ingest_logs
from services.application.logs.lines import BodyLimits, Encoding, UploadedBody
from services.application.shared.jobs import Event, RefreshModels
from services.bootstrap import Container, build_container
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.migrate import prepare_database
from services.persistence.store import Store
from services.processes import NICENESS, run_processes
from services.queue.dispatcher import create_job_publisher
from services.serve import list_commands
from services.settings import Settings
from services.system_clock import SystemClock

ROWS_A_LINK = 5_000
WORKERS = 2
FULL = (100_000, 300_000, 1_000_000)
QUICK = (20_000, 50_000, 100_000)
SMOKE = (400,)
POLL_S = 0.1
PATIENCE_S = 3_600.0


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/pipeline.json``."""
    options = make_parser(__doc__.partition("\n")[0]).parse_args(argv)
    started_at = datetime.now(UTC)
    sizes = SMOKE if options.smoke else QUICK if options.quick else FULL
    niceness = {} if options.smoke else NICENESS
    results = [measure_refresh(rows, options.seed, niceness) for rows in sizes]
    write_report(
        "pipeline",
        quick=options.quick,
        smoke=options.smoke,
        results=results,
        summary=summarise(results),
        started_at=started_at,
    )
    return 0


def measure_refresh(rows: int, seed: int, niceness: Mapping[str, int] = NICENESS) -> dict[str, Value]:
    """Refresh the models of ``rows`` stored logs."""
    links = max(rows // ROWS_A_LINK, 1)
    with EmbeddedPostgres.temporary() as postgres, EmbeddedValkey.temporary() as valkey:
        database_url, tenant_id = prepare_database(postgres.url()), uuid4()
        store_logs(database_url, tenant_id, draw_ndjson_lines(rows, links=links, seed=seed))
        with psycopg.connect(postgres.url(), autocommit=True) as admin:
            admin.execute("VACUUM ANALYZE")  # as autovacuum does while logs come in
            admin.execute("CHECKPOINT")
        with (
            build_container(database_url=database_url, redis_url=valkey.url()) as parts,
            run_workers(database_url, valkey.url(), niceness=niceness) as worker,
        ):
            database = psutil.Process(postgres.process_id)
            database_before_s, workers_before_s = measure_cpu_s(database), measure_cpu_s(worker)
            seconds = refresh_models(parts, tenant_id)
            with parts.store.unit_of_work(tenant_id) as uow:
                (release,) = uow.releases.list_page(limit=2)
            return {
                "case": f"{links} links",
                "rows": rows,
                "seconds": seconds,
                "rows_per_s": rows / seconds,
                "workers_cpu_s": measure_cpu_s(worker) - workers_before_s,
                "database_cpu_s": measure_cpu_s(database) - database_before_s,
                "peak_rss_mb": max(read_peak_rss_mb(each.pid) for each in worker.children()),
                "clusters": release.clusters,
                **release.gate,
            }


def summarise(results: Sequence[Mapping[str, Any]]) -> dict[str, Value]:
    """Return the figures. Growth is the exponent b of seconds = a · rows^b; one size shows none."""
    rows = [each["rows"] for each in results]
    seconds = [each["seconds"] for each in results]
    cpu = [each["workers_cpu_s"] + each["database_cpu_s"] for each in results]
    growth: dict[str, Value] = {}
    if len(results) > 1:
        growth = {
            "growth_exponent": fit_growth_exponent(rows, seconds),
            "cpu_growth_exponent": fit_growth_exponent(rows, cpu),
        }
    return {
        "rows": rows,
        "seconds": seconds,
        **growth,
        "rows_per_s": rows[-1] / seconds[-1],
        "peak_rss_mb": max(each["peak_rss_mb"] for each in results),
    }


def fit_growth_exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Return the slope of the least-squares line through the logarithms."""
    return statistics.linear_regression([math.log(x) for x in sizes], [math.log(y) for y in costs]).slope


class DroppingOutbox:
    """An outbox whose events have no receiver."""

    def send(self, event: Event) -> None:
        """Drop the event."""


def store_logs(database_url: str, tenant_id: UUID, lines: Iterable[bytes]) -> None:
    """Store the logs of a new tenant, the way that an upload is stored."""
    with Store(database_url, DroppingOutbox()) as store, tempfile.TemporaryFile() as file:
        with store.unit_of_work(tenant_id) as uow:
            uow.tenants.add("benchmark")
            uow.commit()
        file.writelines(lines)
        file.seek(0)
        body = UploadedBody(file, Encoding.IDENTITY, BodyLimits())
        batch = LogBatch(tenant_id=tenant_id, idempotency_key=None, body=body)
        receipt = ingest_logs(batch, uow=store.unit_of_work(tenant_id), clock=SystemClock())
    assert receipt.rejected == 0, receipt.rejections


@contextmanager
def run_workers(
    database_url: str,
    redis_url: str,
    variables: Mapping[str, str] = MappingProxyType({}),
    *,
    niceness: Mapping[str, int] = NICENESS,
) -> Iterator[psutil.Process]:
    """Run the workers of the service, and yield their process once they are ready for jobs.

    ``variables`` : set in addition to those of their environment.

    ``niceness`` : by default the service's own, by which they give way to everybody else on the machine.
    """
    with tempfile.TemporaryDirectory() as folder, closing(create_job_publisher(redis_url)) as broker:
        settings = Settings(data_folder=Path(folder), task_workers=WORKERS)
        environment = {**os.environ, "DATABASE_URL": database_url, "REDIS_URL": redis_url, **variables}
        with run_processes(
            {"workers": list_commands(settings)["workers"]}, environment, niceness=niceness
        ) as processes:
            worker = psutil.Process(processes["workers"].pid)
            while not broker.control.ping(timeout=POLL_S, limit=1):
                if not worker.is_running():
                    raise RuntimeError("the workers did not start")
            yield worker


def refresh_models(parts: Container, tenant_id: UUID) -> float:
    """Return the seconds from the job to the current release."""
    began = time.perf_counter()
    with parts.store.unit_of_work(tenant_id) as uow:
        uow.publish(RefreshModels(tenant_id))
        uow.commit()
    while time.perf_counter() - began < PATIENCE_S:
        with parts.store.unit_of_work(tenant_id) as uow:
            if uow.releases.find_current() is not None:
                return time.perf_counter() - began
        time.sleep(POLL_S)
    raise TimeoutError("no release")


if __name__ == "__main__":
    sys.exit(run_command("pipeline", lambda: main(sys.argv[1:])))
