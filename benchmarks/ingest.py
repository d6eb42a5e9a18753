"""Rows a second through POST /v1/logs, durable, against psycopg's COPY of the same rows; lines of logs read; memory.

Both legs store the same rows, which are in memory at the start of the clock: ours as a compressed upload, the
baseline's as tuples for `write_row` into a table of the same columns, partitions and indexes, committed durably. They
run in turn on one server and one database, and the ratio is the median of the pairs'. Memory is the high-water mark of
the API's process after one upload of all rows at once.

Before, the agent reads logs of GridFTP and rclone on a machine without the service: see `benchmarks.import_speed`.
"""

import gzip
import multiprocessing
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from multiprocessing.context import SpawnProcess
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import uvicorn

from benchmarks.import_speed import measure_imports
from benchmarks.support.command import run_command
from benchmarks.support.processes import read_peak_rss_mb
from benchmarks.support.report import Value, make_parser, write_report
from benchmarks.support.workload import draw_ndjson_lines
from services.app import create_app_for
from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import register_tenant
from services.bootstrap import Options, build_container
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.bulk_copy import COLUMN_LIST, list_record_values
from services.persistence.migrate import prepare_database
from tradewind.units import MIB
from tradewind.wire.inventory import NewKey
from tradewind.wire.records import parse_row

LINKS = 200
COMPRESSION_LEVEL = 6
SEND_BYTES = 256 * 1024
START_PATIENCE_S = 600.0
UPLOAD_PATIENCE_S = 600.0


@dataclass(frozen=True)
class ApiUnderTest:
    """The API under test, and the folder for bodies."""

    address: str
    secret: str
    process: SpawnProcess
    folder: Path


@dataclass(frozen=True)
class IngestScale:
    """The size of a run."""

    repeats: int
    rows: int
    large_rows: int
    log_lines: int


FULL = IngestScale(repeats=5, rows=100_000, large_rows=1_000_000, log_lines=1_000_000)
QUICK = IngestScale(repeats=3, rows=20_000, large_rows=100_000, log_lines=100_000)
SMOKE = IngestScale(repeats=1, rows=400, large_rows=800, log_lines=400)


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/ingest.json``."""
    options = make_parser(__doc__.partition("\n")[0]).parse_args(argv)
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    started_at = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as folder:
        imports = list(measure_imports(Path(folder), scale.log_lines, options.seed))
    with (
        EmbeddedPostgres.temporary() as postgres,
        EmbeddedValkey.temporary() as valkey,
        tempfile.TemporaryDirectory() as folder,
    ):
        admin_url = postgres.url()
        database_url = prepare_database(admin_url)
        with (
            run_api(database_url, valkey.url()) as (address, process),
            psycopg.connect(admin_url, autocommit=True) as admin,
        ):
            service = ApiUnderTest(address, make_key(database_url, valkey.url()), process, Path(folder))
            results = list(compare_uploads(service, admin, scale, options.seed))
            results.append(measure_large_upload(service, scale, options.seed))
    write_report(
        "ingest",
        quick=options.quick,
        smoke=options.smoke,
        results=[*imports, *results],
        summary=summarise(results) | summarise_imports(imports),
        started_at=started_at,
    )
    return 0


def compare_uploads(
    service: ApiUnderTest, admin: psycopg.Connection, scale: IngestScale, seed: int
) -> Iterator[dict[str, Value]]:
    """Store the same rows both ways alternately; the first pair warms up and is not reported."""
    lines = list(draw_ndjson_lines(scale.rows, links=LINKS, seed=seed))
    body = service.folder / "rows.ndjson.gz"
    compress(lines, body)
    tuples = parse_typed_rows(lines)
    upload(service, body, scale.rows)
    admin.execute(COPIED)
    copy_rows(admin, tuples)
    for repeat in range(1, scale.repeats + 1):
        admin.execute("TRUNCATE transfer_logs, batches, log_quarantine, copied")
        admin.execute("CHECKPOINT")
        ours_s = upload(service, body, scale.rows)
        admin.execute("CHECKPOINT")
        copy_s = copy_rows(admin, tuples)
        yield {
            "case": f"pair {repeat}",
            "rows": scale.rows,
            "rows_per_s": scale.rows / ours_s,
            "copy_rows_per_s": scale.rows / copy_s,
            "ratio": copy_s / ours_s,
        }


def measure_large_upload(service: ApiUnderTest, scale: IngestScale, seed: int) -> dict[str, Value]:
    """Make one upload of many rows; return its rate, and the most memory that the API's process ever held."""
    body = service.folder / "large.ndjson.gz"
    compress(draw_ndjson_lines(scale.large_rows, links=LINKS, seed=seed + 1), body)
    seconds = upload(service, body, scale.large_rows)
    assert service.process.pid is not None
    return {
        "case": "one upload",
        "rows": scale.large_rows,
        "rows_per_s": scale.large_rows / seconds,
        "peak_rss_mb": read_peak_rss_mb(service.process.pid),
        "body_mb": body.stat().st_size / MIB,
    }


def summarise(results: Sequence[dict[str, Value]]) -> dict[str, Value]:
    """Return medians of the pairs, and the memory of the large upload."""
    pairs = [each for each in results if "ratio" in each]
    medians: dict[str, Value] = {
        name: statistics.median(float(pair[name]) for pair in pairs)  # type: ignore[arg-type]  # figures of pairs
        for name in ("rows_per_s", "copy_rows_per_s", "ratio")
    }
    return medians | {"peak_rss_mb": results[-1]["peak_rss_mb"]}


def summarise_imports(imports: Sequence[dict[str, Value]]) -> dict[str, Value]:
    """Return the rates of each format, and the most that memory grew by a log ten times as long."""
    growth_mb = max(float(each["import_memory_growth_mb"]) for each in imports)  # type: ignore[arg-type]  # a figure
    rates: dict[str, Value] = {}
    for each in imports:
        log_format = str(each["case"]).rpartition(" ")[2]
        rates[f"{log_format}_lines_per_cpu_s"] = each["import_lines_per_cpu_s"]
        rates[f"{log_format}_ratio_to_parsing"] = each["import_ratio"]
    return rates | {"import_memory_growth_mb": growth_mb}


def compress(lines: Iterable[bytes], path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=COMPRESSION_LEVEL) as file:
        file.writelines(lines)


def upload(service: ApiUnderTest, body: Path, rows: int) -> float:
    """Return the seconds from the first byte sent to the receipt of ``rows`` stored rows."""
    headers = {"Authorization": f"Bearer {service.secret}", "Content-Encoding": "gzip", "Idempotency-Key": uuid4().hex}
    with body.open("rb") as file:
        began = time.perf_counter()
        answer = httpx.post(
            f"{service.address}/v1/logs",
            content=iter(partial(file.read, SEND_BYTES), b""),
            headers=headers,
            timeout=UPLOAD_PATIENCE_S,
        )
        seconds = time.perf_counter() - began
    answer.raise_for_status()
    assert answer.json()["accepted"] == rows, answer.json()
    return seconds


COPIED = """
    CREATE TABLE copied (LIKE transfer_logs INCLUDING ALL) PARTITION BY RANGE (started_at);
    DO $$
    DECLARE
        part record;
    BEGIN
        FOR part IN
            SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) AS bounds
              FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
             WHERE i.inhparent = 'transfer_logs'::regclass
        LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF copied %s', 'copied_' || part.relname, part.bounds);
        END LOOP;
    END
    $$
"""
"""A table like ours: the same columns, checks, partitions and indexes, without row-level security."""


def parse_typed_rows(lines: Iterable[bytes]) -> list[tuple[object, ...]]:
    """Return the values of each row as a program would hold them: identifiers, times, numbers, text."""
    tenant_id, link_id, batch_id, received_at = uuid4(), uuid4(), uuid4(), datetime.now(UTC)
    return [
        (tenant_id, record.id, link_id, batch_id, received_at, *map(to_plain, list_record_values(record)))
        for record in map(parse_row, lines)
    ]


def to_plain(value: object) -> object:
    return str(value) if isinstance(value, StrEnum) else value


def copy_rows(admin: psycopg.Connection, rows: Iterable[tuple[object, ...]]) -> float:
    """Return the seconds of the baseline, from the first row to the durable commit."""
    began = time.perf_counter()
    with admin.cursor() as cursor, cursor.copy(f"COPY copied ({COLUMN_LIST}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    return time.perf_counter() - began


@contextmanager
def run_api(database_url: str, redis_url: str, *, options: Options | None = None) -> Iterator[tuple[str, SpawnProcess]]:
    """Run the API in a process of its own, as in service."""
    context = multiprocessing.get_context("spawn")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        process = context.Process(target=serve, args=(database_url, redis_url, options, listening))
        process.start()
        try:
            wait_until_ready(address)
            yield address, process
        finally:
            process.terminate()
            process.join()


def serve(database_url: str, redis_url: str, options: Options | None, listening: socket.socket) -> None:
    app = create_app_for(database_url=database_url, redis_url=redis_url, options=options)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


def wait_until_ready(address: str) -> None:
    deadline = time.monotonic() + START_PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if httpx.get(f"{address}/readyz", timeout=START_PATIENCE_S).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise TimeoutError("the API did not start")


def make_key(database_url: str, redis_url: str, *, scopes: Sequence[Scope] = (Scope.AGENT,)) -> str:
    """Return the secret of a new tenant's key."""
    with build_container(database_url=database_url, redis_url=redis_url) as parts:
        first_key = NewKey(name="benchmark", scopes=tuple(scopes))
        with parts.store.unit_of_work(uuid4()) as uow:
            return register_tenant("benchmark", first_key, make_secret(), uow=uow, clock=parts.clock).secret


if __name__ == "__main__":
    sys.exit(run_command("ingest", lambda: main(sys.argv[1:])))
