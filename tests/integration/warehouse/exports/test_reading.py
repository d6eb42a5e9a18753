"""What analysts read of exports: dimensions, months in one file, and files that conditions leave out."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from services.application.access.authenticate import Scope
from services.application.billing.usage import Month
from services.application.logs.export import (
    Dimension,
    Export,
    View,
    find_dimension_folder,
    find_folder,
    find_month_folder,
)
from services.application.shared.events import LogsCompacted
from services.application.shared.jobs import ExportLogs
from services.persistence.lake import MANIFEST, ParquetLake
from services.persistence.lake_files import PART, open_storage
from services.persistence.log_reader import LogReader
from tests.integration.models.test_releases import refresh
from tests.integration.warehouse.exports.test_export import bucket
from tests.integration.warehouse.house import At, Facts, House
from tests.integration.warehouse.other_facts import quote
from tests.stack import Tenant
from tradewind.errors import InvalidValue
from tradewind_agent.service.client import Client
from tradewind_agent.service.exports import BY_MONTH, DIMENSIONS, NAMES, Exports

__all__ = ["bucket"]

DAYS = ("2026-02-27", "2026-03-01", "2026-03-02", "2026-03-31", "2026-04-01")
IN_APRIL = datetime(2026, 4, 10, tzinfo=UTC)


@pytest.fixture
def house(tenant: Tenant, api: str, logs: LogReader, tmp_path: Path) -> House:
    return House(tenant, api, tmp_path, ParquetLake(open_storage(str(tmp_path)), logs), Facts())


Exporter = Callable[..., Facts]


@pytest.fixture
def exported(house: House) -> Exporter:
    """Export once, at a given time; the facts that were reported."""

    def run(at: datetime = IN_APRIL, lake: ParquetLake | None = None) -> Facts:
        facts = Facts()
        Export(house.tenant.parts.store.unit_of_work, lake or house.lake, At(at), facts).run(
            ExportLogs(house.tenant.id)
        )
        return facts

    return run


def compacted(facts: Facts) -> list[tuple[str, str, int]]:
    return [(fact.view, fact.month, fact.rows) for fact in facts if isinstance(fact, LogsCompacted)]


def month_file(house: House, month: str, view: View = View.TRANSFERS) -> Path:
    return house.folder / find_month_folder(view, house.tenant.id, Month.parse(month)) / PART


def test_dimensions_are_files_with_the_rows_of_their_views(house: House, exported: Exporter) -> None:
    house.upload(*DAYS)
    refresh(house.tenant)
    with house.tenant.client(house.api) as client:
        client.post("/v1/customers", json={"name": "Acme"}).raise_for_status()
    exported()
    exports = Exports(house.folder)
    for dimension in Dimension:
        found = exports.table(dimension)
        stored = house.rows(f"SELECT * FROM warehouse.{dimension}")
        assert found.num_rows == len(stored) > 0
        assert found.column_names == list(stored[0])
        key = found.column_names[0]
        assert set(found.column(key).to_pylist()) == {str(row[key]) for row in stored}
    joined = exports.duckdb().sql(
        "SELECT source, destination, count(*) FROM transfers JOIN links USING (link_id) GROUP BY ALL"
    )
    assert joined.fetchall() == [("alpha", "omega", len(DAYS))]


def test_past_month_is_one_file_of_its_days(house: House, exported: Exporter) -> None:
    house.upload(*DAYS)
    assert compacted(exported()) == [("transfers", "2026-02", 1), ("transfers", "2026-03", 3)]
    table = pq.ParquetFile(month_file(house, "2026-03")).read()
    of_days = pa.concat_tables(pq.ParquetFile(house.file(day)).read() for day in DAYS[1:4])
    assert table.column("day").to_pylist() == [date.fromisoformat(day) for day in DAYS[1:4]]
    assert table.drop_columns(["day"]).equals(of_days)
    manifest = json.loads(month_file(house, "2026-03").with_name(MANIFEST).read_text())
    assert (manifest["month"], list(manifest["days"])) == ("2026-03", list(DAYS[1:4]))
    assert not month_file(house, "2026-04").exists(), "the month is not over"


def test_month_is_written_again_only_after_a_change(house: House, exported: Exporter) -> None:
    house.upload(*DAYS)
    exported()
    before = month_file(house, "2026-02").stat().st_mtime_ns
    assert compacted(exported()) == []
    house.upload(DAYS[1])
    assert compacted(exported()) == [("transfers", "2026-03", 4)]
    assert pq.read_table(month_file(house, "2026-03")).num_rows == 4
    assert month_file(house, "2026-02").stat().st_mtime_ns == before


def test_months_of_an_export_without_any_are_made_by_the_next_run(house: House, exported: Exporter) -> None:
    house.upload(*DAYS)
    exported()
    for name in BY_MONTH:
        shutil.rmtree(house.folder / name, ignore_errors=True)
    assert compacted(exported()) == [("transfers", "2026-02", 1), ("transfers", "2026-03", 3)]


def test_month_with_a_missing_or_changed_day_is_left_alone(house: House, exported: Exporter) -> None:
    house.upload(*DAYS)
    exported(datetime(2026, 3, 20, tzinfo=UTC))
    house.file(DAYS[1]).unlink()
    assert compacted(exported()) == []
    assert not month_file(house, "2026-03").exists()


def test_days_of_an_earlier_version_get_columns_and_decimals(house: House, exported: Exporter) -> None:
    for day in DAYS[1:3]:
        quote(house.tenant, datetime.fromisoformat(f"{day}T10:00:00+00:00"))
    house.roll_up()
    exported(datetime(2026, 3, 20, tzinfo=UTC))
    file = house.folder / find_folder(View.QUOTES, house.tenant.id, date.fromisoformat(DAYS[1])) / PART
    old = pq.ParquetFile(file).read().drop_columns(["energy_basis"])
    place = old.schema.get_field_index("amount")
    pq.write_table(old.set_column(place, "amount", old.column("amount").cast(pa.string())), file)
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as uow:
        uow.connection.exec_driver_sql(
            "UPDATE log_days SET sha256 = encode(sha256(%s), 'hex'), exported_at = exported_at - interval '1 day'"
            " WHERE view = 'quotes' AND day = %s",
            (file.read_bytes(), DAYS[1]),
        )
        uow.commit()
    assert compacted(exported()) == [("quotes", "2026-03", 2)]
    with pytest.raises(InvalidValue, match="read quotes_by_month"):
        Exports(house.folder).dataset("quotes")
    table = Exports(house.folder).table("quotes_by_month")
    assert table.column("amount").to_pylist() == [Decimal("0.125000")] * 2
    assert table.column("energy_basis").to_pylist() == [None, "total"]


def test_condition_on_the_day_opens_its_files_alone(house: House, exported: Exporter) -> None:
    house.upload(*DAYS)
    exported()
    transfers = Exports(house.folder).dataset("transfers")
    for condition, days in (
        (ds.field("day") == date(2026, 3, 2), DAYS[2:3]),
        (ds.field("day") >= date(2026, 3, 31), DAYS[3:]),
    ):
        opened = [fragment.path for fragment in transfers.get_fragments(condition)]
        assert [Path(path).parent.name for path in sorted(opened)] == [f"day={day}" for day in days]
        assert transfers.count_rows(filter=condition) == len(days)
    months = Exports(house.folder).dataset("transfers_by_month")
    (march,) = months.get_fragments(ds.field("month") == "2026-03")
    assert march.subset(ds.field("day") == date(2026, 3, 2)).num_row_groups == 1
    assert march.metadata.num_row_groups == 3


@pytest.mark.parametrize(
    ("files", "condition", "opened"),
    [
        ("transfers/**/*.parquet", "day = DATE '2026-03-02'", "1/5"),
        ("transfers/**/*.parquet", "day BETWEEN DATE '2026-03-01' AND DATE '2026-03-31'", "3/5"),
        ("transfers_by_month/**/*.parquet", "month = '2026-03'", "1/2"),
    ],
)
def test_duckdb_opens_the_files_of_the_condition_alone(
    house: House, exported: Exporter, files: str, condition: str, opened: str
) -> None:
    house.upload(*DAYS)
    exported()
    query = f"SELECT count(*) FROM read_parquet('{house.folder}/{files}', hive_partitioning = true) WHERE {condition}"
    ((_, plan),) = duckdb.sql(f"EXPLAIN ANALYZE {query}").fetchall()
    assert f"Scanning Files: {opened}" in plan


def test_sdk_reads_them_as_pyarrow_and_duckdb_do(house: House, exported: Exporter) -> None:
    house.upload(*DAYS)
    exported()
    exports = Exports(str(house.folder), tenant=house.tenant.id)
    assert set(exports.list_names()) == {"transfers", "transfers_by_month", *DIMENSIONS}
    by_duckdb = exports.duckdb().sql("SELECT day, sum(bytes_moved)::bigint FROM transfers GROUP BY 1 ORDER BY 1")
    assert by_duckdb.fetchall() == [(date.fromisoformat(day), 10**9) for day in DAYS]
    assert exports.dataset("transfers").to_table(columns=["id"]).num_rows == len(DAYS)


def test_sdk_asks_for_a_tenant_where_there_are_several(house: House, exported: Exporter) -> None:
    house.upload(DAYS[0])
    exported()
    other = find_dimension_folder(Dimension.LINKS, uuid4())
    (house.folder / other).mkdir()
    shutil.copy(house.folder / find_dimension_folder(Dimension.LINKS, house.tenant.id) / PART, house.folder / other)
    with pytest.raises(InvalidValue, match="files of 2 tenants"):
        Exports(house.folder).dataset("links")
    assert Exports(house.folder, tenant=str(house.tenant.id)).table("links").num_rows == 1
    for name in ("journeys", "heartbeats"):
        with pytest.raises(InvalidValue, match=name):
            Exports(house.folder).dataset(name)
    assert "heartbeats" in NAMES


def test_sdk_lists_exported_days(house: House, api: str) -> None:
    house.upload(*DAYS)
    house.export()
    with Client(api, house.tenant.key(Scope.ANALYST)) as client:
        found = client.warehouse.exports(limit=2, before=date(2026, 4, 1))
        assert [each.day.isoformat() for each in found.exports] == ["2026-03-31", "2026-03-02"]
        assert client.warehouse.exports("quotes").exports == ()


def test_sdk_reads_an_object_store(house: House, exported: Exporter, logs: LogReader, bucket: str) -> None:
    house.upload(*DAYS)
    exported(lake=ParquetLake(open_storage(bucket), logs))
    exports = Exports(bucket, tenant=house.tenant.id)
    assert exports.table("transfers_by_month").num_rows == 4
    assert exports.dataset("transfers").count_rows(filter=ds.field("day") == date(2026, 3, 2)) == 1
