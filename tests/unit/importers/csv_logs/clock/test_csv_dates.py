"""Dates in numbers, whose order a CSV log has to show, and times of day next to a date."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import run
from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.ports import DateOrder
from tradewind_agent.importers import ImportContext

HEAD = "start,source,destination,bytes,duration_s,concurrency"


def read(dates, context=None):
    rows = [f"{each} 10:00:00,alpha,beta,40000000,20,2" for each in dates]
    return run([HEAD, *rows], context or ImportContext())


def list_days(dates, context=None):
    imported, refused, _ = read(dates, context)
    return [item.record.started_at.date().isoformat() for item in imported], len(refused)


@pytest.mark.parametrize(
    "dates",
    [
        ["03/01/2026"],
        ["03/01/2026", "04/01/2026", "05/01/2026"],
        ["3-1-2026", "3-2-2026"],
        ["03/01/26"],
        ["14/03/16", "15/03/16"],
        ["02.03.16"],
        # In the order of the text, which is one of months whatever the dates mean:
        ["01/02/2026", "01/05/2026", "02/01/2026", "03/04/2026", "04/02/2026", "05/03/2026"],
        ["03/04/2026", "02/05/2026", "02/01/2026", "01/05/2026"],
        # Too few dates to tell a log in order from one in none:
        ["02/01/2026", "03/01/2026", "01/02/2026"],
    ],
)
def test_dates_of_two_meanings_are_refused_with_the_option(dates):
    with pytest.raises(InvalidValue, match=r"which may be .+ or .+; give .*--date-order dmy") as refused:
        read(dates)
    assert refused.value.field == "start"


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        (["03/01/2026", "13/01/2026"], ["2026-01-03", "2026-01-13"]),
        (["03/01/2026", "01/13/2026"], ["2026-03-01", "2026-01-13"]),
        (["03/03/2026"], ["2026-03-03"]),
        (["2026/03/01"], ["2026-03-01"]),
        (["03.01.2026"], ["2026-01-03"]),
        (["31/12/99"], ["1999-12-31"]),
        # Only as days first are these in the order of time, up or down:
        (
            ["02/01/2026", "09/01/2026", "01/02/2026", "08/02/2026", "03/03/2026"],
            ["2026-01-02", "2026-01-09", "2026-02-01", "2026-02-08", "2026-03-03"],
        ),
        (
            ["03/03/2026", "08/02/2026", "01/02/2026", "09/01/2026", "02/01/2026"],
            ["2026-03-03", "2026-02-08", "2026-02-01", "2026-01-09", "2026-01-02"],
        ),
    ],
)
def test_dates_that_settle_their_order_are_read(dates, days):
    assert list_days(dates) == (days, 0)


@pytest.mark.parametrize(("order", "day"), [("dmy", "2026-01-03"), ("mdy", "2026-03-01")])
def test_option_settles_the_order(order, day):
    assert list_days(["03/01/2026"], ImportContext(date_order=DateOrder(order))) == ([day], 0)


@pytest.mark.parametrize(("order", "day"), [("dmy", "2026-01-03"), ("mdy", "2026-03-01"), ("ymd", "2003-01-26")])
def test_option_settles_years_of_two_digits(order, day):
    assert list_days(["03/01/26"], ImportContext(date_order=DateOrder(order))) == ([day], 0)


def test_no_row_is_of_a_later_year_than_the_log():
    """31 can be no year of a log that was written in 2020."""
    context = ImportContext(written_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert list_days(["31/03/16", "01/04/16"], context) == (["2016-03-31", "2016-04-01"], 0)


def test_dates_in_both_orders_are_refused():
    with pytest.raises(InvalidValue, match=r"several orders, .*13/04/2026.*--date-order"):
        read(["13/04/2026", "04/13/2026", "03/04/2026"])


def test_rows_that_contradict_the_option_are_refused_one_by_one():
    days, refused = list_days(["13/04/2026", "04/13/2026"], ImportContext(date_order=DateOrder.DMY))
    assert (days, refused) == (["2026-04-13"], 1)


def test_a_single_date_among_many_rows_settles_their_order():
    """Samples of the rows may not contain it."""
    days, refused = list_days([*["03/04/2026"] * 3000, "13/04/2026", *["03/04/2026"] * 3000])
    assert (set(days), refused) == ({"2026-04-03", "2026-04-13"}, 0)


def test_ends_settle_the_order_of_starts():
    rows = ["start,end,source,destination,bytes", "12/01/2026 23:59:50,13/01/2026 00:00:10,alpha,beta,4000000"]
    imported, _, _ = run(rows, ImportContext())
    assert imported[0].record.started_at == datetime(2026, 1, 12, 23, 59, 50, tzinfo=UTC)


CLOCKS = [
    ("date,start,end", "2026-03-01,23:59:50,00:00:10"),
    ("date,time,end", "2026-03-01,23:59:50,00:00:10"),
    ("Date,Start Time,End Time", "2026-03-01,23:59:50,00:00:10"),
    ("date,start,end", "2026-03-01 00:00:00,23:59:50,00:00:10"),
    ("date,start,end", "1 Mar 2026,11:59:50 PM,12:00:10 AM"),
    ("start,end", "2026-03-01 23:59:50,00:00:10"),
    ("start date,start time,end date,end time", "2026-03-01,23:59:50,2026-03-02,00:00:10"),
    ("date,start,duration_s", "2026-03-01,23:59:50,20"),
    ("date,start,end,duration", "2026-03-01,23:59:50,00:00:10,20"),
]


@pytest.mark.parametrize(("head", "row"), CLOCKS)
def test_times_of_day_belong_to_the_date_next_to_them(head, row):
    lines = [f"{head},source,destination,bytes,concurrency", f"{row},alpha,beta,40000000,2"]
    imported, refused, _ = run(lines, ImportContext())
    assert refused == []
    (record,) = (item.record for item in imported)
    assert record.started_at == datetime(2026, 3, 1, 23, 59, 50, tzinfo=UTC)
    assert record.duration_s == 20


def test_end_before_the_start_on_a_stated_day_is_refused():
    head = "start date,start time,end date,end time,source,destination,bytes"
    _, refused, _ = run([head, "2026-03-02,00:00:10,2026-03-01,23:59:50,alpha,beta,40000000"], ImportContext())
    assert "before started_at" in refused[0].reason


def test_transfers_across_a_change_of_clocks_last_as_long_as_they_did():
    rows = ["date,start,end,source,destination,bytes", "2026-03-28,23:30:00,03:30:00,alpha,beta,40000000"]
    imported, _, _ = run(rows, ImportContext(timezone=ZoneInfo("Europe/Berlin")))
    assert imported[0].record.duration_s == 3 * 3600


def test_end_in_an_hour_that_came_twice_is_refused_where_it_is_before_the_start():
    rows = ["date,start,end,source,destination,bytes", "2026-10-25,02:30:00,02:10:00,alpha,beta,40000000"]
    _, refused, _ = run(rows, ImportContext(timezone=ZoneInfo("Europe/Berlin")))
    assert "twice" in refused[0].reason
