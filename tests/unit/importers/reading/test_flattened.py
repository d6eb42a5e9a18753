"""Messages that searches and collectors flatten: names with dots, tables, and logfmt."""

import csv
import io
import json

import pytest

from tests.unit.importers.logs import run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status

FTS = {
    "tr_id": "t1",
    "src_hostname": "SE1.example.org",
    "dst_hostname": "se2.example.org.",
    "timestamp_tr_st": 1_772_359_200_000,
    "timestamp_tr_comp": 1_772_359_204_000,
    "t_final_transfer_state": "Ok",
    "tr_bt_transfered": 500_000_000,
    "f_size": 500_000_000,
    "nstreams": 2,
}
FILE = {
    "file_state": "FINISHED",
    "source_surl": "davs://se1.example.org/a",
    "dest_surl": "davs://se2.example.org/a",
    "filesize": 500_000_000,
    "finish_time": "2026-03-01T10:00:04",
    "tx_duration": 4,
}
PREFIXES = ["data.", "_source.", "_source.data.", "_source.data.data.", "fields.data."]


def flatten(message: dict[str, object], prefix: str) -> str:
    return json.dumps({prefix + name: value for name, value in message.items()})


def table(*rows: dict[str, object], prefix: str = "data.", delimiter: str = ",") -> list[str]:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n")
    writer.writerow([prefix + name for name in rows[0]])
    writer.writerows(row.values() for row in rows)
    return written.getvalue().splitlines()


def logfmt(moved: int, elapsed_s: float, *, at: str, errors: int = 0) -> str:
    return (
        f'level=notice msg="\\nTransferred: \\"x\\"" source=accounting/stats.go:526 stats.bytes={moved} '
        f"stats.elapsedTime={elapsed_s} stats.errors={errors} stats.totalBytes=1000000 stats.totalTransfers=1 "
        f"stats.transfers={int(moved == 1_000_000)} time={at}"
    )


def describe(item):
    record = item.record
    return record.outcome.bytes_moved, record.duration_s, record.source, record.destination


@pytest.mark.parametrize("message", [FTS, FILE], ids=["fts", "file"])
@pytest.mark.parametrize("prefix", PREFIXES)
def test_names_with_dots_are_read_as_the_levels_that_they_stand_for(message, prefix):
    imported, refused, report = run([flatten(message, prefix)])
    assert (refused, report.format) == ([], "fts")
    assert describe(imported[0]) == (500_000_000, 4.0, "se1.example.org", "se2.example.org")


@pytest.mark.parametrize("message", [FTS, FILE], ids=["fts", "file"])
@pytest.mark.parametrize("prefix", [*PREFIXES, ""])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_table_of_messages_is_read_as_the_messages(message, prefix, delimiter):
    imported, refused, report = run(table(message, prefix=prefix, delimiter=delimiter))
    assert (refused, report.format) == ([], "fts")
    assert describe(imported[0]) == (500_000_000, 4.0, "se1.example.org", "se2.example.org")


@pytest.mark.parametrize("mark", [",", ".", "'", "\u202f"])
def test_marks_of_thousands_in_a_table_of_messages_are_no_decimal_marks(mark):
    marked = {name: f"{value:,}".replace(",", mark) if isinstance(value, int) else value for name, value in FTS.items()}
    imported, refused, _ = run(table(marked, delimiter=";"))
    assert (describe(imported[0])[:2], refused) == ((500_000_000, 4.0), [])


def test_address_in_a_table_of_messages_is_no_number_with_marks():
    imported, _, _ = run(table(FTS | {"src_hostname": "192.168.100.200", "f_size": "500.000.000"}))
    assert describe(imported[0])[:3] == (500_000_000, 4.0, "192.168.100.200")


def test_count_with_a_single_mark_and_no_other_is_refused_in_a_table_of_messages():
    imported, refused, _ = run(table(FILE | {"filesize": "1,234"}))
    assert (imported, len(refused)) == ([], 1)


def test_line_breaks_and_odd_rows_of_a_table_of_messages_touch_no_other_row():
    rows = table(FTS | {"reason": "a\nb, c"}, FTS | {"tr_id": "t2", "reason": "x"})
    imported, refused, _ = run([*rows, "t3,short", ""])
    assert ([item.row for item in imported], [item.row for item in refused]) == ([2, 4], [5])


def test_stray_quote_in_a_table_of_messages_refuses_its_row_alone():
    rows = [*table(FTS), 'bad"row,x', *table(FTS | {"tr_id": "t2"})[1:], *table(FTS | {"tr_id": "t3"})[1:]]
    imported, refused, _ = run(rows)
    assert ([item.row for item in imported], [item.row for item in refused]) == ([2, 4, 5], [3])
    assert "quote" in refused[0].reason


def test_last_row_of_a_table_of_messages_without_a_line_end_is_refused():
    imported, refused, _ = run("\n".join(table(FTS, FTS | {"tr_id": "t2"})).encode())
    assert ([item.row for item in imported], [item.row for item in refused]) == ([2], [3])
    assert "may be cut off" in refused[0].reason


def test_fields_of_a_search_are_read_though_their_values_are_lists():
    fields = {f"data.{name}": [value] for name, value in FTS.items()}
    imported, _, _ = run([json.dumps({"_index": "i", "_id": "1", "fields": fields})])
    assert describe(imported[0])[:2] == (500_000_000, 4.0)


def test_further_index_of_a_field_does_not_hide_its_value():
    flat = {f"data.{name}": value for name, value in FTS.items()} | {"data.src_hostname.keyword": "other"}
    assert run([json.dumps(flat)])[0][0].record.source == "se1.example.org"


def test_table_of_transfers_behind_levels_is_csv():
    header = "_source.data.start,_source.data.bytes,_source.data.duration_s"
    imported, _, report = run([header, "2026-03-01T10:00:00Z,1000000000,30"])
    assert (report.format, describe(imported[0])[:2]) == ("csv", (1_000_000_000, 30.0))


def test_runs_of_rclone_are_read_from_logfmt():
    lines = [logfmt(400_000, 1.0, at="2026-03-01T10:00:01Z"), logfmt(1_000_000, 2.5, at="2026-03-01T10:00:02.5Z")]
    imported, refused, report = run(lines)
    assert (report.format, refused) == ("rclone", [])
    assert describe(imported[0])[:2] == (1_000_000, 2.5)


def test_last_line_of_logfmt_without_a_line_end_is_refused():
    _, refused, _ = run(logfmt(1_000_000, 2.5, at="2026-03-01T10:00:02.5Z").encode(), format="rclone")
    assert "may be cut off" in refused[0].reason


def test_logfmt_that_names_a_value_twice_is_no_record():
    line = logfmt(1_000_000, 2.5, at="2026-03-01T10:00:02.5Z")
    assert run([f"{line} stats.bytes=5", line.replace("10:00", "11:00")], format="rclone")[0][0].row == 2


def test_logfmt_of_an_unknown_program_is_refused_with_its_names():
    with pytest.raises(InvalidValue, match="of no known log; its members are time, level, msg, bytes, duration"):
        run(['time=2026-03-01T10:00:00Z level=info msg="done" bytes=1000 duration=2s'])


def test_success_of_a_further_attempt_voids_the_errors_that_statistics_counted_before_it():
    def stats(moved, elapsed_s, at, errors):
        counts = {"bytes": moved, "elapsedTime": elapsed_s, "errors": errors, "totalBytes": 10, "transfers": 1}
        return json.dumps({"level": "notice", "msg": "", "time": at, "stats": counts | {"totalTransfers": 1}})

    end = '{"level": "error", "msg": "Attempt 2/3 succeeded", "time": "2026-03-01T10:00:03Z"}'
    failed = '{"level": "error", "msg": "Attempt 1/3 failed with 1 errors and: x", "time": "2026-03-01T10:00:02Z"}'
    first = stats(10, 2.0, "2026-03-01T10:00:02Z", 1)
    assert run([first, failed, end])[0][0].record.outcome.status is Status.SUCCEEDED
    assert run([first, failed])[0][0].record.outcome.status is Status.FAILED


@pytest.mark.parametrize("before", ["sep=,", "FTS export"])
def test_lines_before_the_titles_of_a_table_of_messages_do_not_matter(before):
    assert len(run([before, *table(FTS)])[0]) == 1


def test_other_columns_within_a_table_of_messages_are_refused_with_what_follows():
    reversed_columns = dict(reversed(FTS.items()))
    rows = [*table(FTS), *table(FTS | {"tr_id": "t2"}), *table(reversed_columns | {"tr_id": "t3"})]
    imported, refused, _ = run(rows)
    assert ([item.row for item in imported], [item.row for item in refused]) == ([2, 4], [5, 6])
    assert "split the file there" in refused[1].reason


@pytest.mark.parametrize("truth", ["True", "true"])
def test_truth_values_are_no_texts_in_a_table_of_messages(truth):
    message = {
        "msgType": "transfer",
        "cellName": "p",
        "pnfsid": "0A",
        "date": "2026-03-01T10:00:10Z",
        "transferSize": 100,
        "transferTime": 10_000,
        "isWrite": "read",
        "protocolInfo.protocol": "Http",
        "protocolInfo.host": "192.0.2.5",
        "status.code": 0,
    }
    assert len(run(table(message | {"isP2p": "false"}))[0]) == 1
    imported, _, report = run(table(message | {"isP2p": truth}))
    assert (imported, list(report.skipped)) == ([], ["copies between pools"])
