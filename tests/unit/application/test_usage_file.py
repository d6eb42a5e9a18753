"""The transfers of a month as a file, which is handed out piece by piece."""

import csv
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Self
from uuid import UUID

import pytest

from services.application.billing.usage import COLUMNS, LINES_AT_ONCE, Billing, Holder, Month, UsageFile, UsageTransfer
from tradewind.errors import Conflict

TENANT = UUID(int=1)
MONTH = Month.parse("2026-11")


def transfers(count: int) -> Iterator[UsageTransfer]:
    for number in range(count):
        begin = MONTH.begins_at + timedelta(seconds=number)
        yield UsageTransfer(
            key_id=None,
            key="=cmd()",
            transfer_id=UUID(int=number),
            started_at=begin,
            ended_at=begin + timedelta(seconds=1),
            source="a",
            destination="b",
            mover="rclone",
            tier_id=None,
            sla=None,
            status="succeeded",
            bytes_moved=number,
            billing=Billing.NOT_QUOTED,
            amount=None,
            currency=None,
            energy_basis=None,
            book_id=None,
            kept=None,
            credit=None,
            target=None,
            probability=None,
        )


@dataclass
class Store:
    """A unit of work over what is given, which knows whether it is open."""

    given: Iterator[UsageTransfer]
    is_open: bool = False

    @property
    def usage(self) -> "Store":
        return self

    def iterate_transfers(self, month: Month, holder: Holder | None = None) -> Generator[UsageTransfer, None, None]:
        assert (month, holder) == (MONTH, None)
        yield from self.given

    def __enter__(self) -> Self:
        self.is_open = True
        return self

    def commit(self) -> None:
        raise AssertionError("nothing is written")

    def __exit__(self, *_: object) -> None:
        self.is_open = False


def file_of(store: Store) -> UsageFile:
    return UsageFile(tenant_id=TENANT, month=MONTH, unit_of_work=store)


@pytest.mark.parametrize("count", [0, 1, LINES_AT_ONCE, 2 * LINES_AT_ONCE + 1])
def test_usage_file_has_one_header_and_each_transfer_once(count: int) -> None:
    store = Store(transfers(count))
    pieces = list(file_of(store).read_chunks())
    header, *rows = csv.reader(b"".join(pieces).decode().splitlines())
    assert header == list(COLUMNS)
    assert [row[COLUMNS.index("bytes_moved")] for row in rows] == [str(number) for number in range(count)]
    assert {row[COLUMNS.index("key")] for row in rows} <= {"'=cmd()"}
    assert len(pieces) == max(1, -(-count // LINES_AT_ONCE))
    assert not store.is_open


def test_abandoned_usage_file_leaves_no_transaction_open() -> None:
    store = Store(transfers(3 * LINES_AT_ONCE))
    pieces = file_of(store).read_chunks()
    next(pieces)
    assert store.is_open
    pieces.close()
    assert not store.is_open


def test_refusal_comes_before_the_first_piece() -> None:
    def dropped() -> Iterator[UsageTransfer]:
        raise Conflict("dropped")
        yield

    store = Store(dropped())
    with pytest.raises(Conflict, match="dropped"):
        next(file_of(store).read_chunks())
    assert not store.is_open
