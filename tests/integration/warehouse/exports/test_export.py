"""Logs as Parquet: whole days, each at one stroke, as others read them."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import s3fs
from moto.server import ThreadedMotoServer

from services.application.access.authenticate import Scope
from services.application.logs.export import Export, View, find_folder
from services.application.logs.roll_up import RollUp
from services.application.shared.events import LogsExported
from services.application.shared.jobs import ExportLogs
from services.bootstrap import Container, Options, build_container
from services.persistence.lake import MANIFEST, ParquetLake
from services.persistence.lake_files import PART, Storage, open_storage
from services.persistence.log_reader import LogReader
from tests.integration.warehouse.house import Facts
from tests.integration.warehouse.other_facts import beaten, quote
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant, serving
from tradewind.errors import Unavailable

DAYS = ("2026-03-01", "2026-03-02")


def upload(api: str, tenant: Tenant, *days: str) -> None:
    """Two records a day."""
    records = [
        record(id=str(uuid4()), started_at=f"{day}T10:00:00Z", ended_at=f"{day}T10:00:{20 + n}Z")
        for day in days
        for n in range(2)
    ]
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=ndjson(records)).status_code == 201
    RollUp(tenant.parts.store.unit_of_work).run(tenant.id)


Exporter = Callable[..., list[str]]


@pytest.fixture
def exported(tenant: Tenant, logs: LogReader, tmp_path: Path) -> Exporter:
    """Export once; the days that were."""

    def run(storage: Storage | None = None, facts: Facts | None = None) -> list[str]:
        lake = ParquetLake(storage or open_storage(str(tmp_path)), logs)
        export = Export(
            tenant.parts.store.unit_of_work, lake, tenant.parts.clock, facts if facts is not None else Facts()
        )
        return [each.day.isoformat() for each in export.run(ExportLogs(tenant.id))]

    return run


def files(root: Path) -> dict[str, bytes]:
    """The files of days."""
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("day=*/*") if path.is_file()}


def test_exports_are_their_owners_alone(api: str, tenant: Tenant, exported: Exporter, tmp_path: Path) -> None:
    upload(api, tenant, DAYS[0])
    before = os.umask(0)
    try:
        exported(open_storage(str(tmp_path / "exports")))
    finally:
        os.umask(before)
    made = [tmp_path / "exports", *(tmp_path / "exports").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in made if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in made if path.is_file()} == {0o600}


def test_each_day_is_a_file_with_a_manifest(api: str, tenant: Tenant, exported: Exporter, tmp_path: Path) -> None:
    upload(api, tenant, *DAYS)
    facts = Facts()
    assert exported(facts=facts) == list(DAYS)
    found = files(tmp_path)
    folders = [f"transfers/tenant={tenant.id}/day={day}" for day in DAYS]
    assert found.keys() == {f"{folder}/{name}" for folder in folders for name in (PART, MANIFEST)}
    for day, folder in zip(DAYS, folders, strict=True):
        content = found[f"{folder}/{PART}"]
        told = json.loads(found[f"{folder}/{MANIFEST}"])
        assert (told["tenant"], told["day"]) == (str(tenant.id), day)
        digest = hashlib.sha256(content).hexdigest()
        assert told["files"] == [{"name": PART, "rows": 2, "bytes": len(content), "sha256": digest}]
    assert [(fact.day, fact.rows) for fact in facts if isinstance(fact, LogsExported)] == [(day, 2) for day in DAYS]


def test_day_is_exported_again_only_after_a_change(
    api: str, tenant: Tenant, exported: Exporter, tmp_path: Path
) -> None:
    upload(api, tenant, *DAYS)
    exported()
    before = files(tmp_path)
    assert exported() == []
    upload(api, tenant, DAYS[0])
    assert exported() == [DAYS[0]]
    after = files(tmp_path)
    assert {path.split("/")[2] for path in after if after[path] != before[path]} == {f"day={DAYS[0]}"}


def test_the_same_rows_give_the_same_bytes(api: str, tenant: Tenant, exported: Exporter, tmp_path: Path) -> None:
    upload(api, tenant, *DAYS)
    exported()
    before = files(tmp_path)
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        uow.connection.exec_driver_sql("UPDATE log_days SET exported_version = 0")
        uow.commit()
    assert exported() == list(DAYS)
    assert files(tmp_path) == before


def test_duckdb_reads_it_as_it_is(api: str, tenant: Tenant, exported: Exporter, tmp_path: Path) -> None:
    upload(api, tenant, *DAYS)
    exported()
    read = f"read_parquet('{tmp_path}/transfers/**/*.parquet', hive_partitioning = true)"
    found = duckdb.sql(
        f"SELECT tenant::text, day::text, count(*), sum(bytes_moved)::bigint FROM {read} GROUP BY ALL ORDER BY 2"
    )
    assert found.fetchall() == [(str(tenant.id), day, 2, 2 * 10**9) for day in DAYS]
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        ours = uow.connection.exec_driver_sql("SELECT sum(duration_s) FROM warehouse.transfers").scalar_one()
    assert duckdb.sql(f"SELECT sum(duration_s) FROM {read}").fetchall() == [(ours,)]


SPARK_TYPES = {
    pa.string(), pa.int16(), pa.int64(), pa.float64(), pa.timestamp("us", tz="UTC"),
}  # fmt: skip


def test_columns_have_types_that_spark_reads_and_no_column_of_the_path(
    api: str, tenant: Tenant, exported: Exporter, tmp_path: Path
) -> None:
    upload(api, tenant, DAYS[0])
    exported()
    file = pq.ParquetFile(
        tmp_path / find_folder(View.TRANSFERS, tenant.id, datetime.fromisoformat(DAYS[0]).date()) / PART
    )
    schema = file.schema_arrow
    assert {field.type for field in schema} <= SPARK_TYPES
    assert not {"tenant", "day"} & set(schema.names)
    assert {"id", "started_at", "throughput_bps", "source_energy_quality"} <= set(schema.names)
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    # An INT96 time or an unsigned integer would be what Spark cannot take.
    assert {file.schema.column(n).physical_type for n in range(len(schema))} <= {
        "INT32", "INT64", "DOUBLE", "BYTE_ARRAY",
    }  # fmt: skip


class Killed(BaseException):
    """As if the process ended."""


class Dying:
    """A storage whose process is killed at the n-th file, when its content is written."""

    def __init__(self, storage: Storage, at: int) -> None:
        self._storage = storage
        self._left = at

    def replace(self, path: str) -> Any:
        self._left -= 1
        return _Interrupted(self._storage.replace(path)) if self._left == 0 else self._storage.replace(path)

    def read(self, path: str) -> Any:
        return self._storage.read(path)


class _Interrupted:
    def __init__(self, writing: Any) -> None:
        self._writing = writing

    def __enter__(self) -> Any:
        return self._writing.__enter__()

    def __exit__(self, *_: object) -> None:
        killed = Killed()
        self._writing.__exit__(Killed, killed, None)
        raise killed


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_run_that_is_killed_leaves_no_half_file_and_is_gone_on_with(
    api: str, tenant: Tenant, exported: Exporter, tmp_path: Path, at: int
) -> None:
    upload(api, tenant, *DAYS)
    with pytest.raises(Killed):
        exported(Dying(open_storage(str(tmp_path)), at))
    for path in tmp_path.rglob("day=*/*.parquet"):
        assert pq.read_table(path).num_rows == 2
    assert exported() == list(DAYS[(at - 1) // 2 :])
    assert len(files(tmp_path)) == 4


def test_a_change_while_a_day_is_written_has_it_written_again(
    api: str, tenant: Tenant, exported: Exporter, tmp_path: Path
) -> None:
    upload(api, tenant, DAYS[0])

    class Slow:
        """Rows come while the first file is open, before its rows are read."""

        def __init__(self) -> None:
            self.storage, self.first = open_storage(str(tmp_path)), True

        def replace(self, path: str) -> Any:
            if self.first:
                self.first = False
                with tenant.client(api) as client:
                    late = record(id=str(uuid4()), started_at=f"{DAYS[0]}T11:00:00Z", ended_at=f"{DAYS[0]}T11:01:00Z")
                    client.post("/v1/logs", content=ndjson([late])).raise_for_status()
            return self.storage.replace(path)

        def read(self, path: str) -> Any:
            return self.storage.read(path)

    assert exported(Slow()) == [DAYS[0]]
    RollUp(tenant.parts.store.unit_of_work).run(tenant.id)
    assert exported() == [DAYS[0]]
    (part,) = tmp_path.rglob("day=*/*.parquet")
    assert pq.read_table(part).num_rows == 3


def test_a_day_that_is_not_over_waits(api: str, tenant: Tenant, exported: Exporter) -> None:
    now = datetime.now(UTC)
    known = record(started_at=(now - timedelta(seconds=1)).isoformat(), ended_at=now.isoformat())
    with tenant.client(api) as client:
        client.post("/v1/logs", content=ndjson([known])).raise_for_status()
    RollUp(tenant.parts.store.unit_of_work).run(tenant.id)
    assert exported() in ([], [(now - timedelta(seconds=1)).date().isoformat()])


def test_a_storage_that_does_not_answer_is_tried_again_later(
    api: str, tenant: Tenant, exported: Exporter, tmp_path: Path
) -> None:
    upload(api, tenant, DAYS[0])
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder is wanted")
    with pytest.raises(Unavailable, match="storage of exports"):
        exported(open_storage(str(blocked)))
    assert exported() == [DAYS[0]]


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """A bucket of an object store that speaks S3."""
    with pytest.MonkeyPatch.context() as patch:
        server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()  # of a server that another module had
        name = f"lake-{uuid4().hex}"  # servers of one process share their buckets
        s3fs.S3FileSystem().mkdir(name)
        yield f"s3://{name}/logs"
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


def test_an_object_store_takes_it_too(api: str, tenant: Tenant, exported: Exporter, bucket: str) -> None:
    upload(api, tenant, *DAYS)
    storage = open_storage(bucket)
    with pytest.raises(Killed):
        exported(Dying(storage, 1))
    store, root = s3fs.S3FileSystem(), bucket.removeprefix("s3://")
    assert store.glob(f"{root}/**/day=*/*.parquet") == []
    assert exported(storage) == list(DAYS)
    parts = sorted(store.glob(f"{root}/**/day=*/*.parquet"))
    assert [path.removeprefix(f"{root}/") for path in parts] == [
        f"{find_folder(View.TRANSFERS, tenant.id, datetime.fromisoformat(day).date())}/{PART}" for day in DAYS
    ]
    with store.open(parts[0]) as file:
        assert pq.read_table(file).num_rows == 2


def test_exports_are_listed_and_requested(database_url: str, redis_url: str, logs: LogReader, tmp_path: Path) -> None:
    with build_container(
        database_url=database_url, redis_url=redis_url, options=Options(export_place=str(tmp_path))
    ) as parts:
        tenant = new_tenant(parts, database_url)
        with serving(parts) as api, tenant.client(api, Scope.OPERATOR) as client:
            upload(api, tenant, *DAYS)
            answer = client.post("/v1/warehouse/exports")
            assert (answer.status_code, answer.json()["to_export"]) == (202, 2)
            lake = ParquetLake(open_storage(str(tmp_path)), logs)
            Export(parts.store.unit_of_work, lake, parts.clock, Facts()).run(ExportLogs(tenant.id))
            told = client.get("/v1/warehouse/exports").json()
            assert (told["place"], told["to_export"]) == (str(tmp_path), 0)
            assert [each["day"] for each in told["exports"]] == list(DAYS[::-1])
            first = told["exports"][0]
            content = (tmp_path / first["folder"] / PART).read_bytes()
            assert (first["sha256"], first["rows"], first["current"]) == (hashlib.sha256(content).hexdigest(), 2, True)
            upload(api, tenant, DAYS[1])
            assert client.get("/v1/warehouse/exports?limit=1").json()["exports"][0]["current"] is False
            with tenant.client(api, Scope.ANALYST) as analyst:
                assert analyst.post("/v1/warehouse/exports").status_code == 403


def test_service_without_an_export_place_reports_that(api: str, tenant: Tenant, parts: Container) -> None:
    assert parts.options.export_place is None
    with tenant.client(api, Scope.OPERATOR) as client:
        answer = client.post("/v1/warehouse/exports")
        assert answer.status_code == 409
        assert "TRADEWIND_EXPORT" in answer.json()["detail"]
        told = client.get("/v1/warehouse/exports").json()
        assert told == {"place": None, "to_export": 0, "failure": None, "exports": []}


def test_heartbeats_and_quotes_are_exported_by_the_day_they_are_of(
    api: str, tenant: Tenant, exported: Exporter, tmp_path: Path
) -> None:
    """As their journals store them; a sample that comes later has the day of its transfer written again."""
    started = datetime.fromisoformat(f"{DAYS[0]}T23:59:00+00:00")
    transfer = beaten(tenant, started, sequence=0)
    quote(tenant, at=started)
    RollUp(tenant.parts.store.unit_of_work).run(tenant.id)
    assert exported() == [DAYS[0], DAYS[0]]
    beaten(tenant, started, sequence=1, transfer=transfer)
    RollUp(tenant.parts.store.unit_of_work).run(tenant.id)
    assert exported() == [DAYS[0]]
    heartbeats, quotes = (
        pq.read_table(tmp_path / find_folder(view, tenant.id, started.date()) / PART)
        for view in (View.HEARTBEATS, View.QUOTES)
    )
    assert heartbeats.column("sequence").to_pylist() == [0, 1]
    assert json.loads(heartbeats.column("parameters")[0].as_py()) == {"concurrency": 4}
    assert quotes.column("amount").to_pylist() == [Decimal("0.125000")]
    types = {field.type for table in (heartbeats, quotes) for field in table.schema}
    assert types <= SPARK_TYPES | {pa.bool_(), pa.decimal128(38, 6)}
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        ours = uow.connection.exec_driver_sql("SELECT amount, day FROM warehouse.quotes").one()
    assert (str(ours.amount), ours.day) == ("0.125000", started.date())
