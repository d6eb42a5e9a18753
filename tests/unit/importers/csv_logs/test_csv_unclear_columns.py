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


@pytest.mark.parametrize("cells", [("auto", "16"), ("-1", "16"), ("16", "2048"), ("8.0", "16.0"), ("8 threads", "")])
def test_one_number_of_threads_among_other_cells_is_refused(cells):
    with pytest.raises(InvalidValue, match="may count files at once"):
        read("threads", *cells)


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("thread", ("1", "2")), ("worker no", ("1", "2")), ("Stream", ("3", "4")), ("requests", ("160", "320")),
        ("tasks", ("2", "3")), ("copies", ("2", "2")), ("uploads", ("3", "1")), ("queue depth", ("0", "3")),
        ("active transfers", ("0", "5")), ("jobs", ("0", "3")),
    ],
)  # fmt: skip
def test_numbers_of_one_and_measures_are_no_settings(title, cells):
    imported, refused, _ = read(title, *cells)
    assert ([item.record.parameters.concurrency for item in imported], refused) == ([1, 1], [])


@pytest.mark.parametrize("title", ["max concurrent requests", "queue depth", "parallel uploads", "thread count"])
def test_limits_of_measures_may_be_settings(title):
    with pytest.raises(InvalidValue, match="may count files at once"):
        read(title, "8", "16")


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


@pytest.mark.parametrize("title", ["description", "info", "details"])
def test_description_of_failed_things_leaves_a_success(title):
    assert len(read(title, "FAILED", "error: none")[0]) == 2


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


@pytest.mark.parametrize(
    ("title", "cell"),
    [
        ("resumed", "0 B"), ("resumed", "nein"), ("resume", "enabled"), ("resume", "yes"), ("offset", "3.2"),
        ("restarted", "2026-03-01T10:00:00Z"), ("restart marker", "0-0"), ("offset", "0.0"),
    ],
)  # fmt: skip
def test_cell_that_is_no_part_leaves_a_complete_transfer(title, cell):
    imported, refused, _ = read(title, cell, cell)
    assert (len(imported), refused) == (2, [])


@pytest.mark.parametrize(
    ("title", "cell"), [("resumed from", "2 GB"), ("restart marker", "0-2000"), ("resumed", "50%")]
)
def test_part_with_a_unit_is_refused(title, cell):
    assert read(title, "0", cell)[1][0].field == title


@pytest.mark.parametrize(
    ("title", "cell"),
    [("copy_ok", "yes"), ("rsync_exit_code", "0"), ("checksum_valid", "true"), ("file_state", "done"),
     ("progress", "100"), ("last_error", "")],
)  # fmt: skip
def test_less_than_the_size_is_read_next_to_any_column_of_states(title, cell):
    imported, refused, _ = read(f"{title},bytes moved", f"{cell},2000000000", f"{cell},8000000000")
    assert ([item.record.outcome.bytes_moved for item in imported], refused) == ([2_000_000_000, 8_000_000_000], [])


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("compressed size", ("2000", "4000")),
        ("resumed_from", ("2000", "4000")),
        ("bytes deduplicated", ("2000000000", "4000000000")),
    ],
)
def test_bytes_moved_that_another_column_explains_are_read(title, cells):
    moved = ("2000000000", "4000000000")
    imported, refused, _ = read(f"{title},bytes moved", *map(",".join, zip(cells, moved, strict=True)))
    assert ([item.record.outcome.bytes_moved for item in imported], refused) == ([2_000_000_000, 4_000_000_000], [])


@pytest.mark.parametrize("title", ["compressed size", "resumed_from", "mode"])
def test_bytes_moved_that_no_column_explains_are_refused(title):
    refused = read(f"{title},bytes moved", "3000,500000000", "0,8000000000")[1]
    assert [item.field for item in refused] == ["outcome.bytes_moved"]


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


@pytest.mark.parametrize("cells", [("0", "0"), ("4000000000", "8000000000"), ("no", "0 B")])
def test_compressed_size_of_nothing_or_in_another_unit_is_no_doubt(cells):
    imported, refused, _ = read("compressed bytes", *cells)
    assert (len(imported), refused) == (2, [])


@pytest.mark.parametrize(
    ("title", "full", "less"),
    [
        ("size on destination (MB)", "4000", "2000"), ("dest size (MB)", "4000.0", "2000.0"),
        ("dest size bytes", "4000000000", "2000000000"), ("remote size (GiB)", "3.73", "3.73"),
        ("dest size (MB),remote size (MB)", "4000,4000", "8000,2000"),
    ],
)  # fmt: skip
def test_less_at_the_destination_is_refused(title, full, less):
    imported, refused, _ = read(title, full, less)
    assert (len(imported), len(refused)) == (1, 1)
    assert "add a column status" in refused[0].reason


@pytest.mark.parametrize(
    ("title", "cells"),
    [("dest size (MB)", ("3999.6", "8000")), ("destination size (GiB)", ("3.7", "7.5")), ("remote size", ("4", "8"))],
)
def test_rounded_size_at_the_destination_is_not_less(title, cells):
    imported, refused, _ = read(title, *cells)
    assert (len(imported), refused) == (2, [])


@pytest.mark.parametrize(
    ("titles", "cells"),
    [
        ("source md5,destination sha256", "0cc175b9c0f1b6a831c399e269772661,ca978112ca1bbdcafac231b39a23dc4d"),
        ("src crc32,dst crc32", "00ab,ab"), ("src checksum,dst checksum", "adler32:ab,ab"),
        ("src checksum,dst checksum", "adler32:ab,crc32:cd"), ("src crc,dst crc", "171,ab"),
        ("src checksum,dst checksum", "0xAB,ab"),
        ("src checksum,dst checksum", "0cc175b9c0f1b6a831c399e269772661,86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        ("src md5,dst md5", "DMF1ucDxtqgxw5niaXcmYQ==,0cc175b9c0f1b6a831c399e269772661"),
    ],
)  # fmt: skip
def test_checksums_in_other_notations_or_of_other_algorithms_are_not_compared(titles, cells):
    imported, refused, _ = read(titles, cells, "ab,ab")
    assert (len(imported), refused) == (2, [])


@pytest.mark.parametrize("cells", ["adler32:ab,cd", "00ab,ac", "0cc175b9,1cc175b9"])
def test_checksums_that_differ_are_refused(cells):
    assert [item.field for item in read("src checksum,dst checksum", cells, "ab,ab")[1]] == ["dst checksum"]


@pytest.mark.parametrize("rate", ["800", "3200", "4400"])
def test_rate_of_another_span_than_size_over_duration_keeps_its_unit(rate):
    rows = [f"{TIMES[0].partition(',')[0]},20,4000,{rate}", f"{TIMES[1].partition(',')[0]},40,8000,{rate}"]
    imported, refused, _ = run(["start,duration (s),size (MB),throughput", *rows], ENDS)
    assert ([item.record.outcome.throughput_bps for item in imported], refused) == ([float(rate) * 1e6] * 2, [])


def test_column_that_refuses_rows_is_not_named_as_unknown():
    noted = " ".join(read("remarks,rack", "fine,7", "FAILED,7")[2].assumptions)
    assert "nothing of a transfer: rack" in noted


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
