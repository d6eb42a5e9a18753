"""``tradewind statements``: issue the statements of all customers for a month."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind_agent.cli import environment, options
from tradewind_agent.cli.commands.usage import Month, check_month
from tradewind_agent.cli.terminal import Terminal

if TYPE_CHECKING:
    from tradewind.wire.billing import StatementOutcome

HEADS = ("Customer", "Statement", "To pay", "Number", "Why not")
OUTCOMES = {
    "issued": "issued",
    "already_issued": "issued already",
    "to_issue": "would be issued",
    "not_issued": "not issued",
}
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be issued.")]


def register(app: typer.Typer) -> None:
    statements = typer.Typer(help="Statements: issue those of all customers for a month.", no_args_is_help=True)
    statements.command()(issue)
    app.add_typer(statements, name="statements")


def issue(*, month: Month, dry_run: DryRun = False, as_json: options.Json = False) -> None:
    """Issue the statements of all customers for a month that is over; the key needs the scope provider.

    Each gets a number and never changes afterwards. The same command again issues what is left. It ends with status 1
    if a customer's statement could not be issued.
    """
    check_month(month)
    terminal = Terminal(as_json)
    with environment.open_client() as client:
        done = client.usage.issue_statements(month, dry_run=dry_run)
    terminal.print_table(HEADS, [_format_row(each) for each in done.statements], done.model_dump(mode="json"))
    if not as_json:
        terminal.note(_format_summary(month, done.statements))
    if any(each.outcome == "not_issued" and each.customer_id is not None for each in done.statements):
        raise typer.Exit(1)


def _format_row(each: "StatementOutcome") -> Sequence[str]:
    to_pay = ", ".join(f"{due.payable:f} {due.currency}" for due in each.to_pay)
    number = "" if each.number is None else str(each.number)
    return (" ".join(each.name.split()), OUTCOMES.get(each.outcome, each.outcome), to_pay, number, each.reason or "")


def _format_summary(month: str, statements: Iterable["StatementOutcome"]) -> str:
    """Return how many statements are issued, or would be, and their sum by currency."""
    listed = list(statements)
    counts = Counter[str](each.outcome for each in listed)
    parts = [f"{counts[outcome]} {words}" for outcome, words in OUTCOMES.items() if counts[outcome]]
    sums = _sum_by_currency(each for each in listed if each.outcome in ("issued", "to_issue"))
    total = ", ".join(f"{amount:f} {currency}" for currency, amount in sums.items())
    return f"statements of {month}: {', '.join(parts)}{f'; {total} in all' if total else ''}"


def _sum_by_currency(statements: Iterable["StatementOutcome"]) -> Mapping[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for due in (due for each in statements for due in each.to_pay):
        sums[due.currency] = sums.get(due.currency, Decimal(0)) + due.payable
    return dict(sorted(sums.items()))
