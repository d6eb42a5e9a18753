"""``tradewind usage``: what each customer and each key used in a month, and what is to be paid."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind.units import format_bytes
from tradewind_agent.cli import environment, options
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind.wire.billing import BilledUsage, StatementDue, UsageStatement

HEADS = ("Key", "Customer", "What", "Transfers", "Moved", "Met", "Missed", "Quoted", "To pay")
REASONS = {"not_quoted": "not quoted", "not_successful": "did not succeed", "unknown_quote": "quote not known"}

Month = Annotated[str, typer.Option(metavar="YYYY-MM", help="The month, in UTC.")]

_MONTH = re.compile(r"\d{4}-(0[1-9]|1[0-2])")


def register(app: typer.Typer) -> None:
    app.command()(usage)


def usage(
    *,
    month: Month,
    as_csv: Annotated[bool, typer.Option("--csv", help="The transfers one by one, as CSV.")] = False,
    as_json: options.Json = False,
) -> None:
    """Usage of a month by customer and key; the key needs the scope provider."""
    if as_csv and as_json:
        raise typer.BadParameter("not together with --json", param_hint="--csv")
    check_month(month)
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
        terminal.print_table(HEADS, list(list_lines(statements)), document)
    else:
        terminal.print_result(f"no transfer that began in {month} is logged", document)


def check_month(month: str) -> None:
    """Refuse a text that is no month.

    Raises
    ------
    typer.BadParameter : with what a month looks like.
    """
    if _MONTH.fullmatch(month) is None:
        raise typer.BadParameter(f"{month!r} is no month; write it like 2026-11", param_hint="--month")


def list_lines(statements: Iterable["UsageStatement"]) -> Iterator[Sequence[str]]:
    """Yield the lines of a table: what a customer pays for all of its keys together, then each of its keys."""
    listed = set()
    for each in statements:
        if each.customer_id is not None and each.customer_id not in listed:
            listed.add(each.customer_id)
            yield from _list_of_customer(each)
        yield from _list_of_key(each)


def _list_of_customer(statement: "UsageStatement") -> Iterator[Sequence[str]]:
    """Yield what a customer is billed for all keys, then each difference of earlier months, with what it pays."""
    to_pay = {due.currency: due for due in statement.customer_to_pay}
    billed = {each.currency: each for each in statement.customer_billed}
    for each in billed.values():
        line = _format_billed(statement.customer, "all keys", each)
        due = to_pay.get(each.currency)
        yield line if due is None or due.adjustment else (*line[:-1], _format_payable(due))
    for due in statement.customer_to_pay:
        if due.adjustment or due.currency not in billed:
            counts = ("",) * 4
            amounts = (f"{due.adjustment:+f} {due.currency}", _format_payable(due))
            yield ("all keys", _join_words(statement.customer or ""), "adjustments", *counts, *amounts)


def _format_payable(due: "StatementDue") -> str:
    return f"{due.payable:f} {due.currency}"


def _list_of_key(statement: "UsageStatement") -> Iterator[Sequence[str]]:
    for billed in statement.billed:
        yield _format_billed(statement.customer, statement.key or "not known", billed)
    for left in statement.unbilled:
        yield (
            _join_words(statement.key or "not known"),
            _join_words(statement.customer or ""),
            REASONS.get(left.reason, left.reason),
            str(left.transfers),
            format_bytes(left.bytes_moved),
            str(left.agreements_kept),
            str(left.agreements_missed),
            "",
            "",
        )


def _format_billed(customer: str | None, key: str, billed: "BilledUsage") -> Sequence[str]:
    return (
        _join_words(key),
        _join_words(customer or ""),
        "billed",
        str(billed.transfers),
        format_bytes(billed.bytes_moved),
        str(billed.agreements_kept),
        str(billed.agreements_missed),
        f"{billed.amount:f} {billed.currency}",
        "" if billed.payable is None else f"{billed.payable:f} {billed.currency}",
    )


def _join_words(text: str) -> str:
    """Return a name on one line."""
    return " ".join(text.split())
