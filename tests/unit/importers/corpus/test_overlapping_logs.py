"""Logs that hold lines of other logs: exports that overlap, copies of rotated logs, parts of a file."""

import json

import pytest

from tests.unit.importers.logs import ENDS, run
from tests.unit.importers.test_gridftp import line as gridftp_line

HEAD = "start,source,destination,bytes,files,concurrency,duration_s"
ROWS = [f"2026-03-01 10:{minute:02d}:00,alpha,beta,40000000,10,2,20" for minute in range(12)]


def ids(lines, **context):
    return [item.record.id for item in run(lines, ENDS, **context)[0]]


def test_row_has_the_same_id_in_an_export_that_begins_later():
    first, second = ids([HEAD, *ROWS[:8]]), ids([HEAD, *ROWS[5:]])
    assert first[5:] == second[:3]
    assert len({*first, *second}) == len(ROWS)


def test_equal_rows_are_transfers_of_their_own_and_the_same_in_each_export():
    first, second = ids([HEAD, ROWS[0], ROWS[0], ROWS[0], ROWS[1]]), ids([HEAD, ROWS[0], ROWS[0], ROWS[0]])
    assert len(set(first)) == 4
    assert first[:3] == second


def test_rows_without_a_time_are_known_by_their_numbers():
    head, row = "bytes,duration_s,concurrency", "40000000,20,2"
    assert len(set(ids([head, row, row]))) == 2
    assert not set(ids([head, row])) & set(ids([head, "50000000,20,2", row]))


@pytest.mark.parametrize("cut", [1, 2])
def test_line_of_a_server_has_the_same_id_in_a_log_that_was_cut_at_its_beginning(cut):
    lines = [gridftp_line(start=f"2024050100000{second}.000000") for second in range(4)]
    assert ids(lines)[cut:] == ids(lines[cut:])


def test_export_that_overlaps_an_earlier_one_adds_only_its_new_rows(watched):
    for name, rows in (("day-1.csv", ROWS[:8]), ("day-2.csv", ROWS[4:])):
        watched.write(name, "\n".join([HEAD, *rows, ""]).encode(), age_s=1000.0)
        watched.watch().run(once=True)
    assert len({json.loads(row)["id"] for row in watched.spooled.splitlines()}) == len(ROWS)


@pytest.mark.parametrize("poll", [1, 2, 3])
def test_equal_rows_in_different_parts_of_a_growing_log_are_as_in_an_upload(watched, poll):
    lines = [HEAD, *[ROWS[0]] * 3, *[ROWS[1]] * 3, *[ROWS[0]] * 2]
    uploaded = ids(lines)
    for at in range(0, len(lines), poll):
        watched.write("grows.csv", "".join(f"{line}\n" for line in lines[at : at + poll]).encode(), age_s=1000.0)
        watched.watch().run(once=True)
    assert sorted(json.loads(row)["id"] for row in watched.spooled.splitlines()) == sorted(map(str, uploaded))
    assert len(set(uploaded)) == 8


def test_row_far_from_an_equal_one_is_the_same_row_of_two_exports():
    many = [f"2026-03-02 {minute // 60:02d}:{minute % 60:02d}:00,alpha,beta,40000000,10,2,20" for minute in range(1100)]
    found = ids([HEAD, ROWS[0], *many, ROWS[0]])
    assert found[0] == found[-1]
    assert len(set(found)) == len(found) - 1
