"""CSV logs with a row for each attempt of a transfer."""

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Status

HEAD = "start,end,{id}source,destination,bytes,status,attempt"


def row(minute: int, status: str, attempt: object, *, name: str = "", moved: int = 40_000_000) -> str:
    return f"2026-03-01 10:{minute:02d}:00,2026-03-01 10:{minute:02d}:20,{name}alpha,beta,{moved},{status},{attempt}"


def test_last_attempt_decides():
    drawn = [(0, "failed", 1), (1, "failed", 2), (2, "ok", 3), (3, "ok", 1)]
    imported, refused, report = run([HEAD.format(id="file,"), *(row(*each, name="f,") for each in drawn)])
    assert [(item.row, item.record.outcome.status) for item in imported] == [
        (4, Status.SUCCEEDED),
        (5, Status.SUCCEEDED),
    ]
    assert refused == []
    assert "rows of attempts that were repeated are no transfers to record: 2 rows left out" in report.assumptions


def test_attempts_of_several_transfers_may_alternate():
    rows = [
        row(0, "failed", 1, name="a,"),
        row(0, "failed", 1, name="b,"),
        row(1, "ok", 2, name="b,"),
        row(2, "failed", 2, name="a,"),
    ]
    imported, _, _ = run([HEAD.format(id="file,"), *rows])
    assert [(item.row, item.record.outcome.status) for item in imported] == [(4, Status.SUCCEEDED), (5, Status.FAILED)]


@pytest.mark.parametrize("attempts", [("1/3", "2/3"), ("0", "1"), ("", "1")])
def test_attempts_are_numbers_in_any_notation(attempts):
    rows = [row(0, "failed", attempts[0], name="f,"), row(1, "ok", attempts[1], name="f,")]
    imported, _, _ = run([HEAD.format(id="file,"), *rows])
    assert [item.row for item in imported] == [3]


def test_first_attempt_of_a_further_transfer_replaces_nothing():
    imported, _, _ = run([HEAD.format(id="file,"), row(0, "failed", 1, name="f,"), row(1, "ok", 1, name="f,")])
    assert len(imported) == 2


def test_transfer_that_succeeded_is_replaced_by_none():
    rows = [row(0, "ok", 1, name="f,"), row(1, "ok", 2, name="f,")]
    imported, _, _ = run([HEAD.format(id="file,"), *rows])
    assert len(imported) == 2


@pytest.mark.parametrize("title", ["attempt", "retry", "try"])
def test_transfers_without_a_name_are_no_attempts_of_one_another(title: str):
    rows = [row(0, "ok", 0), row(1, "failed", 1), row(2, "ok", 2)]
    imported, _, _ = run([HEAD.format(id="").replace("attempt", title), *rows])
    assert len(imported) == 3
