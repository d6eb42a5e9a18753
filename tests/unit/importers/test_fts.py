import json
from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Direction, Status
from tradewind_agent.importers import ImportContext

NO_CONTEXT = ImportContext()
BEGIN_MS = 1_600_000_000_000


def message(**more: object) -> dict[str, object]:
    return {
        "tr_id": "2020__x",
        "src_hostname": "se1.example.org",
        "dst_hostname": "se2.example.org",
        "src_url": "gsiftp://se1.example.org:2811/store/a.root",
        "dst_url": "gsiftp://se2.example.org:2811/store/a.root",
        "timestamp_tr_st": BEGIN_MS,
        "timestamp_tr_comp": BEGIN_MS + 4000,
        "tr_bt_transfered": 1_000_000_000,
        "f_size": 1_000_000_000,
        "nstreams": 6,
        "tcp_buf_size": 0,
        "block_size": 0,
        "t_final_transfer_state": "Ok",
        **more,
    }


def as_strings(values: dict[str, object]) -> str:
    return json.dumps({key: str(value) for key, value in values.items()})


def wrapped(values: dict[str, object]) -> str:
    return json.dumps({"data": values, "metadata": {"topic": "fts_raw_complete"}})


@pytest.mark.parametrize("written", [as_strings, wrapped, json.dumps])
def test_messages_of_any_version_become_the_same_record(written):
    imported, refused, report = run([written(message())], NO_CONTEXT)
    record = imported[0].record
    assert (refused, report.format) == ([], "fts")
    assert (record.source, record.destination, record.direction) == (
        "se1.example.org",
        "se2.example.org",
        Direction.THIRD_PARTY,
    )
    assert record.protocol == "gsiftp"
    assert record.parameters.list_known() == {"concurrency": 1, "parallelism": 6}
    assert record.path.buffer_bytes is None
    assert record.started_at == datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC)
    assert record.outcome.throughput_bps == pytest.approx(2e9)


def test_concurrency_follows_from_messages_of_the_same_pair_that_overlap():
    others = [message(tr_id="2020__y"), message(dst_hostname="se3.example.org")]
    lines = [json.dumps(each) for each in (message(), *others)]
    assert [item.record.parameters.concurrency for item in run(lines, NO_CONTEXT)[0]] == [2, 2, 1]


def test_hosts_come_from_the_addresses_where_they_are_not_named():
    record = run([json.dumps(message(src_hostname="", dst_hostname=None))], NO_CONTEXT)[0][0].record
    assert (record.source, record.destination) == ("se1.example.org", "se2.example.org")


def test_a_failed_copy_is_a_record_of_a_failure():
    record = run([json.dumps(message(t_final_transfer_state="Error", tr_bt_transfered=5))], NO_CONTEXT)[0][0].record
    assert record.outcome.status is Status.FAILED
    assert (record.dataset.total_bytes, record.outcome.bytes_moved) == (1_000_000_000, 5)


@pytest.mark.parametrize("reported", [0, 900_000_000])
def test_a_file_that_succeeded_was_moved_entirely_whatever_the_last_report_before_its_end_counted(reported):
    record = run([json.dumps(message(tr_bt_transfered=reported))], NO_CONTEXT)[0][0].record
    assert (record.outcome.bytes_moved, record.outcome.throughput_bps) == (1_000_000_000, pytest.approx(2e9))


def test_sizes_that_fts_does_not_know_are_those_of_what_was_moved():
    lost = message(t_final_transfer_state="Error", f_size=-1, tr_bt_transfered=7)
    record = run([json.dumps(lost)], NO_CONTEXT)[0][0].record
    assert (record.outcome.status, record.dataset.total_bytes) == (Status.FAILED, 7)


def test_empty_files_and_tests_of_fts_are_skipped():
    empty, mock = message(tr_bt_transfered=0, f_size=0), message(src_url="mock://se1.example.org/a?time=4")
    imported, refused, report = run([json.dumps(each) for each in (empty, mock)], NO_CONTEXT)
    assert (imported, refused) == ([], [])
    assert sum(report.skipped.values()) == 2


def file_of_job(**more: object) -> dict[str, object]:
    return {
        "file_id": 1,
        "file_state": "FINISHED",
        "source_surl": "davs://se1.example.org:443/store/a",
        "dest_surl": "davs://se2.example.org:443/store/a",
        "start_time": "2026-03-01T10:00:00",
        "finish_time": "2026-03-01T10:00:30",
        "tx_duration": 20.0,
        "filesize": 1_000_000_000,
        "transferred": 1_000_000_000,
        **more,
    }


def written_as_job(files: list[dict[str, object]]) -> bytes:
    return json.dumps({"job_id": "j", "job_state": "FINISHEDDIRTY", "files": files}, indent=2).encode()


def written_as_lines(files: list[dict[str, object]]) -> bytes:
    return "".join(f"{json.dumps(each)}\n" for each in files).encode()


@pytest.mark.parametrize("written", [written_as_job, written_as_lines, lambda files: json.dumps(files).encode()])
def test_files_of_a_job_last_for_the_time_of_their_copying(written):
    files = [
        file_of_job(),
        file_of_job(file_state="FAILED", transferred=300_000_000),
        file_of_job(file_state="ACTIVE", finish_time=None, tx_duration=None),
        file_of_job(file_state="FAILED", tx_duration=0.0),
        file_of_job(filesize=0, transferred=0),
    ]
    imported, refused, report = run(written(files), NO_CONTEXT)
    done, failed = (item.record for item in imported)
    assert (refused, report.format, sum(report.skipped.values())) == ([], "fts", 3)
    assert (done.source, done.destination, done.protocol) == ("se1.example.org", "se2.example.org", "davs")
    assert (done.ended_at, done.duration_s) == (datetime(2026, 3, 1, 10, 0, 30, tzinfo=UTC), 20)
    assert (failed.outcome.status, failed.outcome.bytes_moved) == (Status.FAILED, 300_000_000)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"finish_time": "soon"}, "ended_at"),
        ({"tx_duration": -1}, "ended_at"),
        ({"filesize": "x"}, "outcome.bytes_moved"),
    ],
)
def test_a_bad_file_of_a_job_is_refused_with_its_field(change, field):
    imported, refused, _ = run(written_as_lines([file_of_job(), file_of_job(**change)]), NO_CONTEXT)
    assert (len(imported), [(item.row, item.field) for item in refused]) == (1, [(2, field)])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"timestamp_tr_st": 0}, "started_at"),
        ({"timestamp_tr_st": "soon"}, "started_at"),
        ({"timestamp_tr_st": 1e300}, "started_at"),
        ({"timestamp_tr_comp": BEGIN_MS}, "ended_at"),
        ({"timestamp_tr_comp": None}, "ended_at"),
        ({"tr_bt_transfered": -1}, "outcome.bytes_moved"),
        ({"tr_bt_transfered": None}, "outcome.bytes_moved"),
        ({"f_size": -2}, "dataset.total_bytes"),
        ({"f_size": float("nan")}, "dataset.total_bytes"),
        ({"nstreams": 10**6}, "parameters.parallelism"),
        ({"t_final_transfer_state": "Perhaps"}, "outcome.status"),
        ({"src_hostname": "", "src_url": "http://[broken"}, "source"),
        ({"src_hostname": "\ud800"}, "source"),
    ],
)
def test_a_bad_message_is_refused_with_its_field(change, field):
    imported, refused, _ = run([json.dumps(message()), json.dumps(message(**change))], NO_CONTEXT)
    assert len(imported) == 1
    assert [(item.row, item.field) for item in refused] == [(2, field)]


def test_damaged_messages_are_refused_and_lines_of_others_skipped():
    _, refused, report = run([json.dumps(message()), "{", "[]", "[" * 100_000], NO_CONTEXT)
    assert [(item.row, item.field) for item in refused] == [(2, "row")]
    assert report.skipped == {"no messages of FTS": 2}


def test_messages_of_starts_and_states_and_copies_that_never_started_are_skipped():
    start = {"tr_id": "2020__y", "timestamp_tr_st": BEGIN_MS, "vo": "atlas"}
    state = {"job_id": "1", "file_id": 2, "file_state": "ACTIVE"}
    never = message(t_final_transfer_state="Error", timestamp_tr_st=0, tr_bt_transfered=0)
    lines = [json.dumps(each) for each in (start, state, message(), never)]
    imported, refused, report = run(lines, NO_CONTEXT)
    assert ([item.row for item in imported], refused) == ([3], [])
    assert report.skipped == {"messages of a start or of a state": 2, "copies that failed before they started": 1}
