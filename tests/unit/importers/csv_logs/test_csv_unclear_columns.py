"""Columns that hold no known quantity, and would make wrong records if nobody asked what they mean."""

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status

TIMES = ("2026-03-01T10:00:00Z,2026-03-01T10:00:20Z", "2026-03-01T10:05:00Z,2026-03-01T10:05:40Z")


def read(title: str, *cells: str, head: str = "start,end,size (MB)", sizes: tuple[str, str] = ("4000", "8000")):
    rows = [f"{times},{size},{cell}" for times, size, cell in zip(TIMES, sizes, cells, strict=True)]
    return run([f"{head},{title}", *rows], ENDS)


@pytest.mark.parametrize(
    "title",
    [
        "connections", "TCP connections", "num_sockets", "flows", "parallel sessions", "max concurrent", "jobs",
        "transfers", "queue_depth", "processes", "numThreads",
    ],
)  # fmt: skip
def test_number_of_what_ran_at_once_alone_is_refused(title):
    with pytest.raises(InvalidValue, match="may count files at once") as refused:
        read(title, "8", "16")
    assert refused.value.field == title


@pytest.mark.parametrize(
    ("title", "cells"), [("jobs", ("90210", "90211")), ("connections", ("1", "1")), ("transfers", ("a", "b"))]
)
def test_column_of_other_than_settings_says_nothing_of_them(title, cells):
    imported, refused, _ = read(title, *cells)
    assert ([item.record.parameters.concurrency for item in imported], refused) == ([1, 1], [])


@pytest.mark.parametrize("title", ["concurrent files", "parallel_transfers", "simultaneousTransfers", "files at once"])
def test_files_at_once_in_other_words_are_the_concurrency(title):
    assert [item.record.parameters.concurrency for item in read(title, "8", "16")[0]] == [8, 16]


def test_multi_thread_streams_of_rclone_are_the_parallelism():
    assert [item.record.parameters.parallelism for item in read("multi_thread_streams", "4", "8")[0]] == [4, 8]


def test_uploads_next_to_downloads_between_given_ends_are_refused():
    with pytest.raises(InvalidValue, match="add columns source and destination"):
        read("direction", "upload", "download")


def test_uploads_alone_and_rows_that_name_their_ends_are_read():
    assert [item.record.direction.value for item in read("direction", "upload", "upload")[0]] == ["upload"] * 2
    imported, refused, _ = read(
        "direction,source,destination", "upload,here,store", "download,store,here", head="start,end,size (MB)"
    )
    assert ([item.record.source for item in imported], refused) == (["here", "store"], [])


def test_commands_of_an_ftp_server_in_both_directions_are_read_and_noted():
    imported, refused, report = read("trans_type", "RETR", "STOR")
    assert (len(imported), refused) == (2, [])
    assert any("between the same ends" in noted for noted in report.assumptions)


@pytest.mark.parametrize("title", ["Remarks", "comment", "user notes", "message", "reason"])
@pytest.mark.parametrize("text", ["FAILED - disk full", "aborted by user", "Error: timeout"])
def test_remark_that_names_a_failure_is_no_success(title, text):
    imported, refused, _ = read(title, "fine", text)
    assert ([item.record.outcome.status for item in imported], len(refused)) == ([Status.SUCCEEDED], 1)
    assert refused[0].field == title
    assert "add a column status" in refused[0].reason


@pytest.mark.parametrize("text", ["no errors", "slow, rainy", "retried without failure", ""])
def test_remark_of_something_else_leaves_a_success(text):
    imported, refused, _ = read("remarks", "fine", f'"{text}"')
    assert (len(imported), refused) == (2, [])


def test_remark_gives_way_to_a_column_of_states():
    imported, refused, _ = read("status,remarks", "ok,failed over to the second link", "ok,")
    assert (len(imported), refused) == (2, [])


@pytest.mark.parametrize(
    ("title", "cell"),
    [("resumed_from (MB)", "6000"), ("restart offset", "6000000000"), ("Resumed", "yes"), ("bytes_skipped", "5")],
)
def test_transfer_that_went_on_with_an_earlier_one_is_refused(title, cell):
    imported, refused, _ = read(title, "0" if cell != "yes" else "no", cell)
    assert (len(imported), refused[0].field) == (1, title)
    assert "bytes_moved" in refused[0].reason


def test_bytes_moved_settle_a_transfer_that_went_on():
    imported, refused, _ = read("resumed_from,bytes_moved,status", "0,4000000000,ok", "6000,2000000000,ok")
    assert ([item.record.outcome.bytes_moved for item in imported], refused) == ([4_000_000_000, 2_000_000_000], [])


@pytest.mark.parametrize("title", ["bytes transferred", "actual_bytes"])
def test_transfer_of_less_than_its_size_without_a_state_is_refused(title):
    imported, refused, _ = read(title, "4000000000", "1000000000")
    assert (len(imported), refused[0].field) == (1, "outcome.bytes_moved")
    assert "1 GB of 8 GB" in refused[0].reason


def test_expected_and_actual_bytes_are_size_and_moved():
    head = "start,end,expected_bytes"
    imported, refused, _ = read("actual_bytes", "4000000000", "0100", head=head, sizes=("4000000000", "8000000000"))
    assert (imported[0].record.outcome.bytes_moved, len(refused)) == (4_000_000_000, 1)


def test_size_next_to_a_compressed_one_is_refused():
    with pytest.raises(InvalidValue, match="may be what crossed the network"):
        read("compressed size (MB)", "1000", "2000")
    imported, refused, _ = read("compressed", "yes", "yes")
    assert (len(imported), refused) == (2, [])


@pytest.mark.parametrize("last", [",60,12000,", "all,60,12000,", "a;b,60.02,12001,"])
def test_sum_of_the_rows_before_it_is_no_transfer(last):
    imported, refused, _ = run(["name,duration_s,size (MB),cc", "a,20,4000,2", "b,40,8000,2", last], ENDS)
    assert (len(imported), refused[0].field) == (2, "row")
    assert "sum of the rows before it" in refused[0].reason


def test_total_in_a_column_behind_the_others_is_found():
    rows = ["duration_s,size (MB),cc,remark", "20,4000,2,", "40,8000,2,", "60,12000,2,Total"]
    assert [item.row for item in run(rows, ENDS)[1]] == [4]


def test_transfer_as_large_as_all_before_it_is_one():
    rows = ["name,duration_s,size (MB),cc", "a,20,4000,2", "b,40,8000,2", "c,60,12000,2"]
    assert len(run(rows, ENDS)[0]) == 3


@pytest.mark.parametrize(
    ("title", "head"),
    [("bytes (millions)", "bytes"), ("size (512-byte blocks)", "size"), ("size [x1000 bytes]", "size")],
)
def test_unknown_unit_behind_a_known_title_is_named(title, head):
    with pytest.raises(InvalidValue, match=f"what stands behind {head} in") as refused:
        run([f"start,end,{title},cc", f"{TIMES[0]},4000,2"], ENDS)
    assert title in refused.value.reason


def test_names_of_rows_that_r_writes_without_a_title_are_left_out():
    rows = ['"size (MB)","duration (s)","cc","p"', '"1",4000,20,2,1', '"2",8000,40,2,1']
    imported, refused, _ = run(rows, ENDS)
    assert refused == []
    assert [item.record.outcome.bytes_moved for item in imported] == [4_000_000_000, 8_000_000_000]
    assert {item.record.parameters.concurrency for item in imported} == {2}


def test_texts_that_spreadsheets_shall_not_convert_are_read():
    row = f'"=""{TIMES[0].partition(",")[0]}""","=""20""","=""4000000000"""'
    imported, refused, _ = run(["start,duration_s,bytes", row], ENDS)
    assert (imported[0].record.outcome.bytes_moved, refused) == (4_000_000_000, [])


@pytest.mark.parametrize(("good", "bad"), [("✓", "✗"), ("✅", "❌"), ("✔\ufe0f", "✖\ufe0f")])
def test_ticks_and_crosses_are_states(good, bad):
    imported, refused, _ = read("status", good, bad)
    assert ([item.record.outcome.status for item in imported], refused) == ([Status.SUCCEEDED, Status.FAILED], [])
