"""A watch of growing CSV logs: columns and units are decided by their beginnings."""

import json
import os

import pytest

from tests.unit.agent.history.watched_folder import NOW_S
from tradewind_agent.history.importers.ports import DateOrder
from tradewind_agent.history.log_tail import HEAD_BYTES


def test_a_csv_log_is_read_on_by_the_columns_that_its_first_line_names(watched):
    head = b"start,source,destination,total_bytes_b,files,concurrency,throughput_mbps\n"
    row = b"2024-05-01T00:00:%02dZ,alpha,beta,1000000000,10,4,900\n"
    watched.write("transfers.csv", head + b"".join(row % n for n in range(0, 30, 10)))
    watched.watch().run(once=True)
    watched.write("transfers.csv", row % 40)
    tally = watched.watch().run(once=True)
    assert (tally.records, tally.refused) == (1, 0), watched.notes
    assert len(watched.spooled.splitlines()) == 4


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\r\n"])
def test_units_decided_by_the_beginning_hold_for_every_part(watched, end):
    head = b"start,source,destination,total_bytes_b,files,concurrency,throughput_mbps\n"
    row = b"%s 00:00:%02d,alpha,beta,1000000000,10,4,900\n"
    watched.write("transfers.csv", (head + row % (b"25/04/2024", 0)).replace(b"\n", end))
    watched.watch().run(once=True)
    for second in (10, 20):
        watched.write("transfers.csv", (row % (b"03/04/2024", second)).replace(b"\n", end))
        watched.watch().run(once=True)
    assert len(watched.spooled.splitlines()) == 3
    assert watched.spooled.count(b"2024-04-03") == 2 * watched.spooled.count(b"2024-04-25")
    assert watched.spooled.count(b"2024-03-04") == 0


CSV_HEAD = b"start,source,destination,total_bytes_b,files,concurrency,throughput_mbps\n"
CSV_ROW = b"%s 00:00:%02d,alpha,beta,1000000000,10,4,900\n"


def test_rows_that_contradict_the_beginning_are_refused_one_by_one(watched):
    days = [(b"03/04/2026", second) for second in range(4)]
    watched.write("transfers.csv", CSV_HEAD + b"".join(CSV_ROW % day for day in [*days, (b"03/14/2026", 5)]))
    watched.watch().run(once=True)
    watched.write("transfers.csv", b"".join(CSV_ROW % day for day in [*days[:2], (b"13/04/2026", 10)]))
    tally = watched.watch().run(once=True)
    assert (tally.records, tally.refused) == (2, 1)
    assert any("does not exist: '13/04/2026" in note for note in watched.notes)
    watched.write("transfers.csv", CSV_ROW % (b"03/04/2026", 20))
    watched.watch().run(once=True)
    assert watched.spooled.count(b'"started_at":"2026-03-04') == 7
    assert b"2026-04-03" not in watched.spooled


def test_the_first_rows_after_a_header_alone_decide_a_csv_log(watched):
    watched.write("transfers.csv", CSV_HEAD)
    watched.watch().run(once=True)
    for day in (b"25/04/2024", b"03/04/2024", b"03/14/2024"):
        watched.write("transfers.csv", CSV_ROW % (day, 0))
        tally = watched.watch().run(once=True)
    assert (tally.records, tally.refused) == (0, 1)
    assert b"2024-04-03" in watched.spooled


def test_a_long_csv_log_is_read_the_same_way_from_its_first_part_on(watched):
    early = b"".join(CSV_ROW % (b"03/04/2024", n % 60) for n in range(HEAD_BYTES // 50))
    watched.write("transfers.csv", CSV_HEAD + early + CSV_ROW % (b"25/04/2024", 0) + early[:500])
    [unread] = watched.watch().run(once=True).not_read
    assert unread.failed
    assert "--date-order dmy" in unread.reason
    tally = watched.watch(date_order=DateOrder.MDY).run(once=True)
    assert tally.refused == 1
    assert b"2024-04-03" not in watched.spooled


def test_log_with_dates_of_two_meanings_waits_for_one_that_settles_them(watched):
    watched.write("transfers.csv", CSV_HEAD + CSV_ROW % (b"03/04/2024", 0))
    watch = watched.watch()
    assert "--date-order" in watch.run(once=True).not_read[0].reason
    watched.write("transfers.csv", CSV_ROW % (b"25/04/2024", 0))
    tally = watch.run(once=True)
    assert (tally.records, tally.refused, tally.not_read) == (2, 0, ())
    assert b"2024-04-03" in watched.spooled


def test_a_part_with_round_trips_of_an_undecided_unit_does_not_hold_up_a_csv_log(watched):
    head = CSV_HEAD.replace(b"start,", b"start,rtt,")
    row = b"2024-05-01T00:00:%02dZ,%s,alpha,beta,1000000000,10,4,900\n"
    watched.write("transfers.csv", head + b"".join(row % (n, b"20") for n in range(3)))
    watched.watch().run(once=True)
    watched.write("transfers.csv", b"".join(row % (n, b"0.5") for n in range(10, 20)))
    assert watched.watch().run(once=True).records == 10


def test_part_read_by_an_older_agent_decides_a_csv_log(watched):
    watched.write("transfers.csv", CSV_HEAD + CSV_ROW % (b"25/04/2024", 0))
    watched.watch().run(once=True)
    kept = json.loads(watched.state.read_bytes())
    for followed in kept["files"].values():
        del followed["head_bytes"]
    watched.state.write_text(json.dumps(kept))
    watched.write("transfers.csv", CSV_ROW % (b"03/04/2024", 10))
    watched.watch().run(once=True)
    assert b"2024-04-03" in watched.spooled


@pytest.mark.parametrize(
    "bad", [b"oops,row\n", CSV_ROW.replace(b"%s", b"x") % 0, b""], ids=["narrow", "no date", "none"]
)
def test_a_beginning_of_which_no_row_was_taken_decides_nothing(watched, bad):
    watched.write("transfers.csv", CSV_HEAD + bad)
    watch = watched.watch()
    watch.run(once=True)
    for row, date in enumerate((b"25/04/2024", b"03/04/2024", b"04/05/2024"), 1):
        watched.write("transfers.csv", CSV_ROW % (date, 10 * row))
        watch.run(once=True)
    for day in (b"2024-04-25", b"2024-04-03", b"2024-05-04"):
        assert day in watched.spooled, watched.notes


def test_a_line_longer_than_the_beginning_is_taken(watched):
    head = CSV_HEAD.replace(b"\n", b",note\n")
    row = (CSV_ROW % (b"25/04/2024", 0)).replace(b"\n", b"," + b"x" * 300_000 + b"\n")
    watched.write("transfers.csv", head + row + (CSV_ROW % (b"26/04/2024", 10)).replace(b"\n", b",y\n"))
    tally = watched.watch().run(once=True)
    assert (tally.records, tally.refused) == (2, 0), watched.notes


QUOTED_HEAD = b"start,end,source,destination,bytes,cc,note\n"
QUOTED_ROW = b'2024-05-01T00:0%d:00Z,2024-05-01T00:0%d:20Z,alpha,beta,40000000,2,"first\nsecond"\n'


def test_row_with_a_line_break_in_quotes_waits_for_its_end(watched):
    content = QUOTED_HEAD + b"".join(QUOTED_ROW % (n, n) for n in range(3))
    for line in content.splitlines(keepends=True):
        watched.write("transfers.csv", line)
        tally = watched.watch().run(once=True)
        assert tally.refused == 0, watched.notes
    assert len(watched.spooled.splitlines()) == 3


def test_stray_quote_at_the_end_of_a_quiet_log_holds_nothing_back(watched):
    watched.write("transfers.csv", QUOTED_HEAD + QUOTED_ROW % (1, 1) + b'2024-05-01T00:02:00Z,,alpha,beta,1,2,"x\n')
    watch = watched.watch()
    watch.run(once=True)
    path = watched.folder / "transfers.csv"
    os.utime(path, (NOW_S - 1000, NOW_S - 1000))
    assert watch.run(once=True).refused == 1
    assert len(watched.spooled.splitlines()) == 1


@pytest.mark.parametrize("age_s", [1.0, 1000.0])
def test_rows_without_settings_are_taken_with_those_that_overlap_them(watched, age_s):
    head = b"start,end,source,destination,bytes\n"
    rows = [b"2024-05-01T00:00:0%dZ,2024-05-01T00:01:00Z,alpha,beta,40000000\n" % n for n in range(3)]
    watched.write("transfers.csv", head)
    for row in rows:
        watched.write("transfers.csv", row, age_s=age_s)
        if age_s == 1.0:
            watched.watch().run(once=True)
    os.utime(watched.folder / "transfers.csv", (NOW_S - 1000, NOW_S - 1000))
    watched.watch().run(once=True)
    concurrencies = [json.loads(line)["parameters"]["concurrency"] for line in watched.spooled.splitlines()]
    assert concurrencies == [3, 3, 3]


def test_last_line_without_a_line_end_is_named_until_it_comes(watched):
    watched.write("transfers.csv", CSV_HEAD + CSV_ROW % (b"25/04/2024", 0) + (CSV_ROW % (b"25/04/2024", 10))[:-1])
    watch = watched.watch()
    tally = watch.run(once=True)
    assert tally.records == 1
    assert [(each.file, each.reason, each.failed) for each in tally.not_read] == [
        ("transfers.csv", "its last line waits for its line end", False)
    ]
    watched.write("transfers.csv", b"\n")
    tally = watch.run(once=True)
    assert (tally.records, tally.not_read) == (2, ())
