"""Lines that are cut off, put together or put over several lines: none may become a wrong record, or get lost."""

import json

import pytest

from tests.unit.importers.logs import ENDS, run
from tests.unit.importers.test_fts import message
from tests.unit.importers.test_gridftp import line as gridftp_line
from tests.unit.importers.test_rclone import stats
from tests.unit.importers.test_servers_and_services import ftp
from tradewind_agent.history.importers.csv_logs.names import find_quantity
from tradewind_agent.history.importers.reading.lines import Line
from tradewind_agent.history.importers.reading.objects import join_objects
from tradewind_agent.importers import ImportContext

BILLED = (
    "07.09 04:05:06 [pool:p1@d:transfer] [0000F3,90000000] [/x] u:d@osm 90000000 30000 false "
    '{Http-1.1:192.0.2.44:0:x:x} {0:""}'
)
SAVED = "2025-07-09 04:05:06 (2.00 MB/s) - 'f' saved [90000000/90000000]"


@pytest.mark.parametrize(
    "damaged",
    [
        gridftp_line()[:185] + gridftp_line(nbytes="7"),
        gridftp_line(file="/data/long")[:130] + gridftp_line(nbytes="7"),
        gridftp_line() + gridftp_line(nbytes="7"),
        ftp()[:58] + ftp(size=7),
        ftp()[:44] + ftp(size=7),
        ftp()[:58],
        BILLED[:90] + BILLED,
        BILLED[:60],
        f"{SAVED[:40]}{SAVED}",
    ],
)
def test_a_line_in_which_another_begins_or_that_is_cut_off_is_refused(damaged):
    lines = ["--2025-07-09 04:00:00--  https://h.example.org/f", damaged] if "saved" in damaged else [damaged]
    name = {"D": "gridftp", "T": "xferlog", "0": "dcache", "2": "wget"}[damaged[0]]
    imported, refused, _ = run(lines, ImportContext(source="a", destination="b"), format=name)
    assert (imported, [row.field for row in refused]) == ([], ["row"])


@pytest.mark.parametrize("year", ["2025-", "2025."])
def test_a_year_in_front_of_a_billed_line_is_no_other_line(year):
    imported, refused, report = run([year + BILLED, f"{year}{BILLED[:90]}{year}{BILLED}"], ENDS)
    assert (len(imported), report.format) == (1, "dcache")
    assert [(row.row, row.field) for row in refused] == [(2, "row")]


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("gridftp", [gridftp_line(file="/a"), gridftp_line(file="/b")]),
        ("fts", [json.dumps(message()), json.dumps(message(nstreams=3))]),
    ],
)
def test_a_byte_order_mark_amid_a_log_does_not_matter(name, texts):
    imported, refused, report = run(["\ufeff" + text for text in texts], ENDS)
    assert (len(imported), refused, report.format) == (2, [], name)


def test_indented_objects_among_lines_are_read_by_the_lines_that_they_begin_on():
    lines = [json.dumps(message()), json.dumps(message(nstreams=3), indent=2), json.dumps(message(nstreams=4))]
    imported, refused, _ = run(lines, ENDS)
    assert (refused, [item.record.parameters.parallelism for item in imported]) == ([], [6, 3, 4])
    assert imported[1].row == 2


def test_an_indented_transfer_of_another_format_is_refused_and_not_passed_over():
    runs = [stats(40, at=f"2024-06-0{day}T12:00:00+02:00") for day in (1, 2, 3, 4)]
    imported, refused, _ = run([*runs, json.dumps(message(), indent=2)], ENDS)
    assert (len(imported), [row.row for row in refused]) == (4, [5])
    assert "--format fts" in refused[0].reason


def test_a_brace_that_nothing_closes_leaves_the_lines_behind_it_alone():
    imported, _, _ = run([json.dumps(message()), "{", *[json.dumps(message(nstreams=n)) for n in (3, 4, 5)]], ENDS)
    assert len(imported) == 4


def test_braces_that_nothing_closes_are_each_looked_at_once():
    taken = 0

    def write():
        nonlocal taken
        for number in range(1, 1_000):
            taken += 1
            yield Line(number, "{")

    joined = join_objects(write())
    assert next(joined) == Line(1, "{")
    assert taken == 2
    assert len(list(joined)) == 998


@pytest.mark.parametrize("prefix", ["2025-07-09T04:05:06.1234567Z ", "[2025-07-09T04:05:06.123Z] ", "Jul 09 04:05:06 "])
def test_prefixes_of_build_servers_do_not_matter(prefix):
    log = [
        "2025/07/09 04:05:06 INFO  : ",
        "Transferred:   \t  100 MiB / 100 MiB, 100%, 5 MiB/s, ETA 0s",
        "Transferred:            2 / 2, 100%",
        "Elapsed time:        20.0s",
        "",
    ]
    imported, refused, _ = run([prefix + line for line in log])
    assert ([item.record.duration_s for item in imported], refused) == ([20], [])


def test_a_time_in_front_of_a_row_is_no_prefix():
    lines = ["start,end,bytes", *["Jul 09 04:05:06 2025,Jul 09 04:05:46 2025,60000000"] * 2]
    assert [item.record.duration_s for item in run(lines)[0]] == [40, 40]


@pytest.mark.parametrize("character", ["[", "a", "( "])
def test_a_message_of_a_million_characters_is_no_title_of_a_column(character):
    assert find_quantity(character * 1_000_000) == (None, None)  # in hours, if patterns looked through it
