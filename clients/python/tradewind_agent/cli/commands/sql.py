"""``tradewind sql``: a query of the warehouse, as a table or a file."""

import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tradewind.units import format_bytes, format_count
from tradewind_agent.cli import environment, options
from tradewind_agent.cli.terminal import Terminal, format_one_line
from tradewind_agent.folders import write_atomically

if TYPE_CHECKING:
    from tradewind_agent.service.warehouse import QueryResult

SHOWN_ROWS = 1_000
"""Of a table on a terminal; who wants more, writes a file."""


SHOWN_DIGITS = 6
"""Of a number on a terminal; files and pipes have all of them."""

SHOWN_CHARACTERS = 60


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    ARROW = "arrow"
    PARQUET = "parquet"


ENDINGS: Mapping[str, Format] = MappingProxyType(
    {
        ".arrow": Format.ARROW,
        ".csv": Format.CSV,
        ".feather": Format.ARROW,
        ".json": Format.JSON,
        ".parquet": Format.PARQUET,
        ".txt": Format.TABLE,
    }
)


def register(app: typer.Typer) -> None:
    app.command()(sql)


def sql(
    statement: Annotated[str, typer.Argument(help="One SELECT; - reads it from standard input.", metavar="SQL")],
    *,
    parameters: Annotated[
        list[str] | None, typer.Option("--parameter", metavar="VALUE", help="Value of $1, $2, …; may be repeated.")
    ] = None,
    format_: Annotated[
        Format | None, typer.Option("--format", help="Format of the rows; by default by the name of --output.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="File for the rows.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most rows to return.")] = None,
    as_json: options.Json = False,
) -> None:
    """Ask the warehouse; the key needs the scope analyst."""
    terminal = Terminal(as_json)
    form = _build_form(format_, output, as_json=as_json)
    if form in (Format.PARQUET, Format.ARROW) and output is None:
        raise typer.BadParameter(f"{form} needs --output FILE", param_hint="--format")
    if statement == "-":
        statement = _read_statement()
    with environment.open_client() as client:
        most = limit or (SHOWN_ROWS if form is Format.TABLE and output is None else None)
        result = client.warehouse.query(statement, parameters or (), limit=most)
        row_count = _write_atomically(result, form, output)
    if output is not None and as_json:
        written_bytes = output.stat().st_size
        terminal.print_result("", {"file": str(output), "format": form, "bytes": written_bytes, "cut": result.cut})
    elif output is not None:
        terminal.note(f"wrote {row_count}{format_bytes(output.stat().st_size)} of {form} to {output}")
    if result.cut:
        shown_by = "--limit or --output FILE shows them" if limit is None else "a higher --limit, or none, shows them"
        terminal.note(f"there are more rows than these; {shown_by}")


def _build_form(format_: Format | None, output: Path | None, *, as_json: bool) -> Format:
    """Return the format of the rows: the one given, or that of the file's name; JSON for --json on standard output.

    Raises
    ------
    typer.BadParameter : --json and another format are both to be standard output's, or as `format_of`.
    """
    if not as_json or output is not None:
        return format_ or format_of(output)
    if format_ not in (None, Format.JSON):
        raise typer.BadParameter(f"{format_} with --json needs --output FILE", param_hint="--format")
    return Format.JSON


def _read_statement() -> str:
    """Read the statement from standard input."""
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError:
        raise typer.BadParameter("is no text in UTF-8", param_hint="SQL") from None


def format_of(output: Path | None) -> Format:
    """Return the format that a file's ending names; a table where there is no file.

    Raises
    ------
    typer.BadParameter : the name ends otherwise.
    """
    if output is None:
        return Format.TABLE
    form = ENDINGS.get(output.suffix.lower())
    if form is None:
        raise typer.BadParameter(
            f"{output.name!r} has no known ending; use {', '.join(ENDINGS)}, or say --format {'|'.join(Format)}",
            param_hint="--output",
        )
    return form


def _write_atomically(result: "QueryResult", form: Format, output: Path | None) -> str:
    """Write as `_write` does, but let the file appear at the end alone, so that a refused query empties none."""
    if output is None:
        return _write(result, form, None)
    with write_atomically(output) as draft:
        return _write(result, form, draft)


def _write(result: "QueryResult", form: Format, output: Path | None) -> str:
    """Write the answer; how many rows it has, in words, where that is known."""
    if form in (Format.PARQUET, Format.ARROW):
        assert output is not None
        rows = result.parquet(str(output)) if form is Format.PARQUET else result.arrow_file(str(output))
        return f"{format_count(rows, 'row')}, "
    with ExitStack() as closing:
        file = closing.enter_context(output.open("wb")) if output else sys.stdout.buffer
        if form is Format.CSV:
            for piece in result.csv():
                file.write(piece)
            file.flush()
            return ""
        found = result.rows()
        brief = output is None and sys.stdout.isatty()
        text = json.dumps({"rows": found, "cut": result.cut}) if form is Format.JSON else align_rows(found, brief=brief)
        file.write(text.encode() + b"\n")
        file.flush()
        return f"{format_count(len(found), 'row')}, "


def align_rows(rows: list[dict[str, Any]], *, brief: bool) -> str:
    """Align the columns, numbers to the right; ``brief`` : rounded and shortened, for eyes alone."""
    if not rows:
        return "(no rows)"
    heads = list(rows[0])
    cells = [
        list(map(format_one_line, heads)),
        *([_format_cell(row[head], brief=brief) for head in heads] for row in rows),
    ]
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


def _format_cell(value: Any, *, brief: bool) -> str:
    if value is None:
        return ""
    if brief and isinstance(value, float):
        return f"{value:.{SHOWN_DIGITS}g}"
    text = format_one_line(value) if isinstance(value, str) else json.dumps(value)
    return f"{text[: SHOWN_CHARACTERS - 1]}…" if brief and len(text) > SHOWN_CHARACTERS else text
