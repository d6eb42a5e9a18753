"""``tradewind usage``: what each customer key used in a month, and what it pays."""

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind.units import format_bytes
from tradewind_agent.cli import environment, options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind.wire.billing import UsageStatement

HEADS = ("Key", "What", "Transfers", "Moved", "Met", "Missed", "Quoted", "To pay")
REASONS = {"not_quoted": "not quoted", "not_successful": "did not succeed", "unknown_quote": "quote not known"}


_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


def register(app: typer.Typer) -> None:
    app.command()(usage)


def usage(
    *,
    month: Annotated[str, typer.Option(metavar="YYYY-MM", help="The month, in UTC.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="The transfers one by one, as CSV.")] = False,
    as_json: options.Json = False,
) -> None:
    """Statements of a month by customer key; the key needs the scope provider."""
    if as_csv and as_json:
        raise typer.BadParameter("not together with --json", param_hint="--csv")
    if _MONTH.fullmatch(month) is None:
        raise typer.BadParameter(f"{month!r} is no month; write it like 2026-11", param_hint="--month")
    terminal = Terminal(as_json)
    with environment.open_client() as client:
        if as_csv:
            for piece in client.usage.transfers_csv(month):
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            return
        statements = client.usage.statements(month)
    document = {"month": month, "statements": [each.model_dump(mode="json") for each in statements]}
    if statements or as_json:
        terminal.print_table(HEADS, [line for each in statements for line in _list_lines(each)], document)
    else:
        terminal.print_result(f"no transfer that began in {month} is logged", document)


def _list_lines(statement: "UsageStatement") -> Iterator[Sequence[str]]:
    key = " ".join((statement.key or "not known").split())
    for billed in statement.billed:
        yield (
            key,
            "billed",
            str(billed.transfers),
            format_bytes(billed.bytes_moved),
            str(billed.agreements_kept),
            str(billed.agreements_missed),
            f"{billed.amount:f} {billed.currency}",
            f"{billed.payable:f} {billed.currency}",
        )
    for left in statement.unbilled:
        yield (
            key,
            REASONS.get(left.reason, left.reason),
            str(left.transfers),
            format_bytes(left.bytes_moved),
            str(left.agreements_kept),
            str(left.agreements_missed),
            "",
            "",
        )
