"""A query to Arrow by the SDK against adbc alone, and an export against pyarrow; memory of the server for many rows.

Both queries read every column of the view of transfers as the same tenant, under the same row-level security, into one
Arrow table: ours through HTTP, the baseline straight from the database. The export of a day writes its rows to a file
with manifest and checksums; the baseline is pyarrow writing the same rows with the same compression, reported twice:
`export_ratio` is to pyarrow that reads them from the same database too, as an export must, `export_ratio_to_writing` to
pyarrow that has them in memory and writes alone. All four run in turn, and a ratio is the median of the rounds'. Memory
is the high-water mark of the API's process: after a query of one row, of a tenth of the rows, of all rows, and at the
end. The report also states what other programs took of the machine meanwhile.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import UUID, uuid4

import adbc_driver_postgresql.dbapi as adbc
import psutil
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.ingest import run_api
from benchmarks.support.command import run_command
from benchmarks.support.processes import ProcessorWatch, read_peak_rss_mb
from benchmarks.support.report import Value, make_parser, write_report
from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import register_tenant
from services.application.logs.export import View, find_folder
from services.application.warehouse.query import QueryLimits
from services.bootstrap import Options, build_container
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.lake import COMPRESSION, COMPRESSION_LEVEL, ParquetLake
from services.persistence.lake_files import PART, Folder
from services.persistence.log_reader import LogReader
from services.persistence.migrate import prepare_database
from tradewind.wire.inventory import NewKey
from tradewind_agent.service.client import Client

FULL_ROWS, QUICK_ROWS, SMOKE_ROWS = 1_000_000, 100_000, 1_000
ROUNDS, SMOKE_ROUNDS = 3, 1
PATIENCE_S = 3600.0
"""The measured queries are not stopped, however busy the machine is."""
LONG_QUERIES = Options(query_limits=QueryLimits(seconds=PATIENCE_S))
DAY = date(2026, 1, 1)
SQL = "SELECT * FROM warehouse.transfers"


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/warehouse.json``."""
    options = make_parser(__doc__.partition("\n")[0]).parse_args(argv)
    rows = SMOKE_ROWS if options.smoke else QUICK_ROWS if options.quick else FULL_ROWS
    rounds = SMOKE_ROUNDS if options.smoke else ROUNDS
    started_at = datetime.now(UTC)
    print_now(f"{rows:,} rows: about {rows / 1e6:.1f} GB of disk, removed at the end")
    with EmbeddedPostgres.temporary(tcp=True) as postgres, EmbeddedValkey.temporary() as valkey:
        database_url = prepare_database(postgres.url())
        tenant_id, secret = make_analyst(database_url, valkey.url())
        store_rows(postgres.url(), tenant_id, rows)
        print_now("rows are stored")
        with (
            tempfile.TemporaryDirectory() as folder,
            closing(LogReader(database_url)) as logs,
            run_api(database_url, valkey.url(), options=LONG_QUERIES) as (address, process),
            Client(address, secret) as client,
        ):
            assert process.pid is not None
            memory = list(measure_memory(client, process.pid, rows))
            shared = ProcessorWatch(psutil.Process())
            results = list(compare_reads(client, Exports(Path(folder), logs, tenant_id), rows, rounds))
            share = shared.measure_share()
            peak_mb = read_peak_rss_mb(process.pid)
    summary = take_medians(results) | summarise_growth(memory, peak_mb) | {"others_share": share.others}
    write_report(
        "warehouse",
        quick=options.quick,
        smoke=options.smoke,
        results=[*results, *memory],
        summary=summary,
        started_at=started_at,
    )
    return 0


def print_now(what: str) -> None:
    print(what, flush=True)


def measure_memory(client: Client, process_id: int, rows: int) -> Iterator[dict[str, Value]]:
    """Yield the most that the server ever held once it has answered a query of so many rows, in ascending order."""
    for limit in (1, rows // 10, rows):
        read = client.warehouse.query(f"{SQL} LIMIT {limit}").arrow().num_rows
        assert read == limit
        yield {"case": "memory of the server", "rows": limit, "peak_rss_mb": read_peak_rss_mb(process_id)}


def summarise_growth(memory: Sequence[dict[str, Value]], peak_mb: float) -> dict[str, Value]:
    """Return what ten times the rows add to the most that the server held, and what all rounds do."""
    idle_mb, tenth_mb, all_mb = (float(each["peak_rss_mb"]) for each in memory)  # type: ignore[arg-type]  # figures
    return {
        "peak_rss_mb": peak_mb,
        "idle_rss_mb": idle_mb,
        "rss_growth_mb": peak_mb - idle_mb,
        "rss_growth_tenfold_rows_mb": all_mb - tenth_mb,
    }


def take_medians(results: Sequence[dict[str, Value]]) -> dict[str, Value]:
    """Return the medians of the rounds."""
    return {
        name: statistics.median(float(each[name]) for each in results)  # type: ignore[arg-type]  # figures
        for name in ("arrow_ratio", "export_ratio", "export_ratio_to_writing", "rows_per_s", "export_rows_per_s")
    }


class Exports:
    """The export of a day, and pyarrow alone on the same rows."""

    def __init__(self, folder: Path, logs: LogReader, tenant_id: UUID) -> None:
        self._folder = folder
        self._logs = logs
        self._tenant_id = tenant_id
        self._lake = ParquetLake(Folder(folder), logs)

    def export_by_us(self, rows: int) -> float:
        """Return the seconds until file and manifest are there."""
        began = time.perf_counter()
        written = self._lake.write(View.TRANSFERS, self._tenant_id, DAY)
        seconds = time.perf_counter() - began
        assert written.rows == rows
        assert (
            pq.ParquetFile(self._folder / find_folder(View.TRANSFERS, self._tenant_id, DAY) / PART).metadata.num_rows
            == rows
        )
        return seconds

    def export_by_pyarrow(self, rows: int) -> tuple[float, float]:
        """Export by the baseline: all rows into memory, then into one file; return the seconds of both, and of the
        latter.
        """
        began = time.perf_counter()
        with self._logs.read_day_rows(View.TRANSFERS, self._tenant_id, DAY) as batches:
            table: pa.Table = batches.read_all()
        read = time.perf_counter()
        pq.write_table(
            table, self._folder / "baseline.parquet", compression=COMPRESSION, compression_level=COMPRESSION_LEVEL
        )
        written = time.perf_counter()
        assert table.num_rows == rows
        return written - began, written - read


def compare_reads(client: Client, export: Exports, rows: int, rounds: int) -> Iterator[dict[str, Value]]:
    """Read and write the same rows each way alternately; the first round warms up and is not reported."""
    dsn = client.warehouse.credentials().dsn
    for number in range(rounds + 1):
        ours_s, adbc_s = read_by_sdk(client, rows), read_by_adbc(dsn, rows)
        export_s = export.export_by_us(rows)
        pyarrow_s, writing_s = export.export_by_pyarrow(rows)
        print_now(f"round {number} of {rounds}")
        if number:
            yield {
                "case": f"round {number}",
                "rows": rows,
                "rows_per_s": rows / ours_s,
                "adbc_rows_per_s": rows / adbc_s,
                "arrow_ratio": adbc_s / ours_s,
                "export_rows_per_s": rows / export_s,
                "pyarrow_rows_per_s": rows / pyarrow_s,
                "pyarrow_writing_rows_per_s": rows / writing_s,
                "export_ratio": pyarrow_s / export_s,
                "export_ratio_to_writing": writing_s / export_s,
            }


def read_by_sdk(client: Client, rows: int) -> float:
    """Return the seconds until the table is there."""
    began = time.perf_counter()
    table = client.warehouse.query(SQL).arrow()
    seconds = time.perf_counter() - began
    assert table.num_rows == rows
    return seconds


def read_by_adbc(dsn: str, rows: int) -> float:
    """Return the seconds of the baseline, its connection included."""
    began = time.perf_counter()
    with adbc.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(SQL)
        table = cursor.fetch_arrow_table()
    seconds = time.perf_counter() - began
    assert table.num_rows == rows
    return seconds


def make_analyst(database_url: str, redis_url: str) -> tuple[UUID, str]:
    """Make a new tenant, and return the secret of a key for its queries."""
    tenant_id = uuid4()
    with build_container(database_url=database_url, redis_url=redis_url) as parts:
        first_key = NewKey(name="benchmark", scopes=(Scope.ANALYST,))
        with parts.store.unit_of_work(tenant_id) as uow:
            made = register_tenant("benchmark", first_key, make_secret(), uow=uow, clock=parts.clock)
    return tenant_id, made.secret


def store_rows(admin_url: str, tenant_id: UUID, rows: int) -> None:
    """Store rows of one day with half of their columns filled, as logs of an agent that meters one end have them."""
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute("SELECT ensure_log_partitions(ARRAY[%s]::date[])", [DAY])
        admin.execute(STORED, {"tenant": tenant_id, "rows": rows, "link": uuid4(), "batch": uuid4(), "day": DAY})
        admin.execute("VACUUM ANALYZE transfer_logs")


STORED = """
    INSERT INTO transfer_logs (
        tenant_id, id, link_id, batch_id, received_at, started_at, ended_at, protocol, direction, mover_version,
        bandwidth_bps, rtt_s, file_count, total_bytes, mean_file_bytes, concurrency, parallelism, pipelining,
        status, bytes_moved, files_done, files_failed, throughput_bps, usage_cpu, usage_nic,
        source_energy_j, source_base_w, source_energy_method, source_energy_quality)
    SELECT %(tenant)s, uuidv7(), %(link)s, %(batch)s, at + interval '1 minute', at, at + interval '40 seconds',
           'https', 'download', '0.1.0', 1e9, 0.06, 10 + n %% 90, 1000000 * (n %% 1000 + 1), 1e5 * (n %% 1000 + 1),
           1 + n %% 32, 1 + n %% 8, n %% 16, 'succeeded', 1000000 * (n %% 1000 + 1), 10, 0, 2e5 * (n %% 1000 + 1),
           0.3, 0.5, 100 + n %% 500, 35, 'rapl', 'measured'
      FROM (
          SELECT n, %(day)s::timestamp AT TIME ZONE 'UTC' + n / (%(rows)s + 1.0) * interval '1 day' AS at
            FROM generate_series(1, %(rows)s) n
      ) spread
"""


if __name__ == "__main__":
    sys.exit(run_command("warehouse", lambda: main(sys.argv[1:])))
