"""Answers of queries as a table: whole for files and pipes, brief for eyes; files by what they are called."""

import io
import json
from pathlib import Path

import httpx
import pytest
import typer

from tests.unit.agent.service.fake_service import Service, answering
from tradewind_agent.cli import environment
from tradewind_agent.cli.app import run
from tradewind_agent.cli.commands.sql import Format, align_rows, format_of

ROWS = [{"mbit_s": 33.333333333333336, "name": "x" * 100}, {"mbit_s": None, "name": "short"}]


def test_a_terminal_gets_six_digits_and_short_texts() -> None:
    brief = align_rows(ROWS, brief=True)
    assert "33.3333 " in brief
    assert f"{'x' * 59}…" in brief
    assert max(map(len, brief.splitlines())) <= 70


def test_pipes_and_files_get_every_digit() -> None:
    whole = align_rows(ROWS, brief=False)
    assert "33.333333333333336" in whole
    assert "x" * 100 in whole


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.CSV", Format.CSV), ("a.arrow", Format.ARROW), ("a.feather", Format.ARROW), ("a.parquet", Format.PARQUET)],
)
def test_a_file_is_written_as_it_is_called(name: str, form: Format) -> None:
    assert format_of(Path(name)) is form


@pytest.mark.parametrize("name", ["x.foo", "x", "x.parquet.gz"])
def test_a_name_that_reports_no_format_is_refused_with_those_that_do(name: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"\.arrow, \.csv, .*--format table\|csv"):
        format_of(Path(name))


@pytest.fixture
def warehouse(monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service whose warehouse answers every query by the same two rows."""
    service = answering(httpx.Response(200, json={"rows": ROWS, "cut": False}))
    monkeypatch.setattr(environment, "open_client", service.client)
    return service


def test_json_reports_of_a_file_that_is_written_as_it_is_called(
    warehouse: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse.answers = [httpx.Response(200, text="mbit_s,name\n1,a\n")]
    file = tmp_path / "rows.csv"
    assert run(["sql", "SELECT 1", "--json", "--output", str(file)]) == 0
    assert file.read_text() == "mbit_s,name\n1,a\n"
    told = capsys.readouterr()
    assert json.loads(told.out) == {"file": str(file), "format": "csv", "bytes": 16, "cut": False}
    assert told.err == ""


def test_json_on_standard_output_is_of_no_other_format(warehouse: Service, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sql", "SELECT 1", "--json", "--format", "csv"]) == 2
    assert "csv with --json needs --output FILE" in capsys.readouterr().err
    assert warehouse.requests == []
    assert run(["sql", "SELECT 1", "--json", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": ROWS, "cut": False}


def test_a_table_is_cut_for_standard_output_alone(warehouse: Service, tmp_path: Path) -> None:
    assert run(["sql", "SELECT 1", "--output", str(tmp_path / "rows.txt")]) == 0
    assert run(["sql", "SELECT 1"]) == 0
    limits = [json.loads(request.content).get("limit") for request in warehouse.requests]
    assert limits == [None, 1000]


def test_a_statement_that_is_no_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"SELECT '\xff'"), encoding="utf-8"))
    assert run(["sql", "-"]) == 2
    assert "is no text in UTF-8" in capsys.readouterr().err
