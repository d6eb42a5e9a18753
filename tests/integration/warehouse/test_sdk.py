"""The warehouse from Python and from the command line."""

import csv
import json
import math
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID, uuid4

import duckdb
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from services.application.access.authenticate import Scope
from tests.integration.agent.support.command import Outcome, environment, run
from tests.records import ndjson, record
from tests.stack import Tenant
from tradewind_agent.errors import LibraryMissing, RequestRefused, ScopeMissing
from tradewind_agent.service.client import Client


@pytest.fixture
def provider(tenant: Tenant, api: str) -> Tenant:
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=ndjson([record(id=str(uuid4())) for _ in range(3)])).status_code == 201
    return tenant


@pytest.fixture
def client(provider: Tenant, api: str) -> Iterator[Client]:
    with Client(api, provider.key(Scope.ANALYST)) as made:
        yield made


@pytest.fixture
def user(provider: Tenant, api: str, tmp_path: Path) -> dict[str, str]:
    """The environment of a user who is logged in as an analyst."""
    env = environment(tmp_path)
    assert run("login", api, "--key", provider.key(Scope.ANALYST), "--unchecked", env=env).code == 0
    return env


BIG = "SELECT id, started_at, throughput_bps FROM transfers WHERE throughput_bps > $1"


def test_rows_come_as_dictionaries_and_as_a_table(client: Client) -> None:
    result = client.warehouse.query(BIG, [1e6])
    assert len(result.rows()) == 3
    table = result.arrow()
    assert (table.num_rows, table.column_names) == (3, ["id", "started_at", "throughput_bps"])
    assert table.schema.field("throughput_bps").type == pa.float64()
    assert b"".join(result.csv()).count(b"\n") == 4


def test_many_rows_are_read_completely(client: Client) -> None:
    table = client.warehouse.query("SELECT n, repeat('x', 50) AS text FROM generate_series(1, 200000) n").arrow()
    assert table.num_rows == 200_000
    assert pa.compute.sum(table["n"]).as_py() == 200_000 * 200_001 // 2


def test_many_rows_come_in_batches(client: Client) -> None:
    result = client.warehouse.query("SELECT n, repeat('x', 50) AS text FROM generate_series(1, 200000) n")
    rows = [batch.num_rows for batch in result.batches()]
    assert sum(rows) == 200_000
    assert len(rows) > 1
    assert list(client.warehouse.query("SELECT 1 WHERE false").batches()) == []
    cut = client.warehouse.query("SELECT generate_series(1, 9)", limit=4)
    assert (sum(batch.num_rows for batch in cut.batches()), cut.cut) == (4, True)


def test_a_file_of_many_rows_has_them_all(client: Client, tmp_path: Path) -> None:
    result = client.warehouse.query("SELECT n FROM generate_series(1, 200000) n")
    assert result.parquet(str(tmp_path / "rows.parquet")) == pq.read_metadata(tmp_path / "rows.parquet").num_rows
    assert result.arrow_file(str(tmp_path / "rows.arrow")) == feather.read_table(tmp_path / "rows.arrow").num_rows


def test_ids_are_text_in_tables(client: Client) -> None:
    result = client.warehouse.query("SELECT id FROM transfers ORDER BY id")
    ids = [row["id"] for row in result.rows()]
    assert result.pandas()["id"].tolist() == ids
    assert result.polars()["id"].to_list() == ids


def test_arrays_and_intervals_are_parameters(client: Client) -> None:
    sql = "SELECT count(*) AS n FROM transfers WHERE direction = ANY($1) AND started_at > now() - $2::interval"
    directions = ["download", "upload", "third_party"]
    assert client.warehouse.query(sql, [directions, timedelta(days=36500)]).rows() == [{"n": 3}]
    assert client.warehouse.query(sql, [["none"], timedelta(days=36500)]).rows() == [{"n": 0}]
    assert client.warehouse.query(sql, [directions, timedelta(microseconds=1)]).rows() == [{"n": 0}]


def test_values_of_python_arrive_as_they_are(client: Client) -> None:
    tricky = ['a"b', "c\\d", "{e,f}", "NULL", None, ""]
    sql = "SELECT $1::text[] AS texts, $2::int[] AS numbers, $3::uuid AS id, $4::numeric AS amount, $5::date AS day"
    values = [tricky, [[1, 2], [3, 4]], UUID(int=7), Decimal("0.10"), date(2026, 3, 1)]
    (row,) = client.warehouse.query(sql, values).rows()
    assert row["texts"] == tricky
    assert row["numbers"] == [[1, 2], [3, 4]]
    assert (row["id"], row["day"]) == (str(UUID(int=7)), "2026-03-01")
    assert Decimal(str(row["amount"])) == Decimal("0.1")


def test_a_cut_answer_says_so(client: Client) -> None:
    result = client.warehouse.query("SELECT generate_series(1, 9)", limit=4)
    assert (result.arrow().num_rows, result.cut) == (4, True)
    assert (len(result.rows()), result.cut) == (4, True)
    assert (b"".join(result.csv()).count(b"\n"), result.cut) == (1 + 4, True)
    whole = client.warehouse.query("SELECT generate_series(1, 4)", limit=4)
    assert (whole.arrow().num_rows, whole.cut) == (4, False)
    assert (b"".join(whole.csv()).count(b"\n"), whole.cut) == (1 + 4, False)


def test_numbers_that_no_double_holds_come_as_text(client: Client) -> None:
    result = client.warehouse.query(
        "SELECT repeat('9', 5000)::numeric AS whole, 1e400 + 0.5 AS real, 12 AS n, 0.5 AS f"
    )
    (row,) = result.rows()
    assert row == {"whole": "9" * 5000, "real": "1" + "0" * 400 + ".5", "n": 12, "f": 0.5}


def test_refused_query_raises_with_postgresqls_message(client: Client) -> None:
    with pytest.raises(RequestRefused, match='relation "nowhere" does not exist at character 15') as refused:
        client.warehouse.query("SELECT * FROM nowhere").arrow()
    assert refused.value.problem["sqlstate"] == "42P01"


def test_missing_scope_is_reported(provider: Tenant, api: str) -> None:
    with Client(api, provider.key(Scope.AGENT)) as client, pytest.raises(ScopeMissing, match="analyst or operator"):
        client.warehouse.query("SELECT 1").rows()


def test_schema_and_credentials_are_there(client: Client) -> None:
    assert "transfers" in {view.name for view in client.warehouse.schema().views}
    assert client.warehouse.credentials().dsn.startswith("postgresql://tradewind_reader_")


def test_a_library_that_is_missing_is_named_with_its_extra(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(LibraryMissing, match=r"pip install 'tradewind-agent\[polars\]'"):
        client.warehouse.query("SELECT 1").polars()


def sql(user: dict[str, str], *arguments: str) -> Outcome:
    return run("sql", *arguments, env=user)


def test_the_command_prints_a_table(user: dict[str, str]) -> None:
    done = sql(user, "SELECT direction, count(*) AS transfers FROM transfers GROUP BY 1")
    assert done.out.splitlines() == ["direction  transfers", "---------  ---------", "download           3"]


def test_the_command_says_that_an_answer_was_cut(user: dict[str, str]) -> None:
    for form in ("table", "csv", "json"):
        cut = sql(user, "SELECT generate_series(1, 9)", "--limit", "4", "--format", form)
        assert (cut.code, cut.err.count("\n"), "there are more rows than these" in cut.err) == (0, 1, True)
    assert sql(user, "SELECT generate_series(1, 4)", "--limit", "4").err == ""


def test_the_command_writes_what_the_file_is_called(user: dict[str, str], tmp_path: Path) -> None:
    for name in ("rows.csv", "rows.json", "rows.parquet", "rows.arrow"):
        done = sql(user, BIG, "--parameter", "1e6", "--output", str(tmp_path / name))
        assert (done.code, done.out) == (0, ""), done.err
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 3
    assert len(json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["rows"]) == 3
    assert (
        pq.read_table(tmp_path / "rows.parquet").num_rows == feather.read_table(tmp_path / "rows.arrow").num_rows == 3
    )


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_refused_query_leaves_the_file_of_an_earlier_one(user: dict[str, str], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("earlier", encoding="utf-8")
    assert sql(user, "SELEC 1", "--output", str(tmp_path / name)).code == 1
    assert (tmp_path / name).read_text(encoding="utf-8") == "earlier"
    assert list(tmp_path.glob(".*")) == [path for path in tmp_path.glob(".*") if "rows" not in path.name]


def test_a_file_in_a_folder_that_is_not_there_is_refused_by_the_folders_name(
    user: dict[str, str], tmp_path: Path
) -> None:
    done = sql(user, "SELECT 1 AS one", "--output", str(tmp_path / "absent" / "rows.csv"))
    assert done.code == 1
    assert done.error.count("\n") <= 1
    assert f"{tmp_path / 'absent'}" in done.error
    assert ".rows.csv" not in done.error


def test_the_command_ends_with_one_line_when_refused(user: dict[str, str]) -> None:
    done = sql(user, "SELEC 1")
    assert done.code == 1
    assert 'syntax error at or near "SELEC" at character 1' in done.error
    assert sql(user, "SELECT 1", "--format", "parquet").code == 2


def test_an_empty_statement_is_refused_in_one_line(user: dict[str, str]) -> None:
    done = sql(user, "")
    assert done.code == 2
    (line,) = done.error.splitlines()
    assert line.endswith("sql: string should have at least 1 character")


def test_rows_come_as_data_frames_of_both_kinds(client: Client) -> None:
    result = client.warehouse.query(BIG, [1e6])
    table, by_pandas, by_polars = result.arrow(), result.pandas(), result.polars()
    assert list(by_pandas.columns) == by_polars.columns == table.column_names
    assert by_pandas["throughput_bps"].tolist() == by_polars["throughput_bps"].to_list() == [2e8] * 3
    started = [each.as_py() for each in table["started_at"]]
    assert by_pandas["started_at"].dt.to_pydatetime().tolist() == by_polars["started_at"].to_list() == started


EXACT_AND_SUMMED = """
    SELECT status, sum(bytes_moved) AS bytes, avg(file_count) AS files, 0.125::numeric(16, 6) AS price,
           1234567::numeric(5, -2) AS coarse, 'Infinity'::numeric AS boundless, NULL::numeric AS unknown
      FROM transfers GROUP BY status"""


def test_sums_come_as_numbers_and_prices_as_exact_decimals(client: Client, tmp_path: Path) -> None:
    result = client.warehouse.query(EXACT_AND_SUMMED)
    (row,) = result.arrow().to_pylist()
    assert row["bytes"] == 3 * record()["outcome"]["bytes_moved"]
    assert row["price"] == Decimal("0.125000")
    assert (row["coarse"], row["boundless"], row["unknown"]) == (1234600.0, math.inf, None)
    assert (result.pandas()["bytes"] / 1e9).tolist() == [row["bytes"] / 1e9]
    assert result.polars()["files"].mean() == row["files"] == record()["dataset"]["file_count"]
    result.parquet(str(tmp_path / "sums.parquet"))
    (read,) = duckdb.sql(f"SELECT sum(bytes), max(price) FROM '{tmp_path / 'sums.parquet'}'").fetchall()
    assert read == (row["bytes"], Decimal("0.125000"))


def test_a_decimal_that_is_no_number_is_refused_in_one_line(client: Client) -> None:
    with pytest.raises(RequestRefused, match="nan"):
        client.warehouse.query("SELECT 'NaN'::numeric(5, 2)").arrow()
