"""The table of a month's usage: a customer pays for all of its keys together, rounded once."""

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

from tradewind.wire.billing import BilledUsage, UsageStatement
from tradewind_agent.cli.commands.usage import HEADS, list_lines

CUSTOMER = UUID(int=1)


def billed(amount: str, payable: str | None) -> BilledUsage:
    return BilledUsage(
        currency="EUR",
        transfers=1,
        bytes_moved=10**9,
        amount=Decimal(amount),
        payable=None if payable is None else Decimal(payable),
        agreements_kept=1,
        agreements_missed=0,
        from_log_alone=0,
    )


def of_key(number: int, line: BilledUsage, *together: BilledUsage) -> UsageStatement:
    return UsageStatement(
        month="2026-11",
        begins_at=datetime(2026, 11, 1, tzinfo=UTC),
        ends_at=datetime(2026, 12, 1, tzinfo=UTC),
        customer_id=CUSTOMER if together else None,
        customer="Acme\n& sons" if together else None,
        key_id=UUID(int=number),
        key=f"mover {number}",
        billed=(line,),
        customer_billed=together,
        unbilled=(),
    )


def test_customer_pays_once_for_its_keys_and_a_key_without_one_for_itself() -> None:
    together = billed("0.016", "0.02")
    statements = [of_key(1, billed("0.008", None), together), of_key(2, billed("0.008", None), together)]
    lines = [
        dict(zip(HEADS, line, strict=True)) for line in list_lines([*statements, of_key(3, billed("0.5", "0.50"))])
    ]
    assert [(line["Key"], line["Customer"], line["To pay"]) for line in lines] == [
        ("all keys", "Acme & sons", "0.02 EUR"),
        ("mover 1", "Acme & sons", ""),
        ("mover 2", "Acme & sons", ""),
        ("mover 3", "", "0.50 EUR"),
    ]
