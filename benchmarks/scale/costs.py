"""Measure what one heartbeat, recommendation or row costs in processor time and in stored bytes.

Requests come from wrk as fast as one API process answers them; processor time is read from the processes, so that other
programs of the machine hardly affect it.
"""

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psutil
import psycopg
import redis

from benchmarks.api.__main__ import HEARTBEAT, RECOMMEND, empty_journal, publish_release, run_service, start_transfer
from benchmarks.api.cases import make_live_requests, make_requests
from benchmarks.api.live_transfers import WARM_UP_TICKS
from benchmarks.scale.stored_logs import StoredLogs
from benchmarks.support.http_load import HeartbeatLoad, Load
from benchmarks.support.processes import measure_cpu_s
from benchmarks.support.report import Value
from benchmarks.support.workload import draw_ndjson_lines
from services.application.logs.export import View
from services.observability.telemetry import create_logger
from services.persistence.lake import ParquetLake
from services.persistence.lake_files import Folder
from services.persistence.log_reader import LogReader
from services.settings import Settings
from workers.parts import WorkerParts


@dataclass(frozen=True, slots=True)
class UnitLoad:
    """How long requests are made, s, how many rows are uploaded, and how many transfers send heartbeats, all by
    default.
    """

    seconds: int
    uploaded_rows: int
    transfers: int | None = None


LOAD, SMALLEST_LOAD = UnitLoad(5, 50_000), UnitLoad(1, 500, transfers=20)


def measure_unit_costs(unit_load: UnitLoad = LOAD, *, seed: int) -> list[dict[str, Value]]:
    """Return the cost of agents' requests for each part of the service, µs of a processor each."""
    bodies = [json.dumps(body).encode() for body in make_requests()]
    with tempfile.TemporaryDirectory() as name, run_service(Path(name)) as (address, secret, environment):
        folder, found = Path(name), []
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {secret}"}, timeout=600) as client:
            publish_release(client, environment, seed)
            load = Load(folder, bodies, secret)
            live = [start_transfer(client, request) for request in make_live_requests()[: unit_load.transfers]]
            heartbeats = HeartbeatLoad(folder, live, secret, first_sequence=WARM_UP_TICKS)
            empty_journal(environment["REDIS_URL"])
            parts = find_processes(environment)

            def recommend() -> float:
                return unit_load.seconds * load.run(address + RECOMMEND, unit_load.seconds).rps

            def send_heartbeats() -> float:
                return unit_load.seconds * heartbeats.run(address, HEARTBEAT, unit_load.seconds).rps

            def upload() -> float:
                lines = b"".join(draw_ndjson_lines(unit_load.uploaded_rows, links=10, seed=seed))
                client.post("/v1/logs", content=lines).raise_for_status()
                return unit_load.uploaded_rows

            recommend()  # warms up
            found.append({"case": "a recommendation", **measure_cost(recommend, parts)})
            found.append({"case": "a heartbeat, answered", **measure_cost(send_heartbeats, parts)})
            found.append({"case": "a heartbeat, stored", **measure_journal(environment, parts)})
            found.append({"case": "an uploaded row", **measure_cost(upload, parts)})
    return found


def find_processes(environment: Mapping[str, str]) -> dict[str, psutil.Process]:
    """Return the first process of each part of the service."""
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        database = psutil.Process(connection.info.backend_pid).parent()
    with redis.Redis.from_url(environment["REDIS_URL"]) as client:
        queues = psutil.Process(client.info("server")["process_id"])
    children = psutil.Process().children(recursive=True)
    (api,) = (each for each in children if "benchmarks.api.app:make_app" in each.cmdline())
    assert database is not None
    return {"api": api, "database": database, "redis": queues}


def measure_cost(work: Callable[[], float], parts: Mapping[str, psutil.Process]) -> dict[str, Value]:
    """Return the cost of each of the requests or rows that ``work`` counts."""
    before = {name: measure_cpu_s(each) for name, each in parts.items()}
    count = work()
    spent = {name: measure_cpu_s(each) - before[name] for name, each in parts.items()}
    return {"count": round(count)} | {f"{name}_us": 1e6 * spent_s / count for name, spent_s in spent.items()}


def measure_journal(environment: Mapping[str, str], parts: Mapping[str, psutil.Process]) -> dict[str, Value]:
    """Return the work of the journal and the database with the waiting heartbeats."""
    settings = Settings(data_folder=Path("/nonexistent"))
    with Path("/dev/null").open("w") as output:
        log = create_logger("costs", output=output)
        worker = WorkerParts.open(environment["DATABASE_URL"], environment["REDIS_URL"], settings=settings, log=log)
        spent_s = 0.0

        def store() -> float:
            nonlocal spent_s
            started_s, count = time.process_time(), 0
            while run := worker.journal.run():
                if not run.stored and not run.dropped:
                    break
                count += run.stored
            spent_s = time.process_time() - started_s
            return count

        others = {name: parts[name] for name in ("database", "redis")}
        found = measure_cost(store, others)
        worker.close()
    count: Any = found["count"]
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        stored_bytes = measure_bytes(connection, "transfer_samples.*")
    return found | {"workers_us": 1e6 * spent_s / count, "database_bytes": stored_bytes / count}


def measure_stored_bytes(data: StoredLogs) -> dict[str, Value]:
    """Return bytes of the database a row and a model, and of Parquet a row of one day."""
    rows, models = _count_rows(data, "transfer_logs"), _count_rows(data, "link_models")
    (day,) = (
        data.admin.execute("SELECT (min(started_at) + interval '3 days')::date FROM transfer_logs").fetchone() or ()
    )
    with tempfile.TemporaryDirectory() as folder:
        reader = LogReader(data.database_url)
        written = ParquetLake(Folder(Path(folder)), reader).write(View.TRANSFERS, data.tenant_id, day)
        reader.close()
    return {
        "database_bytes_a_row": measure_bytes(data.admin, "transfer_logs.*") / rows,
        "parquet_bytes_a_row": written.bytes / written.rows,
        "database_bytes_a_model": measure_bytes(data.admin, "link_models|clusters|surfaces|sla_partitions")
        / max(models, 1),
    }


def _count_rows(data: StoredLogs, table: LiteralString) -> int:
    (count,) = data.admin.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
    return int(count)


def measure_bytes(connection: psycopg.Connection, tables: str) -> float:
    """Return the bytes of tables, their indexes and their TOAST tables."""
    (total,) = connection.execute(
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname ~ %s", [f"^({tables})$"]
    ).fetchone() or (0,)
    return float(total)
