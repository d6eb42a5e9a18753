"""``tradewind sql``: a query of the warehouse, as a table or a file."""

import json
import sys
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tradewind_agent.cli import options, surroundings
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind_agent.warehouse import QueryResult

SHOWN_ROWS = 1_000
"""Of a table on a terminal; who wants more, writes a file."""


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def register(app: typer.Typer) -> None:
    app.command()(sql)


def sql(
    statement: Annotated[str, typer.Argument(help="One SELECT; - reads it from standard input.", metavar="SQL")],
    *,
    parameters: Annotated[
        list[str] | None, typer.Option("--parameter", metavar="VALUE", help="Value of $1, $2, …; may be repeated.")
    ] = None,
    format_: Annotated[Format | None, typer.Option("--format", help="By default as --output is called.")] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the rows there.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Rows at most.")] = None,
    as_json: options.Json = False,
) -> None:
    """Ask the warehouse; the key needs the scope analyst."""
    terminal = Terminal(as_json)
    form = format_ or (Format.JSON if as_json else _by_name(output))
    if form is Format.PARQUET and output is None:
        raise typer.BadParameter("parquet needs --output FILE", param_hint="--format")
    if statement == "-":
        statement = sys.stdin.read()
    with surroundings.open_client() as client:
        most = limit or (SHOWN_ROWS if form is Format.TABLE else None)
        result = client.warehouse.query(statement, parameters or (), limit=most)
        _write(result, form, output)
    if result.cut and limit is None:
        terminal.note(f"there are more rows than {most}; --limit or --output FILE shows them")


def _by_name(output: Path | None) -> Format:
    suffix = output.suffix.removeprefix(".").lower() if output else ""
    return Format(suffix) if suffix in set(Format) else Format.TABLE


def _write(result: "QueryResult", form: Format, output: Path | None) -> None:
    if form is Format.PARQUET:
        assert output is not None
        result.parquet(str(output))
        return
    with ExitStack() as closing:
        file = closing.enter_context(output.open("wb")) if output else sys.stdout.buffer
        if form is Format.CSV:
            for piece in result.csv():
                file.write(piece)
        else:
            rows = result.rows()
            file.write(
                (json.dumps({"rows": rows, "cut": result.cut}) if form is Format.JSON else _table(rows)).encode()
            )
            file.write(b"\n")
        file.flush()


def _table(rows: list[dict[str, Any]]) -> str:
    """Columns aligned, numbers to the right."""
    if not rows:
        return "(no rows)"
    heads = list(rows[0])
    cells = [heads, *([_cell(row[head]) for head in heads] for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    numeric = [all(_is_number(row[head]) for row in rows) for head in heads]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in [cells[0], ["-" * width for width in widths], *cells[1:]]
    )


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)
