"""What one heartbeat, recommendation or row costs in processor time, and what is kept of it in bytes.

Requests come from wrk as fast as one API process answers them; processor time is read off the processes, so that other
programs of the machine hardly touch it.
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

from benchmarks.api.__main__ import HEARTBEAT, RECOMMEND, begun, empty_journal, publish, service
from benchmarks.api.cases import live_enquiries, requests
from benchmarks.api.live_transfers import SETTLING_TICKS
from benchmarks.scale.stored import Stored
from benchmarks.support.http_load import HeartbeatLoad, Load
from benchmarks.support.processes import measure_cpu_s
from benchmarks.support.report import Value
from benchmarks.support.workload import draw_ndjson_lines
from services.application.logs.export import View
from services.observability.telemetry import create_logger
from services.persistence.lake import Folder, ParquetLake
from services.persistence.log_reader import LogReader
from services.settings import Settings
from workers.parts import WorkerParts


@dataclass(frozen=True, slots=True)
class UnitLoad:
    """How long requests are made, s, how many rows are uploaded, and how many transfers send heartbeats, or all."""

    seconds: int
    uploaded_rows: int
    transfers: int | None = None


LOAD, SMALLEST_LOAD = UnitLoad(5, 50_000), UnitLoad(1, 500, transfers=20)


def unit_costs(asked: UnitLoad = LOAD, *, seed: int) -> list[dict[str, Value]]:
    """Of requests of agents, by the part of the service that has the work; µs of a processor each."""
    bodies = [json.dumps(body).encode() for body in requests()]
    with tempfile.TemporaryDirectory() as name, service(Path(name)) as (address, secret, environment):
        folder, found = Path(name), []
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {secret}"}, timeout=600) as client:
            publish(client, environment, seed)
            load = Load(folder, bodies, secret)
            live = [begun(client, enquiry) for enquiry in live_enquiries()[: asked.transfers]]
            heartbeats = HeartbeatLoad(folder, live, secret, first_sequence=SETTLING_TICKS)
            empty_journal(environment["REDIS_URL"])
            parts = processes(environment)

            def recommended() -> float:
                return asked.seconds * load.run(address + RECOMMEND, asked.seconds).rps

            def told() -> float:
                return asked.seconds * heartbeats.run(address, HEARTBEAT, asked.seconds).rps

            def uploaded() -> float:
                lines = b"".join(draw_ndjson_lines(asked.uploaded_rows, links=10, seed=seed))
                client.post("/v1/logs", content=lines).raise_for_status()
                return asked.uploaded_rows

            recommended()  # warms up
            found.append({"case": "a recommendation", **cost(recommended, parts)})
            found.append({"case": "a heartbeat, answered", **cost(told, parts)})
            found.append({"case": "a heartbeat, stored", **journalled(environment, parts)})
            found.append({"case": "an uploaded row", **cost(uploaded, parts)})
    return found


def processes(environment: Mapping[str, str]) -> dict[str, psutil.Process]:
    """Of the service: the first process of each part."""
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        database = psutil.Process(connection.info.backend_pid).parent()
    with redis.Redis.from_url(environment["REDIS_URL"]) as client:
        queues = psutil.Process(client.info("server")["process_id"])
    children = psutil.Process().children(recursive=True)
    (api,) = (each for each in children if "benchmarks.api.app:app" in each.cmdline())
    assert database is not None
    return {"api": api, "database": database, "redis": queues}


def cost(work: Callable[[], float], parts: Mapping[str, psutil.Process]) -> dict[str, Value]:
    """Of each of the requests or rows that ``work`` says it has done."""
    before = {name: measure_cpu_s(each) for name, each in parts.items()}
    count = work()
    spent = {name: measure_cpu_s(each) - before[name] for name, each in parts.items()}
    return {"count": round(count)} | {f"{name}_us": 1e6 * spent_s / count for name, spent_s in spent.items()}


def journalled(environment: Mapping[str, str], parts: Mapping[str, psutil.Process]) -> dict[str, Value]:
    """What the journal and the database have to do with the heartbeats that wait."""
    settings = Settings(data_folder=Path("/nonexistent"))
    with Path("/dev/null").open("w") as output:
        log = create_logger("costs", output=output)
        worker = WorkerParts.open(environment["DATABASE_URL"], environment["REDIS_URL"], settings=settings, log=log)
        spent_s = 0.0

        def stored() -> float:
            nonlocal spent_s
            began_s, count = time.process_time(), 0
            while run := worker.journal.run():
                if not run.stored and not run.dropped:
                    break
                count += run.stored
            spent_s = time.process_time() - began_s
            return count

        others = {name: parts[name] for name in ("database", "redis")}
        found = cost(stored, others)
        worker.close()
    count: Any = found["count"]
    with psycopg.connect(environment["DATABASE_URL"]) as connection:
        kept = bytes_of(connection, "transfer_samples.*")
    return found | {"workers_us": 1e6 * spent_s / count, "database_bytes": kept / count}


def kept_bytes(data: Stored) -> dict[str, Value]:
    """Bytes of the database a row and a model, and of Parquet a row of one day."""
    rows, models = _count(data, "transfer_logs"), _count(data, "link_models")
    (day,) = (
        data.admin.execute("SELECT (min(started_at) + interval '3 days')::date FROM transfer_logs").fetchone() or ()
    )
    with tempfile.TemporaryDirectory() as folder:
        reader = LogReader(data.database_url)
        written = ParquetLake(Folder(Path(folder)), reader).write(View.TRANSFERS, data.tenant_id, day)
        reader.close()
    return {
        "database_bytes_a_row": bytes_of(data.admin, "transfer_logs.*") / rows,
        "parquet_bytes_a_row": written.bytes / written.rows,
        "database_bytes_a_model": bytes_of(data.admin, "link_models|clusters|surfaces|sla_partitions") / max(models, 1),
    }


def _count(data: Stored, table: LiteralString) -> int:
    (count,) = data.admin.execute(f"SELECT count(*) FROM {table}").fetchone() or (0,)
    return int(count)


def bytes_of(connection: psycopg.Connection, tables: str) -> float:
    """Tables, their indexes and what they keep aside."""
    (total,) = connection.execute(
        "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname ~ %s", [f"^({tables})$"]
    ).fetchone() or (0,)
    return float(total)
