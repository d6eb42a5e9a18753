"""Answers of queries as a table: whole for files and pipes, brief for eyes; files by what they are called."""

from pathlib import Path

import pytest
import typer

from tradewind_agent.cli.sql import Format, format_of, table_of

ROWS = [{"mbit_s": 33.333333333333336, "name": "x" * 100}, {"mbit_s": None, "name": "short"}]


def test_a_terminal_gets_six_digits_and_short_texts() -> None:
    brief = table_of(ROWS, brief=True)
    assert "33.3333 " in brief
    assert f"{'x' * 59}…" in brief
    assert max(map(len, brief.splitlines())) <= 70


def test_pipes_and_files_get_every_digit() -> None:
    whole = table_of(ROWS, brief=False)
    assert "33.333333333333336" in whole
    assert "x" * 100 in whole


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.CSV", Format.CSV), ("a.arrow", Format.ARROW), ("a.feather", Format.ARROW), ("a.parquet", Format.PARQUET)],
)
def test_a_file_is_written_as_it_is_called(name: str, form: Format) -> None:
    assert format_of(Path(name)) is form


@pytest.mark.parametrize("name", ["x.foo", "x", "x.parquet.gz"])
def test_a_name_that_tells_no_format_is_refused_with_those_that_do(name: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"\.arrow, \.csv, .*--format table\|csv"):
        format_of(Path(name))
